import type { MemoryBounds } from '../config/memory-bounds.ts';
import type { Logger } from '../runtime/log/log.ts';
import { InProcessMarket } from './in-process-market.ts';
import type { MarketStore } from './market.ts';
import { RedisMarket } from './redis/redis-market.ts';

/**
 * Opens the state of the market: in the Redis of the bus if addresses are given, else in this process. In the second case, ingest and
 * gateway must share the returned object. Rejects with a `BusError` if Redis cannot be reached.
 */
export async function createMarket({
  redisUrls,
  inProcess,
  log,
}: {
  readonly redisUrls: readonly string[] | null;
  /** Bounds of the state in this process. */
  readonly inProcess?: MemoryBounds['market'];
  readonly log: Logger;
}): Promise<MarketStore> {
  return redisUrls === null ? new InProcessMarket(inProcess) : RedisMarket.open(redisUrls, log);
}
