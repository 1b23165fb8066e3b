import { createRequire } from 'node:module';
import type * as WhirlpoolsCore from '@orca-so/whirlpools-core';
import type { TransferFees } from '@sluice/shared/solana/tokens/token-extensions.ts';
import { addressBytes } from '@sluice/shared/solana/addresses/pda.ts';
import { usdcMint, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { programId, tickArrayAddress } from '@sluice/venues/orca/whirlpool/program.ts';
import { quoting } from '../../venues/src/orca/whirlpool/quote.ts';
import { maxTick, minSqrtPrice, minTick } from '@sluice/venues/kit/ticks.ts';
import { maxSqrtPrice, sqrtPriceOfTick } from '../../venues/src/orca/whirlpool/tick-math.ts';
import type { LookedUpAccount, QuotedMint, QuotedPool, QuotedTrade } from '@sluice/venues/seam/quoting.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { address } from '../simnet/support/test-chain.ts';
import { tickArrayData, whirlpoolAccountData, type ArrayForm, type ArrayTick } from '../support/chain/whirlpool-accounts.ts';
import { fuzzCases, fuzzMs } from '../support/fuzz.ts';
import { atAnyTime } from '../support/chain/quote-moment.ts';

/**
 * Quotes on Whirlpools against the SDK of the program's authors (1.0.2, the last under the Apache licence), on random pools with ticks in
 * several arrays. Equal to the unit. The SDK never ends if a swap needs more arrays than it has, so it is not asked then.
 */
const sdk = createRequire(import.meta.url)('@orca-so/whirlpools-core') as typeof WhirlpoolsCore;
const runs = fuzzCases(4_000);
const seed = 20261123;
const pool = address('whirlpool');
const mint = { address: wrappedSolMint, decimals: 9, supply: 0n };
/** Bounds of the token program: above, a fee is no fee. */
const maxBps = 9_999;
const ticksPerArray = 88;

interface World {
  readonly tickSpacing: number;
  readonly feeRate: number;
  readonly protocolFeeRate: number;
  readonly tick: number;
  readonly sqrtPrice: bigint;
  readonly liquidity: bigint;
  readonly tokenIsA: boolean;
  /** By the first tick of each array. */
  readonly arrays: ReadonlyMap<number, readonly ArrayTick[]>;
  readonly form: ArrayForm;
  /** What the two coins withhold from transfers. */
  readonly token: TransferFee | null;
  readonly money: TransferFee | null;
}

interface TransferFee {
  readonly bps: number;
  readonly maxFee: bigint;
}

const transferFee: fc.Arbitrary<TransferFee | null> = fc.oneof(
  { weight: 2, arbitrary: fc.constant(null) },
  { weight: 1, arbitrary: fc.record({ bps: fc.integer({ min: 1, max: maxBps }), maxFee: fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }) }) },
);

const size = (bits: number): fc.Arbitrary<bigint> =>
  fc.integer({ min: 1, max: bits }).chain((n) => fc.bigInt({ min: 1n, max: (1n << BigInt(n)) - 1n }));

/** Six arrays around a tick, as far as the scale reaches. */
function startsAround(tick: number, span: number): number[] {
  const base = Math.floor(tick / span) * span;
  return [-2, -1, 0, 1, 2, 3].map((at) => base + at * span).filter((start) => start > minTick - span && start <= maxTick);
}

/** Liquidity that starts at some ticks; a pool's liquidity is never negative. */
function netsOf(ticks: readonly number[], current: number, liquidity: bigint, levels: readonly bigint[]): ArrayTick[] {
  const all: ArrayTick[] = [];
  const sorted = ticks.toSorted((one, other) => one - other);
  let [below, above, at] = [liquidity, liquidity, 0];
  const next = (): bigint => levels[at++ % levels.length]!;
  for (const tick of sorted.filter((one) => one > current)) {
    const level = next();
    all.push({ tick, net: level - above });
    above = level;
  }
  for (const tick of sorted.filter((one) => one <= current).toReversed()) {
    const level = next();
    all.push({ tick, net: below - level });
    below = level;
  }
  return all;
}

const world: fc.Arbitrary<World> = fc
  .record({
    tickSpacing: fc.constantFrom(1, 2, 4, 8, 16, 64, 96, 128, 256, 32_896),
    feeRate: fc.constantFrom(0, 100, 400, 500, 1_000, 3_000, 10_000, 60_000),
    protocolFeeRate: fc.constantFrom(0, 300, 1_300, 2_500),
    tick: fc.oneof(fc.integer({ min: minTick, max: maxTick - 1 }), fc.integer({ min: -30_000, max: 30_000 })),
    within: fc.bigInt({ min: 0n, max: 1n << 32n }),
    liquidity: fc.oneof(size(90), fc.constant(0n)),
    levels: fc.array(fc.oneof(size(90), fc.constant(0n)), { minLength: 1, maxLength: 20 }),
    places: fc.array(fc.nat({ max: 6 * ticksPerArray - 1 }), { maxLength: 30 }),
    tokenIsA: fc.boolean(),
    form: fc.constantFrom<ArrayForm>('fixed', 'dynamic'),
    token: transferFee,
    money: transferFee,
  })
  .map(({ within, levels, places, ...parts }) => {
    const { tick, tickSpacing, liquidity } = parts;
    const span = ticksPerArray * tickSpacing;
    const starts = startsAround(tick, span);
    const ticks = [...new Set(places.map((place) => starts[0]! + place * tickSpacing))].filter(
      (one) => one >= minTick && one <= maxTick && one < starts.at(-1)! + span,
    );
    const nets = netsOf(ticks, tick, liquidity, levels);
    const arrays = new Map(starts.map((start) => [start, nets.filter((one) => one.tick >= start && one.tick < start + span)]));
    const [low, high] = [sqrtPriceOfTick(tick), sqrtPriceOfTick(tick + 1)];
    // The whole interval with both ends: a falling price that stops on a tick has the tick below as its current one.
    return { ...parts, arrays, sqrtPrice: low + ((high - low) * within) / (1n << 32n) };
  });

function opened(parts: World, leaveOutEmpty: boolean): QuotedPool {
  const [mintA, mintB] = parts.tokenIsA ? [wrappedSolMint, usdcMint] : [usdcMint, wrappedSolMint];
  const accounts = new Map<string, LookedUpAccount>([
    [
      pool,
      { owner: programId, lamports: 0n, data: whirlpoolAccountData({ ...parts, mintA: addressBytes(mintA), mintB: addressBytes(mintB) }) },
    ],
  ]);
  for (const [start, ticks] of parts.arrays) {
    if (leaveOutEmpty && ticks.length === 0) continue;
    const data = tickArrayData({ form: parts.form, whirlpool: addressBytes(pool), start, tickSpacing: parts.tickSpacing, ticks });
    accounts.set(tickArrayAddress(pool, start), { owner: programId, data, lamports: 0n });
  }
  const lookUp = (at: string): LookedUpAccount | null => accounts.get(at) ?? null;
  const quoted = (coin: string, fee: TransferFee | null): QuotedMint => ({ ...mint, address: coin, transferFee: feesOf(fee) });
  const [own, mintOf] = [quoted(wrappedSolMint, parts.token), (coin: string) => quoted(coin, parts.money)];
  const first = quoting.open(own, [pool], lookUp, mintOf);
  if (first.kind !== 'more') throw new Error(`The tick arrays were not requested: ${first.kind}.`);
  const second = quoting.open(own, [pool, ...first.addresses], lookUp, mintOf);
  if (second.kind !== 'open') throw new Error(JSON.stringify(second));
  return second.pool;
}

function feesOf(fee: TransferFee | null): TransferFees | null {
  if (fee === null) return null;
  return { configAuthority: null, withdrawAuthority: null, older: { epoch: 0n, ...fee }, newer: { epoch: 0n, ...fee } };
}

function facadeOf({ tickSpacing, feeRate, protocolFeeRate, liquidity, sqrtPrice, tick }: World): WhirlpoolsCore.WhirlpoolFacade {
  const reward = { emissionsPerSecondX64: 0n, growthGlobalX64: 0n };
  return {
    tickSpacing,
    feeRate,
    protocolFeeRate,
    liquidity,
    sqrtPrice,
    tickCurrentIndex: tick,
    feeGrowthGlobalA: 0n,
    feeGrowthGlobalB: 0n,
    rewardLastUpdatedTimestamp: 0n,
    rewardInfos: [reward, reward, reward],
  };
}

/** The three arrays that the program lets one swap pass. The SDK would take more. */
function facadesOf({ arrays, tickSpacing, tick: current }: World, givesA: boolean): WhirlpoolsCore.TickArrayFacade[] {
  const span = ticksPerArray * tickSpacing;
  const base = Math.floor(current / span) * span;
  const first = !givesA && current + tickSpacing >= base + span ? base + span : base;
  const passed = [0, 1, 2].map((at) => first + (givesA ? -at : at) * span);
  const empty = { feeGrowthOutsideA: 0n, feeGrowthOutsideB: 0n, rewardGrowthsOutside: [0n, 0n, 0n] };
  const inReach = [...arrays].filter(([start]) => passed.includes(start));
  return inReach.map(([startTickIndex, ticks]) => ({
    startTickIndex,
    ticks: Array.from({ length: ticksPerArray }, (_, index) => {
      const found = ticks.find(({ tick }) => tick === startTickIndex + index * tickSpacing);
      return { initialized: found !== undefined, liquidityNet: found?.net ?? 0n, liquidityGross: 0n, ...empty };
    }),
  }));
}

function bySdk(parts: World, { exact, amount }: QuotedTrade): { readonly given: bigint; readonly gotten: bigint; readonly fee: bigint } {
  const givesA = (exact === 'baseIn') === parts.tokenIsA;
  const arrays = facadesOf(parts, givesA);
  const [feeA, feeB] = (parts.tokenIsA ? [parts.token, parts.money] : [parts.money, parts.token]).map((fee) =>
    fee === null ? undefined : { feeBps: fee.bps, maxFee: fee.maxFee },
  );
  if (exact === 'baseOut') {
    const quote = sdk.swapQuoteByOutputToken(amount, parts.tokenIsA, 0, facadeOf(parts), arrays, feeA, feeB);
    return { given: quote.tokenEstIn, gotten: quote.tokenOut, fee: quote.tradeFee };
  }
  const quote = sdk.swapQuoteByInputToken(amount, givesA, 0, facadeOf(parts), arrays, feeA, feeB);
  // The SDK names the least amount that leaves the same after the transfer fee.
  return { given: amount, gotten: quote.tokenEstOut, fee: quote.tradeFee };
}

const trade: fc.Arbitrary<QuotedTrade> = fc.record({ exact: fc.constantFrom('quoteIn', 'baseOut', 'baseIn'), amount: size(64) });

describe('quotes on Whirlpools, against the SDK', () => {
  it('has the same price for every tick', () => {
    for (let tick = minTick; tick <= maxTick; tick += 7) expect(sqrtPriceOfTick(tick)).toBe(sdk.tickIndexToSqrtPrice(tick));
    expect([sqrtPriceOfTick(minTick), sqrtPriceOfTick(maxTick)]).toEqual([minSqrtPrice, maxSqrtPrice]);
  });

  it('gives the same amounts and fees, across ticks and arrays', { timeout: fuzzMs(240_000) }, () => {
    const counts = { quoted: 0, crossed: 0, refused: 0, withheld: 0 };
    fc.assert(
      fc.property(world, trade, fc.boolean(), (parts, order, leaveOutEmpty) => {
        const outcome = opened(parts, leaveOutEmpty).quote(order, atAnyTime);
        if (!outcome.ok) {
          counts.refused++;
          return;
        }
        counts.quoted++;
        const { side, baseAmount, traderQuote, fees } = outcome.quote;
        const [given, gotten] = side === 'buy' ? [traderQuote, baseAmount] : [baseAmount, traderQuote];
        const ofPool = fees.filter(({ kind }) => kind !== 'transfer');
        expect({ given, gotten, fee: ofPool.reduce((sum, { amount }) => sum + amount, 0n) }).toEqual(bySdk(parts, order));
        if (ofPool.length < fees.length) counts.withheld++;
        if ([...parts.arrays.values()].flat().length > 0) counts.crossed++;
      }),
      { numRuns: runs, seed },
    );
    expect(counts.quoted).toBeGreaterThan(runs / 4);
    expect(counts.crossed).toBeGreaterThan(runs / 5);
    expect(counts.withheld).toBeGreaterThan(runs / 20);
  });

  it('refuses every trade larger than a refused one, and gives no less for a larger trade', () => {
    fc.assert(
      fc.property(world, trade, size(62), (parts, { exact, amount }, more) => {
        const at = opened(parts, true);
        const [small, large] = [at.quote({ exact, amount }, atAnyTime), at.quote({ exact, amount: amount + more }, atAnyTime)];
        if (!small.ok && small.fault === 'too_large') expect(large).toEqual({ ok: false, fault: 'too_large' });
        if (!small.ok || !large.ok) return;
        expect(large.quote.baseAmount >= small.quote.baseAmount && large.quote.traderQuote >= small.quote.traderQuote).toBe(true);
      }),
      { numRuns: runs / 4, seed },
    );
  });
});
