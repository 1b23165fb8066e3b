import { LogEntry, type LostEntries } from '@sluice/shared/bus/bus.ts';
import { nowUs } from '@sluice/shared/runtime/clock/now-us.ts';
import { isPause } from '@sluice/shared/market/pause.ts';
import { readVerdict, type SlotVerdict } from '@sluice/shared/market/verdicts/slot-verdict.ts';
import { isPoolNews } from '@sluice/shared/market/pools/pool-news.ts';
import type { StreamParts } from '../connections/stream-parts.ts';
import { LazyEvent } from '../history/lazy-event.ts';
import { isPrivate, type PrivateEvents } from './private-events.ts';

/** Retained in place of a record that cannot be read. */
const unreadable = Buffer.from('{}');
/** At most one sample of the latency in this time. */
const sampleEveryMs = 1;

/** Gets every event of the log, in log order. */
export interface LogListener {
  /** `replayed`: the entry comes from the history of the log, and was published before this gateway started to follow it. */
  onEntry(entry: LogEntry, lazy: LazyEvent, replayed: boolean): void;
  /** Entries up to offset `last` were lost, or differ from those delivered before. */
  onLost(last: number): void;
}

export interface DeliveryParts extends StreamParts {
  /** Opens the events that belong to one key. */
  readonly events: Pick<PrivateEvents, 'open'>;
}

/** Delivers the entries of the log, in log order: to the history, to the clients, and to the listeners inside this gateway. */
export class Delivery {
  readonly #parts: DeliveryParts;
  readonly #listeners: LogListener[] = [];
  linkUp = false;
  #caughtUp = false;
  #sampledAtMs = 0;
  /** Only the first forged event is logged. */
  #forgeryLogged = false;

  constructor(parts: DeliveryParts) {
    this.#parts = parts;
  }

  /** The link to the bus is up, and its history has been read. */
  get ready(): boolean {
    return this.#caughtUp && this.linkUp;
  }

  /** Adds a listener. Call it before `start`. */
  listen(listener: LogListener): void {
    this.#listeners.push(listener);
  }

  /** Reads the history of the bus, then follows it. Resolves once it has caught up. */
  async start(): Promise<void> {
    const { bus, log } = this.#parts;
    this.linkUp = true;
    await bus.start({
      onEntry: (entry, replayed) => this.#onEntry(entry, replayed),
      onLost: (loss) => this.#onLost(loss),
      onEpoch: () => this.#onEpoch(),
      onLink: (up) => {
        this.linkUp = up;
        log[up ? 'info' : 'warn']({}, up ? 'bus_link_up' : 'bus_link_down');
      },
    });
    this.#caughtUp = true;
  }

  #onEntry(logged: LogEntry, replayed: boolean): void {
    const { slowConsumers, stats, events, catchUps } = this.#parts;
    slowConsumers.cutDropped();
    stats.events++;
    const entry = isPrivate(logged) ? events.open(logged) : logged;
    if (entry === null) {
      this.#onForged(logged);
      return;
    }
    try {
      this.#deliver(entry, replayed);
    } catch (error) {
      this.#onUnreadable(entry, error);
    }
    if (catchUps.size > 0) catchUps.wake();
    if (!replayed) this.#sampleLatency(entry);
    slowConsumers.checkAfterPublishing();
  }

  /** Samples the time from the event's `ts.published` until it was passed to the transport. */
  #sampleLatency(entry: LogEntry): void {
    const nowMs = performance.now();
    if (nowMs - this.#sampledAtMs < sampleEveryMs) return;
    this.#sampledAtMs = nowMs;
    const event = entry.eventOrNull;
    if (event !== null && 'ts' in event) this.#parts.stats.latencyUs.record(nowUs() - event.ts.published);
  }

  #deliver(entry: LogEntry, replayed: boolean): void {
    const isReadable = entry.isJson || entry.eventOrNull !== null;
    this.#parts.history.append(isReadable ? entry : new LogEntry(entry.offset, entry.topics, unreadable));
    const verdict = readVerdict(entry);
    if (verdict !== null) this.#onVerdict(verdict, entry.offset);
    else if (isPause(entry)) {
      this.#parts.history.addPause(entry);
      this.#parts.fanout.skip(entry, 'unwatched');
    } else if (!isPoolNews(entry)) this.#onEvent(entry, replayed);
  }

  #onEvent(entry: LogEntry, replayed: boolean): void {
    const lazy = new LazyEvent(entry);
    this.#parts.fanout.onEntry(entry, lazy);
    this.#parts.dialect.onEntry(entry, lazy);
    for (const listener of this.#listeners) listener.onEntry(entry, lazy, replayed);
  }

  #onVerdict(verdict: SlotVerdict, offset: number): void {
    const { fanout, history, catchUps } = this.#parts;
    fanout.onVerdict(verdict);
    if (verdict.lost === undefined) return;
    history.addLoss(offset, verdict.lost);
    fanout.onSlotLoss(verdict.lost);
    catchUps.onSlotLoss(verdict.lost);
  }

  /** No gateway sealed this event, so it is not delivered. The followers of its topic get a gap. */
  #onForged(entry: LogEntry): void {
    if (!this.#forgeryLogged) this.#parts.log.error({ offset: entry.offset }, 'private_event_refused');
    this.#forgeryLogged = true;
    this.#parts.fanout.skip(entry, 'lost');
  }

  /** Ingest does not write such an entry, so another writer to Redis did. One entry must not end the gateway. */
  #onUnreadable(entry: LogEntry, error: unknown): void {
    if (this.#parts.stats.unreadableEntries++ === 0) this.#parts.log.error({ err: error, offset: entry.offset }, 'bus_entry_unreadable');
    this.#parts.fanout.skip(entry, 'lost');
    for (const listener of this.#listeners) listener.onLost(entry.offset);
  }

  #onLost({ from, to, reason, last }: LostEntries): void {
    const { slowConsumers, stats, history, fanout, catchUps, log } = this.#parts;
    slowConsumers.cutDropped();
    stats.lostEntries += Math.max(0, to - from + 1);
    log.warn({ from, to, reason }, 'bus_entries_lost');
    if (reason === 'epoch') history.clear();
    history.markLost(last);
    fanout.onLost(reason);
    for (const listener of this.#listeners) listener.onLost(last);
    if (reason === 'epoch') catchUps.onReset();
    catchUps.wake();
  }

  /** A new epoch has begun in which nothing is missing, so the history stays valid. */
  #onEpoch(): void {
    this.#parts.slowConsumers.cutDropped();
    this.#parts.catchUps.onEpoch();
    this.#parts.fanout.onEpoch();
  }
}
