import { createRpc, type Rpc } from '@sluice/shared/solana/rpc.ts';

/** One RPC endpoint, asked by itself: what one says is held against what the others say. */
export interface SendNode {
  /** `rpc 1`, `rpc 2` …: for logs and counters; addresses may hold keys. */
  readonly name: string;
  readonly rpc: Rpc;
}

/** Time for one answer. */
const timeoutMs = 2_500;

export function createSendNodes(urls: readonly string[]): readonly SendNode[] {
  return createRpc(urls, { timeoutMs }).each.map((rpc, index) => ({ name: `rpc ${index + 1}`, rpc }));
}
