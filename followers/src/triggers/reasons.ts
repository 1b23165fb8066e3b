import type { ArmedLevel } from './armed.ts';
import { isTooShallow, unitOf, type MintPrices } from './mint-prices.ts';
import type { PriceTick } from './watch.ts';

/** A hold below this is over before anybody reads about it. */
const shortHoldMs = 1_000;

/** Why a level watch has not fired although its value is reached, or why it cannot be evaluated. Null: nothing is in the way. */
export function reasonOf(armed: ArmedLevel, prices: MintPrices, solUsd: number | null): string | null {
  const { terms, confirm } = armed.lane;
  const { tick } = prices.view(confirm);
  if (tick === null) return prices.processed.tick === null ? 'gap' : 'unconfirmed';
  const value = prices.valueAt(tick, terms.metric);
  if (value === null) return unknownValue(prices, tick, armed, solUsd);
  const isShallow = isTooShallow(tick, terms.minDepthSol);
  if (terms.isTrailing) return isShallow ? 'shallow_pool' : null;
  if (value * terms.sign > armed.key) return isReachedAtProcessed(armed, prices) ? 'unconfirmed' : null;
  if (isShallow) return 'shallow_pool';
  return armed.isMet || terms.holdMs < shortHoldMs ? null : 'hold';
}

function unknownValue(prices: MintPrices, { unit, price }: PriceTick, { lane }: ArmedLevel, solUsd: number | null): string {
  const needed = unitOf(lane.terms.metric);
  if (needed === null) return 'curve_unknown';
  if (needed !== unit && solUsd === null) return 'stale_price';
  return prices.supply === null && Number.isFinite(price) ? 'supply_unknown' : 'price_unknown';
}

function isReachedAtProcessed({ lane, key }: ArmedLevel, prices: MintPrices): boolean {
  const { tick } = prices.processed;
  if (lane.confirm === 'processed' || tick === null) return false;
  const value = prices.valueAt(tick, lane.terms.metric);
  return value !== null && value * lane.terms.sign <= key;
}
