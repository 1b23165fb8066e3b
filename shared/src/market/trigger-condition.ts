import type { triggerMetrics } from '../wire/orders/triggers.ts';

export type PriceMetric = (typeof triggerMetrics)[number];
export type Comparison = '>=' | '<=';

/** The conditions of triggers that the log, the time or a position decide. Prices are for one token, caps in SOL or USD, progress in percent. */
export type WatchCondition =
  | { readonly kind: 'level'; readonly metric: PriceMetric; readonly op: Comparison; readonly value: number }
  | { readonly kind: 'profit'; readonly op: Comparison; readonly percent: number }
  | { readonly kind: 'trailing'; readonly metric: PriceMetric; readonly percent: number }
  | { readonly kind: 'at'; readonly atMs: number }
  | { readonly kind: 'every'; readonly everyMs: number; readonly times: number }
  | { readonly kind: 'migration' }
  | { readonly kind: 'account'; readonly account: string; readonly side: 'buy' | 'sell'; readonly minSol: number; readonly times: number };

/** What a trigger waits for. */
export type TriggerCondition = WatchCondition | { readonly kind: 'filled'; readonly orderId: string };
