import type { VenueName } from '../wire/events.ts';

/**
 * What is kept of a mint beside its buckets: which of its pools is the main one, and where that stood last. A mint trades in
 * any number of pools, and anybody can open one: prices are those of the main pool alone, volumes and counts are of all.
 */
export interface MintHead {
  /** The main pool. */
  readonly pool: VenueName;
  readonly poolAddress: string;
  readonly quoteMint: string;
  /** From which slot on it is the main one; 0: as far back as anything is known of the mint. */
  readonly poolSlot: number;
  /** What it holds of its quote coin, in SOL; 0 where that cannot be told. */
  readonly depthSol: number;
  /** Last price in it, quote coins for one token and USD; null where none is known. And the slot that it is of. */
  readonly priceQuote: number | null;
  readonly priceUsd: number | null;
  readonly priceSlot: number;
  /** Slot of the newest price event of the main pool that is kept; 0 where none is. */
  readonly tickSlot: number;
  /** Unix seconds of the last trade in it. */
  readonly mainTradedS: number;
  /** The bonding curve was completed, or has migrated. */
  readonly curveOver: boolean;
  /** Unix seconds of the mint's first event kept, and of its last trade. */
  readonly firstS: number;
  readonly tradedS: number;
  /** Of the mint's last event in the order of the chain. */
  readonly slot: number;
  readonly receivedUs: number;
  readonly simulated: boolean;
}

/** Venues whose pools are bonding curves: a mint has at most one, and begins there. */
const curveVenues: ReadonlySet<VenueName> = new Set(['pump', 'launchlab', 'meteora-dbc']);

export function isCurve(pool: VenueName): boolean {
  return curveVenues.has(pool);
}

/** A pool must be deeper than the main one by this much to take its place, so that two like ones don't take turns. */
const deeperBy = 1.1;
/** A main pool without a trade for this long gives way … */
const quietS = 3_600;
/** … to a pool that trades and holds at least this part of what it held; a curve that is over, in which nobody can trade, at once. */
const quietDepthPart = 0.1;

/** Of a head, what says which pool is the main one. */
export type MainPoolFacts = Pick<MintHead, 'pool' | 'poolAddress' | 'depthSol' | 'mainTradedS' | 'curveOver'>;

/** A trade, as far as it says which pool is the main one. */
export interface PoolSighting {
  readonly pool: VenueName;
  readonly poolAddress: string;
  readonly depthSol: number;
  readonly atS: number;
}

/**
 * Whether a pool in which the mint traded is its main one from then on:
 *
 * 1. the first pool seen is; a bonding curve takes over from any pool until it is completed or has migrated;
 * 2. a curve stays the main pool until then (a migration names its successor; where that was not seen, it gives way as in 4, at once);
 * 3. among pools the deeper one is, where it is deeper by a tenth;
 * 4. a main pool in which nobody has traded for an hour gives way to any that holds a tenth of what it held: its end was not seen.
 */
export function isMainPool(head: MainPoolFacts | null, seen: PoolSighting): boolean {
  if (head === null || seen.poolAddress === head.poolAddress) return true;
  if (isCurve(seen.pool)) return !head.curveOver && !isCurve(head.pool);
  const isOver = isCurve(head.pool) && head.curveOver;
  if ((isOver || seen.atS - head.mainTradedS > quietS) && seen.depthSol >= head.depthSol * quietDepthPart) return true;
  if (isCurve(head.pool) && !head.curveOver) return false;
  return seen.depthSol > head.depthSol * deeperBy;
}
