import { mostGone, placeIn, type ArmedLevel, type ThresholdList } from './armed.ts';

/** More than this many new watches are sorted together. */
const sortFrom = 16;

/** Watches with fixed thresholds. */
export class LevelList implements ThresholdList {
  best = Number.NEGATIVE_INFINITY;
  /** Lowest key first. */
  #sorted: ArmedLevel[] = [];
  /** Not sorted yet, because they may be many. */
  #fresh: ArmedLevel[] = [];
  #gone = 0;

  add(armed: ArmedLevel): void {
    this.#fresh.push(armed);
    if (armed.key > this.best) this.best = armed.key;
  }

  takeFrom(key: number): ArmedLevel[] {
    if (this.best < key) return [];
    this.#sort();
    const sorted = this.#sorted;
    const taken: ArmedLevel[] = [];
    for (let last = sorted.at(-1); last !== undefined && (last.isGone || last.key >= key); last = sorted.at(-1)) {
      sorted.pop();
      if (last.isGone) this.#gone--;
      else taken.push(last);
    }
    this.best = sorted.at(-1)?.key ?? Number.NEGATIVE_INFINITY;
    return taken;
  }

  noteGone(): void {
    this.#gone++;
    if (this.#gone <= mostGone + ((this.#sorted.length + this.#fresh.length) >> 1)) return;
    this.#sorted = this.#sorted.filter(({ isGone }) => !isGone);
    this.#fresh = this.#fresh.filter(({ isGone }) => !isGone);
    this.#gone = 0;
  }

  *all(): Iterable<ArmedLevel> {
    yield* this.#sorted;
    yield* this.#fresh;
  }

  #sort(): void {
    const fresh = this.#fresh;
    if (fresh.length === 0) return;
    this.#fresh = [];
    if (fresh.length > sortFrom) {
      this.#sorted = [...this.#sorted, ...fresh].sort((a, b) => a.key - b.key);
      return;
    }
    for (const armed of fresh) {
      const sorted = this.#sorted;
      sorted.splice(
        placeIn(sorted.length, (at) => sorted[at]!.key > armed.key),
        0,
        armed,
      );
    }
  }
}
