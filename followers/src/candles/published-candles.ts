import type { LogEntry } from '@sluice/shared/bus/bus.ts';
import type { VoidedPrices } from '@sluice/shared/market/candles/fold-trades.ts';
import { candleIntervals, type Bucket, type CandleInterval } from '@sluice/shared/market/market.ts';
import type { CandleEvent } from '@sluice/shared/wire/events/events.ts';

/** Candles whose last publication is remembered. Above this limit, the oldest is forgotten. */
const maxCandles = 50_000;

const candlesPrefix = 'candles:';

/** How a candle was last published. */
export interface Publication {
  readonly id: string;
  readonly trades: number;
  readonly closed: boolean;
  /** Its prices and sums; empty if it was retracted. */
  readonly values: string;
  /** Counts how often it was replaced by a version with fewer or other trades. */
  readonly revision: number;
}

/** One candle of a topic. */
export interface CandleKey {
  readonly mint: string;
  readonly interval: CandleInterval;
  readonly startS: number;
}

type CandleValues = Omit<Bucket, 'startS'>;

/**
 * Recent publications of candles, by this keeper and the previous one. A candle gets a new id each time it is published with new content:
 * from its trades, and from how often it was replaced.
 */
export class PublishedCandles {
  readonly #published = new Map<string, Publication>();

  constructor(tail: readonly LogEntry[]) {
    for (const entry of tail) {
      if (entry.topics[0]?.topic.startsWith(candlesPrefix) !== true) continue;
      const event = entry.eventOrNull;
      if (event?.type === 'candle') this.#read(event);
      else if (event?.type === 'retract') {
        const key = event.id.split(':').slice(0, 3).join(':');
        const publication = this.#without(key);
        if (publication !== null) this.#note(key, publication);
      }
    }
  }

  /** The publication of a candle in its current state, and whether it was already published like that. */
  next(of: CandleKey, candle: CandleValues, closed: boolean): { readonly publication: Publication; readonly isRepeat: boolean } {
    const key = keyOf(of);
    const last = this.#published.get(key);
    const values = valuesOf(candle);
    const trades = candle.buys + candle.sells;
    const wentBack = last !== undefined && trades <= last.trades && values !== last.values;
    const revision = (last?.revision ?? 0) + (wentBack ? 1 : 0);
    const id = `${key}:${trades}${revision > 0 ? `:r${revision}` : ''}${closed ? ':closed' : ''}`;
    const isRepeat = last !== undefined && last.values === values && last.closed === closed;
    return { publication: { id, trades, closed, values, revision }, isRepeat };
  }

  /**
   * The same for a candle that has no trades any more. `id` is that of its last publication. Null if there was none, or it was retracted.
   */
  nextWithout(of: CandleKey): Publication | null {
    return this.#without(keyOf(of));
  }

  /** Published candles of a mint that contain one of these seconds. */
  within(mint: string, { fromS, toS }: VoidedPrices): readonly CandleKey[] {
    return [...this.#published.keys()].flatMap((key) => {
      const [of, name, start] = key.split(':');
      const interval = name as CandleInterval;
      const startS = Number(start);
      return of === mint && startS <= toS && startS + candleIntervals[interval] > fromS ? [{ mint, interval, startS }] : [];
    });
  }

  note(of: CandleKey, publication: Publication): void {
    this.#note(keyOf(of), publication);
  }

  #without(key: string): Publication | null {
    const last = this.#published.get(key);
    return last === undefined || last.trades === 0 ? null : { ...last, trades: 0, values: '', revision: last.revision + 1 };
  }

  #read(event: CandleEvent): void {
    const { id, mint, interval, start, trades, closed } = event;
    const revision = Number(/:r(\d+)/.exec(id)?.[1] ?? 0);
    this.#note(keyOf({ mint, interval, startS: start }), { id, trades, closed, values: valuesOf(event), revision });
  }

  #note(key: string, publication: Publication): void {
    this.#published.delete(key);
    this.#published.set(key, publication);
    if (this.#published.size > maxCandles) this.#published.delete(this.#published.keys().next().value!);
  }
}

function keyOf({ mint, interval, startS }: CandleKey): string {
  return `${mint}:${interval}:${startS}`;
}

function valuesOf({ open, high, low, close, openUsd, closeUsd, volumeBase, volumeQuote, buys }: CandleValues): string {
  return [open, high, low, close, openUsd, closeUsd, volumeBase, volumeQuote, buys].join(' ');
}
