import { stateOfSqrtPrice } from '../../kit/concentrated.ts';
import { rateDenominator, tierFees, type TierRates } from '../../kit/fee-tier.ts';
import { pairQuoting, type PairState } from '../../kit/pair-quoting.ts';
import { swapThrough, type PriceTick } from '../../kit/swap-through.ts';
import { maxTick, minSqrtPrice, minTick, ticksAhead, type LiquidityTick } from '../../kit/ticks.ts';
import { ownedData, type AccountLookup } from '../../seam/quoting.ts';
import { decodeConfig } from './config.ts';
import { swapDisabled } from './layout.ts';
import { decodePool, type ClmmPool } from './pool.ts';
import { programId } from './program.ts';
import { arrayAt, arrayStarts, decodeTickArray } from './tick-arrays.ts';
import { maxSqrtPrice, sqrtPriceOfTick } from './tick-math.ts';

/** Swaps like the program. `falling` and `rising` are what a swap meets if the price falls, and if it rises, in its order. */
function swapOn(pool: ClmmPool, rates: TierRates, falling: readonly PriceTick[], rising: readonly PriceTick[]): PairState['swap'] {
  const split = (fee: bigint): readonly bigint[] => [(fee * rates.protocol) / rateDenominator, (fee * rates.fund) / rateDenominator];
  return (amount, exactIn, aToB, coins) => {
    const feeOnInput = pool.feeOn === 0 || (pool.feeOn === 1) === aToB;
    const state = { ...pool, feeRate: rates.trade, feeOnInput, ticks: aToB ? falling : rising, split };
    const swapped = swapThrough(state, { amount, exactIn, aToB });
    if (typeof swapped === 'string') return swapped;
    const { amountIn, amountOut, fee, parts } = swapped;
    const [protocol, fund] = [parts[0]!, parts[1]!];
    const fees = tierFees({ lp: fee - protocol - fund, protocol, fund }, rates, feeOnInput ? coins.in : coins.out);
    const [through, left] = feeOnInput ? [amountIn - fee, amountOut] : [amountIn, amountOut + fee];
    return { amountIn, amountOut, through, left, fees };
  };
}

function faultOf({ tickSpacing, tick, sqrtPriceX64, feeOn }: ClmmPool): string | null {
  const isPriced = sqrtPriceX64 >= minSqrtPrice && sqrtPriceX64 < maxSqrtPrice && tick >= minTick - 1 && tick <= maxTick;
  return isPriced && tickSpacing > 0 && feeOn <= 2 ? null : 'the pool has an invalid field';
}

/** The addresses of the tick arrays with ticks that a swap in this direction passes. */
function arraysOf({ bitmap, tick, tickSpacing }: ClmmPool, address: string, falls: boolean): readonly string[] {
  return arrayStarts(bitmap, tick, tickSpacing, falls).map((start) => arrayAt(address, String(start)));
}

/** What a swap meets. No quote goes beyond the last tick that was read, or beyond limit orders. Null if an account is not an array of this pool. */
function ticksMet(pool: ClmmPool, address: string, aToB: boolean, accounts: AccountLookup): readonly PriceTick[] | null {
  const ticks: LiquidityTick[] = [];
  for (const account of arraysOf(pool, address, aToB)) {
    const array = decodeTickArray(ownedData(accounts, account, programId) ?? new Uint8Array(0), address);
    if (array === null || array.some(({ tick }) => tick < minTick || tick > maxTick)) return null;
    ticks.push(...array);
  }
  return ticksAhead(ticks, pool.tick, aToB).map(({ tick, ...met }) => ({ sqrtPrice: sqrtPriceOfTick(tick), ...met }));
}

/** The fee tiers are many, and each pool names its own, so they are read with the pool. */
export const quoting = pairQuoting<ClmmPool>({
  programId,
  decode: decodePool,
  coins: ({ mint0, mint1 }) => [mint0, mint1],
  fault: faultOf,
  hasUnknownFee: ({ dynamicFee }) => dynamicFee,
  isClosed: ({ status, openTimeS }, unixTimeS) => (status & swapDisabled) !== 0 || BigInt(unixTimeS) <= openTimeS,
  needs: (pool, address) => [pool.config, ...new Set([true, false].flatMap((falls) => arraysOf(pool, address, falls)))],
  open(pool, address, accounts) {
    const rates = decodeConfig(ownedData(accounts, pool.config, programId) ?? new Uint8Array(0));
    const [falling, rising] = [ticksMet(pool, address, true, accounts), ticksMet(pool, address, false, accounts)];
    if (rates === null || falling === null || rising === null) return 'the fee tier or a tick array of the pool cannot be read';
    return { price: stateOfSqrtPrice(pool.sqrtPriceX64, null), swap: swapOn(pool, rates, falling, rising) };
  },
});
