import type { Bucket } from './market.ts';

/**
 * What a stretch of the log adds to one bucket. Tallies of consecutive stretches merge into the tally of both, in whatever
 * grouping: first prices stay, last ones win, the rest are extremes and sums. What has no price (in USD) yet is NaN.
 */
export interface Tally {
  open: number;
  high: number;
  low: number;
  close: number;
  openUsd: number;
  highUsd: number;
  lowUsd: number;
  closeUsd: number;
  volumeBase: number;
  volumeQuote: number;
  volumeSol: number;
  volumeUsd: number;
  buys: number;
  sells: number;
}

export function emptyTally(): Tally {
  return {
    open: Number.NaN,
    high: Number.NaN,
    low: Number.NaN,
    close: Number.NaN,
    openUsd: Number.NaN,
    highUsd: Number.NaN,
    lowUsd: Number.NaN,
    closeUsd: Number.NaN,
    volumeBase: 0,
    volumeQuote: 0,
    volumeSol: 0,
    volumeUsd: 0,
    buys: 0,
    sells: 0,
  };
}

/** Adds a price; `usd` null where it has none. */
export function addPrice(tally: Tally, price: number, usd: number | null): void {
  mergePrices(tally, price, price, price, price);
  if (usd !== null) mergeUsd(tally, usd, usd, usd, usd);
}

/** Merges the tally of the stretch that follows into this one. */
export function mergeTally(into: Tally, later: Tally): void {
  mergePrices(into, later.open, later.high, later.low, later.close);
  mergeUsd(into, later.openUsd, later.highUsd, later.lowUsd, later.closeUsd);
  into.volumeBase += later.volumeBase;
  into.volumeQuote += later.volumeQuote;
  into.volumeSol += later.volumeSol;
  into.volumeUsd += later.volumeUsd;
  into.buys += later.buys;
  into.sells += later.sells;
}

function mergePrices(into: Tally, open: number, high: number, low: number, close: number): void {
  if (Number.isNaN(open)) return;
  if (Number.isNaN(into.open)) {
    into.open = open;
    into.high = high;
    into.low = low;
  } else {
    if (high > into.high) into.high = high;
    if (low < into.low) into.low = low;
  }
  into.close = close;
}

function mergeUsd(into: Tally, open: number, high: number, low: number, close: number): void {
  if (Number.isNaN(open)) return;
  if (Number.isNaN(into.openUsd)) {
    into.openUsd = open;
    into.highUsd = high;
    into.lowUsd = low;
  } else {
    if (high > into.highUsd) into.highUsd = high;
    if (low < into.lowUsd) into.lowUsd = low;
  }
  into.closeUsd = close;
}

/** Null where nothing says a price: volumes alone make no candle. */
export function bucketOf(startS: number, tally: Tally): Bucket | null {
  if (Number.isNaN(tally.open)) return null;
  const hasUsd = !Number.isNaN(tally.openUsd);
  // One literal: an object put together of parts costs ten times as much.
  return {
    startS,
    open: tally.open,
    high: tally.high,
    low: tally.low,
    close: tally.close,
    openUsd: hasUsd ? tally.openUsd : null,
    highUsd: hasUsd ? tally.highUsd : null,
    lowUsd: hasUsd ? tally.lowUsd : null,
    closeUsd: hasUsd ? tally.closeUsd : null,
    volumeBase: tally.volumeBase,
    volumeQuote: tally.volumeQuote,
    volumeSol: tally.volumeSol,
    volumeUsd: tally.volumeUsd,
    buys: tally.buys,
    sells: tally.sells,
  };
}

/** Bytes of a tally as it is stored: 12 doubles and 2 u32 in the order of its fields, big-endian. */
export const tallyBytes = 12 * 8 + 2 * 4;

export function writeTally(target: Buffer, at: number, tally: Tally): number {
  let next = target.writeDoubleBE(tally.open, at);
  next = target.writeDoubleBE(tally.high, next);
  next = target.writeDoubleBE(tally.low, next);
  next = target.writeDoubleBE(tally.close, next);
  next = target.writeDoubleBE(tally.openUsd, next);
  next = target.writeDoubleBE(tally.highUsd, next);
  next = target.writeDoubleBE(tally.lowUsd, next);
  next = target.writeDoubleBE(tally.closeUsd, next);
  next = target.writeDoubleBE(tally.volumeBase, next);
  next = target.writeDoubleBE(tally.volumeQuote, next);
  next = target.writeDoubleBE(tally.volumeSol, next);
  next = target.writeDoubleBE(tally.volumeUsd, next);
  next = target.writeUInt32BE(tally.buys, next);
  return target.writeUInt32BE(tally.sells, next);
}

export function readTally(bytes: Buffer): Tally {
  return {
    open: bytes.readDoubleBE(0),
    high: bytes.readDoubleBE(8),
    low: bytes.readDoubleBE(16),
    close: bytes.readDoubleBE(24),
    openUsd: bytes.readDoubleBE(32),
    highUsd: bytes.readDoubleBE(40),
    lowUsd: bytes.readDoubleBE(48),
    closeUsd: bytes.readDoubleBE(56),
    volumeBase: bytes.readDoubleBE(64),
    volumeQuote: bytes.readDoubleBE(72),
    volumeSol: bytes.readDoubleBE(80),
    volumeUsd: bytes.readDoubleBE(88),
    buys: bytes.readUInt32BE(96),
    sells: bytes.readUInt32BE(100),
  };
}
