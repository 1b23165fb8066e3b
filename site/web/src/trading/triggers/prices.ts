import type { TokenInfo } from '@sluice/client';
import type { Metric } from './trigger.ts';

/** The newest price of a token in each unit; what is unknown is null. */
export type PricesNow = Pick<TokenInfo, 'priceSol' | 'priceUsd' | 'priceQuote' | 'marketCapSol' | 'marketCapUsd' | 'supplyUi'>;

export function metricNow(metric: Metric, now: PricesNow): number | null {
  return metric === 'curveProgress' ? null : known(now[metric]);
}

/** Null instead of a number that no price has. */
export const known = (value: number | null): number | null => (value === null || value <= 0 ? null : value);
