import { busLimits } from '../bus.ts';
import { BusError, fencedError, RedisFault } from '../bus-error.ts';
import { statusText } from '../entry-checks.ts';
import type { RedisConnection } from './redis-connection.ts';
import { fenced, redisKeys, setStatusScript } from './redis-scripts.ts';

/** One term of a lease. */
export interface LeaseTerm {
  readonly name: string;
  readonly fence: number;
}

/** Sets a status. With a `leaseTerm`, rejects with `FENCED` if the term is over. */
export async function setStatus(
  connection: RedisConnection,
  leaseTerm: LeaseTerm | null,
  name: string,
  value: Readonly<Record<string, unknown>>,
  ttlMs: number,
): Promise<void> {
  const text = statusText(name, value, ttlMs);
  const keys = leaseTerm === null ? [redisKeys.status] : [redisKeys.status, redisKeys.lease(leaseTerm.name)];
  const args = [name, text, ttlMs, busLimits.maxStatuses, leaseTerm?.fence ?? ''];
  try {
    const stored = await connection.run(setStatusScript, keys, args);
    if (stored !== 1) throw new BusError('INVALID', `There are ${busLimits.maxStatuses} statuses already, the most at one time.`);
  } catch (error) {
    if (leaseTerm !== null && error instanceof RedisFault && error.word === fenced) throw fencedError(leaseTerm.name);
    throw error;
  }
}
