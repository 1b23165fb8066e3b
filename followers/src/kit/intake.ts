import type { LogEntry, LogPosition } from '@sluice/shared/bus/bus.ts';
import type { Section } from './follower.ts';

/** Events, and their bytes, that wait to be applied. Further ones stay in the log, and are read again later. */
const intakeLimits = { events: 20_000, bytes: 64 * 1024 * 1024 } as const;

interface Waiting<Event> {
  readonly event: Event;
  readonly bytes: number;
  readonly at: LogPosition;
  readonly afterLoss: Loss;
}

type Loss = Section<unknown>['afterLoss'];

/** Collects entries of the log from a position on, each once even if it is delivered again, until it is full. */
export class Intake<Event> {
  /** It dropped entries for lack of space. The log must be read again after the entries that it has. */
  full = false;
  /** Nothing was read from the log yet. */
  isUntouched = true;
  /** Entries that the log no longer had. */
  lost = 0;
  readonly #read: (entry: LogEntry) => Event | null;
  #waiting: Waiting<Event>[] = [];
  #bytes = 0;
  /** Since the last event that waits. */
  #loss: Loss = null;
  /** The last entry; null before the first if there was no position. */
  #epoch: string | null;
  #offset: number;

  constructor(from: LogPosition | null, read: (entry: LogEntry) => Event | null) {
    this.#epoch = from?.epoch ?? null;
    this.#offset = from?.offset ?? 0;
    this.#read = read;
  }

  get length(): number {
    return this.#waiting.length;
  }

  /** The position of the log after everything that waits. */
  get position(): LogPosition | null {
    return this.#epoch === null ? null : { epoch: this.#epoch, offset: this.#offset };
  }

  add(epoch: string, entry: LogEntry): void {
    this.isUntouched = false;
    if (this.full) return;
    if (this.#epoch === null) this.#offset = entry.offset - 1;
    this.#epoch = epoch;
    if (entry.offset <= this.#offset) return;
    const event = this.#read(entry);
    if (event !== null && (this.#waiting.length >= intakeLimits.events || this.#bytes >= intakeLimits.bytes)) {
      this.full = true;
      return;
    }
    const lost = entry.offset - this.#offset - 1;
    if (lost > 0) {
      this.lost += lost;
      this.#loss ??= 'trimmed';
    }
    this.#offset = entry.offset;
    if (event === null) return;
    this.#bytes += entry.record.length;
    this.#waiting.push({ event, bytes: entry.record.length, at: { epoch, offset: entry.offset }, afterLoss: this.#loss });
    this.#loss = null;
  }

  /** Continues in another epoch. */
  enterEpoch(epoch: string): void {
    if (this.full || this.#epoch === null) return;
    this.#epoch = epoch;
  }

  /** Continues in another epoch, after offset `last`. The log does not have what came before. */
  loseEpoch(epoch: string, last: number): void {
    this.enterEpoch(epoch);
    if (this.full || this.#epoch === null) return;
    this.#offset = last;
    this.#loss = 'epoch';
  }

  /** The next events, at most `limit`. Null if the position is still `from`. */
  take(limit: number, from: LogPosition | null): Section<Event> | null {
    const waiting = this.#waiting;
    // A loss is at the beginning of its section.
    const next = waiting.slice(0, limit);
    const loss = next.findIndex(({ afterLoss }, at) => at > 0 && afterLoss !== null);
    const taken = loss === -1 ? next : next.slice(0, loss);
    const to = taken.length < waiting.length ? taken.at(-1)!.at : this.position;
    if (to === null || (from !== null && to.epoch === from.epoch && to.offset === from.offset && this.#loss === null)) return null;
    const afterLoss = taken.length > 0 ? taken[0]!.afterLoss : this.#loss;
    if (taken.length === 0) this.#loss = null;
    this.#waiting = waiting.slice(taken.length);
    for (const { bytes } of taken) this.#bytes -= bytes;
    return { events: taken.map(({ event }) => event), from, to, afterLoss, left: this.#waiting.length };
  }
}
