import type { Candle, CandlePage } from '@sluice/client';
import { price, short, shortUsd } from '../format/price.ts';

export type Unit = 'usd' | 'quote' | 'cap';
export type Bar = CandlePage['candles'][number] | Candle;

export interface Drawn {
  /** Unix seconds. */
  readonly time: number;
  readonly open: number;
  readonly high: number;
  readonly low: number;
  readonly close: number;
  readonly volume: number;
}

/** The candle in a unit; null if it has no price in it. */
export function inUnit(bar: Bar, unit: Unit, supply: number): Drawn | null {
  const isUsd = unit !== 'quote';
  const values = isUsd ? [bar.openUsd, bar.highUsd, bar.lowUsd, bar.closeUsd] : [bar.open, bar.high, bar.low, bar.close];
  const factor = unit === 'cap' ? supply : 1;
  const [open, high, low, close] = values.map((value) => (value === null ? null : value * factor));
  if (open == null || high == null || low == null || close == null) return null;
  return { time: bar.start, open, high, low, close, volume: isUsd ? bar.volumeUsd : bar.volumeQuote };
}

/** The scale may reach below zero, where there are no prices, and has remainders of the arithmetic instead of zero. */
export const leastPrice = 1e-15;

/** A price on the chart, with as many significant digits as given. */
export function priceText(unit: Unit, value: number, digits?: number): string {
  if (value < leastPrice) return '';
  if (unit === 'quote') return price(value, digits);
  return unit === 'cap' && value >= 1_000 ? shortUsd(value, digits) : `$${price(value, digits)}`;
}

export function volumeText(unit: Unit, volume: number, quote: string): string {
  return unit === 'quote' ? `${short(volume)} ${quote}` : shortUsd(volume);
}

const leastDigits = 3;
const mostDigits = 15;
/** Part of the distance between two labels by which rounding may move one. */
const maxError = 0.02;

/** Labels of the price axis. All have the same number of digits: as few as state each price, so that no label repeats. */
export function axisLabels(unit: Unit, prices: readonly number[]): string[] {
  const steps = prices.slice(1).map((value, index) => Math.abs(value - prices[index]!));
  const tolerated = Math.min(...steps) * maxError;
  const isStated = (digits: number): boolean => prices.every((value) => Math.abs(Number(value.toPrecision(digits)) - value) <= tolerated);
  let digits = leastDigits;
  while (digits < mostDigits && !isStated(digits)) digits++;
  return prices.map((value) => priceText(unit, value, digits));
}
