import { Worker, type ResourceLimits } from 'node:worker_threads';
import { pause } from '../abort/pause.ts';
import type { Logger } from '../log/log.ts';
import { programUrl } from './programs.ts';

const firstPauseMs = 100;
const maxPauseMs = 5_000;
/** If a thread that lived this long ends, it counts as a first failure: the next one starts after the shortest pause. */
const steadyMs = 30_000;

export interface RestartingThreadOptions {
  /** Name in the log and in the system's list of threads. */
  readonly name: string;
  /** Starts a thread with its initial data; see `beginThread`. */
  readonly begin: () => Worker;
  readonly onMessage: (message: unknown) => void;
  /** A thread ended, with its reason if it reported one. The next one starts after a pause, unless this is being closed. */
  readonly onEnd: (error: Error | null) => void;
  readonly log: Logger;
}

/** A thread that is started again, after a growing pause, whenever it ends. */
export class RestartingThread {
  readonly #options: RestartingThreadOptions;
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;
  #worker: Worker | null = null;
  #restarts = 0;

  constructor(options: RestartingThreadOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  /** How often it was started again. */
  get restarts(): number {
    return this.#restarts;
  }

  /** Sends to the current thread; lost if there is none. */
  post(message: unknown): void {
    this.#worker?.postMessage(message, []);
  }

  /** Sends the thread `order` to end, and terminates it if it has not ended in time. Never rejects. */
  async close(order: unknown, withinMs: number): Promise<void> {
    this.#closing.abort();
    this.post(order);
    const worker = this.#worker;
    const timer = setTimeout(() => {
      this.#options.log.warn({ thread: this.#options.name }, 'thread_stopped');
      void worker?.terminate();
    }, withinMs);
    await this.#running;
    clearTimeout(timer);
  }

  async #run(): Promise<void> {
    const { name, onEnd, log } = this.#options;
    const { signal } = this.#closing;
    for (let pauseMs = firstPauseMs; ;) {
      const begunAtMs = performance.now();
      const error = await this.#live();
      onEnd(error);
      if (signal.aborted) return;
      const livedMs = Math.round(performance.now() - begunAtMs);
      if (livedMs >= steadyMs) pauseMs = firstPauseMs;
      log.error({ err: error, thread: name, livedMs, pauseMs }, 'thread_ended');
      await pause(pauseMs, signal);
      if (signal.aborted) return;
      pauseMs = Math.min(maxPauseMs, pauseMs * 2);
      this.#restarts++;
    }
  }

  /** Runs a thread from its start to its end. Resolves with the reason of its end, if it reported one. */
  async #live(): Promise<Error | null> {
    const worker = this.#options.begin();
    this.#worker = worker;
    let failure: Error | null = null;
    worker.on('message', this.#options.onMessage);
    worker.on('error', (error: Error) => (failure = error));
    await new Promise<void>((resolve) => worker.once('exit', () => resolve()));
    this.#worker = null;
    return failure;
  }
}

/** Starts the compiled module at `entry` as a thread with a lower priority than the main one. A thread that exceeds its limits ends. */
export function beginThread(entry: URL, name: string, workerData: object, resourceLimits: ResourceLimits = {}): Worker {
  return new Worker(programUrl('thread'), { argv: [entry.href], execArgv: ['--enable-source-maps'], name, workerData, resourceLimits });
}
