import { wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { stateOfReserves } from '../../kit/constant-product.ts';
import { quotePool, type PoolSwap } from '../../kit/pool-quote.ts';
import { decodedOnce, maxU64, quoteFault } from '../../seam/quoting.ts';
import type { QuotedPool, QuoteFault, QuotedTrade, QuoteOutcome, VenueQuoting } from '../../seam/quoting.ts';
import { curveRates, type FeeConfig, type FeeRates } from '../fees/fee-config.ts';
import { movedBy, openWith, ratesOfCoin, swapOf } from '../fees/quoting.ts';
import type { CommonSettings } from '../fees/settings.ts';
import { decodeAccount, type QuotedCurve } from './decode.ts';
import { buildCurveTrade, type TradedCurve } from './instructions.ts';
import { curveOf, feeConfig, feeProgram, globalAddress, initialSupply, programId } from './program.ts';
import { decodeGlobal } from './settings.ts';

/** Everything on which a trade on a curve depends. */
export interface CurveState {
  readonly curve: QuotedCurve;
  readonly settings: CommonSettings;
  readonly feeConfig: FeeConfig;
  /** Affects only the fees of mayhem coins. */
  readonly mintSupply: bigint;
}

/** Nobody provides liquidity to a curve. */
function ratesOf({ curve, settings, feeConfig: config, mintSupply }: CurveState): FeeRates {
  const { virtualBase, virtualQuote } = curve.reserves;
  const supply = curve.mayhemMode ? mintSupply : initialSupply;
  const rates = { ...curveRates(config, curve.quoteMint, (virtualQuote * supply) / virtualBase), lp: 0n };
  return ratesOfCoin(rates, curve.creator, curve, settings);
}

/** A buy gets at most what the curve has left. If its amount exceeds that, it buys the rest at its price. */
function swapOn(state: CurveState, amount: bigint, exactIn: boolean, isBuy: boolean): PoolSwap | QuoteFault {
  const { reserves } = state.curve;
  const { virtualBase, virtualQuote, realBase, realQuote } = reserves;
  if (isBuy && realBase === 0n) return 'complete';
  const rates = ratesOf(state);
  const quoteFor = (base: bigint): bigint | null => (base >= virtualBase ? null : (base * virtualQuote) / (virtualBase - base) + 1n);
  const requested = movedBy(reserves, { amount, exactIn, isBuy }, rates, quoteFor);
  const cut = isBuy && (requested?.base ?? amount) > realBase;
  const moved = cut ? movedBy(reserves, { amount: realBase, exactIn: false, isBuy }, rates, quoteFor) : requested;
  if (moved === null) return 'too_large';
  const swap = swapOf(isBuy, moved, rates, state.curve);
  if (swap === 'too_small') return swap;
  const isTooLarge = isBuy ? virtualQuote + moved.quote > maxU64 : moved.quote > realQuote || virtualBase + moved.base > maxU64;
  return isTooLarge ? 'too_large' : { ...swap, cut };
}

/** The result of a trade by `buy_v2`, `buy_exact_quote_in_v2` and `sell_v2` (and older forms), without the rent of new accounts. Formulas: README.md. */
export function quoteCurve(state: CurveState, trade: QuotedTrade): QuoteOutcome {
  const { complete, reserves } = state.curve;
  if (complete || reserves.virtualBase === 0n || reserves.virtualQuote === 0n) return quoteFault('complete');
  const swap = (amount: bigint, exactIn: boolean, isBuy: boolean): PoolSwap | QuoteFault => swapOn(state, amount, exactIn, isBuy);
  return quotePool({ price: stateOfReserves(reserves), token: null, money: null, isCurve: true, swap }, trade, 0);
}

function poolOf(traded: TradedCurve, state: CurveState): QuotedPool {
  const { quoteMint, complete, reserves } = state.curve;
  return {
    address: traded.address,
    quoteMint,
    curve: true,
    complete,
    reserves,
    quote: (trade) => quoteCurve(state, trade),
    after: ({ after, completes }) => after && poolOf(traded, { ...state, curve: { ...state.curve, reserves: after, complete: completes } }),
    build: (order) => buildCurveTrade(traded, order),
  };
}

const sources = { programId, decodeAccount, settings: globalAddress, settingsOf: decodedOnce(decodeGlobal), feeConfig, feeProgram };

/** The address of a curve follows from its coin, and the curve's account names the quote coin. */
export const quoting: VenueQuoting = {
  settings: [globalAddress, feeConfig],
  countsTransferFees: false,
  accountsOf: (mint) => [curveOf(mint)],
  open: (mint, [address], accounts) =>
    openWith(sources, address, accounts, (curve, settings, fees, data) => {
      const { quoteMint, reserves } = curve;
      const state: CurveState = { curve, settings, feeConfig: fees, mintSupply: mint.supply };
      const lamports = accounts(address)?.lamports ?? 0n;
      const rent = quoteMint === wrappedSolMint ? lamports - reserves.realQuote : lamports;
      const traded = { mint: mint.address, address, curve, settings, bytes: data.length, rent };
      return { kind: 'open', pool: poolOf(traded, state) };
    }),
};
