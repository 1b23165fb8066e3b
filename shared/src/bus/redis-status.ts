import { busLimits } from './bus.ts';
import { BusError, fencedError, RedisFault } from './bus-error.ts';
import { statusText } from './entry-checks.ts';
import type { RedisConnection } from './redis-connection.ts';
import { fenced, redisKeys, setStatusScript } from './redis-scripts.ts';

/** One holding of a lease. */
export interface Holding {
  readonly name: string;
  readonly fence: number;
}

/** Sets a status. With a `holding`, rejects with `FENCED` if the holding is over. */
export async function setStatus(
  connection: RedisConnection,
  holding: Holding | null,
  name: string,
  value: Readonly<Record<string, unknown>>,
  ttlMs: number,
): Promise<void> {
  const text = statusText(name, value, ttlMs);
  const keys = holding === null ? [redisKeys.status] : [redisKeys.status, redisKeys.lease(holding.name)];
  const args = [name, text, ttlMs, busLimits.maxStatuses, holding?.fence ?? ''];
  try {
    const stored = await connection.run(setStatusScript, keys, args);
    if (stored !== 1) throw new BusError('INVALID', `There are ${busLimits.maxStatuses} statuses already, the most at one time.`);
  } catch (error) {
    if (holding !== null && error instanceof RedisFault && error.word === fenced) throw fencedError(holding.name);
    throw error;
  }
}
