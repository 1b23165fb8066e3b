import type { LogEntry } from '@sluice/shared/bus/bus.ts';
import type { Bucket, CandleInterval } from '@sluice/shared/market/market.ts';
import type { CandleEvent, RetractEvent } from '@sluice/shared/wire/events.ts';

/** Candles of which it is known what was told last. Beyond it the one told longest ago is forgotten. */
const maxTold = 50_000;

const candlesPrefix = 'candles:';

/** How a candle was told last. */
export interface Told {
  readonly id: string;
  readonly trades: number;
  readonly closed: boolean;
  /** Its prices and sums; empty where it was taken back. */
  readonly values: string;
  /** Counts the times that it went back: with fewer trades than before, or others. */
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
 * What was told of candles lately, by this keeper and the one before it. A candle has an id of its own each time that it is told with
 * something new: by its trades, and by how often it went back.
 */
export class ToldCandles {
  readonly #told = new Map<string, Told>();

  constructor(tail: readonly LogEntry[]) {
    for (const { topics, json } of tail) {
      if (topics[0]?.topic.startsWith(candlesPrefix) !== true) continue;
      const event = JSON.parse(Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString()) as CandleEvent | RetractEvent | null;
      if (event?.type === 'candle') this.#read(event);
      else if (event?.type === 'retract') {
        const key = event.id.split(':').slice(0, 3).join(':');
        const told = this.#without(key);
        if (told !== null) this.#note(key, told);
      }
    }
  }

  /** How a candle is to be told as it is now, and whether it was told just so already. */
  next(of: CandleKey, candle: CandleValues, closed: boolean): { readonly told: Told; readonly isRepeat: boolean } {
    const key = keyOf(of);
    const last = this.#told.get(key);
    const values = valuesOf(candle);
    const trades = candle.buys + candle.sells;
    const wentBack = last !== undefined && trades <= last.trades && values !== last.values;
    const revision = (last?.revision ?? 0) + (wentBack ? 1 : 0);
    const id = `${key}:${trades}${revision > 0 ? `:r${revision}` : ''}${closed ? ':closed' : ''}`;
    const isRepeat = last !== undefined && last.values === values && last.closed === closed;
    return { told: { id, trades, closed, values, revision }, isRepeat };
  }

  /** The same of a candle that has no trades any more: `id` is the last one that it was told by. Null where none was, or it is told. */
  nextWithout(of: CandleKey): Told | null {
    return this.#without(keyOf(of));
  }

  /** It was told so. */
  note(of: CandleKey, told: Told): void {
    this.#note(keyOf(of), told);
  }

  #without(key: string): Told | null {
    const last = this.#told.get(key);
    return last === undefined || last.trades === 0 ? null : { ...last, trades: 0, values: '', revision: last.revision + 1 };
  }

  #read(event: CandleEvent): void {
    const { id, mint, interval, start, trades, closed } = event;
    const revision = Number(/:r(\d+)/.exec(id)?.[1] ?? 0);
    this.#note(keyOf({ mint, interval, startS: start }), { id, trades, closed, values: valuesOf(event), revision });
  }

  #note(key: string, told: Told): void {
    this.#told.delete(key);
    this.#told.set(key, told);
    if (this.#told.size > maxTold) this.#told.delete(this.#told.keys().next().value!);
  }
}

function keyOf({ mint, interval, startS }: CandleKey): string {
  return `${mint}:${interval}:${startS}`;
}

function valuesOf({ open, high, low, close, openUsd, closeUsd, volumeBase, volumeQuote, buys }: CandleValues): string {
  return [open, high, low, close, openUsd, closeUsd, volumeBase, volumeQuote, buys].join(' ');
}
