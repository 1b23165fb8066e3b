import type { Commitment, VenueName } from '../wire/events.ts';

/** A trade or a migration as the market's state takes it. Amounts in whole coins; times in Unix seconds and microseconds. */
export interface MarketTrade {
  readonly kind: 'trade' | 'migration';
  /** Of its event. */
  readonly id: string;
  readonly quoteMint: string;
  /** Of a migration: where it went. */
  readonly pool: VenueName;
  readonly poolAddress: string;
  readonly slot: number;
  readonly commitment: Commitment;
  /** By the chain's clock; when it was received where that is not known. */
  readonly atS: number;
  readonly receivedUs: number;
  readonly late: boolean;
  readonly simulated: boolean;
  readonly priceQuote: number | null;
  readonly priceSol: number | null;
  readonly priceUsd: number | null;
  /** What the pool holds of its quote coin, in SOL; 0 where that cannot be told. */
  readonly depthSol: number;
  /** Of a trade; 0, null and false for a migration. */
  readonly isBuy: boolean;
  readonly base: number;
  readonly quote: number;
  readonly sol: number | null;
  readonly completesCurve: boolean;
}
