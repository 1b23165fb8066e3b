import { stateOfSqrtPrice } from '../../kit/concentrated.ts';
import { noOrders, quotePool, type PoolSwap, type QuotedState } from '../../kit/pool-quote.ts';
import { malformed } from '../../seam/outcome.ts';
import {
  ownedData,
  quoteFault,
  type AccountLookup,
  type MintLookup,
  type OpenedPool,
  type QuoteAccounts,
  type QuotedMint,
  type QuoteFault,
  type VenueQuoting,
} from '../../seam/quoting.ts';
import type { Fee } from '../../seam/venue.ts';
import { decodeWhirlpool, type Whirlpool } from './decode.ts';
import { programId } from './program.ts';
import { swap, type SwapState } from './swap-math.ts';
import { decodeTickArray, tickArraysAround, type LiquidityTick } from './tick-arrays.ts';
import { maxSqrtPrice, maxTick, minSqrtPrice, minTick } from './tick-math.ts';

const basisPoints = 10_000n;
/** Fee rates are hundredths of a basis point. */
const ratePerBps = 100;

/** Swaps on the pool. `amount` is what reaches the vault, or leaves it if `exactIn` is false. */
function swapOn(state: SwapState, aToB: boolean, amount: bigint, exactIn: boolean, coinIn: Fee['coin']): PoolSwap | QuoteFault {
  const swapped = swap(state, { amount, exactIn, aToB });
  if (typeof swapped === 'string') return swapped;
  const { amountIn, amountOut, fee, parts } = swapped;
  const fees = feesOf(state, fee - parts[0]!, parts[0]!, coinIn);
  return { amountIn, amountOut, through: amountIn - fee, left: amountOut, fees };
}

/** The fees, with rates relative to the whole input. */
function feesOf({ feeRate, protocolFeeRate }: SwapState, lp: bigint, protocol: bigint, coin: Fee['coin']): readonly Fee[] {
  const ofProtocol = (feeRate * protocolFeeRate) / Number(basisPoints);
  const bps = (rate: number): number => Math.round(rate / ratePerBps);
  return [
    { kind: 'lp', amount: lp, bps: bps(feeRate - ofProtocol), coin },
    { kind: 'protocol', amount: protocol, bps: bps(ofProtocol), coin },
  ];
}

function isSound({ tickSpacing, tick, sqrtPriceX64, feeRate, protocolFeeRate }: Whirlpool): boolean {
  const isPriced = sqrtPriceX64 >= minSqrtPrice && sqrtPriceX64 <= maxSqrtPrice && tick >= minTick - 1 && tick <= maxTick;
  return isPriced && tickSpacing > 0 && feeRate < 1_000_000 && protocolFeeRate <= Number(basisPoints);
}

/** Initialized ticks of the arrays, the lowest first. An array that does not exist has none. Null if an account is not an array of this pool. */
function ticksOf(pool: string, tickSpacing: number, arrays: readonly string[], accounts: AccountLookup): LiquidityTick[] | null {
  const ticks: LiquidityTick[] = [];
  for (const address of arrays) {
    const data = ownedData(accounts, address, programId);
    if (data === null) continue;
    const array = decodeTickArray(data, tickSpacing);
    if (array === null || array.whirlpool !== pool) return null;
    ticks.push(...array.ticks);
  }
  return ticks.toSorted((one, other) => one.tick - other.tick);
}

/** The pool's account contains the current tick, from which the tick arrays of a swap follow. They are read in a second round. */
function open(mint: QuotedMint, [address, ...others]: QuoteAccounts, accounts: AccountLookup, mintOf: MintLookup): OpenedPool {
  const data = ownedData(accounts, address, programId);
  const pool = data === null ? null : decodeWhirlpool(data);
  if (pool === null || (pool.mintA !== mint.address && pool.mintB !== mint.address)) return { kind: 'absent' };
  if (!isSound(pool)) return malformed('the Whirlpool has an invalid field');
  const tokenIsA = pool.mintA === mint.address;
  const quoteMint = tokenIsA ? pool.mintB : pool.mintA;
  const shown = { address, quoteMint, curve: false, complete: false, reserves: null, build: noOrders };
  if (pool.adaptiveFee) return { kind: 'open', pool: { ...shown, quote: () => quoteFault('unknown_fee') } };
  const arrays = tickArraysAround(address, pool.tick, pool.tickSpacing);
  if (!arrays.every((array) => others.includes(array))) return { kind: 'more', addresses: arrays };
  const ticks = ticksOf(address, pool.tickSpacing, arrays, accounts);
  if (ticks === null) return malformed('a tick array of the Whirlpool cannot be read');
  const state: SwapState = { ...pool, ticks };
  const { priceQuote, priceBase } = stateOfSqrtPrice(pool.sqrtPriceX64, null);
  const quoted: QuotedState = {
    price: tokenIsA ? { priceQuote, priceBase } : { priceQuote: priceBase, priceBase: priceQuote },
    reserves: null,
    token: mint.transferFee,
    money: mintOf(quoteMint)?.transferFee ?? null,
    swap: (amount, exactIn, isBuy) => swapOn(state, isBuy !== tokenIsA, amount, exactIn, isBuy ? 'quote' : 'base'),
  };
  return { kind: 'open', pool: { ...shown, quote: (trade, at) => quotePool(quoted, trade, at) } };
}

/** There are no settings accounts, because the pool's account contains its fee rates. */
export const quoting: VenueQuoting = { settings: [], countsTransferFees: true, accountsOf: () => null, open };
