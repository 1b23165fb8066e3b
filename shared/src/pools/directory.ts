import type { Holding } from '../market/market.ts';
import type { VenueName } from '../wire/events.ts';

/**
 * Which pools a mint has: a hint where to look on the chain, and never more. It may lack a pool, name one that a dead fork had, or lie if
 * somebody wrote to Redis. A reader takes only the address and the venue from it, and believes what the pool's account says. Accounts
 * other than the pool's own follow from the pair or from the pool's account, so they are not kept.
 *
 * One process writes it: the holder of the lease `market`. In Redis, or in this process beside the bus.
 */
export interface KnownPool {
  readonly venue: VenueName;
  readonly address: string;
  readonly quoteMint: string;
  /** SOL that the pool holds in its quote coin; 0 if unknown. */
  readonly depthSol: number;
  /** Slot of the event that this was read from. */
  readonly slot: number;
}

/** A pool as one event shows it. */
export interface PoolSighting extends KnownPool {
  readonly mint: string;
}

export interface PoolLookup {
  /** The known pools of a mint, deepest first; of equal ones, the lower address first. Rejects with a `RedisFault` while Redis does not answer. */
  poolsOf(mint: string): Promise<readonly KnownPool[]>;
}

export interface PoolDirectory extends PoolLookup {
  /** Whether it has all pools of the log up to the market's checkpoint. False if it is new, or was emptied. */
  isComplete(): Promise<boolean>;
  /**
   * Adds pools or updates them; a sighting of an older slot changes nothing. May be repeated. `completes` marks the directory as complete.
   * Nothing is done if the holding is over (`fenced`).
   */
  note(sightings: readonly PoolSighting[], holding: Holding, completes?: boolean): Promise<'applied' | 'fenced'>;
  close(): Promise<void>;
}

export interface PoolBounds {
  /** Pools of one mint. Beyond it, the shallowest is dropped, which may be the new one. */
  readonly poolsPerMint: number;
  /** Mints in all. Beyond it, the mint whose last sighting is the oldest is dropped. */
  readonly mints: number;
}

/** A mint with one pool takes some 0.4 kB. */
export const poolBounds: PoolBounds = { poolsPerMint: 16, mints: 100_000 };

/** Order of the pools of a mint: deepest first, then by address. */
export function byDepth(a: KnownPool, b: KnownPool): number {
  return b.depthSol - a.depthSol || (a.address < b.address ? -1 : 1);
}
