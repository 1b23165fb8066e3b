import type { BusEntry, BusPublisher, LeaseTerm, LogEntry } from '@sluice/shared/bus/bus.ts';
import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import { baseOf, candleStart, composeBuckets } from '@sluice/shared/market/candles/compose-candles.ts';
import type { MintHead } from '@sluice/shared/market/pools/main-pool.ts';
import { candleIntervals, type Bucket, type MarketStore, type MintChange } from '@sluice/shared/market/market.ts';
import { pauseEntry } from '@sluice/shared/market/pause.ts';
import { encodeEvent } from '@sluice/shared/codec/encode-event.ts';
import type { CandleEvent, RetractEvent } from '@sluice/shared/wire/events/events.ts';
import { candlesTopic, readCandlesTopic } from '@sluice/shared/wire/stream/topics.ts';
import { nowUs } from '@sluice/shared/runtime/clock/now-us.ts';
import { CandleDesk, type CandleDue } from './candle-desk.ts';
import { PublishedCandles, type Publication } from './published-candles.ts';

/** Candles published in one round. The others wait for the next round. */
const perRound = 500;
/** Concurrent reads of the market. */
const readsAtOnce = 100;
/** Maximum age of a late or retracted trade for which a new keeper checks the candle, although the previous keeper closed it. */
const lookBackS = 30;
/**
 * Candles that ended this long before a topic begins are published too. The topic begins a moment after the subscription, and the client
 * may have read the candles before the last trades were in them.
 */
const publishBackS = 5;

/** Base buckets of one topic that are searched for such candles. */
const maxResumedBuckets = 600;
const endOfTimeS = 0xffff_ffff;

export interface CandlePublisherParts {
  readonly market: MarketStore;
  readonly bus: BusPublisher;
  readonly leaseTerm: LeaseTerm;
  /** Returns the heads of mints, with undecided trades. */
  readonly headsOf: (mints: readonly string[]) => Promise<ReadonlyMap<string, MintHead>>;
  readonly clock: Clock;
}

/** Publishes the candles of followed topics, for one term of the lease. A call must end before the next begins. */
export class CandlePublisher {
  readonly #parts: CandlePublisherParts;
  readonly #desk = new CandleDesk();
  readonly #published: PublishedCandles;
  /** What the previous keeper published, not taken over yet. */
  #resuming: readonly (readonly [string, number])[];
  published = 0;

  constructor(parts: CandlePublisherParts, open: ReadonlyMap<string, number>, tail: readonly LogEntry[]) {
    this.#parts = parts;
    this.#resuming = [...open];
    this.#published = new PublishedCandles(tail);
  }

  get topics(): number {
    return this.#desk.size;
  }

  /** Takes what was applied to the market. */
  note(changes: readonly MintChange[]): void {
    const nowMs = this.#parts.clock.steadyMs();
    this.#desk.note(changes, nowMs);
    // The trades that changed these candles are not in this section.
    for (const { mint, voided } of changes) {
      if (voided === null) continue;
      for (const { interval, startS } of this.#published.within(mint, voided)) {
        this.#desk.resume(candlesTopic(mint, interval), startS, true, nowMs);
      }
    }
  }

  /** Makes one round. False if the lease is lost. Rejects if the market or the bus does not answer. */
  async round(): Promise<boolean> {
    await this.#resume();
    if (!(await this.#turn())) return false;
    const due = this.#desk.due(perRound, this.#parts.clock.steadyMs());
    if (due.length === 0) return true;
    await this.#publish(due);
    return this.#note(due);
  }

  /** Takes over what the previous keeper published, some topics at a time. */
  async #resume(): Promise<void> {
    const some = this.#resuming.slice(0, readsAtOnce);
    if (some.length === 0) return;
    const mints = some.map(([topic]) => readCandlesTopic(topic)?.mint ?? '');
    const heads = await this.#parts.headsOf([...new Set(mints)]);
    for (const { tradedS } of heads.values()) this.#desk.seeTime(tradedS);
    // The previous keeper may have applied a late trade, without publishing its closed candle again.
    const lastS = mints.map((mint) => heads.get(mint)?.tradedS ?? Number.POSITIVE_INFINITY);
    const from = some.map(([topic, fromS], index) => [topic, fromS, Math.min(fromS, lastS[index]! - lookBackS)] as const);
    await this.#takeUp(from, true);
    this.#resuming = this.#resuming.slice(readsAtOnce);
  }

  /** Begins to publish topics: all candles from one start on, and existing ones from another. */
  async #takeUp(topics: readonly (readonly [topic: string, startS: number, fromS: number])[], resumed: boolean): Promise<void> {
    const found = await Promise.all(topics.map(([topic, , fromS]) => this.#candlesFrom(topic, fromS)));
    topics.forEach(([topic, startS], index) => {
      if (!this.#desk.begin(topic, startS)) return;
      for (const candle of found[index]!) this.#desk.resume(topic, candle.startS, resumed, this.#parts.clock.steadyMs());
    });
  }

  async #candlesFrom(topic: string, fromS: number): Promise<readonly Bucket[]> {
    const read = readCandlesTopic(topic);
    if (read === null) return [];
    const startS = Math.max(0, candleStart(fromS, read.interval));
    const base = baseOf(read.interval);
    const buckets = await this.#parts.market.buckets(read.mint, base, startS, endOfTimeS, maxResumedBuckets);
    return composeBuckets(buckets, read.interval);
  }

  /** Begins and ends topics as clients follow them. */
  async #turn(): Promise<boolean> {
    const { begin, end } = await this.#parts.market.turns();
    const beginning = begin.filter((topic) => !this.#desk.has(topic) && !this.#waits(topic)).slice(0, readsAtOnce);
    const nowS = this.#desk.chainS > 0 ? this.#desk.chainS : Math.floor(this.#parts.clock.wallMs() / 1000);
    const begun = beginning.flatMap((topic): [string, number][] => {
      const read = readCandlesTopic(topic);
      return read === null ? [] : [[topic, candleStart(nowS, read.interval)]];
    });
    const all = begun.map(([topic, startS]) => [topic, startS, Math.min(startS, nowS - publishBackS)] as const);
    if (all.length > 0) await this.#takeUp(all, false);
    if (end.length > 0) await this.#parts.bus.publish(end.map(pauseEntry));
    if (begun.length === 0 && end.length === 0) return true;
    for (const topic of end) {
      this.#desk.end(topic);
      this.#resuming = this.#resuming.filter(([waiting]) => waiting !== topic);
    }
    return (await this.#parts.market.note(new Map(begun), end, this.#parts.leaseTerm)) === 'applied';
  }

  #waits(topic: string): boolean {
    return this.#resuming.some(([waiting]) => waiting === topic);
  }

  async #publish(due: readonly CandleDue[]): Promise<void> {
    const heads = await this.#parts.headsOf([...new Set(due.map(({ mint }) => mint))]);
    const next: { readonly one: CandleDue; readonly publication: Publication; readonly entry: BusEntry }[] = [];
    for (let from = 0; from < due.length; from += readsAtOnce) {
      const some = due.slice(from, from + readsAtOnce);
      const candles = await Promise.all(some.map((one) => this.#candle(one)));
      some.forEach((one, index) => {
        const made = this.#next(one, candles[index], heads.get(one.mint));
        if (made !== null)
          next.push({ one, publication: made.publication, entry: { topics: [one.topic], record: encodeEvent(made.event) } });
      });
    }
    if (next.length > 0) {
      await this.#parts.bus.publish(next.map(({ entry }) => entry));
      this.published += next.length;
    }
    for (const { one, publication } of next) this.#published.note(one, publication);
    this.#desk.published(due, this.#parts.clock.steadyMs());
  }

  /** The event of a candle; null if it shows nothing new. A candle that has no trades any more is retracted. */
  #next(
    one: CandleDue,
    candle: Bucket | undefined,
    head: MintHead | undefined,
  ): { readonly publication: Publication; readonly event: CandleEvent | RetractEvent } | null {
    if (candle === undefined || head === undefined) {
      const publication = this.#published.nextWithout(one);
      return publication === null ? null : { publication, event: { type: 'retract', id: publication.id } };
    }
    const { publication, isRepeat } = this.#published.next(one, candle, one.closed);
    return isRepeat ? null : { publication, event: candleEvent(publication.id, one, candle, head) };
  }

  async #candle({ mint, interval, startS }: CandleDue): Promise<Bucket | undefined> {
    const seconds = candleIntervals[interval];
    const atUs = this.#parts.clock.wallMs() * 1_000;
    const buckets = await this.#parts.market.buckets(mint, baseOf(interval), startS, startS + seconds, seconds, atUs);
    return composeBuckets(buckets, interval)[0];
  }

  async #note(due: readonly CandleDue[]): Promise<boolean> {
    const open = this.#desk.unnoted(due);
    return open.size === 0 || (await this.#parts.market.note(open, [], this.#parts.leaseTerm)) === 'applied';
  }
}

function candleEvent(id: string, { mint, interval, closed }: CandleDue, candle: Bucket, head: MintHead): CandleEvent {
  const { startS: start, ...values } = candle;
  return {
    type: 'candle',
    id,
    mint,
    quoteMint: head.quoteMint,
    pool: head.pool,
    poolAddress: head.poolAddress,
    signature: null,
    slot: head.slot,
    blockTime: head.tradedS,
    commitment: 'processed',
    ts: { received: head.receivedUs, published: nowUs() },
    ...(head.simulated ? { simulated: true } : {}),
    interval,
    start,
    ...values,
    trades: candle.buys + candle.sells,
    closed,
  };
}
