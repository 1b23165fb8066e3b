import type { BusHandlers, Sighting } from './bus.ts';
import type { LogMessage } from './message.ts';
import type { LogState } from './redis-history.ts';

/**
 * Where one subscriber is in the log, and what a message means there:
 *
 * - `delivered`: it came next (in part, where its beginning was seen already), and its entries were handed on;
 * - `seen`: all of it was delivered before;
 * - `hole`: entries before it are missing;
 * - `term`: it is of another term than the one that is written now (or, read from the log, of none of this epoch).
 *
 * Pure but for the handlers it calls.
 */
export class LogFollower {
  epoch = '';
  /** The term that is written now, and all of the epoch. */
  term = '';
  terms: ReadonlySet<string> = new Set();
  /** Offset of the last entry delivered or told as lost. */
  last = 0;
  readonly #handlers: BusHandlers;
  #positions = new Map<string, number>();

  constructor(handlers: BusHandlers) {
    this.#handlers = handlers;
  }

  position(topic: string): number {
    return this.#positions.get(topic) ?? 0;
  }

  get sighting(): Sighting {
    return { epoch: this.epoch, term: this.term, offset: this.last };
  }

  /** Goes to a place of the log: the next entry expected is `last` + 1. Takes the map over. */
  moveTo(last: number, positions: Map<string, number>): void {
    this.last = last;
    this.#positions = positions;
  }

  /** What was delivered stands in this term of the log, or in one before it. */
  enterTerm({ epoch, term, terms }: LogState): void {
    const isAnother = term !== this.term;
    this.epoch = epoch;
    this.term = term;
    this.terms = terms;
    if (isAnother) this.#handlers.onTerm?.({ epoch, term });
  }

  deliver(message: LogMessage, replayed: boolean): 'delivered' | 'seen' | 'hole' | 'term' {
    if (replayed ? !this.terms.has(message.term) : message.term !== this.term) return 'term';
    if (message.last <= this.last) return 'seen';
    if (message.first > this.last + 1) return 'hole';
    for (const entry of message.entries) {
      if (entry.offset <= this.last) continue;
      for (const { topic, seq } of entry.topics) this.#positions.set(topic, seq);
      this.last = entry.offset;
      this.#handlers.onEntry(entry, replayed);
    }
    return 'delivered';
  }
}
