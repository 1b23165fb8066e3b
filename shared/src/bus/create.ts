import type { Logger } from '../log/log.ts';
import type { Bus } from './bus.ts';
import { createInProcessBus } from './in-process-bus.ts';
import { connectRedisBus } from './redis-bus.ts';

/**
 * Connects the bus: Redis where addresses are given (several are the nodes of a cluster), else one inside this process.
 * Rejects with a `BusError` when Redis cannot be reached or holds a log of another version.
 */
export async function createBus({ redisUrls, log }: { readonly redisUrls: readonly string[] | null; readonly log: Logger }): Promise<Bus> {
  return redisUrls === null ? createInProcessBus() : connectRedisBus(redisUrls, log);
}
