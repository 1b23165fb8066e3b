import { createRpc, RpcError, type WatchedRpc } from '@sluice/shared/solana/rpc.ts';

/** Time for one endpoint to answer a read. */
const timeoutMs = 2_500;
/** Longest answer: some 40,000 token accounts of one wallet. It is parsed at one go, and everybody waits meanwhile. */
const maxAnswerBytes = 16 * 1024 * 1024;

/** The gateway's way to the chain; where no endpoint is set, every call is told that there is none. */
export function chainRpc(urls: readonly string[] | null): WatchedRpc {
  if (urls !== null) return createRpc(urls, { timeoutMs, maxAnswerBytes });
  return { call: () => Promise.reject(new RpcError('unreachable', 0, 'No RPC is set.')), health: () => [] };
}
