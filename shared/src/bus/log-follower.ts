import type { BusHandlers, EpochPlace, LogPosition } from './bus.ts';
import type { LogMessage } from './message.ts';
import { placeOf, type LogState } from './redis-history.ts';

/**
 * Where one subscriber is in the log, and what a message means there:
 *
 * - `delivered`: it came next (in part, where its beginning was seen already), and its entries were handed on;
 * - `seen`: all of it was delivered before;
 * - `hole`: entries before it are missing;
 * - `epoch`: it is of another epoch than the one that is written now (or, read from the log, of none that the log has).
 *
 * Pure but for the handlers it calls.
 */
export class LogFollower {
  /** The epoch that is written now, and all of the log. */
  epoch = '';
  epochs: LogState['epochs'] = new Map();
  /** Offset of the last entry delivered or reported as lost. */
  last = 0;
  readonly #handlers: BusHandlers;
  #positions = new Map<string, number>();

  constructor(handlers: BusHandlers) {
    this.#handlers = handlers;
  }

  placeOf(epoch: string): EpochPlace | null {
    return placeOf({ epochs: this.epochs, offset: this.last }, epoch);
  }

  get place(): LogPosition | null {
    return this.epoch === '' ? null : { epoch: this.epoch, offset: this.last };
  }

  position(topic: string): number {
    return this.#positions.get(topic) ?? 0;
  }

  /** Goes to a place of the log: the next entry expected is `last` + 1. Takes the map over. */
  moveTo(last: number, positions: Map<string, number>): void {
    this.last = last;
    this.#positions = positions;
  }

  enterEpoch({ epoch, epochs }: LogState): void {
    this.epoch = epoch;
    this.epochs = epochs;
  }

  deliver(message: LogMessage, replayed: boolean): 'delivered' | 'seen' | 'hole' | 'epoch' {
    if (replayed ? !this.epochs.has(message.epoch) : message.epoch !== this.epoch) return 'epoch';
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
