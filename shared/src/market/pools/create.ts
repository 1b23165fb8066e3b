import type { Logger } from '../../runtime/log/log.ts';
import { poolBounds, type PoolBounds, type PoolDirectory } from './pool-directory.ts';
import { InProcessPoolDirectory } from './in-process-pool-directory.ts';
import { RedisPoolDirectory } from './redis-pool-directory.ts';

/**
 * Opens the directory of pools: in the Redis of the bus if addresses are given, else in this process. In the second case, ingest and
 * gateway must share the returned object. Rejects with a `BusError` if Redis cannot be reached.
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
