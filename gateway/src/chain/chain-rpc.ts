import { createRpc, RpcError, type RpcPool, type WatchedRpc } from '@sluice/shared/solana/rpc.ts';

/** Time for one endpoint to answer a read. */
const timeoutMs = 2_500;
/** One that is slower than this is not waited for alone: clients expect an answer within a second. */
const hedgeAfterMs = 400;

/** The gateway's way to the chain; if no endpoint is set, every call fails with that reason. */
export function chainRpc(urls: readonly string[] | null): RpcPool {
  if (urls !== null) return createRpc(urls, { timeoutMs, hedgeAfterMs });
  const none: WatchedRpc = { call: () => Promise.reject(new RpcError('unreachable', 0, 'No RPC is set.')), health: () => [] };
  return { ...none, each: [none] };
}
