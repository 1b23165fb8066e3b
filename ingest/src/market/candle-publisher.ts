import type { BusEntry, BusPublisher, LogEntry } from '@sluice/shared/bus/bus.ts';
import { baseOf, candleStart, composeBuckets } from '@sluice/shared/market/compose.ts';
import type { MintHead } from '@sluice/shared/market/head.ts';
import { candleIntervals, type Bucket, type Holding, type Market, type MintChange } from '@sluice/shared/market/market.ts';
import { pauseEntry } from '@sluice/shared/market/pause.ts';
import { encodeEvent } from '@sluice/shared/codec/encode-event.ts';
import type { CandleEvent, RetractEvent } from '@sluice/shared/wire/events.ts';
import { readCandlesTopic } from '@sluice/shared/wire/topics.ts';
import { nowUs } from '../clock.ts';
import { CandleDesk, type CandleDue } from './candle-desk.ts';
import { ToldCandles, type Told } from './told-candles.ts';

/** Candles published in one round; the others wait for the next. */
const perRound = 500;
/** Reads of the market under way at one time. */
const readsAtOnce = 100;
/** How old a trade that came late, or was taken back, may be whose candle a new keeper looks at, though the one before has closed it. */
const lookBackS = 30;
/**
 * Candles that ended so long before a topic begins are told too. It begins a moment after somebody subscribed, who may have read
 * the candles so far before the last trades were among them.
 */
const tellBackS = 5;

/** Base buckets of one topic that are looked through for them. */
const maxResumedBuckets = 600;
const endOfTimeS = 0xffff_ffff;

export interface CandlePublisherParts {
  readonly market: Market;
  readonly bus: BusPublisher;
  readonly holding: Holding;
  /** Where mints stand with what is undecided. */
  readonly headsOf: (mints: readonly string[]) => Promise<ReadonlyMap<string, MintHead>>;
}

/** Publishes the candles of wanted topics, for one holding of the lease. Not to be called again before it is done. */
export class CandlePublisher {
  readonly #market: Market;
  readonly #bus: BusPublisher;
  readonly #holding: Holding;
  readonly #headsOf: CandlePublisherParts['headsOf'];
  readonly #desk = new CandleDesk();
  readonly #told: ToldCandles;
  /** What the keeper before published, and is not taken up yet. */
  #resuming: readonly (readonly [string, number])[];
  published = 0;

  constructor(parts: CandlePublisherParts, open: ReadonlyMap<string, number>, tail: readonly LogEntry[]) {
    this.#market = parts.market;
    this.#bus = parts.bus;
    this.#holding = parts.holding;
    this.#headsOf = parts.headsOf;
    this.#resuming = [...open];
    this.#told = new ToldCandles(tail);
  }

  get topics(): number {
    return this.#desk.size;
  }

  /** What was applied to the market. */
  note(changes: readonly MintChange[]): void {
    this.#desk.note(changes, performance.now());
  }

  /** One round; false where the holding is over. Rejects where the market or the bus does not answer. */
  async round(): Promise<boolean> {
    await this.#resume();
    if (!(await this.#turn())) return false;
    const due = this.#desk.due(perRound, performance.now());
    if (due.length === 0) return true;
    await this.#publish(due);
    return this.#note(due);
  }

  /** Takes up what the keeper before published, some topics at a time. */
  async #resume(): Promise<void> {
    const some = this.#resuming.slice(0, readsAtOnce);
    if (some.length === 0) return;
    const mints = some.map(([topic]) => readCandlesTopic(topic)?.mint ?? '');
    const heads = await this.#headsOf([...new Set(mints)]);
    for (const { tradedS } of heads.values()) this.#desk.seeTime(tradedS);
    // A late trade may have been applied and its candle, closed before, not been published again.
    const lastS = mints.map((mint) => heads.get(mint)?.tradedS ?? Number.POSITIVE_INFINITY);
    const from = some.map(([topic, fromS], index) => [topic, fromS, Math.min(fromS, lastS[index]! - lookBackS)] as const);
    await this.#takeUp(from, true);
    this.#resuming = this.#resuming.slice(readsAtOnce);
  }

  /** Publishes topics from now on: all candles from a start on, and what there is from another. */
  async #takeUp(topics: readonly (readonly [topic: string, startS: number, fromS: number])[], resumed: boolean): Promise<void> {
    const found = await Promise.all(topics.map(([topic, , fromS]) => this.#candlesFrom(topic, fromS)));
    topics.forEach(([topic, startS], index) => {
      if (!this.#desk.begin(topic, startS)) return;
      for (const candle of found[index]!) this.#desk.resume(topic, candle.startS, resumed, performance.now());
    });
  }

  async #candlesFrom(topic: string, fromS: number): Promise<readonly Bucket[]> {
    const read = readCandlesTopic(topic);
    if (read === null) return [];
    const startS = Math.max(0, candleStart(fromS, read.interval));
    const base = baseOf(read.interval);
    const buckets = await this.#market.buckets(read.mint, base, startS, endOfTimeS, maxResumedBuckets);
    return composeBuckets(buckets, read.interval);
  }

  /** Begins and ends topics as they are wanted. */
  async #turn(): Promise<boolean> {
    const { begin, end } = await this.#market.turns();
    const beginning = begin.filter((topic) => !this.#desk.has(topic) && !this.#waits(topic)).slice(0, readsAtOnce);
    const nowS = this.#desk.chainS > 0 ? this.#desk.chainS : Math.floor(Date.now() / 1000);
    const begun = beginning.flatMap((topic): [string, number][] => {
      const read = readCandlesTopic(topic);
      return read === null ? [] : [[topic, candleStart(nowS, read.interval)]];
    });
    const all = begun.map(([topic, startS]) => [topic, startS, Math.min(startS, nowS - tellBackS)] as const);
    if (all.length > 0) await this.#takeUp(all, false);
    if (end.length > 0) await this.#bus.publish(end.map(pauseEntry));
    if (begun.length === 0 && end.length === 0) return true;
    for (const topic of end) {
      this.#desk.end(topic);
      this.#resuming = this.#resuming.filter(([waiting]) => waiting !== topic);
    }
    return (await this.#market.note(new Map(begun), end, this.#holding)) === 'applied';
  }

  #waits(topic: string): boolean {
    return this.#resuming.some(([waiting]) => waiting === topic);
  }

  async #publish(due: readonly CandleDue[]): Promise<void> {
    const heads = await this.#headsOf([...new Set(due.map(({ mint }) => mint))]);
    const telling: { readonly one: CandleDue; readonly told: Told; readonly entry: BusEntry }[] = [];
    for (let from = 0; from < due.length; from += readsAtOnce) {
      const some = due.slice(from, from + readsAtOnce);
      const candles = await Promise.all(some.map((one) => this.#candle(one)));
      some.forEach((one, index) => {
        const next = this.#next(one, candles[index], heads.get(one.mint));
        if (next !== null) telling.push({ one, told: next.told, entry: { topics: [one.topic], ...encodeEvent(next.event) } });
      });
    }
    if (telling.length > 0) {
      await this.#bus.publish(telling.map(({ entry }) => entry));
      this.published += telling.length;
    }
    for (const { one, told } of telling) this.#told.note(one, told);
    this.#desk.published(due, performance.now());
  }

  /** What to tell of a candle; null where that is nothing new. One that has no trades any more is taken back. */
  #next(
    one: CandleDue,
    candle: Bucket | undefined,
    head: MintHead | undefined,
  ): { readonly told: Told; readonly event: CandleEvent | RetractEvent } | null {
    if (candle === undefined || head === undefined) {
      const told = this.#told.nextWithout(one);
      return told === null ? null : { told, event: { type: 'retract', id: told.id } };
    }
    const { told, isRepeat } = this.#told.next(one, candle, one.closed);
    return one.resumed && isRepeat ? null : { told, event: candleEvent(told.id, one, candle, head) };
  }

  async #candle({ mint, interval, startS }: CandleDue): Promise<Bucket | undefined> {
    const seconds = candleIntervals[interval];
    const buckets = await this.#market.buckets(mint, baseOf(interval), startS, startS + seconds, seconds);
    return composeBuckets(buckets, interval)[0];
  }

  async #note(due: readonly CandleDue[]): Promise<boolean> {
    const open = this.#desk.unnoted(due);
    return open.size === 0 || (await this.#market.note(open, [], this.#holding)) === 'applied';
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
