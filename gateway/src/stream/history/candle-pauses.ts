import type { LogEntry } from '@sluice/shared/bus/bus.ts';
import type { History } from './history.ts';

/** After this many pauses, those that have left the history are removed. */
const sweepEvery = 1_000;

/** Where the candles of each topic last paused, as far back as the history reaches. A client that resumes from before a pause has missed candles. */
export class CandlePauses {
  readonly #history: History;
  readonly #lastSeq = new Map<string, number>();
  #added = 0;

  constructor(history: History) {
    this.#history = history;
  }

  /** `seq` of a topic's last pause; 0 if none is known. */
  last(topic: string): number {
    return this.#lastSeq.get(topic) ?? 0;
  }

  add({ topics }: LogEntry): void {
    for (const { topic, seq } of topics) this.#lastSeq.set(topic, seq);
    if (++this.#added % sweepEvery !== 0) return;
    for (const [topic, seq] of this.#lastSeq) {
      const oldest = this.#history.oldest(topic);
      if (oldest === 0 || oldest > seq) this.#lastSeq.delete(topic);
    }
  }

  clear(): void {
    this.#lastSeq.clear();
  }
}
