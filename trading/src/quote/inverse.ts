import { maxU64, type QuotedPool, type QuoteFault, type QuoteMoment } from '@sluice/venues/seam/quoting.ts';

export type Sold = { readonly ok: true; readonly base: bigint } | { readonly ok: false; readonly fault: QuoteFault };

/**
 * The fewest tokens to sell in order to receive `target` of the quote coin after fees. Fee rounding may make the result a few units too high.
 * No program offers such a trade, so the amount is found by bisection, in at most 64 quotes.
 */
export function sellFor(pool: Pick<QuotedPool, 'quote'>, target: bigint, at: QuoteMoment): Sold {
  if (target <= 0n) return { ok: false, fault: 'too_small' };
  let [tooFew, enough] = [0n, maxU64];
  while (enough - tooFew > 1n) {
    const amount = (tooFew + enough) / 2n;
    const outcome = pool.quote({ exact: 'baseIn', amount }, at);
    if (!outcome.ok && outcome.fault !== 'too_small' && outcome.fault !== 'too_large') return outcome;
    const reached = outcome.ok ? outcome.quote.traderQuote >= target : outcome.fault === 'too_large';
    if (reached) enough = amount;
    else tooFew = amount;
  }
  const found = pool.quote({ exact: 'baseIn', amount: enough }, at);
  return found.ok ? { ok: true, base: enough } : found;
}
