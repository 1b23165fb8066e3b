import type { VenueName } from '../../wire/venues.ts';
import { isCurveVenue } from '../../wire/venues.ts';
import type { SlotPrice } from './slot-prices.ts';

/**
 * Which pool of a mint is its main one, and the last price there. A mint can have any number of pools, and anyone can open one and trade in it
 * at any price. Candles and market caps therefore use the prices of the main pool alone; volumes and counts include all pools.
 */
export interface MainPool {
  /** Its venue and its address. */
  readonly pool: VenueName;
  readonly poolAddress: string;
  readonly quoteMint: string;
  /** Depth in SOL: what sellers receive until the price has fallen by 1 %. 0 if unknown. */
  readonly depthSol: number;
  /** The last price that counts, in quote coins and in USD for one token; null if unknown. */
  readonly priceQuote: number | null;
  readonly priceUsd: number | null;
  /** Unix seconds of its last trade. */
  readonly mainTradedS: number;
  /** The bonding curve is complete, or has migrated. */
  readonly curveOver: boolean;
  /** Unix seconds from which its place is proven. 0: from the start, because it is a curve, or a migration or the chain names it. */
  readonly provenFromS: number;
  /** Address of the pool that has been deeper since `rivalSinceS`, and may replace it; empty if there is none. */
  readonly rival: string;
  readonly rivalSinceS: number;
}

/** The state of a mint in addition to its buckets. */
export interface MintHead extends MainPool {
  /** The slot from which the main pool is the main one; 0: since the first known event of the mint. */
  readonly poolSlot: number;
  /** Slot of the last price that counts. */
  readonly priceSlot: number;
  /** The newest slots with trades, and those of trades that are read late, as far as their prices can still change. */
  readonly slots: readonly SlotPrice[];
  readonly lateSlots: readonly SlotPrice[];
  /** Slot of the newest stored price event of the main pool; 0 if none is stored. */
  readonly tickSlot: number;
  /** Unix seconds of the mint's first known event, and of its last trade. */
  readonly firstS: number;
  readonly tradedS: number;
  /** Slot of the mint's last event in the order of the chain. */
  readonly slot: number;
  readonly receivedUs: number;
  readonly simulated: boolean;
}

/**
 * Bounds below which a price does not count: the depth of its pool, and the size of the trade, both in SOL. At the least depth, a pool of a
 * constant product holds 0.2 SOL, and a trade below the least size moves its price by less than 0.01 %.
 */
export const minPriceDepthSol = 0.001;
export const minPriceTradeSol = 0.000_01;

/** A pool must be deeper than the main one by this factor to replace it. Otherwise two equal pools would take turns. */
const deeperBy = 1.1;
/** How long it must have been deeper, in all its trades, before it replaces a proven pool. Coins that are lent for one transaction do not suffice. */
const rivalForS = 60;
/** The same if the main pool is not proven, or is a curve that is over: longer than the slots in which one validator decides what happens. */
const youngRivalForS = 10;
/** The prices of two pools of one market differ by less than this factor. A deep pool at another price is no market. */
const agreementFactor = 3;
/** A main pool without a trade for this long can be replaced by a pool with `quietDepthPart` of its depth. */
const quietS = 3_600;
const quietDepthPart = 0.1;
/** After this time without a trade, its price need not agree any more. */
const deadS = 86_400;
/** A pool of which nothing but its own trades is known is proven after this time as the main one. */
const provenAfterS = 600;

/** The fields of a trade or of a price that decide which pool is the main one. */
export interface PoolPrice {
  readonly pool: VenueName;
  readonly poolAddress: string;
  readonly quoteMint: string;
  /** Null if it is unknown. */
  readonly depthSol: number | null;
  /** Null if there is none. */
  readonly priceQuote: number | null;
  readonly priceUsd: number | null;
  /** Value of the trade in SOL; null if it is unknown, or if there was no trade. */
  readonly sizeSol: number | null;
  readonly atS: number;
}

/**
 * Whether this price counts, if its pool is the main one. The price of a bonding curve follows from the program's own reserves, so it always
 * counts. An ordinary pool must be deep enough, and the trade large enough: in a pool of a few units, anybody can set any price. What is unknown is
 * no reason against it, because a pool of unknown depth does not replace one of known depth.
 */
export function priceCounts({ pool, depthSol, priceQuote, sizeSol }: PoolPrice): boolean {
  if (priceQuote === null) return false;
  if (isCurveVenue(pool)) return true;
  return (depthSol === null || depthSol >= minPriceDepthSol) && (sizeSol === null || sizeSol >= minPriceTradeSol);
}

/**
 * The place of a pool among the pools of its mint. `main`: it is the main pool. `successor`: it replaces the main pool now. `rival`: it does so
 * if it stays deeper. `other`: none of these.
 */
export type Place = 'main' | 'successor' | 'rival' | 'other';

/**
 * The place of a pool in which the mint traded: the whole rule, from one trade or price and what is known before it.
 *
 * 1. The pool that is known or read from the chain is the main one; if there is none, the first pool seen. A bonding curve replaces any pool until
 *    the curve is complete or has migrated. A migration names its successor.
 * 2. No other pool replaces the main pool unless its price counts (`priceCounts`).
 * 3. A main pool is unproven for its first ten minutes if only its own trades show it. A pool that has been deeper by a tenth for ten seconds replaces
 *    it at any price, and its prices are removed from the candles.
 * 4. A pool replaces a proven one if it has been deeper by a tenth for a minute, and their prices agree. It does not replace a curve that trades.
 * 5. If the main pool had no trade for an hour, a tenth of its depth suffices in rule 4.
 * 6. If the curve is over and its migration was not seen, a pool that has had a tenth of its depth for ten seconds replaces it if the prices agree.
 *    After a day without a trade, one that has had it for a minute replaces it at any price; the same holds for an ordinary pool.
 */
export function placeOf(main: MainPool | null, seen: PoolPrice): Place {
  if (main === null) return 'successor';
  if (seen.poolAddress === main.poolAddress) return 'main';
  const isCurve = isCurveVenue(main.pool);
  if (isCurveVenue(seen.pool)) return main.curveOver || isCurve ? 'other' : 'successor';
  if (!priceCounts(seen)) return 'other';
  const quietForS = seen.atS - main.mainTradedS;
  const isTrading = isCurve && !main.curveOver;
  const depthSol = seen.depthSol ?? 0;
  const isTenth = depthSol >= main.depthSol * quietDepthPart;
  const isDeeper = depthSol > main.depthSol * deeperBy;
  const isRivalFor = (seconds: number): Place =>
    main.rival === seen.poolAddress && seen.atS - main.rivalSinceS >= seconds ? 'successor' : 'rival';
  if (isTenth && quietForS > deadS && !isTrading) return isRivalFor(rivalForS);
  if (isDeeper && seen.atS < main.provenFromS) return isRivalFor(youngRivalForS);
  if (!pricesAgree(main, seen)) return 'other';
  if (isCurve && main.curveOver) return isTenth ? isRivalFor(youngRivalForS) : 'other';
  if (quietForS > quietS ? !isTenth : !isDeeper || isTrading) return 'other';
  return isRivalFor(rivalForS);
}

/** The place of the pool that a read of the chain shows as the main one. It does not replace a proven pool that trades. */
export function placeOfRead(main: MainPool, seen: PoolPrice): 'main' | 'successor' | 'other' {
  if (seen.poolAddress === main.poolAddress) return 'main';
  return isCurveVenue(main.pool) || seen.atS < main.provenFromS || isInDoubt(main, seen.atS) ? 'successor' : 'other';
}

/** Whether the end of the main pool may have been missed: it had no trade for a long time, or it is a curve that is over. */
export function isInDoubt(main: MainPool, atS: number): boolean {
  return atS - main.mainTradedS > quietS || (isCurveVenue(main.pool) && main.curveOver);
}

type Priced = Pick<PoolPrice, 'quoteMint' | 'priceQuote' | 'priceUsd'>;

/** True also if the prices cannot be compared, because the pools have different quote coins and one price in USD is unknown. */
export function pricesAgree(main: Priced, seen: Priced): boolean {
  const [a, b] =
    main.quoteMint === seen.quoteMint && main.priceQuote !== null && seen.priceQuote !== null
      ? [main.priceQuote, seen.priceQuote]
      : [main.priceUsd, seen.priceUsd];
  return a === null || b === null || (a < b * agreementFactor && b < a * agreementFactor);
}

export type Mutable<T> = { -readonly [Field in keyof T]: T[Field] };

/** The main pool of a mint of which nothing was known. `isKnown`: a migration or the chain names it. */
export function firstMain(seen: PoolPrice, isKnown = false): Mutable<MainPool> {
  const { pool, poolAddress, quoteMint, depthSol, priceQuote, priceUsd, atS } = seen;
  const counts = priceCounts(seen);
  return {
    pool,
    poolAddress,
    quoteMint,
    depthSol: depthSol ?? 0,
    priceQuote: counts ? priceQuote : null,
    priceUsd: counts ? priceUsd : null,
    mainTradedS: atS,
    curveOver: false,
    provenFromS: isKnown || isCurveVenue(pool) ? 0 : atS + provenAfterS,
    rival: '',
    rivalSinceS: 0,
  };
}

/** Records a trade or a price at its place. Changes `main`. `isKnown`: a migration or the chain names the pool. */
export function takePlace(main: Mutable<MainPool>, seen: PoolPrice, place: Place, isKnown = false): void {
  const { pool, poolAddress, quoteMint, depthSol, atS } = seen;
  if (place === 'rival' || place === 'other') {
    if (place === 'other' && main.rival === poolAddress) main.rival = '';
    // A rival that stopped trading does not keep others out.
    const heldForS = 2 * (atS < main.provenFromS ? youngRivalForS : rivalForS);
    if (place !== 'rival' || (main.rival !== '' && atS - main.rivalSinceS <= heldForS)) return;
    main.rival = poolAddress;
    main.rivalSinceS = atS;
    return;
  }
  if (place === 'successor') {
    const wasProven = !isCurveVenue(main.pool) && atS >= main.provenFromS && pricesAgree(main, seen);
    main.provenFromS = isCurveVenue(pool) || (main.rival === poolAddress && wasProven) ? 0 : atS + provenAfterS;
    main.rival = '';
  }
  if (priceCounts(seen)) {
    main.priceQuote = seen.priceQuote;
    main.priceUsd = seen.priceUsd;
  } else if (main.quoteMint !== quoteMint) main.priceQuote = main.priceUsd = null;
  if (isKnown) main.provenFromS = 0;
  main.pool = pool;
  main.poolAddress = poolAddress;
  main.quoteMint = quoteMint;
  if (depthSol !== null || place === 'successor') main.depthSol = depthSol ?? 0;
  if (atS > main.mainTradedS) main.mainTradedS = atS;
}

/**
 * Unix seconds from which on the prices of the main pool are removed from the candles because another pool replaces it at `atS`; null if they
 * stay.
 */
export function unprovenSince({ provenFromS }: MainPool, atS: number): number | null {
  return atS < provenFromS ? provenFromS - provenAfterS : null;
}
