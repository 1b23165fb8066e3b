import { maxU64, type QuotedPool, type QuoteFault } from '@sluice/shared/venues/quoting.ts';

export type Sold = { readonly ok: true; readonly base: bigint } | { readonly ok: false; readonly fault: QuoteFault };

/**
 * The tokens that have to be sold to receive `wanted` of the quote coin, fees off: fewer give less, but for the few units by which the
 * fees are rounded. No program has such a trade; it is found by halving, in as many quotes as a u64 has bits.
 */
export function sellFor(pool: Pick<QuotedPool, 'quote'>, wanted: bigint): Sold {
  if (wanted <= 0n) return { ok: false, fault: 'too_small' };
  let [tooFew, enough] = [0n, maxU64];
  while (enough - tooFew > 1n) {
    const amount = (tooFew + enough) / 2n;
    const outcome = pool.quote({ exact: 'baseIn', amount });
    if (!outcome.ok && outcome.fault !== 'too_small' && outcome.fault !== 'too_large') return outcome;
    const reached = outcome.ok ? outcome.quote.traderQuote >= wanted : outcome.fault === 'too_large';
    if (reached) enough = amount;
    else tooFew = amount;
  }
  const found = pool.quote({ exact: 'baseIn', amount: enough });
  return found.ok ? { ok: true, base: enough } : found;
}
