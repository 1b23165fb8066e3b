import { sentFor, transferFeeAt, withheldFrom } from '@sluice/shared/solana/tokens/token-extensions.ts';
import type { TransferFees, TransferFeeSetting } from '@sluice/shared/solana/tokens/token-extensions.ts';
import { maxU64, quoteFault, type QuoteFault, type QuotedTrade, type QuoteOutcome } from '../seam/quoting.ts';
import type { Fee, PoolReserves, PriceState } from '../seam/venue.ts';

/** A swap by the arithmetic of a program. */
export interface PoolSwap {
  /** What reaches the vault, and what leaves it. */
  readonly amountIn: bigint;
  readonly amountOut: bigint;
  /** What the pool's formula counts of them: less, and more, by the fees. */
  readonly through: bigint;
  readonly left: bigint;
  /** Charged by the program. Those of amount 0 are left out of a quote. */
  readonly fees: readonly Fee[];
  /** The curve had no more tokens, so less is swapped than asked for. */
  readonly cut?: boolean;
  /** The reserves afterwards, and whether the curve is then complete, if these do not follow from the amounts. */
  readonly after?: PoolReserves | null;
  readonly completes?: boolean;
}

/** A pool whose token is its base, as a quote needs it. */
export interface QuotedState {
  readonly price: Pick<PriceState, 'priceQuote' | 'priceBase' | 'reserves'>;
  /** What the coins withhold from transfers; null for nothing. */
  readonly token: TransferFees | null;
  readonly money: TransferFees | null;
  /** It ends when everything is sold. */
  readonly isCurve?: true;
  /** `amount` reaches the vault, or leaves it if `exactIn` is false. */
  swap(amount: bigint, exactIn: boolean, isBuy: boolean): PoolSwap | QuoteFault;
}

const noTransferFee: TransferFeeSetting = { epoch: 0n, bps: 0, maxFee: 0n };

/** What reserves are after a swap. The part of the liquidity providers stays in the pool. */
function reservesAfter(before: PoolReserves, { through, left, fees }: PoolSwap, isBuy: boolean): PoolReserves {
  const stays = (coin: Fee['coin']): bigint =>
    fees.reduce((sum, fee) => (fee.kind === 'lp' && fee.coin === coin ? sum + fee.amount : sum), 0n);
  const [base, quote] = [(isBuy ? -left : through) + stays('base'), (isBuy ? through : -left) + stays('quote')];
  return {
    virtualBase: before.virtualBase + base,
    virtualQuote: before.virtualQuote + quote,
    realBase: before.realBase + base,
    realQuote: before.realQuote + quote,
  };
}

/** Quotes a trade on a pool, in a slot. What a coin withholds from its transfer never reaches the pool, or the trader. */
export function quotePool(state: QuotedState, { exact, amount }: QuotedTrade, slot: number): QuoteOutcome {
  if (amount <= 0n) return quoteFault('too_small');
  if (amount > maxU64) return quoteFault('too_large');
  const [isBuy, exactIn] = [exact !== 'baseIn', exact !== 'baseOut'];
  const settingOf = (fees: TransferFees | null): TransferFeeSetting => (fees === null ? noTransferFee : transferFeeAt(fees, slot));
  const [feeIn, feeOut] = isBuy ? [settingOf(state.money), settingOf(state.token)] : [settingOf(state.token), settingOf(state.money)];
  const inPool = exactIn ? amount - withheldFrom(amount, feeIn) : sentFor(amount, feeOut);
  if (inPool <= 0n) return quoteFault('too_small');
  if (inPool > maxU64) return quoteFault('too_large');
  const swapped = state.swap(inPool, exactIn, isBuy);
  if (typeof swapped === 'string') return quoteFault(swapped);
  const { amountIn, amountOut, through, left, cut = false } = swapped;
  const paid = exactIn && amountIn === inPool ? amount : sentFor(amountIn, feeIn);
  const received = amountOut - withheldFrom(amountOut, feeOut);
  if (received <= 0n || through <= 0n) return quoteFault('too_small');
  if (paid > maxU64) return quoteFault('too_large');
  const [coinIn, coinOut] = isBuy ? (['quote', 'base'] as const) : (['base', 'quote'] as const);
  const fees = swapped.fees.filter((fee) => fee.amount > 0n);
  if (paid > amountIn) fees.push({ kind: 'transfer', amount: paid - amountIn, bps: feeIn.bps, coin: coinIn });
  if (received < amountOut) fees.push({ kind: 'transfer', amount: amountOut - received, bps: feeOut.bps, coin: coinOut });
  const { priceQuote, priceBase, reserves } = state.price;
  const { after = reserves === null ? null : reservesAfter(reserves, swapped, isBuy) } = swapped;
  return {
    ok: true,
    quote: {
      side: isBuy ? 'buy' : 'sell',
      baseAmount: isBuy ? received : paid,
      quoteAmount: isBuy ? through : left,
      traderQuote: isBuy ? paid : received,
      fees,
      feeTotal: isBuy ? paid - through : left - received,
      priceQuote,
      priceBase,
      before: reserves,
      after,
      cut,
      completes: swapped.completes ?? (state.isCurve === true && after?.realBase === 0n),
    },
  };
}
