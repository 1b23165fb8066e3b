import { nodeTextOf, type NodeText } from '@sluice/shared/solana/rpc/answers/node-text.ts';
import { createRpc, type Rpc } from '@sluice/shared/solana/rpc/rpc.ts';

/** One RPC endpoint. Each endpoint is asked separately, so that answers can be compared. */
export interface SendNode {
  /** `rpc 1`, `rpc 2` …: for logs and counters. Addresses are not shown, because they may contain API keys. */
  readonly name: string;
  readonly rpc: Rpc;
  /** Cleans the texts in its results. The client cleans its error messages. */
  readonly textOf: NodeText;
}

/** Time for one answer. */
const timeoutMs = 2_500;

export function createSendNodes(urls: readonly string[]): readonly SendNode[] {
  const { each } = createRpc(urls, { timeoutMs });
  return urls.map((url, index) => ({ name: `rpc ${index + 1}`, rpc: each[index]!, textOf: nodeTextOf(url) }));
}
