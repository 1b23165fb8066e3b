import type { Logger } from '../runtime/log/log.ts';
import type { Bus } from './bus.ts';
import { createInProcessBus } from './in-process/in-process-bus.ts';
import type { InProcessLimits } from './in-process/in-process-log.ts';
import { connectRedisBus } from './redis/redis-bus.ts';

export interface BusOptions {
  /** Null: the bus is inside this process. Several addresses are the nodes of a cluster. */
  readonly redisUrls: readonly string[] | null;
  /** Bounds of an in-process log that replace those of `busLimits`. */
  readonly inProcess?: Partial<InProcessLimits>;
  readonly log: Logger;
}

/** Connects the bus. Rejects with a `BusError` if Redis cannot be reached or its log has another version. */
export async function createBus({ redisUrls, inProcess, log }: BusOptions): Promise<Bus> {
  return redisUrls === null ? createInProcessBus(inProcess) : connectRedisBus(redisUrls, log);
}
