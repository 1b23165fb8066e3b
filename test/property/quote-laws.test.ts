import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { usdcMint, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { decodeFeeConfig, type FeeConfig } from '../../venues/src/pump/fees/fee-config.ts';
import { feeOf, splitExactIn } from '../../venues/src/pump/fees/fee-math.ts';
import { quoteCurve, type CurveState } from '../../venues/src/pump/curve/quote.ts';
import { decodeGlobal } from '../../venues/src/pump/curve/settings.ts';
import { quotePool, type PoolState } from '../../venues/src/pump/amm/quote.ts';
import { decodeGlobalConfig } from '../../venues/src/pump/amm/settings.ts';
import { maxU64, priceImpactBps, slippageBounds, type QuotedTrade, type QuoteOutcome } from '@sluice/venues/seam/quoting.ts';
import { partOf, partsPerMillion, rawAmount, rawOfText } from '@sluice/trading/quote/amounts.ts';
import { sellFor } from '@sluice/trading/quote/best-quote.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fuzzCases } from '../support/fuzz.ts';
import { plainQuote, type PlainQuote } from '../support/events/decoded.ts';
import { atAnyTime } from '../support/chain/quote-moment.ts';

/** Laws that apply to every quote in every state. */
const runs = { seed: 20261121, numRuns: fuzzCases(15_000) };
const size = (bits: number): fc.Arbitrary<bigint> =>
  fc.integer({ min: 1, max: bits }).chain((n) => fc.bigInt({ min: 1n, max: (1n << BigInt(n)) - 1n }));
const address = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => encodeBase58(bytes));
const bps = (max: number): fc.Arbitrary<bigint> => fc.bigInt({ min: 0n, max: BigInt(max) });
const rates = fc.record({ lp: bps(300), protocol: bps(300), creator: bps(500) });
const feeConfig: fc.Arbitrary<FeeConfig> = fc.record({
  flat: rates,
  tiers: fc.array(fc.record({ marketCap: size(60), rates }), { minLength: 1, maxLength: 5 }),
  stableTiers: fc.array(fc.record({ marketCap: size(60), rates }), { maxLength: 3 }),
  exoticFlat: rates,
});
const quoteMint = fc.constantFrom(wrappedSolMint, usdcMint, 'So11111111111111111111111111111111111111113');
const settings = fc.record({
  feeRecipients: fc.constant([]),
  reservedFeeRecipients: fc.constant([]),
  buybackFeeRecipients: fc.constant([]),
  buybackBps: bps(10_000),
  creatorFeeConfigurable: fc.boolean(),
});
const flags = fc.record({ mayhemMode: fc.boolean(), cashback: fc.boolean(), holderReward: fc.boolean(), creatorFeeBps: fc.nat(300) });

const curveState: fc.Arbitrary<CurveState> = fc
  .record({
    virtualBase: size(60),
    virtualQuote: size(55),
    realBase: size(60),
    realQuote: size(60),
    quoteMint,
    creator: address,
    flags,
    settings,
    feeConfig,
    mintSupply: size(60),
  })
  .map(({ virtualBase, virtualQuote, realBase, realQuote, quoteMint: coin, creator, flags: kind, ...rest }) => ({
    ...rest,
    curve: {
      type: 'curve',
      quoteMint: coin,
      reserves: { virtualBase, virtualQuote, realBase: realBase % virtualBase, realQuote },
      supply: 10n ** 15n,
      complete: false,
      creator,
      ...kind,
    },
  }));
const poolState: fc.Arbitrary<PoolState> = fc
  .record({
    baseVault: size(60),
    quoteVault: size(55),
    virtualQuote: fc.oneof(
      fc.constant(0n),
      size(50),
      size(50).map((part) => -part),
    ),
    quoteMint,
    creator: address,
    flags,
    settings,
    feeConfig,
    mintSupply: size(60),
    canonical: fc.boolean(),
  })
  .map(({ virtualQuote, quoteMint: coin, creator, flags: kind, settings: own, ...rest }) => ({
    ...rest,
    settings: { ...own, buyDisabled: false, sellDisabled: false },
    pool: {
      type: 'pool',
      baseMint: creator,
      quoteMint: coin,
      baseVault: creator,
      quoteVault: creator,
      lpMint: creator,
      creator,
      coinCreator: creator,
      virtualQuote,
      waitingFees: 0n,
      ...kind,
    },
  }));

/** A curve or a pool, as what quotes on it. */
type QuoteOf = (trade: QuotedTrade) => QuoteOutcome;
const quoteOf: fc.Arbitrary<QuoteOf> = fc.oneof(
  curveState.map(
    (state): QuoteOf =>
      (trade) =>
        quoteCurve(state, trade),
  ),
  poolState.map(
    (state): QuoteOf =>
      (trade) =>
        quotePool(state, trade),
  ),
);
const trade: fc.Arbitrary<QuotedTrade> = fc.record({ exact: fc.constantFrom('quoteIn', 'baseOut', 'baseIn'), amount: size(60) });

function ifGiven(outcome: QuoteOutcome, check: (quote: PlainQuote) => void): void {
  if (outcome.ok) check(plainQuote(outcome.quote));
}

describe('selling for an amount', () => {
  it('uses the smallest number of tokens that brings in the amount', () => {
    let given = 0;
    fc.assert(
      fc.property(quoteOf, size(60), (quote, amount) => {
        const at = (base: bigint): QuoteOutcome => quote({ exact: 'baseIn', amount: base });
        ifGiven(at(amount), ({ traderQuote: requested }) => {
          given++;
          const sold = sellFor({ quote }, requested, atAnyTime);
          if (!sold.ok) throw new Error(`no tokens give ${requested}, and ${amount} do: ${sold.fault}`);
          const [found, less] = [at(sold.base), at(sold.base - 1n)];
          expect(found.ok && found.quote.traderQuote >= requested).toBe(true);
          expect(less.ok && less.quote.traderQuote >= requested).toBe(false);
        });
      }),
      { ...runs, numRuns: 2_000 },
    );
    expect(given).toBeGreaterThan(500);
  });

  it('is refused if the pool has too little, or the amount is zero', () => {
    fc.assert(
      fc.property(curveState, (state) => {
        const quote = (requested: QuotedTrade): QuoteOutcome => quoteCurve(state, requested);
        expect(sellFor({ quote }, state.curve.reserves.realQuote + 1n, atAnyTime)).toMatchObject({ ok: false });
        expect(sellFor({ quote }, 0n, atAnyTime)).toEqual({ ok: false, fault: 'too_small' });
      }),
      { ...runs, numRuns: 500 },
    );
  });
});

describe('amounts as strings', () => {
  it('equal those of the numbers, cut off if they have more decimals', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1e15, noNaN: true }), fc.nat(12), (value, decimals) => {
        const [exact, cut] = [rawAmount(Math.abs(value), decimals), rawOfText(String(Math.abs(value)), decimals)];
        // A number that floating point left just below one with so many decimals equals that one.
        if (exact.ok) expect([exact.raw - 1n, exact.raw]).toContain(cut);
        else if (cut !== null) expect(Number(cut) / 10 ** decimals).toBeLessThanOrEqual(Math.abs(value));
      }),
      runs,
    );
  });

  it.each([
    ['5e-05', 9, 50_000n],
    ['1E3', 0, 1_000n],
    ['1e+3', 0, 1_000n],
    ['0.30000000000000004', 9, 300_000_000n],
    ['007.5', 1, 75n],
    ['', 9, null],
    ['-1', 9, null],
    ['.5', 9, null],
    ['1.', 9, null],
    ['1,5', 9, null],
    ['0x10', 9, null],
    ['1e1000', 9, null],
    ['Infinity', 9, null],
    [' 1', 9, null],
  ])('%j of %i decimals', (text, decimals, raw) => expect(rawOfText(text, decimals)).toBe(raw));
});

describe('quotes', () => {
  it('parts add up, reserves are never negative, and the product never falls', () => {
    let given = 0;
    fc.assert(
      fc.property(quoteOf, trade, (quote, requested) => {
        ifGiven(quote(requested), (got) => {
          given++;
          const { fees, before, after, side, baseAmount, quoteAmount, traderQuote } = got;
          const { protocol, creator, lp, cashback, holderRewards } = fees;
          expect([protocol, creator, lp, cashback, holderRewards].reduce((sum, { amount }) => sum + amount, 0n)).toBe(fees.total);
          expect(traderQuote).toBe(side === 'buy' ? quoteAmount + fees.total : quoteAmount - fees.total);
          for (const reserve of Object.values(after)) expect(reserve).toBeGreaterThanOrEqual(0n);
          expect(after.virtualBase * after.virtualQuote).toBeGreaterThanOrEqual(before.virtualBase * before.virtualQuote);
          expect(side).toBe(requested.exact === 'baseIn' ? 'sell' : 'buy');
          if (requested.exact === 'quoteIn') expect(traderQuote).toBeLessThanOrEqual(requested.amount);
          if (requested.exact === 'baseIn') expect(baseAmount).toBe(requested.amount);
          if (requested.exact === 'baseOut') expect(got.cut ? baseAmount < requested.amount : baseAmount === requested.amount).toBe(true);
        });
      }),
      runs,
    );
    expect(given).toBeGreaterThan(runs.numRuns / 2);
  });

  it('a quote and its inverse agree: the tokens of an amount cost no more than it, and are the most that it buys except for rounding', () => {
    let given = 0;
    fc.assert(
      fc.property(quoteOf, size(60), (quote, amount) => {
        ifGiven(quote({ exact: 'quoteIn', amount }), (bought) => {
          const cost = quote({ exact: 'baseOut', amount: bought.baseAmount });
          if (!cost.ok) throw new Error(cost.fault);
          expect(cost.quote.traderQuote).toBeLessThanOrEqual(amount);
          if (bought.cut) return;
          given++;
          // The difference to the next token's cost is a few units of rounding, or less than that token's price.
          const { virtualBase, virtualQuote } = cost.quote.after!;
          const more = quote({ exact: 'baseOut', amount: bought.baseAmount + 1n + (4n * virtualBase) / virtualQuote });
          if (more.ok && !more.quote.cut) expect(more.quote.traderQuote).toBeGreaterThan(bought.traderQuote - 4n);
        });
      }),
      runs,
    );
    expect(given).toBeGreaterThan(runs.numRuns / 4);
  });

  it('the cost of tokens buys as many again, except for the unit that each way rounds up', () => {
    let given = 0;
    fc.assert(
      fc.property(quoteOf, size(60), (quote, amount) => {
        ifGiven(quote({ exact: 'baseOut', amount }), (cost) => {
          if (cost.cut || cost.completes) return;
          const bought = quote({ exact: 'quoteIn', amount: cost.traderQuote });
          if (!bought.ok) {
            expect(bought.fault).toBe('too_small');
            return;
          }
          given++;
          expect(bought.quote.baseAmount).toBeLessThanOrEqual(cost.baseAmount + cost.before.virtualBase / cost.before.virtualQuote + 1n);
          // At most three units of the quote coin less: one because of the formula, two because of the fees' rounding.
          const unit = (3n * cost.before.virtualBase) / cost.before.virtualQuote + 3n;
          expect(bought.quote.baseAmount).toBeGreaterThanOrEqual(cost.baseAmount - unit);
        });
      }),
      runs,
    );
    expect(given).toBeGreaterThan(runs.numRuns / 10);
  });

  it('buying and selling again never brings a profit', () => {
    fc.assert(
      fc.property(curveState, size(55), (state, amount) => {
        ifGiven(quoteCurve(state, { exact: 'quoteIn', amount }), (bought) => {
          const later: CurveState = { ...state, curve: { ...state.curve, reserves: bought.after } };
          ifGiven(quoteCurve(later, { exact: 'baseIn', amount: bought.baseAmount }), (sold) =>
            expect(sold.traderQuote).toBeLessThanOrEqual(bought.traderQuote),
          );
        });
      }),
      runs,
    );
  });

  it('bounds are never looser than the slippage allows, and include the quoted amounts', () => {
    fc.assert(
      fc.property(quoteOf, trade, fc.bigInt({ min: 10n, max: 5_000n }), (quote, requested, slippageBps) => {
        ifGiven(quote(requested), (got) => {
          const { minOut, maxIn } = slippageBounds(requested, got, slippageBps);
          const [given, gotten] = got.side === 'buy' ? [got.traderQuote, got.baseAmount] : [got.baseAmount, got.traderQuote];
          expect(minOut * 10_000n).toBeGreaterThanOrEqual(gotten * (10_000n - slippageBps));
          expect(minOut).toBeLessThanOrEqual(gotten);
          expect(minOut).toBeGreaterThan(0n);
          expect(maxIn).toBeGreaterThanOrEqual(given);
          expect(maxIn).toBeLessThanOrEqual(maxU64);
          if (requested.exact === 'baseOut') expect(maxIn * 10_000n).toBeLessThanOrEqual(given * (10_000n + slippageBps));
          else expect(maxIn).toBe(requested.amount);
          if (requested.exact === 'baseOut') expect(minOut).toBe(gotten);
        });
      }),
      runs,
    );
  });

  it('a larger trade has no smaller price impact, except for rounding', () => {
    fc.assert(
      fc.property(
        quoteOf,
        fc.constantFrom('quoteIn' as const, 'baseIn' as const),
        fc.bigInt({ min: 10n ** 6n, max: 10n ** 15n }),
        (quote, exact, amount) => {
          const [small, large] = [quote({ exact, amount }), quote({ exact, amount: amount * 4n })];
          if (!small.ok || !large.ok || large.quote.cut) return;
          if (small.quote.quoteAmount < 10n ** 6n || small.quote.baseAmount < 10n ** 6n) return;
          expect(priceImpactBps(large.quote)).toBeGreaterThanOrEqual(priceImpactBps(small.quote) - 1);
        },
      ),
      runs,
    );
  });

  it('an exact-in split never charges more than the amount, and leaves at most a unit for each fee', () => {
    fc.assert(
      fc.property(size(64), fc.array(bps(3_000), { maxLength: 3 }), (sum, list) => {
        const split = splitExactIn(sum, list);
        if (split === null) {
          expect(sum).toBeLessThanOrEqual(4n);
          return;
        }
        const charged = split.fees.reduce((total, fee) => total + fee, split.net);
        expect(charged).toBeLessThanOrEqual(sum);
        expect(sum - charged).toBeLessThanOrEqual(1n);
        for (const [i, fee] of split.fees.entries()) expect(fee).toBeGreaterThanOrEqual(feeOf(split.net, list[i]!));
      }),
      runs,
    );
  });
});

describe('settings and fee tables', () => {
  it('the decoders never throw, for any bytes', () => {
    const bytes = fc.uint8Array({ maxLength: 1_200 });
    const prefixes = ['8f3492bbdb7b4c9b', 'a7e8e8b1c86c727f', '95089ccaa0fcb0d9'].map((hex) => Buffer.from(hex, 'hex'));
    fc.assert(
      fc.property(fc.constantFrom(...prefixes), bytes, (prefix, body) => {
        for (const data of [body, Buffer.concat([prefix, body])]) {
          for (const decode of [decodeFeeConfig, decodeGlobal, decodeGlobalConfig])
            expect(decode(data).kind).toMatch(/^(decoded|malformed)$/);
        }
      }),
      runs,
    );
  });
});

describe('amounts as clients write them', () => {
  it('decimal text becomes exactly its integer', () => {
    fc.assert(
      fc.property(fc.nat({ max: 2 ** 31 }), fc.integer({ min: 0, max: 9 }), (units, decimals) => {
        const value = Number(`${units}e-${decimals}`);
        expect(rawAmount(value, decimals)).toEqual({ ok: true, raw: BigInt(units) });
      }),
      runs,
    );
  });

  it('a sum or a product of decimals is exact, without floating point', () => {
    const units = fc.integer({ min: 1, max: 10 ** 9 });
    fc.assert(
      fc.property(units, units, fc.integer({ min: 1, max: 1_000 }), (a, b, times) => {
        const [one, other] = [a / 10 ** 9, b / 10 ** 9];
        expect(rawAmount(one + other, 9)).toEqual({ ok: true, raw: BigInt(a) + BigInt(b) });
        expect(rawAmount(one * times, 9)).toEqual({ ok: true, raw: BigInt(a) * BigInt(times) });
      }),
      runs,
    );
  });

  it('too many decimals are refused, however small they make the number', () => {
    fc.assert(
      fc.property(fc.nat({ max: 10 ** 9 }), fc.integer({ min: 1, max: 9 }), (units, digit) => {
        expect(rawAmount(Number(`${units}${digit}e-10`), 9).ok).toBe(false);
      }),
      runs,
    );
  });

  it.each([
    [1e-9, 9, 1n],
    [0.1, 9, 100_000_000n],
    [0.3, 6, 300_000n],
    [0.1 + 0.2, 9, 300_000_000n],
    [0.1 + 0.7, 9, 800_000_000n],
    [1.1 * 1.1, 2, 121n],
    [0.3000000001, 9, null],
    [0.30000000000001, 9, null],
    [5e-324, 9, null],
    [1e21, 6, 10n ** 27n],
    [123_456_789.123456, 6, 123_456_789_123_456n],
    [5e-7, 6, null],
    [1e-10, 9, null],
    [1.5, 0, null],
    [-1, 6, null],
    [Number.NaN, 6, null],
    [Number.POSITIVE_INFINITY, 6, null],
  ])('%d with %i decimals', (value, decimals, raw) => {
    const read = rawAmount(value, decimals);
    expect(read.ok ? read.raw : null).toBe(raw);
  });

  it.each([
    ['50%', 500_000n],
    ['100%', 1_000_000n],
    ['0.0001%', 1n],
    ['33.3333%', 333_333n],
    ['050%', 500_000n],
    ['0%', null],
    ['100.0001%', null],
    ['101%', null],
    ['50%%', null],
    ['-50%', null],
    ['50', null],
    ['5e1%', null],
    [' 50%', null],
    ['NaN%', null],
    ['0.00001%', null],
    ['٥٠%', null],
  ])('%s', (text, ppm) => {
    expect(partsPerMillion(text)).toBe(ppm);
  });

  it('a part is never more than the whole, and 100% is all of it', () => {
    expect(partOf(999n, 500_000n)).toBe(499n);
    expect(partOf(maxU64, 1_000_000n)).toBe(maxU64);
    expect(partOf(1n, 999_999n)).toBe(0n);
  });
});
