import { BusError } from '@sluice/shared/bus/bus-error.ts';
import { checkEntry } from '@sluice/shared/bus/entry-checks.ts';
import type { Bus, BusEntry, BusPublisher, Lease } from '@sluice/shared/bus/bus.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { poolNewsEntry } from '@sluice/shared/market/pools/pool-news.ts';
import { verdictEntry } from '@sluice/shared/market/verdicts/slot-verdict.ts';
import type { PriceEvent, TradeEvent } from '@sluice/shared/wire/events/events.ts';
import { LatencyHistogram } from '@sluice/shared/operations/latency-histogram.ts';
import { whenAborted } from '@sluice/shared/runtime/abort/when-aborted.ts';
import { encodeEvent, encodeTrade } from '@sluice/shared/codec/encode-event.ts';
import { nowUs } from '@sluice/shared/runtime/clock/now-us.ts';
import { EventQueue } from './event-queue.ts';
import { isEvent, topicsOf, type Outgoing, type LogItem } from './outgoing.ts';
import { noPublishedSlotsCounts, readPublishedSlots, type PublishedSlots } from './published-slots.ts';

/** The lease of the one ingest process that publishes. */
const leaseName = 'ingest';
/**
 * How long an event waits while another process leads, and how long that process must have led before any is dropped. A leader has the
 * lease before it publishes. If Redis stalls in between, it takes over seconds later, or loses the lease after publishing a part.
 */
const standbyRetainsUs = 12_000_000;
/** Entries of the log that are read first at a takeover, in addition to two for each waiting event. */
const takeoverEntries = 2_000;
/** Entries in one batch. */
const maxBatch = 512;
const firstPauseMs = 50;
const maxPauseMs = 2_000;
/** A bus that has not accepted a batch for this long is reported as not answering. */
const maxStallMs = 3_000;

/** One term of the lease. */
interface Term {
  readonly bus: BusPublisher;
  readonly fence: number;
  readonly contents: PublishedSlots;
  readonly startedAtMs: number;
}

/**
 * One of all ingest processes leads and publishes. The others see the same events and retain those of the last seconds. A new leader reads
 * from the log which events it has (`PublishedSlots`), and continues with the rest of its queue: each event once, in the order in which this
 * process saw them, except that new tokens, opened pools and migrations overtake the events of other tokens. The leader publishes all events of one read of a socket as one batch, one batch at a time. A batch that the bus did not
 * accept is sent again until it is accepted. Meanwhile, and while no leader is known, events queue up to the bounds of the queue. One entry
 * in the log names the slots of events that are dropped or that the bus never accepts. Only a log that lost its memory cannot show what was
 * published: a new leader then repeats its queue.
 */
export class Publisher {
  readonly counts = {
    published: 0,
    batches: 0,
    /** Dropped because the bus accepted no events for too long. */
    dropped: 0,
    /** Dropped because the bus accepts no such entry. */
    refused: 0,
    failures: 0,
    ...noPublishedSlotsCounts(),
  };
  /** Microseconds from receiving an event until it is on the bus, for the oldest event of each batch. */
  readonly delayUs = new LatencyHistogram();
  readonly #bus: Pick<Bus, 'publisher' | 'lease' | 'readTail'>;
  readonly #log: Logger;
  readonly #queue = new EventQueue();
  readonly #running: Promise<void>;
  #lease: Lease | null = null;
  #term: Term | null = null;
  /** The period in which the bus refused to store: it is over, even if the lease does not know yet. */
  #fenced = 0;
  /** Fence of the lease under which the last takeover failed. */
  #failedFence: number | null = null;
  /** When the first event came since another process leads; null if none leads, or none came. */
  #otherSinceUs: number | null = null;
  /** When the current batch was sent; null if there is none. */
  #handedAtMs: number | null = null;
  #completeUpTo: () => Promise<number | null> = async () => null;
  #draining = false;
  #closed = false;
  #wake: (() => void) | null = null;
  #endPause: (() => void) | null = null;
  /** Number of events pushed, and callers that wait until a number of them is in the log. */
  #pushed = 0;
  #waiting: { readonly upTo: number; readonly settle: (done: boolean) => void }[] = [];

  constructor(bus: Pick<Bus, 'publisher' | 'lease' | 'readTail'>, log: Logger) {
    this.#bus = bus;
    this.#log = log;
    this.#running = this.#run();
  }

  get buffered(): number {
    return this.#queue.length;
  }

  get leads(): boolean {
    return this.#term !== null;
  }

  /** Fence of the current period; null while this process does not lead. */
  get fence(): number | null {
    return this.#term?.fence ?? null;
  }

  /** Slots whose verdict readers of the log wait for; none while this process does not lead. */
  get undecided(): readonly number[] {
    return this.#term?.contents.undecided ?? [];
  }

  /** What the log has; null while this process does not lead. */
  get contents(): PublishedSlots | null {
    return this.#term?.contents ?? null;
  }

  /** Sets a status on the bus under this fence; false if the period is over. */
  async setStatus(fence: number, name: string, value: Readonly<Record<string, unknown>>, ttlMs: number): Promise<boolean> {
    const term = this.#term;
    if (term?.fence !== fence) return false;
    try {
      await term.bus.setStatus(name, value, ttlMs);
      return true;
    } catch (error) {
      if (error instanceof BusError && (error.code === 'FENCED' || error.code === 'CLOSED')) return false;
      throw error;
    }
  }

  /** True once all earlier events are in the log. False if this process stops leading before, or the signal aborts. */
  flushed(signal: AbortSignal): Promise<boolean> {
    if (this.#term === null || signal.aborted) return Promise.resolve(false);
    return new Promise((resolve) => {
      const forget = whenAborted(signal, () => resolve(false));
      const settle = (done: boolean): void => {
        forget();
        resolve(done);
      };
      this.#waiting.push({ upTo: this.#pushed, settle });
      this.#wake?.();
    });
  }

  /** The bus reports the leader, and accepts batches. */
  get busAnswers(): boolean {
    const stalled = this.#handedAtMs !== null && performance.now() - this.#handedAtMs > maxStallMs;
    return !stalled && this.#lease?.holder !== null;
  }

  push(event: Outgoing): void {
    if (this.#closed) return;
    this.#pushed++;
    // A caller that waits until earlier events are in the log counts those that are left.
    this.counts.dropped += this.#queue.push(event, this.#term !== null && this.#waiting.length === 0);
    if (this.#lease?.holder === 'other') this.#dropPublished(event.ts.received);
    this.#wake?.();
  }

  /**
   * Drops old events, which the leader has published. Events that were queued before it led are not dropped: the leader must first publish its
   * own queue, or no process leads at all, for example if a claim was granted whose answer never arrived.
   */
  #dropPublished(newestUs: number): void {
    this.#otherSinceUs ??= newestUs;
    if (newestUs - this.#otherSinceUs >= standbyRetainsUs) this.#queue.dropReceivedBefore(newestUs - standbyRetainsUs);
  }

  /**
   * Requests to lead from now on. `completeUpTo`: the slot up to which the previous leader published and decided everything; null if it is
   * unknown.
   */
  requestLead(completeUpTo = this.#completeUpTo): void {
    this.#completeUpTo = completeUpTo;
    if (this.#lease !== null || this.#draining) return;
    const lease = this.#bus.lease(leaseName);
    lease.onChange(() => {
      this.#otherSinceUs = null;
      if (lease.holder === 'other') this.#log.info('ingest_standby');
      this.#stir();
    });
    if (lease.holder === 'other') this.#log.info('ingest_standby');
    this.#lease = lease;
    this.#stir();
  }

  /** Leaves the lead to others until `requestLead` is called again. */
  async withdraw(): Promise<void> {
    const lease = this.#lease;
    this.#lease = null;
    this.#otherSinceUs = null;
    await lease?.close();
  }

  /** If it leads, publishes the rest for at most `withinMs`. What then remains is treated as dropped. */
  async close(withinMs: number): Promise<void> {
    this.#draining = true;
    this.#stir();
    await within(this.#running, withinMs);
    this.#closed = true;
    this.#stir();
    if (this.buffered > 0 && this.#lease?.holder !== 'other') {
      this.counts.dropped += this.buffered;
      this.#log.error({ events: this.buffered }, 'events_left_at_close');
    }
    await this.#term?.bus.close();
    await this.withdraw();
  }

  async #run(): Promise<void> {
    while (!this.#closed) {
      const lease = this.#lease;
      if (lease !== null && lease.held && lease.fence !== this.#fenced) {
        const term = await this.#takeOver(lease);
        if (term !== null) await this.#serve(term);
      } else if (this.#draining && lease?.holder !== null) return;
      else await this.#changed();
      if (this.#draining && this.buffered === 0) return;
    }
  }

  /** Null if the bus did not answer, or the lease was lost meanwhile. */
  async #takeOver(lease: Lease): Promise<Term | null> {
    const { fence } = lease;
    const startedAtMs = performance.now();
    try {
      // The order matters: entries that are stored after the log was read come from this publisher, or from no holder of the lease.
      const bus = await this.#bus.publisher({ lease });
      const contents = await this.#readLog().catch(async (error: unknown) => {
        await bus.close();
        throw error;
      });
      return { bus, fence, contents, startedAtMs };
    } catch (error) {
      if (error instanceof BusError && error.code === 'FENCED') this.#endHolding(fence);
      else {
        // It is tried again every few milliseconds, so it is logged once for each lease.
        if (this.#failedFence !== fence) this.#log.error({ err: error }, 'takeover_failed');
        this.#failedFence = fence;
        await this.#pause(firstPauseMs);
      }
      return null;
    }
  }

  /** Reads what may be incomplete. To read more would delay a takeover. */
  async #readLog(): Promise<PublishedSlots> {
    return readPublishedSlots(this.#bus, 2 * this.buffered + takeoverEntries, await this.#completeUpTo(), this.counts);
  }

  /** Publishes as long as it holds the lease. */
  async #serve(term: Term): Promise<void> {
    this.#term = term;
    const tookMs = Math.round(performance.now() - term.startedAtMs);
    this.#log.info({ fence: term.fence, buffered: this.buffered, undecided: term.contents.open, tookMs }, 'ingest_leads');
    while (!this.#closed && this.#isServing(term)) {
      this.#notifyFlushed();
      if (this.buffered > 0) {
        this.#handedAtMs = performance.now();
        await this.#deliver(term, term.contents.admit(this.#queue.take(maxBatch)));
        this.#handedAtMs = null;
      } else if (this.#draining) break;
      else await this.#changed();
    }
    this.#term = null;
    for (const { settle } of this.#waiting.splice(0)) settle(false);
    await term.bus.close();
    if (!this.#draining) this.#log.warn({ fence: term.fence }, 'ingest_lost_lead');
  }

  /** The bus stores nothing more under this fence, even if the lease lasts. */
  #endHolding(fence: number): void {
    this.#fenced = fence;
    this.#lease?.relinquish(fence);
  }

  #isServing({ fence }: Term): boolean {
    const lease = this.#lease;
    return lease !== null && lease.held && lease.fence === fence && this.#fenced !== fence;
  }

  /** To be called while no batch is being sent. */
  #notifyFlushed(): void {
    if (this.#waiting.length === 0) return;
    const left = this.#pushed - this.buffered;
    const done = this.#waiting.filter(({ upTo }) => upTo <= left);
    this.#waiting = this.#waiting.filter(({ upTo }) => upTo > left);
    for (const { settle } of done) settle(true);
  }

  /** Sends events to the bus until it accepts them. They go back to the queue if this process stops leading. */
  async #deliver(term: Term, events: readonly LogItem[]): Promise<void> {
    let batch = encode(events);
    let pauseMs = firstPauseMs;
    while (batch.length > 0) {
      try {
        await term.bus.publish(batch.map(({ entry }) => entry));
        this.counts.published += eventsOf(batch).length;
        this.counts.batches++;
        if (events[0] !== undefined) this.delayUs.record(nowUs() - events[0].ts.received);
        return;
      } catch (error) {
        if (error instanceof BusError) {
          this.counts.published += eventsOf(batch.slice(0, error.stored)).length;
          batch = batch.slice(error.stored);
        }
        if (error instanceof BusError && error.code === 'FENCED') this.#endHolding(term.fence);
        else this.counts.failures++;
        const accepted =
          error instanceof BusError && error.code === 'INVALID' ? batch.filter(({ entry }) => this.#isAccepted(entry)) : batch;
        if (accepted.length < batch.length) {
          // The bus refused the batch because of some entries. The others are sent at once.
          this.#refuse(eventsOf(batch.filter((one) => !accepted.includes(one))), error, term);
          batch = accepted;
          continue;
        }
        if (this.#closed) {
          this.counts.dropped += eventsOf(batch).length;
          return;
        }
        if (!this.#isServing(term)) {
          // The next leader finds out by itself what to retract.
          this.counts.dropped += this.#queue.putBack(eventsOf(batch).flatMap((event) => (event.type === 'retract' ? [] : [event])));
          return;
        }
        if (pauseMs === firstPauseMs) this.#log.error({ err: error, buffered: this.buffered + batch.length }, 'bus_publish_failed');
        await this.#pause(pauseMs);
        pauseMs = Math.min(maxPauseMs, pauseMs * 2);
      }
    }
  }

  #refuse(events: readonly LogItem[], error: unknown, { contents }: Term): void {
    this.counts.refused += events.length;
    this.#log.error({ err: error, events: events.length }, 'events_refused_by_bus');
    contents.drop(events);
    for (const event of events) if (isEvent(event)) this.#queue.lose(event);
  }

  #isAccepted(entry: BusEntry): boolean {
    try {
      checkEntry(entry);
      return true;
    } catch (error) {
      this.#log.warn({ err: error, topics: entry.topics.length, bytes: entry.record.length }, 'event_refused');
      return false;
    }
  }

  /** Resolves at the next event, or if the lease or the request to lead changes. */
  #changed(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  /** As `#changed`, but events do not end it. */
  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #stir(): void {
    this.#wake?.();
    this.#endPause?.();
  }
}

/** One entry for the log, and the items that it has. */
interface Encoded {
  readonly events: readonly LogItem[];
  readonly entry: BusEntry;
}

const eventsOf = (batch: readonly Encoded[]): readonly LogItem[] => batch.flatMap(({ events }) => events);

/** Encodes a batch. `ts.published` is the current time. A trade and the price tick after it are one entry. */
function encode(items: readonly LogItem[]): Encoded[] {
  const published = nowUs();
  const batch: Encoded[] = [];
  for (const item of items) item.ts.published = published;
  for (let at = 0; at < items.length; at++) {
    const [item, next] = [items[at]!, items[at + 1]];
    const record = item.type === 'trade' && next?.type === 'price' ? encodeTrade(item, next) : null;
    if (record === null) batch.push({ events: [item], entry: entryOf(item) });
    else {
      const [trade, price] = [item, next] as [TradeEvent, PriceEvent];
      batch.push({ events: [trade, price], entry: { topics: topicsOf(trade), record, tickTopics: topicsOf(price) } });
      at++;
    }
  }
  return batch;
}

function entryOf(event: LogItem): BusEntry {
  if (event.type === 'slots') return verdictEntry(event);
  if (event.type === 'pool') return poolNewsEntry(event);
  if (event.type === 'retract') return { topics: event.topics, record: encodeEvent({ type: event.type, id: event.id }) };
  return { topics: topicsOf(event), record: encodeEvent(event) };
}

async function within(work: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, late]);
  clearTimeout(timer);
}
