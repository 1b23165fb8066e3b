import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { usdcMint, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import type { QuotedMint, QuotedPool } from '@sluice/venues/seam/quoting.ts';
import type { Venue } from '@sluice/venues/seam/venue.ts';
import { raydiumAmm } from '../../venues/src/raydium/amm/index.ts';
import { raydiumCpmm } from '../../venues/src/raydium/cpmm/index.ts';
import { atAnyTime } from '../support/chain/quote-moment.ts';
import { ammPool, cpmmPool, type OpenedPool, type Terms } from '../support/chain/venue-pools.ts';
import { fuzzCases } from '../support/fuzz.ts';

/** Byte offset of the amount in a token account. */
const amountAt = 64;

/** The pool, with what a trade has added to the vaults of the coin and of the quote coin. */
function poolOf(venue: Venue, { mint, pool, accounts }: OpenedPool, quoteMint: string, added: readonly [bigint, bigint]): QuotedPool {
  const byAddress = new Map(accounts);
  for (const [at, amount] of added.entries()) {
    const [address, account] = accounts[at + 1]!;
    const data = Buffer.from(account.data);
    data.writeBigUInt64LE(data.readBigUInt64LE(amountAt) + amount, amountAt);
    byAddress.set(address, { ...account, data });
  }
  const mintOf = (address: string): QuotedMint => ({ address, decimals: 6, supply: 10n ** 18n, transferFee: null });
  const open = (others: readonly string[]) =>
    venue.quoting!.open(
      mintOf(mint),
      [pool, ...others],
      (address) => byAddress.get(address) ?? null,
      () => mintOf(quoteMint),
    );
  const first = open([]);
  const opened = first.kind === 'more' ? open(first.addresses) : first;
  if (opened.kind !== 'open') throw new Error(JSON.stringify(opened));
  return opened.pool;
}

const trades = fc.record({ exact: fc.constantFrom('quoteIn', 'baseIn', 'baseOut'), amount: fc.bigInt({ min: 1_000n, max: 10n ** 12n }) });

it.each([
  ['Raydium AMM v4', raydiumAmm, ammPool],
  ['Raydium CPMM', raydiumCpmm, cpmmPool],
] as const)('%s: the pool that a trade leaves quotes as the pool with the moved vaults', (_name, venue, make) => {
  let compared = 0;
  fc.assert(
    fc.property(trades, trades, fc.boolean(), fc.constantFrom(wrappedSolMint, usdcMint), (trade, next, isFirst, quoteMint) => {
      const terms: Terms = { quoteMint, isFirst, withheldBps: null };
      const made = make(terms);
      const pool = poolOf(venue, made, quoteMint, [0n, 0n]);
      const outcome = pool.quote(trade, atAnyTime);
      if (!outcome.ok) return;
      const { before, after } = outcome.quote;
      const left = pool.after!(outcome.quote)!;
      const moved = [after!.virtualBase - before!.virtualBase, after!.virtualQuote - before!.virtualQuote] as const;
      expect(moved[0] > 0n).toBe(outcome.quote.side === 'sell');
      const reopened = poolOf(venue, made, quoteMint, moved);
      expect(left.reserves).toEqual(reopened.reserves);
      expect(left.quote(next, atAnyTime)).toEqual(reopened.quote(next, atAnyTime));
      compared++;
    }),
    { numRuns: fuzzCases(300) },
  );
  expect(compared).toBeGreaterThan(15);
});
