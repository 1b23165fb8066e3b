import type { LogEntry } from '@sluice/shared/bus/bus.ts';
import type { History } from './history.ts';

/** Pauses between two looks at which of them have left the history. */
const sweepEvery = 1_000;

/** Where each topic last paused, for as long as that stands in the history. */
export class Pauses {
  readonly #history: History;
  readonly #last = new Map<string, number>();
  #added = 0;

  constructor(history: History) {
    this.#history = history;
  }

  /** `seq` of the last pause of a topic; 0 where none is known. */
  last(topic: string): number {
    return this.#last.get(topic) ?? 0;
  }

  add({ topics }: LogEntry): void {
    for (const { topic, seq } of topics) this.#last.set(topic, seq);
    if (++this.#added % sweepEvery !== 0) return;
    for (const [topic, seq] of this.#last) {
      const oldest = this.#history.oldest(topic);
      if (oldest === 0 || oldest > seq) this.#last.delete(topic);
    }
  }

  clear(): void {
    this.#last.clear();
  }
}
