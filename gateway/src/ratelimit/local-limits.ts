import { takeFrom, type Gcra, type Taken } from './gcra.ts';

/** Keys that one process keeps count of; as many as a store holds. Beyond it the one looked at longest ago is forgotten. */
const maxKeys = 100_000;
/** Keys looked at, in turn, whenever one is added: those that owe nothing any more are dropped. */
const looksPerKey = 2;

/** Limits counted in this process. */
export class LocalLimits {
  /** Key to when all it took will have drained, microseconds. Oldest look first. */
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

  /** Says that a key owes at least so much, because another who counts it said so. */
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
