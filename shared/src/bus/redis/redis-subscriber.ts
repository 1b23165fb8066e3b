import type { Logger } from '../../runtime/log/log.ts';
import type { BusHandlers, BusSubscriber, EpochPlace, LogPosition, SubscriberOptions } from '../bus.ts';
import { BusError, closedError, RedisFault } from '../bus-error.ts';
import { LogCursor } from './log-cursor.ts';
import { decodeMessage, maxBatchEntries, type LogMessage } from '../message.ts';
import { PendingMessages } from '../pending-messages.ts';
import { pause } from '../../runtime/abort/pause.ts';
import { backoffMs } from './redis-connect.ts';
import type { RedisConnection } from './redis-connection.ts';
import { ownBytes, placeOf, RedisHistory, type LogState } from './redis-history.ts';
import { LiveConnection } from './redis-live.ts';

/** How often the end of the log is compared with what was delivered. Otherwise the loss of the last message would not be noticed. */
const tailCheckMs = 500;

/**
 * Follows the log in Redis by its announcements, and reads the log if one is missing. Redis delivers announcements at most once, so each one
 * is checked to be the next. While the log is read, later announcements wait (`PendingMessages`).
 */
export class RedisSubscriber implements BusSubscriber {
  readonly counters = { malformed: 0, refills: 0, lostEntries: 0, epochChanges: 0 };
  readonly #channel: string;
  readonly #log: Logger;
  readonly #reader: RedisConnection;
  readonly #history: RedisHistory;
  readonly #pending = new PendingMessages();
  readonly #closing = new AbortController();
  readonly #forget: () => void;
  readonly #after: LogPosition | undefined;
  #live: LiveConnection | null = null;
  #handlers: BusHandlers | null = null;
  #cursor: LogCursor;
  #timer: NodeJS.Timeout | null = null;
  /** Announcements arrive. */
  #subscribed = false;
  /** The log is being read; announcements wait. */
  #syncing = true;
  #syncAgain = false;
  #linkUp = false;
  #checking = false;
  /** End of the log at the check before this one. */
  #tail = 0;

  constructor(channel: string, reader: RedisConnection, log: Logger, forget: () => void, { after }: SubscriberOptions = {}) {
    this.#channel = channel;
    this.#reader = reader;
    this.#log = log;
    this.#forget = forget;
    this.#after = after;
    this.#history = new RedisHistory(reader, () => {
      this.counters.malformed += 1;
    });
    this.#cursor = new LogCursor({ onEntry: () => {}, onLost: () => {} });
  }

  get epoch(): string {
    return this.#cursor.epoch;
  }

  placeOf(epoch: string): EpochPlace | null {
    return this.#cursor.placeOf(epoch);
  }

  position(topic: string): number {
    return this.#cursor.position(topic);
  }

  /** Rejects with `UNAVAILABLE`, `INCOMPATIBLE` or `CLOSED`. */
  async start(handlers: BusHandlers): Promise<void> {
    if (this.#closed) throw closedError();
    if (this.#handlers !== null) throw new BusError('INVALID', 'A subscriber can only be started once.');
    this.#handlers = handlers;
    this.#cursor = new LogCursor(handlers);
    const live = await LiveConnection.open(
      this.#reader.deployment,
      this.#channel,
      { onMessage: (bytes) => this.#onLive(bytes), onUp: () => this.#onLiveUp(), onDown: () => this.#onLiveDown() },
      this.#log,
    );
    this.#live = live;
    if (this.#closed) {
      live.close();
      throw closedError();
    }
    await this.#sync(true);
    if (this.#closed) throw closedError();
    this.#timer = setInterval(() => void this.#checkTail(), tailCheckMs);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closing.abort();
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#live?.close();
    this.#reader.close();
    this.#pending.clear();
    this.#forget();
  }

  get #closed(): boolean {
    return this.#closing.signal.aborted;
  }

  #onLive(bytes: Buffer): void {
    if (this.#closed) return;
    const message = decodeMessage(ownBytes(bytes));
    if (message === null) {
      this.counters.malformed += 1;
      return;
    }
    if (this.#syncing) {
      this.#pending.push(message);
      return;
    }
    const outcome = this.#cursor.deliver(message, false);
    if (outcome === 'delivered' || outcome === 'seen') return;
    this.#pending.push(message);
    this.#refill(outcome);
  }

  #onLiveUp(): void {
    this.#subscribed = true;
    if (this.#syncing) this.#syncAgain = true;
    else this.#refill('link');
  }

  #onLiveDown(): void {
    this.#subscribed = false;
    this.#setLink(false);
  }

  #setLink(up: boolean): void {
    if (this.#closed || this.#linkUp === up) return;
    this.#linkUp = up;
    this.#log.info({ up, epoch: this.epoch, offset: this.#cursor.last }, 'bus_link');
    this.#handlers?.onLink?.(up);
  }

  #refill(cause: 'hole' | 'epoch' | 'link' | 'tail'): void {
    this.counters.refills += 1;
    this.#log.debug({ cause, epoch: this.epoch, offset: this.#cursor.last }, 'bus_refill');
    void this.#sync(false);
  }

  /**
   * Reads the log until announcements can be followed (`#join` then ends `#syncing`). It repeats failed reads until it is closed. During the
   * start, it rejects if repeating does not help.
   */
  async #sync(starting: boolean): Promise<void> {
    this.#syncing = true;
    for (let attempt = 1; this.#syncing && !this.#closed; attempt += 1) {
      const error = await this.#catchUp().then(
        () => null,
        (reason: unknown) => reason,
      );
      if (error === null || this.#closed) continue;
      const passes = error instanceof RedisFault && error.kind !== 'refused';
      if (!(error instanceof BusError) || (starting && !passes)) throw error;
      if (attempt === 1) this.#log.warn({ reason: error.message }, 'bus_read_failed');
      this.#setLink(false);
      await pause(backoffMs(attempt), this.#closing.signal);
    }
    if (this.#subscribed && !this.#syncing) this.#setLink(true);
  }

  /** Reads to the end of the log and then delivers what waited, until nothing is missing. Rejects if the connection fails. */
  async #catchUp(): Promise<void> {
    const cursor = this.#cursor;
    do {
      const waiting = this.#pending.length;
      this.#pending.overflowed = false;
      this.#syncAgain = false;
      const state = await this.#history.state(this.#cursor.place);
      if (this.#closed) return;
      if (state.epoch !== cursor.epoch && !(await this.#enterEpoch(state))) continue;
      // These were announced before the state was read, so any other epoch is an earlier one.
      this.#pending.dropOtherEpochs(state.epoch, waiting);
      if (cursor.last < state.offset && !(await this.#readTo(state.offset))) continue;
      this.#join();
    } while (this.#syncing && !this.#closed);
  }

  /** Reads the history up to `offset`. False if the state must be read again. */
  async #readTo(offset: number): Promise<boolean> {
    const cursor = this.#cursor;
    while (cursor.last < offset) {
      const from = cursor.last + 1;
      const messages = await this.#history.page(from);
      if (this.#closed) return false;
      for (const [index, message] of messages.entries()) {
        if (!cursor.epochs.has(message.epoch)) {
          if (await this.#epochChanged()) return false;
          this.counters.malformed += 1;
          continue;
        }
        if (message.first > cursor.last + 1 && !(await this.#lose(message.first - 1, messages.slice(index)))) return false;
        cursor.deliver(message, true);
      }
      if (cursor.last < from && !(await this.#loseRest())) return false;
    }
    return true;
  }

  async #epochChanged(): Promise<boolean> {
    const { epoch } = await this.#history.state(this.#cursor.place);
    return epoch !== this.#cursor.epoch || this.#closed;
  }

  /** Reports everything up to `to` as lost; `held` are the messages that follow. False if the epoch changed in the meantime. */
  async #lose(to: number, held: readonly LogMessage[]): Promise<boolean> {
    const cursor = this.#cursor;
    const from = cursor.last + 1;
    const positions = await this.#history.positionsBefore(to + 1, held, cursor.epoch);
    if (positions === null || this.#closed) return false;
    cursor.moveTo(to, positions);
    this.#reportTrimmed(from, to);
    return true;
  }

  /** The log is longer, but nothing readable is stored after the last delivered entry: everything up to the end is lost. */
  async #loseRest(): Promise<boolean> {
    const cursor = this.#cursor;
    const { epoch, epochs, offset } = await this.#history.state(this.#cursor.place);
    if (epoch !== cursor.epoch || this.#closed) return false;
    const messages = await this.#history.page(cursor.last + 1);
    if (messages.some((message) => epochs.has(message.epoch))) return false;
    return this.#lose(offset, []);
  }

  #reportTrimmed(from: number, to: number): void {
    this.counters.lostEntries += to - from + 1;
    this.#log.warn({ from, to, epoch: this.epoch }, 'bus_entries_lost');
    this.#handlers?.onLost({ from, to, reason: 'trimmed', last: to });
  }

  /** Continues in the current epoch. False if it changed again in the meantime. */
  async #enterEpoch(state: LogState): Promise<boolean> {
    const cursor = this.#cursor;
    if (cursor.epoch === '') return this.#enterFirst(state);
    const place = placeOf(state, cursor.epoch);
    if (place === null) return this.#enterOtherLog(state);
    const { end, isWhole } = place;
    if (end < cursor.last) return this.#goBackTo(end, state);
    const lastAnnounced = this.#finishEpoch(end);
    cursor.enterEpoch(state);
    this.#tail = 0;
    if (lastAnnounced > end || !isWhole) this.#reportEpoch(cursor.last + 1, lastAnnounced > end ? lastAnnounced : cursor.last);
    else {
      this.counters.epochChanges += 1;
      this.#log.warn({ epoch: state.epoch, offset: cursor.last }, 'bus_epoch_continued');
      this.#handlers?.onEpoch?.();
    }
    return true;
  }

  /** The log lacks the last entries that were delivered; other entries have their numbers. */
  async #goBackTo(end: number, state: LogState): Promise<boolean> {
    const cursor = this.#cursor;
    const positions = await this.#history.positionsBefore(end + 1, [], state.epoch);
    if (this.#closed || positions === null) return false;
    const from = cursor.last + 1;
    const lastAnnounced = this.#finishEpoch(Infinity);
    cursor.moveTo(end, positions);
    cursor.enterEpoch(state);
    this.#reportEpoch(from, lastAnnounced);
    return true;
  }

  /** Entries that were trimmed before the start are not reported as lost, because this subscriber never followed them. */
  async #enterFirst(state: LogState): Promise<boolean> {
    const after = this.#after;
    const place = after === undefined ? null : placeOf(state, after.epoch);
    if (after !== undefined && place !== null) {
      const offset = Math.min(after.offset, place.end);
      if (!(await this.#enterAfter(offset, state))) return false;
      if (offset < after.offset) this.#handlers?.onLost({ from: offset + 1, to: after.offset, reason: 'epoch', last: offset });
      return true;
    }
    const oldest = await this.#oldestOf(state);
    if (oldest === null) return false;
    this.#cursor.enterEpoch(state);
    this.#cursor.moveTo(oldest.last, oldest.positions);
    if (after !== undefined) this.#handlers?.onLost({ from: 1, to: 0, reason: 'epoch', last: oldest.last });
    return true;
  }

  /** The log that was followed is gone. */
  async #enterOtherLog(state: LogState): Promise<boolean> {
    const cursor = this.#cursor;
    const oldest = await this.#oldestOf(state);
    if (oldest === null) return false;
    const lastAnnounced = this.#finishEpoch(Infinity);
    const from = cursor.last + 1;
    cursor.moveTo(oldest.last, oldest.positions);
    cursor.enterEpoch(state);
    this.#reportEpoch(from, lastAnnounced);
    if (oldest.last > 0) this.#reportTrimmed(1, oldest.last);
    return true;
  }

  #reportEpoch(from: number, to: number): void {
    const { epoch, last } = this.#cursor;
    this.#tail = 0;
    this.counters.epochChanges += 1;
    this.#log.warn({ epoch, offset: last }, 'bus_epoch_changed');
    this.#handlers?.onLost({ from, to: Math.max(to, from - 1), reason: 'epoch', last });
  }

  /** The place before the oldest entry of the log; null if the epoch changed in the meantime. */
  async #oldestOf({ epoch, epochs, offset }: LogState): Promise<{ readonly last: number; readonly positions: Map<string, number> } | null> {
    const stored = offset === 0 ? [] : (await this.#history.page(0)).filter((message) => epochs.has(message.epoch));
    const last = stored[0] === undefined ? offset : stored[0].first - 1;
    const positions = last === 0 ? new Map<string, number>() : await this.#history.positionsBefore(last + 1, stored, epoch);
    return positions === null || this.#closed ? null : { last, positions };
  }

  /** Moves to the message with the entry after an offset, or to the oldest one. The positions of topics are unknown there. */
  async #enterAfter(offset: number, state: LogState): Promise<boolean> {
    // A message is found by its first entry; the requested entry may be in the middle of it.
    const page = await this.#history.page(Math.max(0, offset + 2 - maxBatchEntries));
    if (this.#closed) return false;
    const first = page.find(({ epoch }) => state.epochs.has(epoch))?.first ?? state.offset + 1;
    this.#cursor.enterEpoch(state);
    this.#cursor.moveTo(first - 1, new Map());
    return true;
  }

  /** Delivers what was announced in the epoch that ended, up to offset `end` or the first gap. Returns the last announced offset. */
  #finishEpoch(end: number): number {
    const cursor = this.#cursor;
    let lastAnnounced = cursor.last;
    this.#pending.drain((message) => {
      if (message.epoch !== cursor.epoch) return false;
      if (message.last <= end) cursor.deliver(message, false);
      lastAnnounced = Math.max(lastAnnounced, message.last);
      return true;
    });
    return lastAnnounced;
  }

  /** Delivers what waited. If nothing is missing then, announcements are followed from now on. */
  #join(): void {
    let whole = !this.#pending.overflowed && !this.#syncAgain;
    this.#pending.drain((message) => {
      if (!whole) return false;
      const outcome = this.#cursor.deliver(message, false);
      whole = outcome === 'delivered' || outcome === 'seen';
      return whole;
    });
    if (whole) this.#syncing = false;
  }

  /** Compares the end of the log with what was delivered. It must differ twice, because the last announcement may still be on its way. */
  async #checkTail(): Promise<void> {
    if (this.#syncing || this.#checking || this.#closed) return;
    this.#checking = true;
    void this.#live?.ping();
    const cursor = this.#cursor;
    const { epoch } = cursor;
    const outcome = await this.#history.state(cursor.place).then(
      (state) => ({ state, error: null }),
      (error: unknown) => ({ state: null, error }),
    );
    this.#checking = false;
    if (this.#syncing || this.#closed || cursor.epoch !== epoch) return;
    if (outcome.state === null) {
      if (!(outcome.error instanceof BusError)) throw outcome.error;
      this.#refill('link');
      return;
    }
    const { epoch: present, offset } = outcome.state;
    if (present !== epoch) this.#refill('epoch');
    else if (cursor.last < this.#tail) {
      this.#live?.renew();
      this.#refill('tail');
    }
    this.#tail = present === epoch ? offset : 0;
  }
}
