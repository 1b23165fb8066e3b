import { readdirSync, readFileSync } from 'node:fs';
import { until } from '../support/gateway.ts';
import type { LogLine, RunningProgram } from '../support/processes.ts';
import type { Bound, Sample } from './growth.ts';

/** What a process of ours reports about itself at SIGUSR2 (`meter.ts`). */
export interface Metered extends LogLine {
  readonly msg: 'metered';
  readonly number: number;
  /** The heap after a collection, and what its objects use outside it. */
  readonly heldBytes: number;
  /** Handles and requests of the event loop. */
  readonly resources: number;
}

/**
 * A cache that fills up to its bound: a metric that counts its entries, and the bytes of one entry. This is not growth, so it is
 * subtracted.
 */
export interface Cache {
  readonly name: string;
  /** Name of the metric in `/metrics`. */
  readonly metric: string;
  readonly bytesEach: number;
  /** The bound of its entries. */
  readonly atMost: number;
}

/** One watched process. */
export interface Watched {
  readonly name: string;
  readonly pid: number;
  /** Its resident memory may never exceed this, in bytes. */
  readonly mostResidentBytes?: number;
  /** The address for requests to collect its garbage, and for its caches. */
  readonly own: { readonly program: RunningProgram; readonly metricsUrl: string; readonly caches: readonly Cache[] } | null;
}

const mebibyte = 1024 * 1024;
/**
 * In the judged time, twenty minutes of thirty. Held: after a collection and without the caches. Resident: as the system reports it; it
 * depends on the highest use and on pages that the allocator retains.
 */
export const bounds = {
  held: { name: 'held MiB', amount: 8 * mebibyte, share: 0.05 },
  resident: { name: 'RSS MiB', amount: 48 * mebibyte, share: 0.15 },
  descriptors: { name: 'descriptors', amount: 12, share: 0.1 },
  resources: { name: 'handles', amount: 12, share: 0.1 },
} as const satisfies Record<string, Bound>;
export type Measure = keyof typeof bounds;
export const measures = Object.keys(bounds) as readonly Measure[];
/** What was subtracted for caches. */
export const cached = 'cached';

const answerWithinMs = 15_000;

/** Samples of some processes over time. */
export class Sampler {
  readonly #watched: readonly Watched[];
  readonly #samples = new Map<string, Sample[]>();

  constructor(watched: readonly Watched[]) {
    this.#watched = watched;
  }

  async sample(): Promise<void> {
    await Promise.all(this.#watched.map((one) => this.#sampleOne(one)));
  }

  samples(name: string, measure: Measure | typeof cached): readonly Sample[] {
    return this.#samples.get(`${name} ${measure}`) ?? [];
  }

  async #sampleOne({ name, pid, own }: Watched): Promise<void> {
    const inCaches = own === null ? 0 : await cachedBytes(own.metricsUrl, own.caches);
    const metered = own === null ? null : await meter(own.program, pid);
    this.#note(name, 'resident', residentBytes(pid) - inCaches);
    this.#note(name, 'descriptors', readdirSync(`/proc/${pid}/fd`).length);
    if (metered === null) return;
    this.#note(name, 'held', metered.heldBytes - inCaches);
    this.#note(name, cached, inCaches);
    this.#note(name, 'resources', metered.resources);
  }

  #note(name: string, measure: Measure | typeof cached, value: number): void {
    const key = `${name} ${measure}`;
    const samples = this.#samples.get(key) ?? [];
    this.#samples.set(key, samples);
    samples.push({ atMs: performance.now(), value });
  }
}

async function meter(program: RunningProgram, pid: number): Promise<Metered> {
  const newest = (): Metered | undefined => program.log.findLast((line): line is Metered => line.msg === 'metered');
  const before = newest()?.number ?? 0;
  process.kill(pid, 'SIGUSR2');
  return until(
    'a process to report what it holds',
    () => {
      const now = newest();
      return now !== undefined && now.number > before ? now : undefined;
    },
    answerWithinMs,
  );
}

async function cachedBytes(url: string, caches: readonly Cache[]): Promise<number> {
  const text = await (await fetch(url, { signal: AbortSignal.timeout(answerWithinMs) })).text();
  return caches.reduce((sum, { metric, bytesEach, atMost }) => sum + Math.min(atMost, valueOf(text, metric)) * bytesEach, 0);
}

function valueOf(text: string, metric: string): number {
  const value = new RegExp(`^${metric} (\\S+)$`, 'm').exec(text)?.[1];
  if (value === undefined) throw new Error(`the metric ${metric} does not exist`);
  return Number(value);
}

function residentBytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) * 1024;
}

/** Processes that a process started, by their command lines. */
export function childrenOf(pid: number): readonly number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
}
