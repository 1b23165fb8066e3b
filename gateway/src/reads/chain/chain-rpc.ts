import { createRpc, RpcError, type RpcPool, type WatchedRpc } from '@sluice/shared/solana/rpc/rpc.ts';

/** Time for one endpoint to answer a read. */
const timeoutMs = 2_500;
/** If an endpoint takes longer than this, another one is asked as well, because clients expect an answer within a second. */
const hedgeAfterMs = 400;

/** The RPC client of the gateway. If no endpoint is configured, every call fails with that reason. */
export function chainRpc(urls: readonly string[] | null): RpcPool {
  if (urls !== null) return createRpc(urls, { timeoutMs, hedgeAfterMs });
  const none: WatchedRpc = {
    call: () => Promise.reject(new RpcError('unreachable', 0, 'No RPC endpoint is configured.')),
    health: () => [],
  };
  return { ...none, each: [none] };
}
