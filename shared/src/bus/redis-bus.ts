import type { Logger } from '../log/log.ts';
import type { Bus } from './bus.ts';
import { BusError } from './bus-error.ts';

/** Connects to Redis. */
export async function connectRedisBus(urls: readonly string[], log: Logger): Promise<Bus> {
  log.error({ urls: urls.length }, 'redis_bus_missing');
  throw new BusError('UNAVAILABLE', 'The Redis bus is not part of this build yet.');
}
