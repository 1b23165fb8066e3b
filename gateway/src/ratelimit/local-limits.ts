import { decisionOf, gcraOf, takeFrom, type Gcra, type Taken } from './gcra.ts';
import { processClock, type CountingLimiter, type LimitClock } from './limiter.ts';

/** Keys that one process counts: as many as a store can have. Above this limit, the least recently used one is dropped. */
const maxKeys = 100_000;
/** Whenever a key is added, this number of keys is checked, in turn. Those without debt are dropped. */
const looksPerKey = 2;

/** Limits counted in this process. */
export class LocalLimits {
  /** Key -> time at which its requests will have drained, microseconds. The least recently used key is first. */
  readonly #drainedAtUs = new Map<string, number>();
  readonly #maxKeys: number;

  constructor(bound = maxKeys) {
    this.#maxKeys = bound;
  }

  get size(): number {
    return this.#drainedAtUs.size;
  }

  take(key: string, gcra: Gcra, cost: number, nowUs: number): Taken {
    const known = this.#drainedAtUs.get(key);
    const taken = takeFrom((known ?? nowUs) - nowUs, gcra, cost);
    if (cost > 0) this.#set(key, nowUs + taken.debtUs, known, nowUs);
    return taken;
  }

  /** Raises the debt of a key to at least this value, which another counter has reported. */
  atLeast(key: string, debtUs: number, nowUs: number): void {
    const known = this.#drainedAtUs.get(key);
    if (nowUs + debtUs > (known ?? nowUs)) this.#set(key, nowUs + debtUs, known, nowUs);
  }

  #set(key: string, drainedAtUs: number, known: number | undefined, nowUs: number): void {
    if (known === undefined) this.#makeRoom(nowUs);
    this.#drainedAtUs.set(key, drainedAtUs);
  }

  #makeRoom(nowUs: number): void {
    let looks = looksPerKey;
    for (const [key, drainedAtUs] of this.#drainedAtUs) {
      if (looks-- === 0) break;
      this.#drainedAtUs.delete(key);
      if (drainedAtUs > nowUs) this.#drainedAtUs.set(key, drainedAtUs);
    }
    if (this.#drainedAtUs.size < this.#maxKeys) return;
    for (const key of this.#drainedAtUs.keys()) {
      this.#drainedAtUs.delete(key);
      return;
    }
  }
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
