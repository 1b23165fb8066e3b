import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type { FollowerCounters } from '../follower-counters.ts';

/** Calls the store. Resolves with null if it fails; the first failure in a row is logged. */
export type TryStore = <T>(work: () => Promise<T>) => Promise<T | null>;

export function createTryStore(counters: Pick<FollowerCounters, 'storeFailures'>, log: Pick<Logger, 'error'>): TryStore {
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
