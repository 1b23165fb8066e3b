import type { MemoryBounds } from '../config/memory-bounds.ts';
import type { Logger } from '../log/log.ts';
import { InProcessMarket } from './in-process-market.ts';
import type { Market } from './market.ts';
import { RedisMarket } from './redis-market.ts';

/**
 * Opens the state of the market: in Redis where addresses are given (the bus's), else inside this process, which then must
 * be handed to ingest and gateway as one object. Rejects with a `BusError` when Redis cannot be reached.
 */
export async function createMarket({
  redisUrls,
  inProcess,
  log,
}: {
  readonly redisUrls: readonly string[] | null;
  /** Bounds of the state inside this process. */
  readonly inProcess?: MemoryBounds['market'];
  readonly log: Logger;
}): Promise<Market> {
  return redisUrls === null ? new InProcessMarket(inProcess) : RedisMarket.open(redisUrls, log);
}
