import type { Commitment } from '../wire/events/events.ts';
import type { PoolPrice } from './pools/main-pool.ts';

/**
 * A trade, a migration (its pool is the destination), a pool whose liquidity changed, or the main pool as ingest read it from the chain (`pool`), as
 * input of the market's state.
 * Amounts are in whole coins, times in Unix seconds and microseconds.
 */
export interface MarketTrade extends PoolPrice {
  readonly kind: 'trade' | 'migration' | 'liquidity' | 'pool';
  /** The id of its event; empty for a read. */
  readonly id: string;
  readonly slot: number;
  /** Place of its transaction in the block; null if the source did not show it. */
  readonly index: number | null;
  readonly commitment: Commitment;
  /** The chain's time, or the time of receipt if the chain's is unknown. */
  readonly atS: number;
  readonly receivedUs: number;
  readonly late: boolean;
  readonly simulated: boolean;
  /** Of a trade: the price in quote coins before it; null if it is not known. */
  readonly priceBefore: number | null;
  /** Of a trade; 0 and false for the others. */
  readonly isBuy: boolean;
  readonly base: number;
  readonly quote: number;
  /** Of a trade: it completed the curve. Of a read: the curve is complete. */
  readonly completesCurve: boolean;
}
