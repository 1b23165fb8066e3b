import { decisionOf, gcraOf } from './gcra.ts';
import { processClock, type CountingLimiter, type LimitClock } from './limiter.ts';
import { LocalLimits } from './local-limits.ts';
import { openRedisLimits } from './redis-limits.ts';
import { SharedLimiter, type SharedLimiterOptions } from './shared-limiter.ts';

interface LimiterOptions extends Omit<SharedLimiterOptions, 'shared' | 'clock'> {
  /** Null: there is only one gateway, which counts alone. */
  readonly redisUrls: readonly string[] | null;
}

/** Rejects with a `BusError` if Redis cannot be reached at the start. */
export async function createLimiter({ redisUrls, ...options }: LimiterOptions): Promise<CountingLimiter> {
  if (redisUrls === null) return inProcessLimiter();
  return new SharedLimiter({ shared: await openRedisLimits(redisUrls, options.log), clock: processClock, ...options });
}

/** A limiter in this process, which answers without a promise. */
export function inProcessLimiter(clock: Pick<LimitClock, 'nowUs'> = processClock): CountingLimiter {
  const limits = new LocalLimits();
  const counters = { taken: 0, refused: 0, local: 0, outages: 0, overruled: 0 };
  return {
    counters,
    unavailable: false,
    take: (key, quota, cost) => {
      const gcra = gcraOf(quota);
      const taken = limits.take(key, gcra, cost, clock.nowUs());
      if (cost > 0) counters[taken.admitted ? 'taken' : 'refused']++;
      return decisionOf(taken, gcra, 'shared');
    },
    close: () => undefined,
  };
}
