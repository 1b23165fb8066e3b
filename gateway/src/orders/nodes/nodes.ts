import { createRpc, type Rpc } from '@sluice/shared/solana/rpc.ts';

/** One RPC endpoint. Each endpoint is asked separately, so that answers can be compared. */
export interface SendNode {
  /** `rpc 1`, `rpc 2` …: for logs and counters. Addresses are not shown, because they may contain API keys. */
  readonly name: string;
  readonly rpc: Rpc;
}

/** Time for one answer. */
const timeoutMs = 2_500;

export function createSendNodes(urls: readonly string[]): readonly SendNode[] {
  return createRpc(urls, { timeoutMs }).each.map((rpc, index) => ({ name: `rpc ${index + 1}`, rpc }));
}
