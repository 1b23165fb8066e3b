import { isLate } from '../../solana/slots.ts';
import { isCurveVenue } from '../../wire/venues.ts';
import { firstMain, placeOf, placeOfRead, priceCounts, takePlace, unprovenSince } from '../pools/main-pool.ts';
import type { MintHead, Mutable, Place } from '../pools/main-pool.ts';
import type { MarketTrade } from '../market-trade.ts';
import { baseIntervals, type BaseInterval } from '../market.ts';
import { countAll, countSlots, isCounted, lastsMs, noteSlot, type Count, type Price } from '../pools/slot-prices.ts';
import { addPrice, emptyTally, removePrices, type Tally } from './tally.ts';

/** The state of one mint while its trades and migrations are added: its head, and the changes of its buckets. */
export interface Fold {
  head: Mutable<MintHead> | null;
  /** Buckets of each requested interval, by their start. */
  readonly tallies: readonly (readonly [interval: BaseInterval, byStart: Map<number, Tally>])[];
  /** Prices to remove from the buckets before the changes are added; null if there are none. */
  voided: VoidedPrices | null;
}

/** The buckets that contain one of these seconds have prices of a pool that lost its place. */
export interface VoidedPrices {
  readonly fromS: number;
  readonly toS: number;
}

export function isVoided({ fromS, toS }: VoidedPrices, interval: BaseInterval, startS: number): boolean {
  return startS + baseIntervals[interval] > fromS && startS <= toS;
}

const lastsUs = lastsMs * 1_000;

/** Before the first price. */
export const noSlots = { slots: [], lateSlots: [] } as const;

export const allIntervals = Object.keys(baseIntervals) as readonly BaseInterval[];

/** Starts from a copy of this head; the original is not changed. */
export function beginFold(head: MintHead | null, intervals: readonly BaseInterval[]): Fold {
  return { head: head === null ? null : { ...head }, tallies: intervals.map((interval) => [interval, new Map()]), voided: null };
}

/**
 * Adds the next event of a mint, in the order of the chain, or a late event, which happened before the event that the head shows. A trade
 * adds its amounts, in any pool, to its second, its minute and its hour. Of prices only those of slots count (`slot-prices.ts`): a candle opens at the
 * price before its first slot, where the candle before it ended. A late trade adds no price if it was not in the main pool and the price of that time is not known any more.
 */
export function foldNext(fold: Fold, event: MarketTrade): void {
  const isOld = fold.head !== null && comesBefore(event, fold.head.slot);
  if (event.kind === 'migration') foldMigration(fold, event, isOld);
  else if (event.kind === 'pool') foldRead(fold, event);
  else if (event.kind === 'liquidity') foldLiquidity(fold, event, isOld);
  else foldTrade(fold, event, isOld);
}

/** Adds what is not decided yet, for readers. The fold must not go on after it. */
export function foldUndecided(fold: Fold, nowUs: number): void {
  const { head } = fold;
  if (head === null) return;
  for (const prices of [head.lateSlots, head.slots]) countAll(prices, nowUs - lastsUs, countIn(fold));
}

function foldTrade(fold: Fold, event: MarketTrade, isOld: boolean): void {
  const last = fold.head?.poolAddress === event.poolAddress ? priceOf(fold.head) : null;
  const isMain = isOld ? wasMainPool(fold.head!, event) : enter(fold, event, placeOf(fold.head, event));
  const head = (fold.head ??= headOf(event));
  /** The current price of the main pool was also its price after this event. */
  const isLast = !isOld || event.slot >= head.priceSlot;
  if (isOld && isMain && isLast && event.poolAddress === head.poolAddress) enter(fold, event, 'main');
  if (isMain && event.completesCurve) head.curveOver = true;
  if (isMain && event.atS > head.mainTradedS) head.mainTradedS = event.atS;
  note(head, event, isOld);
  const isOwn = isMain && priceCounts(event);
  const price = isOwn ? priceOf(event) : isLast ? priceOf(head) : null;
  if (price !== null) notePrice(fold, head, event, { price, isOwn, before: isOwn ? priceBefore(event, isLast ? last : null) : null });
  const quote = event.quoteMint === head.quoteMint ? event.quote : event.base * (head.priceQuote ?? 0);
  const usd = valueOf(event, event.priceUsd);
  for (const [interval, byStart] of fold.tallies) {
    const tally = tallyAt(byStart, interval, event.atS);
    tally.volumeBase += event.base;
    tally.volumeQuote += quote;
    tally.volumeSol += event.sizeSol ?? 0;
    tally.volumeUsd += usd;
    if (event.isBuy) tally.buys++;
    else tally.sells++;
  }
}

/** Notes the price after a trade in its slot. Trades of slots that are counted already are a sequence of their own: they are read late, in order. */
function notePrice(
  fold: Fold,
  head: Mutable<MintHead>,
  { slot, atS, receivedUs }: MarketTrade,
  { price, isOwn, before }: { readonly price: Price; readonly isOwn: boolean; readonly before: Price | null },
): void {
  const count = countIn(fold);
  const isPast = isCounted(head.slots, slot);
  if (isPast && head.lateSlots.some((one) => one.slot > slot)) {
    countSlots(head.lateSlots, Number.POSITIVE_INFINITY, count);
    head.lateSlots = [];
  }
  const known = isPast ? head.lateSlots : head.slots;
  const seen = { slot, atS, receivedUs, isOwn, ...price, before, counted: null };
  if (before !== null && !known.some((one) => one.slot <= slot)) count(before, seen);
  const noted = countSlots(noteSlot(known, seen), Number.NEGATIVE_INFINITY, count);
  if (isPast) head.lateSlots = noted;
  else head.slots = noted;
}

function countIn({ tallies }: Fold): Count {
  return ({ quote, usd }, { slot, atS }) => {
    for (const [interval, byStart] of tallies) addPrice(tallyAt(byStart, interval, atS), quote, usd, slot);
  };
}

function tallyAt(byStart: Map<number, Tally>, interval: BaseInterval, atS: number): Tally {
  const startS = atS - (atS % baseIntervals[interval]);
  let tally = byStart.get(startS);
  if (tally === undefined) byStart.set(startS, (tally = emptyTally()));
  return tally;
}

function foldMigration(fold: Fold, event: MarketTrade, isOld: boolean): void {
  const head = (fold.head ??= headOf(event));
  // A late event adds nothing here if its pool became the main one without it.
  if (!isOld || isCurveVenue(head.pool)) enter(fold, event, event.poolAddress === head.poolAddress ? 'main' : 'successor');
  head.curveOver = true;
  if (event.atS > head.mainTradedS) head.mainTradedS = event.atS;
  note(head, event, isOld);
}

/** Another pool may replace a main pool that was drained. */
function foldLiquidity({ head }: Fold, { poolAddress, depthSol }: MarketTrade, isOld: boolean): void {
  if (head?.poolAddress === poolAddress && !isOld && depthSol !== null) head.depthSol = depthSol;
}

/** What a read of the chain shows as the main pool now, even if the trade for which it was read is older. */
function foldRead(fold: Fold, event: MarketTrade): void {
  const { head } = fold;
  if (head === null) {
    fold.head = { ...headOf(event), curveOver: event.completesCurve };
    return;
  }
  const read = { ...event, slot: Math.max(event.slot, head.slot), atS: Math.max(event.atS, head.tradedS) };
  const place = placeOfRead(head, read);
  if (place === 'other') return;
  enter(fold, read, place);
  head.curveOver = event.completesCurve;
}

/** Records an event at its place, and returns whether its pool is now the main one. */
function enter(fold: Fold, event: MarketTrade, place: Place): boolean {
  const { head } = fold;
  const isMain = place === 'main' || place === 'successor';
  if (head === null) return isMain;
  if (place === 'successor') {
    const sinceS = unprovenSince(head, event.atS);
    if (sinceS !== null) removeSince(fold, sinceS, Math.max(event.atS, head.tradedS));
    else for (const prices of [head.lateSlots, head.slots]) countSlots(prices, Number.POSITIVE_INFINITY, countIn(fold));
    head.slots = head.lateSlots = [];
    head.poolSlot = event.slot;
  }
  if (isMain && (priceCounts(event) || event.quoteMint !== head.quoteMint)) head.priceSlot = event.slot;
  takePlace(head, event, place, event.kind !== 'trade');
  return isMain;
}

/** Removes the prices of these seconds, from this section and from what is stored. */
function removeSince(fold: Fold, fromS: number, toS: number): void {
  const { voided } = fold;
  const all = (fold.voided = voided === null ? { fromS, toS } : { fromS: Math.min(fromS, voided.fromS), toS: Math.max(toS, voided.toS) });
  for (const [interval, byStart] of fold.tallies) {
    for (const [startS, tally] of byStart) if (isVoided(all, interval, startS)) removePrices(tally);
  }
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
  const { kind, atS, slot, receivedUs, simulated } = event;
  const times = { poolSlot: 0, priceSlot: slot, tickSlot: 0, firstS: atS, tradedS: atS, slot, receivedUs, simulated, ...noSlots };
  return { ...firstMain(event, kind !== 'trade'), ...times };
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

function priceOf({ priceQuote: quote, priceUsd: usd }: Pick<MintHead, 'priceQuote' | 'priceUsd'>): Price | null {
  return quote === null ? null : { quote, usd };
}

/** The price before a trade, or the last one if the trade does not show it. In USD at the rate of this trade, unless it is the last price. */
function priceBefore({ priceQuote, priceUsd, priceBefore: shown }: MarketTrade, last: Price | null): Price | null {
  const quote = shown ?? last?.quote ?? null;
  if (quote === null || priceUsd === null || priceQuote === null || priceQuote === 0) return quote === null ? null : { quote, usd: null };
  return { quote, usd: quote === last?.quote && last.usd !== null ? last.usd : quote * (priceUsd / priceQuote) };
}

/** Quote coins of a trade, at a price of the token that belongs to its `priceQuote`; 0 if either price is unknown. */
function valueOf({ quote, priceQuote }: MarketTrade, otherPrice: number | null): number {
  return priceQuote === null || priceQuote === 0 || otherPrice === null ? 0 : quote * (otherPrice / priceQuote);
}
