import { stateOfSqrtPrice } from '../kit/concentrated.ts';
import { malformed } from '../outcome.ts';
import {
  maxU64,
  ownedData,
  quoteFault,
  type AccountLookup,
  type OpenedPool,
  type QuoteAccounts,
  type QuotedMint,
  type QuotedTrade,
  type QuoteOutcome,
  type VenueQuoting,
} from '../quoting.ts';
import type { Fee } from '../venue.ts';
import { decodeWhirlpool, type Whirlpool } from './decode.ts';
import { programId } from './program.ts';
import { swap, type SwapState } from './swap-math.ts';
import { decodeTickArray, tickArraysAround, type LiquidityTick } from './tick-arrays.ts';
import { maxSqrtPrice, maxTick, minSqrtPrice, minTick } from './tick-math.ts';

const basisPoints = 10_000n;
/** Fee rates are hundredths of a basis point. */
const ratePerBps = 100;

/** Quotes a trade. The token is coin A or coin B of the pool. */
function quoteSwap(state: SwapState, tokenIsA: boolean, { exact, amount }: QuotedTrade): QuoteOutcome {
  if (amount <= 0n) return quoteFault('too_small');
  if (amount > maxU64) return quoteFault('too_large');
  const side = exact === 'baseIn' ? 'sell' : 'buy';
  const swapped = swap(state, { amount, exactIn: exact !== 'baseOut', aToB: (side === 'sell') === tokenIsA });
  if (typeof swapped === 'string') return quoteFault(swapped);
  const { amountIn, amountOut, lpFee, protocolFee } = swapped;
  const throughPool = amountIn - lpFee - protocolFee;
  if (amountOut <= 0n || throughPool <= 0n) return quoteFault('too_small');
  const { priceQuote, priceBase } = stateOfSqrtPrice(state.sqrtPriceX64, null);
  const isBuy = side === 'buy';
  return {
    ok: true,
    quote: {
      side,
      baseAmount: isBuy ? amountOut : amountIn,
      quoteAmount: isBuy ? throughPool : amountOut,
      traderQuote: isBuy ? amountIn : amountOut,
      fees: feesOf(state, lpFee, protocolFee, isBuy ? 'quote' : 'base'),
      feeTotal: isBuy ? lpFee + protocolFee : 0n,
      priceQuote: tokenIsA ? priceQuote : priceBase,
      priceBase: tokenIsA ? priceBase : priceQuote,
      before: null,
      after: null,
      cut: false,
      completes: false,
    },
  };
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
function open(mint: QuotedMint, [address, ...others]: QuoteAccounts, accounts: AccountLookup): OpenedPool {
  const data = ownedData(accounts, address, programId);
  const pool = data === null ? null : decodeWhirlpool(data);
  if (pool === null || (pool.mintA !== mint.address && pool.mintB !== mint.address)) return { kind: 'absent' };
  if (!isSound(pool)) return malformed('the Whirlpool has an invalid field');
  const tokenIsA = pool.mintA === mint.address;
  const shown = { address, quoteMint: tokenIsA ? pool.mintB : pool.mintA, curve: false, complete: false, reserves: null, build };
  if (pool.adaptiveFee) return { kind: 'open', pool: { ...shown, quote: () => quoteFault('unknown_fee') } };
  const arrays = tickArraysAround(address, pool.tick, pool.tickSpacing);
  if (!arrays.every((array) => others.includes(array))) return { kind: 'more', addresses: arrays };
  const ticks = ticksOf(address, pool.tickSpacing, arrays, accounts);
  if (ticks === null) return malformed('a tick array of the Whirlpool cannot be read');
  const state: SwapState = { ...pool, ticks };
  return { kind: 'open', pool: { ...shown, quote: (trade) => quoteSwap(state, tokenIsA, trade) } };
}

function build(): never {
  throw new TypeError('Orders on Whirlpools are not supported.');
}

/** There are no settings accounts, because the pool's account contains its fee rates. */
export const quoting: VenueQuoting = { settings: [], accountsOf: () => null, open };
