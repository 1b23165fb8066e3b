import type { Logger } from '../log/log.ts';
import { poolBounds, type PoolBounds, type PoolDirectory } from './directory.ts';
import { InProcessPoolDirectory } from './in-process-directory.ts';
import { RedisPoolDirectory } from './redis-directory.ts';

/**
 * Opens the directory of pools: in the bus's Redis if addresses are given, else inside this process, which then must be handed to ingest
 * and gateway as one object. Rejects with a `BusError` when Redis cannot be reached.
 */
export async function createPoolDirectory({
  redisUrls,
  bounds = poolBounds,
  log,
}: {
  readonly redisUrls: readonly string[] | null;
  readonly bounds?: PoolBounds;
  readonly log: Logger;
}): Promise<PoolDirectory> {
  return redisUrls === null ? new InProcessPoolDirectory(bounds) : RedisPoolDirectory.open(redisUrls, log, bounds);
}
