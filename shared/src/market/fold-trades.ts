import { isLate } from '../solana/slots.ts';
import { isCurveVenue } from '../venues/registry.ts';
import { isMainPool, type MintHead } from './main-pool.ts';
import type { MarketTrade } from './market-trade.ts';
import { baseIntervals, type BaseInterval } from './market.ts';
import { addPrice, emptyTally, type Tally } from './tally.ts';

type Mutable<T> = { -readonly [Field in keyof T]: T[Field] };

/** The state of one mint while its trades and migrations are added: its head, and the changes of its buckets. */
export interface Fold {
  head: Mutable<MintHead> | null;
  /** Buckets of each requested interval, by their start. */
  readonly tallies: readonly (readonly [interval: BaseInterval, byStart: Map<number, Tally>])[];
}

export const allIntervals = Object.keys(baseIntervals) as readonly BaseInterval[];

/** Starts from a copy of this head; the original is not changed. */
export function beginFold(head: MintHead | null, intervals: readonly BaseInterval[]): Fold {
  return { head: head === null ? null : { ...head }, tallies: intervals.map((interval) => [interval, new Map()]) };
}

/**
 * Adds the next event of a mint, in the order of the chain, or a late event, which happened before the event that the head shows. A trade
 * adds to its second, its minute and its hour: its amounts, in any pool, and the price after it, if it was in the main pool. A
 * trade in another pool, or without a price, adds the main pool's price at that time; if it is late and that price is no longer known, it
 * adds none.
 */
export function foldNext(fold: Fold, event: MarketTrade): void {
  const isOld = fold.head !== null && comesBefore(event, fold.head.slot);
  if (event.kind === 'migration') foldMigration(fold, event, isOld);
  else foldTrade(fold, event, isOld);
}

function foldTrade(fold: Fold, event: MarketTrade, isOld: boolean): void {
  const isMain = isOld ? wasMainPool(fold.head!, event) : isMainPool(fold.head, event);
  const head = (fold.head ??= headOf(event));
  /** The current price of the main pool was also its price after this event. */
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
  // A late event adds nothing here if its pool became the main one without it.
  if (!isOld || isCurveVenue(head.pool)) enterMain(head, event);
  head.curveOver = true;
  if (event.atS > head.mainTradedS) head.mainTradedS = event.atS;
  note(head, event, isOld);
}

/** Ignores a slot that is impossibly far ahead, because later events would then be treated as late. */
function comesBefore({ slot, late }: MarketTrade, newest: number): boolean {
  return late ? slot < newest : isLate(slot, newest);
}

/** Whether the pool of a late event was the main pool at that time. A curve was, as long as there were trades in it. */
function wasMainPool(head: MintHead, { pool, poolAddress, slot }: MarketTrade): boolean {
  return isCurveVenue(pool) || (poolAddress === head.poolAddress && slot >= head.poolSlot);
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

/** Records an event of the main pool; its pool becomes the main one if it was not. */
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

/** Quote coins of a trade, at a price of the token that belongs to its `priceQuote`; 0 if either price is unknown. */
function valueOf({ quote, priceQuote }: MarketTrade, otherPrice: number | null): number {
  return priceQuote === null || priceQuote === 0 || otherPrice === null ? 0 : quote * (otherPrice / priceQuote);
}
