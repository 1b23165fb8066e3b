import { isLate } from '../solana/slots.ts';
import { isCurve, isMainPool, type MintHead } from './head.ts';
import type { MarketTrade } from './market-trade.ts';
import { baseIntervals, type BaseInterval } from './market.ts';
import { addPrice, emptyTally, type Tally } from './tally.ts';

type Mutable<T> = { -readonly [Field in keyof T]: T[Field] };

/** Trades and migrations of one mint as they are folded: its head, and what they add to its buckets. */
export interface Fold {
  head: Mutable<MintHead> | null;
  /** By the start of the bucket, of the intervals that are asked for. */
  readonly tallies: readonly (readonly [interval: BaseInterval, byStart: Map<number, Tally>])[];
}

export const allIntervals = Object.keys(baseIntervals) as readonly BaseInterval[];

/** Begins behind what made this head; that one is not changed. */
export function beginFold(head: MintHead | null, intervals: readonly BaseInterval[]): Fold {
  return { head: head === null ? null : { ...head }, tallies: intervals.map((interval) => [interval, new Map()]) };
}

/**
 * Adds the next of a mint's events in the order of the chain, or one that comes late, from before what the head stands at. A trade
 * adds to its second, its minute and its hour: its amounts, whichever pool it was in, and the price after it in the main pool. One in
 * another pool, or without a price, adds the price that stood there; where it comes late and that is not known any more, none.
 */
export function foldNext(fold: Fold, event: MarketTrade): void {
  const isOld = fold.head !== null && comesBefore(event, fold.head.slot);
  if (event.kind === 'migration') foldMigration(fold, event, isOld);
  else foldTrade(fold, event, isOld);
}

function foldTrade(fold: Fold, event: MarketTrade, isOld: boolean): void {
  const isMain = isOld ? wasMainPool(fold.head!, event) : isMainPool(fold.head, event);
  const head = (fold.head ??= headOf(event));
  /** What stands in the head of the main pool stood there after this event too. */
  const isLast = !isOld || event.slot >= head.priceSlot;
  if (isMain && isLast && (!isOld || event.poolAddress === head.poolAddress)) enterMain(head, event);
  if (isMain && event.completesCurve) head.curveOver = true;
  if (isMain && event.atS > head.mainTradedS) head.mainTradedS = event.atS;
  note(head, event, isOld);
  const hasOwn = isMain && event.priceQuote !== null;
  const price = hasOwn ? event.priceQuote : isLast ? head.priceQuote : null;
  const priceUsd = hasOwn ? event.priceUsd : head.priceUsd;
  const quote = event.quoteMint === head.quoteMint ? event.quote : event.base * (head.priceQuote ?? 0);
  const sol = event.sol ?? valueOf(event, event.priceSol);
  const usd = valueOf(event, event.priceUsd);
  for (const [interval, byStart] of fold.tallies) {
    const startS = event.atS - (event.atS % baseIntervals[interval]);
    let tally = byStart.get(startS);
    if (tally === undefined) byStart.set(startS, (tally = emptyTally()));
    if (price !== null) addPrice(tally, price, priceUsd, event.slot);
    tally.volumeBase += event.base;
    tally.volumeQuote += quote;
    tally.volumeSol += sol;
    tally.volumeUsd += usd;
    if (event.isBuy) tally.buys++;
    else tally.sells++;
  }
}

function foldMigration(fold: Fold, event: MarketTrade, isOld: boolean): void {
  const head = (fold.head ??= headOf(event));
  // One that comes late, and whose pool has become the main one without it, says nothing new.
  if (!isOld || isCurve(head.pool)) enterMain(head, event);
  head.curveOver = true;
  if (event.atS > head.mainTradedS) head.mainTradedS = event.atS;
  note(head, event, isOld);
}

/** A slot that is impossibly far ahead was none, and does not make late what comes after it. */
function comesBefore({ slot, late }: MarketTrade, newest: number): boolean {
  return late ? slot < newest : isLate(slot, newest);
}

/** Whether the pool of an event that comes late was the main one then: a curve is, as long as anybody trades in it. */
function wasMainPool(head: MintHead, { pool, poolAddress, slot }: MarketTrade): boolean {
  return isCurve(pool) || (poolAddress === head.poolAddress && slot >= head.poolSlot);
}

function headOf(event: MarketTrade): Mutable<MintHead> {
  const { pool, poolAddress, quoteMint, depthSol, priceQuote, priceUsd, atS, slot, receivedUs, simulated } = event;
  return {
    pool,
    poolAddress,
    quoteMint,
    poolSlot: 0,
    depthSol,
    priceQuote,
    priceUsd,
    priceSlot: slot,
    tickSlot: 0,
    mainTradedS: atS,
    curveOver: false,
    firstS: atS,
    tradedS: atS,
    slot,
    receivedUs,
    simulated,
  };
}

/** The event is of the main pool, from now on at least. */
function enterMain(head: Mutable<MintHead>, event: MarketTrade): void {
  const { pool, poolAddress, quoteMint, depthSol, priceQuote, priceUsd, slot } = event;
  if (priceQuote !== null || quoteMint !== head.quoteMint) {
    head.priceQuote = priceQuote;
    head.priceUsd = priceUsd;
    head.priceSlot = slot;
  }
  if (poolAddress !== head.poolAddress) head.poolSlot = slot;
  head.pool = pool;
  head.poolAddress = poolAddress;
  head.quoteMint = quoteMint;
  head.depthSol = depthSol;
}

function note(head: Mutable<MintHead>, { kind, slot, atS, receivedUs, simulated }: MarketTrade, isOld: boolean): void {
  if (kind === 'trade' && atS > head.tradedS) head.tradedS = atS;
  if (isOld) {
    if (atS < head.firstS) head.firstS = atS;
    return;
  }
  head.slot = slot;
  head.receivedUs = receivedUs;
  head.simulated = simulated;
}

/** The quote coins of a trade at a price of the token that stands beside its `priceQuote`; 0 where either is not known. */
function valueOf({ quote, priceQuote }: MarketTrade, otherPrice: number | null): number {
  return priceQuote === null || priceQuote === 0 || otherPrice === null ? 0 : quote * (otherPrice / priceQuote);
}
