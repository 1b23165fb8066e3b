import type { Worker } from 'node:worker_threads';
import { leaseTtlMs } from '@sluice/shared/bus/bus.ts';
import type { LevelWithSilent, Logger } from '@sluice/shared/log/log.ts';
import { beginThread, RestartingThread } from '@sluice/shared/thread/restarting-thread.ts';
import { programUrl } from '@sluice/shared/thread/programs.ts';
import type { KeeperStats } from './keeper.ts';

/** Time that a thread has to end after its keeper closed, to release the lease and its connections. */
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

const nothing: Omit<KeeperStats, 'restarts'> = {
  keeps: false,
  events: 0,
  batches: 0,
  waiting: 0,
  lostEntries: 0,
  undecided: 0,
  forgotten: 0,
  candleTopics: 0,
  candles: 0,
  failures: 0,
};

/**
 * A `Keeper` in its own thread, so that its allocations and its work delay no event of this process. A thread that ends is started again;
 * the lease and the checkpoint ensure that nothing counts twice.
 */
export class ThreadedKeeper {
  readonly #thread: RestartingThread;
  /** Sums of the threads that ended, as far as they reported them. */
  #past = nothing;
  #latest = nothing;

  constructor({
    redisUrls,
    log,
    begin = beginKeeper,
  }: {
    readonly redisUrls: readonly string[];
    readonly log: Logger;
    readonly begin?: (settings: ThreadSettings) => Worker;
  }) {
    const settings: ThreadSettings = { redisUrls, level: log.level as LevelWithSilent };
    this.#thread = new RestartingThread({
      name: 'market',
      begin: () => begin(settings),
      onMessage: (stats) => (this.#latest = stats as KeeperStats),
      onEnd: () => {
        this.#past = add(this.#past, this.#latest);
        this.#latest = nothing;
      },
      log,
    });
  }

  /** As reported by the thread, at most some 250 ms ago. */
  get stats(): KeeperStats {
    return { ...add(this.#past, this.#latest), restarts: this.#thread.restarts };
  }

  /** As `Keeper.close`. A thread that does not end by itself is terminated. */
  async close(withinMs: number): Promise<void> {
    const order: CloseOrder = { withinMs };
    await this.#thread.close(order, withinMs + endWithinMs);
  }
}

/** Sums of both; current values from `latest`. */
function add(past: typeof nothing, latest: typeof nothing): typeof nothing {
  return {
    keeps: latest.keeps,
    events: past.events + latest.events,
    batches: past.batches + latest.batches,
    waiting: latest.waiting,
    lostEntries: past.lostEntries + latest.lostEntries,
    undecided: latest.undecided,
    forgotten: past.forgotten + latest.forgotten,
    candleTopics: latest.candleTopics,
    candles: past.candles + latest.candles,
    failures: past.failures + latest.failures,
  };
}

export function beginKeeper(settings: ThreadSettings): Worker {
  return beginThread(programUrl('keeper-thread'), 'market', settings);
}
