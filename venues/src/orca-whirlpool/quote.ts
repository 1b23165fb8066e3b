import {
  sentFor,
  transferFeeAt,
  withheldFrom,
  type TransferFees,
  type TransferFeeSetting,
} from '@sluice/shared/solana/tokens/token-extensions.ts';
import { stateOfSqrtPrice } from '../kit/concentrated.ts';
import { malformed } from '../outcome.ts';
import {
  maxU64,
  ownedData,
  quoteFault,
  type AccountLookup,
  type MintLookup,
  type OpenedPool,
  type QuoteAccounts,
  type QuotedMint,
  type QuoteMoment,
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

/** The token is coin A or coin B of the pool. */
interface QuotedSwap {
  readonly state: SwapState;
  readonly tokenIsA: boolean;
  readonly token: TransferFees | null;
  readonly money: TransferFees | null;
}

const noTransferFee: TransferFeeSetting = { epoch: 0n, bps: 0, maxFee: 0n };

/** Quotes a trade. What a coin withholds from its transfer never reaches the pool, or the trader. */
function quoteSwap({ state, tokenIsA, token, money }: QuotedSwap, { exact, amount }: QuotedTrade, { slot }: QuoteMoment): QuoteOutcome {
  if (amount <= 0n) return quoteFault('too_small');
  if (amount > maxU64) return quoteFault('too_large');
  const isBuy = exact !== 'baseIn';
  const [feeIn, feeOut] = (isBuy ? [money, token] : [token, money]).map((fees) =>
    fees === null ? noTransferFee : transferFeeAt(fees, slot),
  );
  const exactIn = exact !== 'baseOut';
  const inPool = exactIn ? amount - withheldFrom(amount, feeIn!) : sentFor(amount, feeOut!);
  if (inPool <= 0n) return quoteFault('too_small');
  if (inPool > maxU64) return quoteFault('too_large');
  const swapped = swap(state, { amount: inPool, exactIn, aToB: isBuy !== tokenIsA });
  if (typeof swapped === 'string') return quoteFault(swapped);
  const { amountIn, amountOut, lpFee, protocolFee } = swapped;
  const throughPool = amountIn - lpFee - protocolFee;
  const paid = exactIn ? amount : sentFor(amountIn, feeIn!);
  const received = amountOut - withheldFrom(amountOut, feeOut!);
  if (received <= 0n || throughPool <= 0n) return quoteFault('too_small');
  if (paid > maxU64) return quoteFault('too_large');
  const [coinIn, coinOut] = isBuy ? (['quote', 'base'] as const) : (['base', 'quote'] as const);
  const fees = [...feesOf(state, lpFee, protocolFee, coinIn)];
  if (paid > amountIn) fees.push({ kind: 'transfer', amount: paid - amountIn, bps: feeIn!.bps, coin: coinIn });
  if (received < amountOut) fees.push({ kind: 'transfer', amount: amountOut - received, bps: feeOut!.bps, coin: coinOut });
  const { priceQuote, priceBase } = stateOfSqrtPrice(state.sqrtPriceX64, null);
  return {
    ok: true,
    quote: {
      side: isBuy ? 'buy' : 'sell',
      baseAmount: isBuy ? received : paid,
      quoteAmount: isBuy ? throughPool : amountOut,
      traderQuote: isBuy ? paid : received,
      fees,
      feeTotal: isBuy ? paid - throughPool : amountOut - received,
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
function open(mint: QuotedMint, [address, ...others]: QuoteAccounts, accounts: AccountLookup, mintOf: MintLookup): OpenedPool {
  const data = ownedData(accounts, address, programId);
  const pool = data === null ? null : decodeWhirlpool(data);
  if (pool === null || (pool.mintA !== mint.address && pool.mintB !== mint.address)) return { kind: 'absent' };
  if (!isSound(pool)) return malformed('the Whirlpool has an invalid field');
  const tokenIsA = pool.mintA === mint.address;
  const quoteMint = tokenIsA ? pool.mintB : pool.mintA;
  const shown = { address, quoteMint, curve: false, complete: false, reserves: null, build };
  if (pool.adaptiveFee) return { kind: 'open', pool: { ...shown, quote: () => quoteFault('unknown_fee') } };
  const arrays = tickArraysAround(address, pool.tick, pool.tickSpacing);
  if (!arrays.every((array) => others.includes(array))) return { kind: 'more', addresses: arrays };
  const ticks = ticksOf(address, pool.tickSpacing, arrays, accounts);
  if (ticks === null) return malformed('a tick array of the Whirlpool cannot be read');
  const money = mintOf(quoteMint)?.transferFee ?? null;
  const swapped: QuotedSwap = { state: { ...pool, ticks }, tokenIsA, token: mint.transferFee, money };
  return { kind: 'open', pool: { ...shown, quote: (trade, at) => quoteSwap(swapped, trade, at) } };
}

function build(): never {
  throw new TypeError('Orders on Whirlpools are not supported.');
}

/** There are no settings accounts, because the pool's account contains its fee rates. */
export const quoting: VenueQuoting = { settings: [], countsTransferFees: true, accountsOf: () => null, open };
