import { setTimeout as pause } from 'node:timers/promises';
import { gatewayStatusPrefix } from '@sluice/gateway/operations/fleet.ts';
import { AgreedTime } from '@sluice/shared/runtime/clock/agreed-time.ts';
import { systemClock } from '@sluice/shared/runtime/clock/clock.ts';
import { hearParty } from '@sluice/shared/runtime/clock/watch-clocks.ts';
import { createBus } from '@sluice/shared/bus/create.ts';
import { inspectRedis } from '@sluice/shared/bus/redis/redis-inspect.ts';
import type { Config } from '@sluice/shared/config/config.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import { clockFindings, ok, tried, warn, type Finding } from './finding.ts';
import { judgeRedis, redisSettings } from './redis-settings.ts';

const timeoutMs = 5_000;
const slowMs = 20;
const roundTrips = 10;

/** Connects to the bus like ingest and gateway, measures the round trip, and counts the connected processes. */
export async function checkRedis({ redisUrls }: Config): Promise<readonly Finding[]> {
  if (redisUrls === null) return [ok('bus', 'in the process, because REDIS_URL is not set; only start works')];
  const late = pause(timeoutMs, undefined, { ref: false }).then(() => Promise.reject(new Error(`no answer within ${timeoutMs / 1000} s`)));
  return tried('redis', () => Promise.race([askBoth(redisUrls), late]));
}

async function askBoth(redisUrls: readonly string[]): Promise<readonly Finding[]> {
  const [bus, ...others] = await askRedis(redisUrls);
  return [bus as Finding, ...judgeRedis(await inspectRedis(redisUrls, redisSettings)), ...others];
}

async function askRedis(redisUrls: readonly string[]): Promise<readonly Finding[]> {
  const bus = await createBus({ redisUrls, log: createLog({ level: 'silent', name: 'doctor' }) });
  try {
    const startedMs = performance.now();
    for (let round = 0; round < roundTrips; round++) await bus.statuses();
    const eachMs = (performance.now() - startedMs) / roundTrips;
    const statuses = await bus.statuses();
    const time = new AgreedTime();
    await hearParty(time, 'redis', () => bus.timeMs(), systemClock);
    const ingests = statuses.filter((status) => status.name.startsWith('ingest:')).length;
    const gateways = statuses.filter((status) => status.name.startsWith(gatewayStatusPrefix)).length;
    const detail = `answers in ${eachMs.toFixed(1)} ms`;
    return [
      eachMs > slowMs ? warn('redis', `${detail}; every event is delayed by it`) : ok('redis', detail),
      ...clockFindings(time),
      ingests > 0 ? ok('ingest', `${ingests} running`) : warn('ingest', 'none is connected to this Redis'),
      ok('gateways', gateways > 0 ? `${gateways} running; they count the limits of keys together` : 'none is connected to this Redis'),
    ];
  } finally {
    await bus.close();
  }
}
