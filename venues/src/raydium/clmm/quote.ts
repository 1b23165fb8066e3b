import { stateOfSqrtPrice } from '../../kit/concentrated.ts';
import { rateDenominator, tierFees, type TierRates } from '../../kit/fee-tier.ts';
import { noOrders, quotePool, type PoolSwap, type QuotedState } from '../../kit/pool-quote.ts';
import { swapThrough, type PriceTick } from '../../kit/swap-through.ts';
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
import { decodeConfig } from './config.ts';
import { decodePool, type ClmmPool } from './pool.ts';
import { swapDisabled } from './layout.ts';
import { programId } from './program.ts';
import { arrayAt, arrayStarts, decodeTickArray, type ClmmTick } from './tick-arrays.ts';
import { maxSqrtPrice, maxTick, minSqrtPrice, minTick, sqrtPriceOfTick } from './tick-math.ts';

interface ClmmState {
  readonly pool: ClmmPool;
  readonly rates: TierRates;
  readonly tokenIs0: boolean;
  /** What a swap meets if the price falls, and if it rises; each in the order of the swap. */
  readonly falling: readonly PriceTick[];
  readonly rising: readonly PriceTick[];
}

/** Swaps on the pool. `amount` is what reaches the vault, or leaves it if `exactIn` is false. */
function swapOn(
  { pool, rates, tokenIs0, falling, rising }: ClmmState,
  amount: bigint,
  exactIn: boolean,
  isBuy: boolean,
): PoolSwap | QuoteFault {
  const aToB = isBuy !== tokenIs0;
  const feeOnInput = pool.feeOn === 0 || (pool.feeOn === 1) === aToB;
  const split = (fee: bigint): readonly bigint[] => [(fee * rates.protocol) / rateDenominator, (fee * rates.fund) / rateDenominator];
  const state = { ...pool, feeRate: rates.trade, feeOnInput, ticks: aToB ? falling : rising, split };
  const swapped = swapThrough(state, { amount, exactIn, aToB });
  if (typeof swapped === 'string') return swapped;
  const { amountIn, amountOut, fee, parts } = swapped;
  const [protocol, fund] = [parts[0]!, parts[1]!];
  const [coinIn, coinOut] = isBuy ? (['quote', 'base'] as const) : (['base', 'quote'] as const);
  const coin = feeOnInput ? coinIn : coinOut;
  const fees = tierFees({ lp: fee - protocol - fund, protocol, fund }, rates, coin);
  return { amountIn, amountOut, through: feeOnInput ? amountIn - fee : amountIn, left: feeOnInput ? amountOut : amountOut + fee, fees };
}

function isSound({ tickSpacing, tick, sqrtPriceX64, feeOn }: ClmmPool): boolean {
  const isPriced = sqrtPriceX64 >= minSqrtPrice && sqrtPriceX64 < maxSqrtPrice && tick >= minTick - 1 && tick <= maxTick;
  return isPriced && tickSpacing > 0 && feeOn <= 2;
}

/** The ticks of these arrays, the lowest first. Null if an account is not an array of this pool. */
function ticksOf(address: string, starts: readonly number[], accounts: AccountLookup): readonly ClmmTick[] | null {
  const ticks: ClmmTick[] = [];
  for (const start of starts) {
    const array = decodeTickArray(ownedData(accounts, arrayAt(address, String(start)), programId) ?? new Uint8Array(0), address);
    if (array === null || array.some(({ tick }) => tick < minTick || tick > maxTick)) return null;
    ticks.push(...array);
  }
  return ticks.toSorted((one, other) => one.tick - other.tick);
}

/** What a swap meets. No quote goes beyond the last tick that was read, or beyond limit orders. */
function met(ticks: readonly ClmmTick[], pool: ClmmPool, aToB: boolean): readonly PriceTick[] {
  const ahead = ticks.filter(({ tick }) => (aToB ? tick <= pool.tick : tick > pool.tick));
  return (aToB ? ahead.toReversed() : ahead).map(({ tick, net, hasOrders }) => ({
    sqrtPrice: sqrtPriceOfTick(tick),
    net,
    isEnd: hasOrders,
  }));
}

/** The pool's account names its fee tier, and shows which tick arrays have ticks. They are read in a second round. */
function open(mint: QuotedMint, [address, ...others]: QuoteAccounts, accounts: AccountLookup, mintOf: MintLookup): OpenedPool {
  const data = ownedData(accounts, address, programId);
  const pool = data === null ? null : decodePool(data);
  if (pool === null || (pool.mint0 !== mint.address && pool.mint1 !== mint.address)) return { kind: 'absent' };
  if (!isSound(pool)) return malformed('the pool has an invalid field');
  const tokenIs0 = pool.mint0 === mint.address;
  const quoteMint = tokenIs0 ? pool.mint1 : pool.mint0;
  const shown = { address, quoteMint, curve: false, complete: false, reserves: null, build: noOrders };
  if (pool.dynamicFee) return { kind: 'open', pool: { ...shown, quote: () => quoteFault('unknown_fee') } };
  const [down, up] = [true, false].map((falls) => arrayStarts(pool.bitmap, pool.tick, pool.tickSpacing, falls)) as [number[], number[]];
  const needed = [pool.config, ...new Set([...down, ...up].map((start) => arrayAt(address, String(start))))];
  if (!needed.every((account) => others.includes(account))) return { kind: 'more', addresses: needed };
  const rates = decodeConfig(ownedData(accounts, pool.config, programId) ?? new Uint8Array(0));
  const [below, above] = [ticksOf(address, down, accounts), ticksOf(address, up, accounts)];
  if (rates === null || below === null || above === null) return malformed('the fee tier or a tick array of the pool cannot be read');
  const state: ClmmState = { pool, rates, tokenIs0, falling: met(below, pool, true), rising: met(above, pool, false) };
  const { priceQuote, priceBase } = stateOfSqrtPrice(pool.sqrtPriceX64, null);
  const quoted: QuotedState = {
    price: tokenIs0 ? { priceQuote, priceBase } : { priceQuote: priceBase, priceBase: priceQuote },
    reserves: null,
    token: mint.transferFee,
    money: mintOf(quoteMint)?.transferFee ?? null,
    swap: (amount, exactIn, isBuy) => swapOn(state, amount, exactIn, isBuy),
  };
  const isClosed = (unixTimeS: number): boolean => (pool.status & swapDisabled) !== 0 || BigInt(unixTimeS) <= pool.openTimeS;
  return {
    kind: 'open',
    pool: { ...shown, quote: (trade, at) => (isClosed(at.unixTimeS) ? quoteFault('disabled') : quotePool(quoted, trade, at)) },
  };
}

/** The fee tiers are many, and each pool names its own, so they are read with the pool. */
export const quoting: VenueQuoting = { settings: [], countsTransferFees: true, accountsOf: () => null, open };
