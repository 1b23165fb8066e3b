import type { LogPosition } from '@sluice/shared/bus/bus.ts';
import type { Comparison, WatchCondition } from '@sluice/shared/market/trigger-condition.ts';

/** A condition to watch. */
export interface Watch {
  readonly id: string;
  /** Null: any mint that the account trades. Only of `account`, `at` and `every`. */
  readonly mint: string | null;
  readonly side: 'buy' | 'sell';
  readonly when: WatchCondition;
  readonly confirm: 'processed' | 'confirmed';
  /** What the main pool must hold, in SOL (`PriceTick.heldSol`). */
  readonly minDepthSol: number;
  readonly holdMs: number;
  /** Of `trailing`: as `WatchIndex.watermarks` returned it; null if it never did. */
  readonly watermark: number | null;
  /** Of `profit`: the wallet that has the position. */
  readonly publicKey: string;
  /** Unix ms. Trades and migrations that ingest received before do not count. */
  readonly armedAtMs: number;
  /** Of `every`: Unix ms. */
  readonly nextAtMs: number | null;
  /** Of `account`: the position of the last trade that fired it. Trades up to there do not count again when the log is replayed. */
  readonly after?: LogPosition | null;
}

/** The trade of a followed account that met a condition. Amounts are raw: tokens, and lamports of its value. */
export interface MetCause {
  readonly mint: string;
  readonly eventId: string;
  readonly baseAmount: string;
  readonly quoteAmount: string;
  readonly position: LogPosition;
}

/** A condition that holds. */
export interface Met {
  readonly id: string;
  /** Empty if the condition has none (`at` and `every` of a trigger without a mint). */
  readonly mint: string;
  /** The value of the metric; null if there is none. */
  readonly value: number | null;
  readonly slot: number | null;
  /** It became true while nothing was watching, or a followed trade is old. */
  readonly late: boolean;
  readonly cause: MetCause | null;
  /** Of a trade or a migration. */
  readonly eventId: string | null;
  /** Of a trade or a migration. The checkpoint stays before it until `WatchIndex.stored` is called. */
  readonly position: LogPosition | null;
  /** Unix µs of the event that decided; null if there is none. */
  readonly receivedUs: number | null;
  readonly publishedUs: number | null;
  /**
   * Of a level, a trailing stop and a profit: the price in SOL that decided, and the price at which the condition just holds; `boundSol` is null if that depends on
   * something else.
   */
  readonly price: { readonly op: Comparison; readonly priceSol: number; readonly boundSol: number | null } | null;
}

/** A price of the main pool of a mint, from the log or from a read of the market's state. */
export interface PriceTick {
  readonly kind: 'price';
  readonly mint: string;
  /** Empty for a read, which is never retracted. */
  readonly id: string;
  readonly slot: number;
  /** Its slot was settled when it was published. */
  readonly isSettled: boolean;
  /** For one token, in `unit`. */
  readonly price: number;
  readonly unit: 'sol' | 'usd';
  /**
   * Quote coins that the pool can pay out around its price, in SOL: the lower one of its real and virtual reserves, or what its stated depth implies. Null if
   * it is unknown.
   */
  readonly heldSol: number | null;
  /** Reserves of a bonding curve; null if the main pool is another pool, so that the curve is complete. */
  readonly curve: { readonly realBase: number; readonly realQuote: number } | null;
  readonly receivedUs: number;
  readonly publishedUs: number;
}

/** A trade of a followed account. */
export interface AccountTrade {
  readonly kind: 'trade';
  readonly mint: string;
  readonly id: string;
  readonly account: string;
  readonly side: 'buy' | 'sell';
  /** Value in SOL; null if it is unknown. */
  readonly sizeSol: number | null;
  readonly baseAmount: string;
  /** The value in lamports, rounded down; 0 if it is unknown. */
  readonly lamports: string;
  readonly slot: number;
  readonly isSettled: boolean;
  /** Unix ms when it happened, as far as the event shows it. */
  readonly atMs: number;
  readonly receivedUs: number;
  readonly publishedUs: number;
}

export interface Migration {
  readonly kind: 'migration';
  readonly mint: string;
  readonly id: string;
  readonly slot: number;
  readonly isSettled: boolean;
  readonly atMs: number;
  readonly receivedUs: number;
  readonly publishedUs: number;
}

/** How far a curve has come: it is complete when this reserve has gone from `from` to `to`. */
export interface CurveGoal {
  readonly reserve: 'realBase' | 'realQuote';
  readonly from: bigint;
  readonly to: bigint;
}

/** What a read of the market's state shows of a mint. */
export interface PriceRead {
  /** Null: no price is known. */
  readonly tick: PriceTick | null;
  /** Whole tokens; null if it is unknown or 0. */
  readonly supply: number | null;
  /** Null if the mint has no bonding curve. */
  readonly goal: CurveGoal | null;
}
