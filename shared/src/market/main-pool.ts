import type { VenueName } from '../venues/names.ts';
import { isCurveVenue } from '../venues/registry.ts';

/**
 * The state of a mint in addition to its buckets: which of its pools is the main one, and the last values of that pool. A mint can have any number
 * of pools, and anyone can open one. Prices are therefore those of the main pool alone; volumes and counts include all pools.
 */
export interface MintHead {
  /** The main pool: its venue and its address. */
  readonly pool: VenueName;
  readonly poolAddress: string;
  readonly quoteMint: string;
  /** The slot from which it is the main pool; 0: since the first known event of the mint. */
  readonly poolSlot: number;
  /** Depth of the pool in SOL: what sellers receive until the price has fallen by 1 %. 0 if unknown. */
  readonly depthSol: number;
  /** Last price in the main pool, in quote coins and in USD for one token (null if unknown), and its slot. */
  readonly priceQuote: number | null;
  readonly priceUsd: number | null;
  readonly priceSlot: number;
  /** Slot of the newest stored price event of the main pool; 0 if none is stored. */
  readonly tickSlot: number;
  /** Unix seconds of the last trade in the main pool. */
  readonly mainTradedS: number;
  /** The bonding curve is complete, or has migrated. */
  readonly curveOver: boolean;
  /** Unix seconds of the mint's first known event, and of its last trade. */
  readonly firstS: number;
  readonly tradedS: number;
  /** Slot of the mint's last event in the order of the chain. */
  readonly slot: number;
  readonly receivedUs: number;
  readonly simulated: boolean;
}

/** A pool must be deeper than the main one by this factor to replace it. Otherwise two equal pools would take turns. */
const deeperBy = 1.1;
/** A main pool without a trade for this long can be replaced by any pool with `quietDepthPart` of its depth. */
const quietS = 3_600;
/**
 * The share of the main pool's depth that a pool must have to replace a quiet main pool. A completed curve is replaced at once, because it no
 * longer trades.
 */
const quietDepthPart = 0.1;

/** The fields of a head that decide which pool is the main one. */
export type MainPoolFacts = Pick<MintHead, 'pool' | 'poolAddress' | 'depthSol' | 'mainTradedS' | 'curveOver'>;

/** The fields of a trade that decide which pool is the main one. */
export interface PoolSighting {
  readonly pool: VenueName;
  readonly poolAddress: string;
  readonly depthSol: number;
  readonly atS: number;
}

/**
 * Whether a pool in which the mint traded becomes its main pool:
 *
 * 1. The first pool seen becomes the main one. A bonding curve replaces any pool until the curve is complete or has migrated.
 * 2. A curve stays the main pool until then. A migration names its successor; if the migration was not seen, rule 4 applies at once.
 * 3. Among ordinary pools, a pool replaces the main one if it is deeper by a tenth.
 * 4. If the main pool had no trade for an hour, any pool with a tenth of its depth replaces it, because its end was not seen.
 */
export function isMainPool(head: MainPoolFacts | null, seen: PoolSighting): boolean {
  if (head === null || seen.poolAddress === head.poolAddress) return true;
  if (isCurveVenue(seen.pool)) return !head.curveOver && !isCurveVenue(head.pool);
  const isOver = isCurveVenue(head.pool) && head.curveOver;
  if ((isOver || seen.atS - head.mainTradedS > quietS) && seen.depthSol >= head.depthSol * quietDepthPart) return true;
  if (isCurveVenue(head.pool) && !head.curveOver) return false;
  return seen.depthSol > head.depthSol * deeperBy;
}
