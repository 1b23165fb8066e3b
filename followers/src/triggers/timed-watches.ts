import { mostGone } from './armed.ts';
import { DueHeap } from './due-heap.ts';
import type { Watch } from './watch.ts';

/** A watch for a time. */
export interface TimedWatch {
  readonly kind: 'timed';
  readonly watch: Watch;
  /** Unix ms. */
  readonly dueMs: number;
  isGone: boolean;
}

/** Watches for times, by wall time. */
export class TimedWatches {
  readonly #heap = new DueHeap<TimedWatch>();
  #gone = 0;

  get nextMs(): number {
    return this.#heap.nextMs;
  }

  add(watch: Watch, dueMs: number): TimedWatch {
    const timed: TimedWatch = { kind: 'timed', watch, dueMs, isGone: false };
    this.#heap.push(timed, dueMs);
    return timed;
  }

  remove(timed: TimedWatch): void {
    timed.isGone = true;
    if (++this.#gone <= mostGone + (this.#heap.length >> 1)) return;
    this.#heap.retain(({ isGone }) => !isGone);
    this.#gone = 0;
  }

  due(wallMs: number, meet: (timed: TimedWatch) => void): void {
    for (let timed = this.#heap.pop(wallMs); timed !== undefined; timed = this.#heap.pop(wallMs)) {
      if (timed.isGone) this.#gone--;
      else meet(timed);
    }
  }
}
