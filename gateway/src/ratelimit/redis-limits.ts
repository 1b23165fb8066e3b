import { RedisConnection } from '@sluice/shared/bus/redis/redis-connection.ts';
import { script } from '@sluice/shared/bus/redis/redis-scripts.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type { Gcra, Taken } from './gcra.ts';

/** Limits that several gateways count together. */
export interface SharedLimits {
  /** Rejects with a `RedisFault`. It may never settle. */
  take(key: string, gcra: Gcra, cost: number): Promise<Taken>;
  /** Resolves when Redis answers. */
  probe(): Promise<void>;
  close(): void;
}

/**
 * `takeFrom` of gcra.ts, by Redis' own clock. The value of a key is the time at which all requests will have drained, in microseconds. The key
 * expires one or two milliseconds later, because expiries are whole milliseconds. Numbers are doubles, exact up to 2^53. A key that owes more
 * than its burst (after the quota was lowered, or the clock was set back) is stored with the whole burst, so that it waits no longer.
 * KEYS: the limit. ARGV: interval, burst, cost. -> admitted, debt, wait
 */
const takeScript = script(`
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local interval, burst, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local room = burst * interval
local drained = tonumber(redis.call('GET', KEYS[1]) or now)
local owed = math.max(drained - now, 0)
local debt = math.min(owed, room)
local after = debt + math.min(cost, burst) * interval
local wait = math.max(after - room, 0)
if wait > 0 then after = debt end
if owed > room or (wait == 0 and cost > 0) then
  redis.call('SET', KEYS[1], string.format('%.0f', now + after), 'PX', math.ceil(after / 1000) + 1)
end
return {wait == 0 and 1 or 0, after, wait}
`);

const keyOf = (key: string): string => `sluice:limit:${key}`;
const probeKey = keyOf('probe');
const probeGcra: Gcra = { intervalUs: 1, burst: 1 };

/** Connects to Redis. Rejects with a `BusError` if it cannot be reached. */
export async function openRedisLimits(urls: readonly string[], log: Logger): Promise<SharedLimits> {
  const connection = await RedisConnection.open(urls, 'limits', log);
  const take = async (key: string, { intervalUs, burst }: Gcra, cost: number): Promise<Taken> => {
    const [admitted, debtUs, waitUs] = (await connection.run(takeScript, [key], [intervalUs, burst, cost])) as [number, number, number];
    return { admitted: admitted === 1, debtUs, waitUs };
  };
  return {
    take: (key, gcra, cost) => take(keyOf(key), gcra, cost),
    probe: async () => void (await take(probeKey, probeGcra, 0)),
    close: () => connection.close(),
  };
}
