import type { Commitment, VenueName } from '../wire/events.ts';

/** A trade or a migration, as input of the market's state. Amounts are in whole coins, times in Unix seconds and microseconds. */
export interface MarketTrade {
  readonly kind: 'trade' | 'migration';
  /** The id of its event. */
  readonly id: string;
  readonly quoteMint: string;
  /** Of a migration: its destination. */
  readonly pool: VenueName;
  readonly poolAddress: string;
  readonly slot: number;
  readonly commitment: Commitment;
  /** The chain's time, or the time of receipt if the chain's is unknown. */
  readonly atS: number;
  readonly receivedUs: number;
  readonly late: boolean;
  readonly simulated: boolean;
  readonly priceQuote: number | null;
  readonly priceSol: number | null;
  readonly priceUsd: number | null;
  /** Depth of the pool in SOL; 0 if unknown. */
  readonly depthSol: number;
  /** Of a trade; 0, null and false for a migration. */
  readonly isBuy: boolean;
  readonly base: number;
  readonly quote: number;
  readonly sol: number | null;
  readonly completesCurve: boolean;
}
