import type { Logger } from '@sluice/shared/log/log.ts';
import type { FollowerCounters } from './follower-counters.ts';

/** Calls the store; null where it failed, which is told once until it answers again. */
export type StoredOrNull = <T>(work: () => Promise<T>) => Promise<T | null>;

export function createStoredOrNull(counters: Pick<FollowerCounters, 'storeFailures'>, log: Pick<Logger, 'error'>): StoredOrNull {
  let fails = false;
  return async (work) => {
    try {
      const result = await work();
      fails = false;
      return result;
    } catch (error) {
      counters.storeFailures++;
      if (!fails) log.error({ err: error }, 'order_store_failed');
      fails = true;
      return null;
    }
  };
}
