import type { Worker } from 'node:worker_threads';
import { leaseTtlMs } from '@sluice/shared/bus/bus.ts';
import type { LevelWithSilent, Logger } from '@sluice/shared/runtime/log/log.ts';
import { programUrl } from '@sluice/shared/runtime/thread/programs.ts';
import { beginThread, RestartingThread } from '@sluice/shared/runtime/thread/restarting-thread.ts';
import type { FollowersStats } from './followers.ts';

/** Time that a thread has to end after its followers closed, to release their leases and its connections. */
const endWithinMs = leaseTtlMs + 500;

/** Start data of a thread. */
export interface ThreadSettings {
  readonly redisUrls: readonly string[];
  readonly level: LevelWithSilent;
}

/** Order to a thread: to apply waiting events for at most this long, and to end. */
export interface CloseOrder {
  readonly withinMs: number;
}

const nothing = { keeps: false, events: 0, batches: 0, waiting: 0, lostEntries: 0, failures: 0 };
const noStats: FollowersStats = {
  market: { ...nothing, undecided: 0, forgotten: 0, candleTopics: 0, candles: 0 },
  pools: nothing,
  restarts: 0,
};
/** Current values; all others are sums. */
const current: ReadonlySet<string> = new Set(['keeps', 'waiting', 'undecided', 'candleTopics']);

/**
 * The followers in their own thread, so that their allocations and their work delay no event of this process. A thread that ends is started
 * again; the leases and the checkpoints ensure that nothing counts twice.
 */
export class ThreadedFollowers {
  readonly #thread: RestartingThread;
  /** Sums of the threads that ended, as far as they reported them. */
  #past = noStats;
  #latest = noStats;

  constructor({
    redisUrls,
    log,
    begin = beginFollowers,
  }: {
    readonly redisUrls: readonly string[];
    readonly log: Logger;
    readonly begin?: (settings: ThreadSettings) => Worker;
  }) {
    const settings: ThreadSettings = { redisUrls, level: log.level as LevelWithSilent };
    this.#thread = new RestartingThread({
      name: 'followers',
      begin: () => begin(settings),
      onMessage: (stats) => (this.#latest = stats as FollowersStats),
      onEnd: () => {
        this.#past = this.#sum;
        this.#latest = noStats;
      },
      log,
    });
  }

  /** As reported by the thread, at most some 250 ms ago. */
  get stats(): FollowersStats {
    return { ...this.#sum, restarts: this.#thread.restarts };
  }

  /** As `Followers.close`. A thread that does not end by itself is terminated. */
  async close(withinMs: number): Promise<void> {
    const order: CloseOrder = { withinMs };
    await this.#thread.close(order, withinMs + endWithinMs);
  }

  get #sum(): FollowersStats {
    return { market: add(this.#past.market, this.#latest.market), pools: add(this.#past.pools, this.#latest.pools), restarts: 0 };
  }
}

function add<T extends object>(past: T, latest: T): T {
  const before = new Map(Object.entries(past));
  const sums = Object.entries(latest).map(([name, value]) => [name, current.has(name) ? value : value + before.get(name)]);
  return Object.fromEntries(sums) as T;
}

export function beginFollowers(settings: ThreadSettings): Worker {
  return beginThread(programUrl('log-followers'), 'followers', settings);
}
