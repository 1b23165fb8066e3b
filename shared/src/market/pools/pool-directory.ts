import type { LeaseTerm, LogPosition } from '../../bus/bus.ts';
import { isRecord } from '../../solana/encoding/json-forms.ts';
import { venueNames, type VenueName } from '../../wire/venues.ts';

/**
 * The pools of each mint: only a hint where to look on the chain. It may lack a pool, contain a pool of a dead fork, or be wrong if
 * somebody wrote to Redis. A reader uses only the address and the venue, and trusts the pool's account instead. Other accounts are not
 * stored: they are computed from the pair, or read from the pool's account.
 *
 * Only one process writes it: the holder of the lease `pools`. It is in Redis, or in this process, like the bus.
 */
export interface KnownPool {
  readonly venue: VenueName;
  readonly address: string;
  readonly quoteMint: string;
  /** Its depth in SOL: what sellers receive until the price has fallen by 1 %. 0 if unknown. */
  readonly depthSol: number;
  /** Slot of the event that these values come from. */
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
  /** It contains all pools of the log up to here. Null if it is new, or was emptied. */
  checkpoint(): Promise<LogPosition | null>;
  /**
   * Adds or updates pools, and moves the checkpoint; a sighting of an older slot changes nothing. Calls may be repeated. If the term is over, nothing
   * is done (`fenced`).
   */
  note(sightings: readonly PoolSighting[], to: LogPosition, leaseTerm: LeaseTerm): Promise<'applied' | 'fenced'>;
  close(): Promise<void>;
}

export interface PoolBounds {
  /** Pools of one mint. Above this limit, the shallowest is dropped, which may be the new one. */
  readonly poolsPerMint: number;
  /** Mints in all. Above this limit, the mint whose last sighting is the oldest is dropped. */
  readonly mints: number;
}

/** A mint with one pool takes about 0.4 kB. */
export const poolBounds: PoolBounds = { poolsPerMint: 16, mints: 100_000 };

/** Order of the pools of a mint: deepest first, then by address. */
export function byDepth(a: KnownPool, b: KnownPool): number {
  return b.depthSol - a.depthSol || (a.address < b.address ? -1 : 1);
}

/** A pool as the follower writes it; null for any other value. */
export function readKnownPool(value: unknown): KnownPool | null {
  if (!isRecord(value)) return null;
  const { venue: name, address, quoteMint, depthSol, slot } = value;
  const venue = venueNames.find((one) => one === name);
  if (venue === undefined || typeof address !== 'string' || typeof quoteMint !== 'string') return null;
  return typeof depthSol === 'number' && typeof slot === 'number' ? { venue, address, quoteMint, depthSol, slot } : null;
}
