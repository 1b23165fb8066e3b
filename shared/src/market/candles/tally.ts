import type { Bucket } from '../market.ts';

/**
 * Prices of one bucket in one currency. The opening and the closing price have their slots, so that prices can be merged in any order: the price of
 * the lowest slot opens and that of the highest closes; within one slot, the one that is merged first opens and the one that is merged last closes.
 * Without a price, `open` is NaN.
 */
interface Prices {
  open: number;
  high: number;
  low: number;
  close: number;
  openSlot: number;
  closeSlot: number;
}

/** What events add to one bucket: prices in quote coins and in USD, and from. */
export interface Tally {
  quote: Prices;
  usd: Prices;
  volumeBase: number;
  volumeQuote: number;
  volumeSol: number;
  volumeUsd: number;
  buys: number;
  sells: number;
}

function noPrices(): Prices {
  return { open: Number.NaN, high: Number.NaN, low: Number.NaN, close: Number.NaN, openSlot: 0, closeSlot: 0 };
}

export function emptyTally(): Tally {
  return { quote: noPrices(), usd: noPrices(), volumeBase: 0, volumeQuote: 0, volumeSol: 0, volumeUsd: 0, buys: 0, sells: 0 };
}

export function copyTally(tally: Tally): Tally {
  const copy = emptyTally();
  mergeTally(copy, tally);
  return copy;
}

/** Slots are stored in four bytes; a larger slot is stored as the largest possible one. */
const maxSlot = 0xffff_ffff;

/** Adds a price of a slot; `usd` is null if there is no price in USD. */
export function addPrice(tally: Tally, price: number, usd: number | null, atSlot: number): void {
  const slot = Math.min(atSlot, maxSlot);
  mergePrices(tally.quote, price, price, price, price, slot, slot);
  if (usd !== null) mergePrices(tally.usd, usd, usd, usd, usd, slot, slot);
}

/** Removes the prices and keeps the from. */
export function removePrices(tally: Tally): void {
  tally.quote = noPrices();
  tally.usd = noPrices();
}

export function mergeTally(into: Tally, from: Tally): void {
  const { quote, usd } = from;
  mergePrices(into.quote, quote.open, quote.high, quote.low, quote.close, quote.openSlot, quote.closeSlot);
  mergePrices(into.usd, usd.open, usd.high, usd.low, usd.close, usd.openSlot, usd.closeSlot);
  into.volumeBase += from.volumeBase;
  into.volumeQuote += from.volumeQuote;
  into.volumeSol += from.volumeSol;
  into.volumeUsd += from.volumeUsd;
  into.buys += from.buys;
  into.sells += from.sells;
}

function mergePrices(into: Prices, open: number, high: number, low: number, close: number, openSlot: number, closeSlot: number): void {
  if (Number.isNaN(open)) return;
  const isFirst = Number.isNaN(into.open);
  if (isFirst || openSlot < into.openSlot) {
    into.open = open;
    into.openSlot = openSlot;
  }
  if (isFirst || high > into.high) into.high = high;
  if (isFirst || low < into.low) into.low = low;
  if (isFirst || closeSlot >= into.closeSlot) {
    into.close = close;
    into.closeSlot = closeSlot;
  }
}

/** Null if there is no price or no trade: volumes alone make no candle, and neither does the price of a bucket that is not stored any more. */
export function bucketOf(startS: number, { quote, usd, volumeBase, volumeQuote, volumeSol, volumeUsd, buys, sells }: Tally): Bucket | null {
  if (Number.isNaN(quote.open) || buys + sells === 0) return null;
  const hasUsd = !Number.isNaN(usd.open);
  // One literal: an object that is built in steps costs ten times as much.
  return {
    startS,
    open: quote.open,
    high: quote.high,
    low: quote.low,
    close: quote.close,
    openUsd: hasUsd ? usd.open : null,
    highUsd: hasUsd ? usd.high : null,
    lowUsd: hasUsd ? usd.low : null,
    closeUsd: hasUsd ? usd.close : null,
    volumeBase,
    volumeQuote,
    volumeSol,
    volumeUsd,
    buys,
    sells,
  };
}

/** Bytes of a stored tally, big-endian: 12 doubles (both prices, four volumes), then u32: buys, sells, and the slots of both prices. */
const doubles = 12;
const tallyBytes = doubles * 8 + 6 * 4;

export function writeTally({ quote, usd, volumeBase, volumeQuote, volumeSol, volumeUsd, buys, sells }: Tally): Buffer {
  const bytes = Buffer.allocUnsafe(tallyBytes);
  const prices = [quote.open, quote.high, quote.low, quote.close, usd.open, usd.high, usd.low, usd.close];
  let at = 0;
  for (const value of [...prices, volumeBase, volumeQuote, volumeSol, volumeUsd]) at = bytes.writeDoubleBE(value, at);
  for (const value of [buys, sells, quote.openSlot, quote.closeSlot, usd.openSlot, usd.closeSlot]) at = bytes.writeUInt32BE(value, at);
  return bytes;
}

export function readTally(bytes: Buffer): Tally {
  const double = (index: number): number => bytes.readDoubleBE(index * 8);
  const u32 = (index: number): number => bytes.readUInt32BE(doubles * 8 + index * 4);
  return {
    quote: { open: double(0), high: double(1), low: double(2), close: double(3), openSlot: u32(2), closeSlot: u32(3) },
    usd: { open: double(4), high: double(5), low: double(6), close: double(7), openSlot: u32(4), closeSlot: u32(5) },
    volumeBase: double(8),
    volumeQuote: double(9),
    volumeSol: double(10),
    volumeUsd: double(11),
    buys: u32(0),
    sells: u32(1),
  };
}
