import { readdir, readFile } from 'node:fs/promises';
import { constants, PerformanceObserver, type PerformanceEntry } from 'node:perf_hooks';
import { LatencyHistogram } from './latency-histogram.ts';
import { metricsOf, type Metric, type MetricRow } from './metric.ts';

/** How often the delay of the event loop is measured. */
const askEveryMs = 20;
/** One blocked period counts as at most this many delayed turns. */
const maxLateTurns = 500;

const gcKinds: ReadonlyMap<number, string> = new Map([
  [constants.NODE_PERFORMANCE_GC_MINOR, 'minor'],
  [constants.NODE_PERFORMANCE_GC_MAJOR, 'major'],
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL, 'incremental'],
  [constants.NODE_PERFORMANCE_GC_WEAKCB, 'weakcb'],
]);

/** Metrics that every process reports: CPU, memory, file descriptors, garbage collection, and the delay of the event loop. */
export class ProcessMeter {
  /** Microseconds for which work at a random moment would have waited for its turn. */
  readonly loopDelayUs = new LatencyHistogram();
  readonly #gc = new Map([...gcKinds.values()].map((kind) => [kind, { runs: 0, seconds: 0 }]));
  readonly #observer: PerformanceObserver;
  readonly #timer: NodeJS.Timeout;

  constructor() {
    let dueMs = performance.now() + askEveryMs;
    this.#timer = setInterval(() => {
      const nowMs = performance.now();
      this.#noteLate(nowMs - dueMs);
      dueMs = nowMs + askEveryMs;
    }, askEveryMs);
    this.#timer.unref();
    this.#observer = new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) this.#noteGc(entry);
    });
    this.#observer.observe({ entryTypes: ['gc'] });
  }

  async metrics(): Promise<Metric[]> {
    const { user, system } = process.cpuUsage();
    const { rss, heapUsed, heapTotal, external, arrayBuffers } = process.memoryUsage();
    const collected = (of: 'runs' | 'seconds') => ({ kind: Object.fromEntries([...this.#gc].map(([kind, counts]) => [kind, counts[of]])) });
    return [
      ...metricsOf('process', [
        ['cpu_seconds_total', 'CPU time, user and system.', (user + system) / 1e6],
        ['start_time_seconds', 'Start of the process, Unix time.', performance.timeOrigin / 1000],
        ['resident_memory_bytes', 'Resident memory.', rss],
        ...(await descriptorRows()),
      ]),
      ...metricsOf('nodejs', [
        ['heap_used_bytes', 'Heap of JavaScript in use.', heapUsed],
        ['heap_size_bytes', 'Heap of JavaScript reserved.', heapTotal],
        ['external_memory_bytes', 'Memory outside the heap that objects hold, buffers among it.', external],
        ['buffer_memory_bytes', 'Memory of buffers.', arrayBuffers],
        ['eventloop_delay_seconds', 'How long work waits for its turn of the event loop.', this.loopDelayUs.distribution()],
        ['gc_runs_total', 'Runs of the garbage collector.', collected('runs')],
        ['gc_seconds_total', 'Time spent collecting garbage.', collected('seconds')],
      ]),
    ];
  }

  close(): void {
    clearInterval(this.#timer);
    this.#observer.disconnect();
  }

  /** While the loop was blocked, several turns were due. Each of them is recorded, not only the last one. */
  #noteLate(lateMs: number): void {
    let left = lateMs;
    for (let turns = 0; turns < maxLateTurns && (turns === 0 || left > 0); turns++) {
      this.loopDelayUs.record(Math.round(Math.max(0, left) * 1_000));
      left -= askEveryMs;
    }
  }

  #noteGc({ duration, detail }: PerformanceEntry & { readonly detail?: unknown }): void {
    const kind = gcKinds.get((detail as { readonly kind: number }).kind);
    const counts = kind === undefined ? undefined : this.#gc.get(kind);
    if (counts === undefined) return;
    counts.runs++;
    counts.seconds += duration / 1_000;
  }
}

/** Available on Linux only. */
async function descriptorRows(): Promise<MetricRow[]> {
  try {
    const [open, limits] = await Promise.all([readdir('/proc/self/fd'), readFile('/proc/self/limits', 'utf8')]);
    const most = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
    const rows: MetricRow[] = [['open_fds', 'Open file descriptors.', open.length]];
    return most === undefined
      ? rows
      : [...rows, ['max_fds', 'Maximum number of file descriptors that the process may open.', Number(most)]];
  } catch (error) {
    if (error instanceof Error && 'code' in error && ['ENOENT', 'EACCES', 'EMFILE'].includes(String(error.code))) return [];
    throw error;
  }
}
