import { mostGone, placeIn, type ArmedLevel, type ThresholdList } from './armed.ts';

/** More than this many new watches are sorted together. */
const sortFrom = 16;

/** Watches with fixed thresholds. */
export class LevelList implements ThresholdList {
  best = Number.NEGATIVE_INFINITY;
  /** Lowest key first, up to `sorted`. Those after it are new, and not sorted yet, because they may be many. */
  #watches: ArmedLevel[] = [];
  #sorted = 0;
  #gone = 0;

  add(armed: ArmedLevel): void {
    this.#watches.push(armed);
    if (armed.key > this.best) this.best = armed.key;
  }

  takeFrom(key: number): ArmedLevel[] {
    if (this.best < key) return [];
    this.#sort();
    const watches = this.#watches;
    const taken: ArmedLevel[] = [];
    for (let last = watches.at(-1); last !== undefined && (last.isGone || last.key >= key); last = watches.at(-1)) {
      watches.pop();
      if (last.isGone) this.#gone--;
      else taken.push(last);
    }
    this.#sorted = watches.length;
    this.best = watches.at(-1)?.key ?? Number.NEGATIVE_INFINITY;
    return taken;
  }

  noteGone(): void {
    this.#gone++;
    if (this.#gone <= mostGone + (this.#watches.length >> 1)) return;
    this.#sort();
    this.#watches = this.#watches.filter(({ isGone }) => !isGone);
    this.#sorted = this.#watches.length;
    this.#gone = 0;
  }

  all(): Iterable<ArmedLevel> {
    return this.#watches;
  }

  #sort(): void {
    const watches = this.#watches;
    if (watches.length - this.#sorted > sortFrom) watches.sort((a, b) => a.key - b.key);
    else {
      for (const armed of watches.splice(this.#sorted)) {
        watches.splice(
          placeIn(watches.length, (at) => watches[at]!.key > armed.key),
          0,
          armed,
        );
      }
    }
    this.#sorted = watches.length;
  }
}
