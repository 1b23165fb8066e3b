import { candleStart } from '@sluice/shared/market/candles/compose-candles.ts';
import { lastsMs } from '@sluice/shared/market/pools/slot-prices.ts';
import { candleIntervals, type CandleInterval, type MintChange } from '@sluice/shared/market/market.ts';
import { readCandlesTopic } from '@sluice/shared/wire/stream/topics.ts';

/** Minimum time between two updates of a topic. */
const updateEveryMs = 500;
/** How long after the end of its interval, counted from its last trade, a candle is closed if the chain shows no later time. */
const closeAfterMs = 3_000;

/** A candle to publish. */
export interface CandleDue {
  readonly topic: string;
  readonly mint: string;
  readonly interval: CandleInterval;
  readonly startS: number;
  readonly closed: boolean;
  /** All its slots count. If not, it is published again. */
  readonly lasts: boolean;
  /** It may have been published by the previous keeper. */
  readonly resumed: boolean;
}

interface OpenCandle {
  readonly startS: number;
  dirty: boolean;
  resumed: boolean;
  /** From then on, the prices of all its slots count. */
  lastsAtMs: number;
  /** It was published before that. */
  isPending: boolean;
  closeAtMs: number;
}

interface Followed {
  readonly topic: string;
  readonly mint: string;
  readonly interval: CandleInterval;
  /** Candles with trades that are not published as closed, by start. */
  readonly open: Map<number, OpenCandle>;
  publishedAtMs: number;
  /** All candles before this start are published as closed, as far as it is noted. */
  notedS: number;
  /** Start of the newest candle with trades. */
  newestS: number;
}

/**
 * Decides when a candle of a followed topic is published. A candle is published as trades come, at most twice a second, and once more when
 * its last slot counts and it is over: when a trade of any mint has a later time, or some seconds after its end by our own clock. It is published again if a trade
 * comes late or is retracted. Holds state, but uses no I/O and no clock.
 */
export class CandleDesk {
  readonly #topics = new Map<string, Followed>();
  readonly #byMint = new Map<string, Set<Followed>>();
  /** Latest block time of any trade. */
  chainS = 0;

  seeTime(atS: number): void {
    if (atS > this.chainS) this.chainS = atS;
  }

  get size(): number {
    return this.#topics.size;
  }

  has(topic: string): boolean {
    return this.#topics.has(topic);
  }

  /** Begins to publish a topic: candles from `fromS` on. False if it is not a candle topic. */
  begin(topic: string, fromS: number): boolean {
    const read = readCandlesTopic(topic);
    if (read === null) return false;
    const { mint, interval } = read;
    const followed: Followed = {
      topic,
      mint,
      interval,
      open: new Map(),
      publishedAtMs: Number.NEGATIVE_INFINITY,
      notedS: fromS,
      newestS: 0,
    };
    this.#topics.set(topic, followed);
    const ofMint = this.#byMint.get(mint);
    if (ofMint === undefined) this.#byMint.set(mint, new Set([followed]));
    else ofMint.add(followed);
    return true;
  }

  end(topic: string): void {
    const followed = this.#topics.get(topic);
    if (followed === undefined) return;
    this.#topics.delete(topic);
    const ofMint = this.#byMint.get(followed.mint)!;
    ofMint.delete(followed);
    if (ofMint.size === 0) this.#byMint.delete(followed.mint);
  }

  /** Adds a candle that already has trades. */
  resume(topic: string, startS: number, resumed: boolean, nowMs: number): void {
    const followed = this.#topics.get(topic);
    if (followed !== undefined) this.#touch(followed, startS, Math.max(startS, this.chainS), resumed, nowMs);
  }

  /** Takes what was applied to the market. */
  note(changes: readonly MintChange[], nowMs: number): void {
    for (const { tradedS } of changes) this.seeTime(tradedS);
    if (this.#topics.size === 0) return;
    for (const { mint, touched } of changes) {
      const ofMint = this.#byMint.get(mint);
      if (ofMint === undefined) continue;
      for (const atS of touched) {
        for (const followed of ofMint) this.#touch(followed, candleStart(atS, followed.interval), atS, false, nowMs);
      }
    }
  }

  #touch(followed: Followed, startS: number, atS: number, resumed: boolean, nowMs: number): void {
    let candle = followed.open.get(startS);
    if (candle === undefined)
      followed.open.set(startS, (candle = { startS, dirty: true, resumed, lastsAtMs: 0, isPending: false, closeAtMs: 0 }));
    candle.dirty = true;
    candle.lastsAtMs = nowMs + lastsMs;
    candle.resumed = resumed;
    const leftS = Math.max(0, startS + candleIntervals[followed.interval] - atS);
    candle.closeAtMs = nowMs + leftS * 1000 + closeAfterMs;
    if (startS > followed.newestS) followed.newestS = startS;
  }

  /** Candles to publish now, at most `limit`; those of one topic in order. */
  due(limit: number, nowMs: number): CandleDue[] {
    const due: CandleDue[] = [];
    for (const followed of this.#topics.values()) {
      if (due.length >= limit) break;
      if (followed.open.size === 0) continue;
      const { topic, mint, interval, publishedAtMs } = followed;
      const mayUpdate = nowMs - publishedAtMs >= updateEveryMs;
      for (const { startS, dirty, resumed, lastsAtMs, isPending, closeAtMs } of [...followed.open.values()].sort(
        (a, b) => a.startS - b.startS,
      )) {
        const lasts = nowMs >= lastsAtMs;
        const closed = this.chainS >= startS + candleIntervals[interval] || nowMs >= closeAtMs;
        if (closed ? lasts : mayUpdate && (dirty || (isPending && lasts)))
          due.push({ topic, mint, interval, startS, closed, lasts, resumed });
      }
    }
    return due;
  }

  /** Marks candles that were published, or that had nothing to publish. */
  published(done: readonly CandleDue[], nowMs: number): void {
    for (const { topic, startS, closed, lasts } of done) {
      const followed = this.#topics.get(topic);
      const candle = followed?.open.get(startS);
      if (followed === undefined || candle === undefined) continue;
      candle.dirty = false;
      candle.isPending = !lasts;
      if (closed) followed.open.delete(startS);
      else followed.publishedAtMs = nowMs;
    }
  }

  /** Topics whose oldest unclosed candle changed since it was noted, with its start. */
  unnoted(of: readonly CandleDue[]): Map<string, number> {
    const changed = new Map<string, number>();
    for (const { topic, interval } of of) {
      const followed = this.#topics.get(topic);
      if (followed === undefined) continue;
      let oldestS = followed.newestS + candleIntervals[interval];
      for (const openS of followed.open.keys()) if (openS < oldestS) oldestS = openS;
      if (oldestS === followed.notedS) continue;
      followed.notedS = oldestS;
      changed.set(topic, oldestS);
    }
    return changed;
  }
}
