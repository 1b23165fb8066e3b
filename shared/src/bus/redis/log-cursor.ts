import type { BusHandlers, EpochPlace, LogPosition } from '../bus.ts';
import type { LogMessage } from '../message.ts';
import { placeOf, type LogState } from './redis-history.ts';

/**
 * The place of one subscriber in the log. It decides what to do with a message:
 *
 * - `delivered`: the message came next, and its entries (without those that were already delivered) were delivered.
 * - `seen`: all of it was delivered before.
 * - `hole`: entries before it are missing.
 * - `epoch`: it belongs to an epoch other than the current one (or, if it was read from the log, to an epoch that the log does not have).
 *
 * Uses no I/O and no clock, except in the handlers that it calls.
 */
export class LogCursor {
  /** The current epoch, and all epochs of the log. */
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

  /** Moves to another place in the log: the next entry must have the offset `last` + 1. The map must not be used afterwards. */
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
