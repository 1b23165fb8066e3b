import { createRpc, type Rpc } from '@sluice/shared/solana/rpc.ts';

/** One RPC endpoint, asked by itself: what one says is held against what the others say. */
export interface SendNode {
  /** `rpc 1`, `rpc 2` …: for logs and counters; addresses may hold keys. */
  readonly name: string;
  readonly rpc: Rpc;
}

/** Time for one answer. */
const timeoutMs = 2_500;
/** Longest answer: a transaction with its logs has some ten kilobytes, 256 statuses some thirty. */
const maxAnswerBytes = 4 * 1024 * 1024;

export function createSendNodes(urls: readonly string[]): readonly SendNode[] {
  return urls.map((url, index) => ({ name: `rpc ${index + 1}`, rpc: createRpc([url], { timeoutMs, maxAnswerBytes }) }));
}
