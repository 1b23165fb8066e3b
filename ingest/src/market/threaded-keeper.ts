import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { leaseTtlMs } from '@sluice/shared/bus/bus.ts';
import type { LevelWithSilent, Logger } from '@sluice/shared/log/log.ts';
import type { KeeperStats } from './keeper.ts';

const firstPauseMs = 100;
const maxPauseMs = 5_000;
/** A thread that lived for this long ended for a new reason: it is begun again without waiting longer than the first time. */
const steadyMs = 30_000;
/** Time beyond that of its keeper that a thread has to end: it gives up the lease and its connections. */
const endWithinMs = leaseTtlMs + 500;

/** What a thread is begun with. */
export interface ThreadSettings {
  readonly redisUrls: readonly string[];
  readonly level: LevelWithSilent;
}

/** Told to a thread: to apply what has come, for at most so long, and to end. */
export interface CloseOrder {
  readonly withinMs: number;
}

const nothing: Omit<KeeperStats, 'restarts'> = {
  keeps: false,
  events: 0,
  batches: 0,
  waiting: 0,
  lostEntries: 0,
  candleTopics: 0,
  candles: 0,
  failures: 0,
};

/**
 * A `Keeper` in a thread of its own: what it allocates and how long it takes delays no event of this process. Where the thread
 * ends, it is begun again; the lease and the checkpoint see to it that nothing counts twice.
 */
export class ThreadedKeeper {
  readonly #settings: ThreadSettings;
  readonly #log: Logger;
  readonly #begin: (settings: ThreadSettings) => Worker;
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;
  #worker: Worker | null = null;
  #restarts = 0;
  /** Sums of the threads that ended, as far as they told them. */
  #past = nothing;
  #told = nothing;

  constructor({
    redisUrls,
    log,
    begin = beginThread,
  }: {
    readonly redisUrls: readonly string[];
    readonly log: Logger;
    readonly begin?: (settings: ThreadSettings) => Worker;
  }) {
    this.#settings = { redisUrls, level: log.level as LevelWithSilent };
    this.#log = log;
    this.#begin = begin;
    this.#running = this.#run();
  }

  /** As the thread told it some 250 ms ago at most. */
  get stats(): KeeperStats {
    return { ...add(this.#past, this.#told), restarts: this.#restarts };
  }

  /** As `Keeper.close`; a thread that does not end by itself is ended. */
  async close(withinMs: number): Promise<void> {
    this.#closing.abort();
    const worker = this.#worker;
    const order: CloseOrder = { withinMs };
    worker?.postMessage(order, []);
    const timer = setTimeout(() => {
      this.#log.warn('market_thread_stopped');
      void worker?.terminate();
    }, withinMs + endWithinMs);
    await this.#running;
    clearTimeout(timer);
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    for (let pauseMs = firstPauseMs; ;) {
      const begunAtMs = performance.now();
      const error = await this.#live();
      this.#past = add(this.#past, this.#told);
      this.#told = nothing;
      if (signal.aborted) return;
      const livedMs = Math.round(performance.now() - begunAtMs);
      if (livedMs >= steadyMs) pauseMs = firstPauseMs;
      this.#log.error({ err: error, livedMs, pauseMs }, 'market_thread_ended');
      await pause(pauseMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      pauseMs = Math.min(maxPauseMs, pauseMs * 2);
      this.#restarts++;
    }
  }

  /** From the beginning of a thread to its end; what it ended of, where it told. */
  async #live(): Promise<Error | null> {
    const worker = this.#begin(this.#settings);
    this.#worker = worker;
    let failure: Error | null = null;
    worker.on('message', (stats: KeeperStats) => (this.#told = stats));
    worker.on('error', (error: Error) => (failure = error));
    await new Promise<void>((resolve) => worker.once('exit', () => resolve()));
    this.#worker = null;
    return failure;
  }
}

/** Sums of both; what is of a moment from `told`. */
function add(past: typeof nothing, told: typeof nothing): typeof nothing {
  return {
    keeps: told.keeps,
    events: past.events + told.events,
    batches: past.batches + told.batches,
    waiting: told.waiting,
    lostEntries: past.lostEntries + told.lostEntries,
    candleTopics: told.candleTopics,
    candles: past.candles + told.candles,
    failures: past.failures + told.failures,
  };
}

/** A thread of Node.js 20 does not get the loader of the one that begins it, so it registers tsx itself. */
export function beginThread(workerData: ThreadSettings): Worker {
  const tsx = import.meta.resolve('tsx/esm/api');
  const entry = new URL('./keeper-thread.ts', import.meta.url);
  const script = `import(${JSON.stringify(tsx)}).then(({ register }) => (register(), import(${JSON.stringify(entry.href)})));`;
  return new Worker(script, { eval: true, execArgv: [], name: 'market', workerData });
}
