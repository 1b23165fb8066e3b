import type { Bucket } from '../market.ts';

/**
 * What events add to one bucket. Each opening and closing price has its slot, so that tallies can be merged in any order. The price of the
 * lowest slot opens and that of the highest closes; within one slot, the tally that is merged first opens and the one that is merged last
 * closes. The other fields are extremes and sums. A value without a price (in USD) is NaN.
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
  openSlot: number;
  closeSlot: number;
  openUsdSlot: number;
  closeUsdSlot: number;
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
    openSlot: 0,
    closeSlot: 0,
    openUsdSlot: 0,
    closeUsdSlot: 0,
  };
}

/** Slots are stored in four bytes; a larger slot is stored as the largest possible one. */
const maxSlot = 0xffff_ffff;

/** Adds a price of a slot; `usd` is null if there is no price in USD. */
export function addPrice(tally: Tally, price: number, usd: number | null, atSlot: number): void {
  const slot = Math.min(atSlot, maxSlot);
  mergePrices(tally, price, price, price, price, slot, slot);
  if (usd !== null) mergeUsd(tally, usd, usd, usd, usd, slot, slot);
}

/** Removes the prices and keeps the sums. */
export function removePrices(tally: Tally): void {
  tally.open = tally.high = tally.low = tally.close = Number.NaN;
  tally.openUsd = tally.highUsd = tally.lowUsd = tally.closeUsd = Number.NaN;
}

export function mergeTally(into: Tally, from: Tally): void {
  mergePrices(into, from.open, from.high, from.low, from.close, from.openSlot, from.closeSlot);
  mergeUsd(into, from.openUsd, from.highUsd, from.lowUsd, from.closeUsd, from.openUsdSlot, from.closeUsdSlot);
  into.volumeBase += from.volumeBase;
  into.volumeQuote += from.volumeQuote;
  into.volumeSol += from.volumeSol;
  into.volumeUsd += from.volumeUsd;
  into.buys += from.buys;
  into.sells += from.sells;
}

function mergePrices(into: Tally, open: number, high: number, low: number, close: number, openSlot: number, closeSlot: number): void {
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

function mergeUsd(into: Tally, open: number, high: number, low: number, close: number, openSlot: number, closeSlot: number): void {
  if (Number.isNaN(open)) return;
  const isFirst = Number.isNaN(into.openUsd);
  if (isFirst || openSlot < into.openUsdSlot) {
    into.openUsd = open;
    into.openUsdSlot = openSlot;
  }
  if (isFirst || high > into.highUsd) into.highUsd = high;
  if (isFirst || low < into.lowUsd) into.lowUsd = low;
  if (isFirst || closeSlot >= into.closeUsdSlot) {
    into.closeUsd = close;
    into.closeUsdSlot = closeSlot;
  }
}

/** Null if there is no price: volumes alone make no candle. */
export function bucketOf(startS: number, tally: Tally): Bucket | null {
  if (Number.isNaN(tally.open)) return null;
  const hasUsd = !Number.isNaN(tally.openUsd);
  // One literal: an object that is built in steps costs ten times as much.
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

/** Bytes of a stored tally: 12 doubles and 6 u32 in the order of its fields, big-endian. */
export const tallyBytes = 12 * 8 + 6 * 4;
/** Bytes of tallies that were stored without the slots of their prices. */
const slotlessBytes = 12 * 8 + 2 * 4;

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
  next = target.writeUInt32BE(tally.sells, next);
  next = target.writeUInt32BE(tally.openSlot, next);
  next = target.writeUInt32BE(tally.closeSlot, next);
  next = target.writeUInt32BE(tally.openUsdSlot, next);
  return target.writeUInt32BE(tally.closeUsdSlot, next);
}

export function readTally(bytes: Buffer): Tally {
  const hasSlots = bytes.length > slotlessBytes;
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
    openSlot: hasSlots ? bytes.readUInt32BE(104) : 0,
    closeSlot: hasSlots ? bytes.readUInt32BE(108) : 0,
    openUsdSlot: hasSlots ? bytes.readUInt32BE(112) : 0,
    closeUsdSlot: hasSlots ? bytes.readUInt32BE(116) : 0,
  };
}
