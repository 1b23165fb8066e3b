import { stateOfSqrtPrice } from '../../kit/concentrated.ts';
import { pairQuoting } from '../../kit/pair-quoting.ts';
import type { PoolSwap } from '../../kit/pool-quote.ts';
import { swapThrough, type PriceTick } from '../../kit/swap-through.ts';
import { maxTick, minSqrtPrice, minTick, ticksAhead, type LiquidityTick } from '../../kit/ticks.ts';
import { ownedData, type AccountLookup, type QuoteFault } from '../../seam/quoting.ts';
import type { Fee } from '../../seam/venue.ts';
import { decodeWhirlpool, type Whirlpool } from './decode.ts';
import { programId } from './program.ts';
import { decodeTickArray, swapWay, tickArraysAround } from './tick-arrays.ts';
import { maxSqrtPrice, sqrtPriceOfTick } from './tick-math.ts';

const basisPoints = 10_000n;
/** Fee rates are hundredths of a basis point. */
const ratePerBps = 100;

/** Swaps like the program. `ticks` are those of all arrays that the swap may pass. */
function swapOn(
  pool: Whirlpool,
  ticks: readonly LiquidityTick[],
  order: { amount: bigint; exactIn: boolean; aToB: boolean },
  coinIn: Fee['coin'],
): PoolSwap | QuoteFault {
  const split = (fee: bigint): readonly bigint[] => [(fee * BigInt(pool.protocolFeeRate)) / basisPoints];
  const state = { ...pool, feeRate: BigInt(pool.feeRate), feeOnInput: true, ticks: ticksMet(pool, ticks, order.aToB), split };
  const swapped = swapThrough(state, order);
  if (typeof swapped === 'string') return swapped;
  const { amountIn, amountOut, fee, parts } = swapped;
  return { amountIn, amountOut, through: amountIn - fee, left: amountOut, fees: feesOf(pool, fee - parts[0]!, parts[0]!, coinIn) };
}

/** The ticks at which the liquidity changes, in the order of the swap, and the tick at the end of the arrays. */
function ticksMet({ tick: current, tickSpacing }: Whirlpool, ticks: readonly LiquidityTick[], aToB: boolean): readonly PriceTick[] {
  const { starts, end } = swapWay(current, tickSpacing, aToB);
  if (starts.length === 0) return [];
  const met = ticksAhead(ticks, current, aToB).filter(({ tick }) => (aToB ? tick >= end : tick <= end));
  return [...met, { tick: end, net: 0n }].map(({ tick, net }) => ({ sqrtPrice: sqrtPriceOfTick(tick), net }));
}

/** The fees, with rates relative to the whole input. */
function feesOf({ feeRate, protocolFeeRate }: Whirlpool, lp: bigint, protocol: bigint, coin: Fee['coin']): readonly Fee[] {
  const ofProtocol = (feeRate * protocolFeeRate) / Number(basisPoints);
  const bps = (rate: number): number => Math.round(rate / ratePerBps);
  return [
    { kind: 'lp', amount: lp, bps: bps(feeRate - ofProtocol), coin },
    { kind: 'protocol', amount: protocol, bps: bps(ofProtocol), coin },
  ];
}

function faultOf({ tickSpacing, tick, sqrtPriceX64, feeRate, protocolFeeRate }: Whirlpool): string | null {
  const isPriced = sqrtPriceX64 >= minSqrtPrice && sqrtPriceX64 <= maxSqrtPrice && tick >= minTick - 1 && tick <= maxTick;
  const isSound = isPriced && tickSpacing > 0 && feeRate < 1_000_000 && protocolFeeRate <= Number(basisPoints);
  return isSound ? null : 'the Whirlpool has an invalid field';
}

/** Initialized ticks of the arrays. An array that does not exist has none. Null if an account is not an array of this pool. */
function ticksOf(pool: string, tickSpacing: number, arrays: readonly string[], accounts: AccountLookup): LiquidityTick[] | null {
  const ticks: LiquidityTick[] = [];
  for (const address of arrays) {
    const data = ownedData(accounts, address, programId);
    if (data === null) continue;
    const array = decodeTickArray(data, tickSpacing);
    if (array === null || array.whirlpool !== pool) return null;
    ticks.push(...array.ticks);
  }
  return ticks;
}

/** The pool's account contains its fee rates, and the current tick, from which the tick arrays of a swap follow. */
export const quoting = pairQuoting<Whirlpool>({
  programId,
  decode: decodeWhirlpool,
  coins: ({ mintA, mintB }) => [mintA, mintB],
  fault: faultOf,
  hasUnknownFee: ({ adaptiveFee }) => adaptiveFee,
  needs: ({ tick, tickSpacing }, address) => tickArraysAround(address, tick, tickSpacing),
  open(pool, address, accounts) {
    const ticks = ticksOf(address, pool.tickSpacing, tickArraysAround(address, pool.tick, pool.tickSpacing), accounts);
    if (ticks === null) return 'a tick array of the Whirlpool cannot be read';
    return {
      price: stateOfSqrtPrice(pool.sqrtPriceX64, null),
      swap: (amount, exactIn, aToB, coins) => swapOn(pool, ticks, { amount, exactIn, aToB }, coins.in),
    };
  },
});
