import { wrappedSolMint, zeroAddress } from '@sluice/shared/solana/well-known.ts';
import { amountOut } from '../../kit/constant-product.ts';
import { curveRates, decodeFeeConfig, type FeeConfig } from '../fees/fee-config.ts';
import { feeOf, splitExactIn } from '../fees/fee-math.ts';
import { feesOfCoin } from '../fees/fees.ts';
import {
  decodedOnce,
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
} from '../../seam/quoting.ts';
import type { PoolReserves } from '../../seam/venue.ts';
import { decodeAccount, type QuotedCurve } from './decode.ts';
import { buildCurveTrade } from './instructions.ts';
import { curveOf, feeConfig, feeProgram, globalAddress, initialSupply, programId } from './program.ts';
import { decodeGlobal, type PumpSettings } from './settings.ts';

const noBytes = new Uint8Array(0);
const settingsOf = decodedOnce(decodeGlobal);
const feesIn = decodedOnce(decodeFeeConfig);

/** Everything on which a trade on a curve depends. */
export interface CurveState {
  readonly curve: QuotedCurve;
  readonly settings: PumpSettings;
  readonly feeConfig: FeeConfig;
  /** Affects only the fees of mayhem coins. */
  readonly mintSupply: bigint;
}

interface Rates {
  readonly protocol: bigint;
  readonly creator: bigint;
}

function ratesOf({ curve, settings, feeConfig: config, mintSupply }: CurveState): Rates {
  const { virtualBase, virtualQuote } = curve.reserves;
  const supply = curve.mayhemMode ? mintSupply : initialSupply;
  const { protocol, creator } = curveRates(config, curve.quoteMint, (virtualQuote * supply) / virtualBase);
  if (curve.creator === zeroAddress) return { protocol, creator: 0n };
  const isOwn = settings.creatorFeeConfigurable && curve.creatorFeeBps !== 0;
  return { protocol, creator: isOwn ? BigInt(curve.creatorFeeBps) : creator };
}

interface Amounts {
  readonly side: 'buy' | 'sell';
  readonly base: bigint;
  readonly quote: bigint;
  readonly protocol: bigint;
  readonly creator: bigint;
  readonly cut: boolean;
}

function withFees(side: 'buy' | 'sell', base: bigint, quote: bigint, rates: Rates, cut: boolean): Amounts {
  return { side, base, quote, protocol: feeOf(quote, rates.protocol), creator: feeOf(quote, rates.creator), cut };
}

/** Buys tokens, at most what the curve has left. */
function buyBase({ virtualBase, virtualQuote, realBase }: PoolReserves, requested: bigint, rates: Rates): Amounts | null {
  const base = requested < realBase ? requested : realBase;
  if (base >= virtualBase) return null;
  return withFees('buy', base, (base * virtualQuote) / (virtualBase - base) + 1n, rates, base < requested);
}

/** Buys for an amount, fees included. If the amount exceeds what the curve has left, buys the rest at its price. */
function buyForQuote(reserves: PoolReserves, spendable: bigint, rates: Rates): Amounts | null {
  const split = splitExactIn(spendable, [rates.protocol, rates.creator]);
  if (split === null) return { side: 'buy', base: 0n, quote: 0n, protocol: 0n, creator: 0n, cut: false };
  const { net, fees } = split;
  const base = amountOut(net - 1n, reserves.virtualQuote, reserves.virtualBase);
  if (base > reserves.realBase) {
    const rest = buyBase(reserves, reserves.realBase, rates);
    return rest === null ? null : { ...rest, cut: true };
  }
  return { side: 'buy', base, quote: net, protocol: fees[0]!, creator: fees[1]!, cut: false };
}

function amountsOf(reserves: PoolReserves, { exact, amount }: QuotedTrade, rates: Rates): Amounts | null {
  if (exact === 'quoteIn') return buyForQuote(reserves, amount, rates);
  if (exact === 'baseOut') return buyBase(reserves, amount, rates);
  return withFees('sell', amount, amountOut(amount, reserves.virtualBase, reserves.virtualQuote), rates, false);
}

/**
 * The result of a trade on a curve by `buy_v2`, `buy_exact_quote_in_v2` and `sell_v2` (and their older forms), without the rent of accounts
 * that it must create. Formulas: README.md.
 */
export function quoteCurve(state: CurveState, trade: QuotedTrade): QuoteOutcome {
  const { curve, settings } = state;
  const before = curve.reserves;
  if (curve.complete || before.virtualBase === 0n || before.virtualQuote === 0n) return quoteFault('complete');
  if (trade.amount <= 0n) return quoteFault('too_small');
  if (trade.amount > maxU64) return quoteFault('too_large');
  if (before.realBase === 0n && trade.exact !== 'baseIn') return quoteFault('complete');
  const rates = ratesOf(state);
  const amounts = amountsOf(before, trade, rates);
  if (amounts === null) return quoteFault('too_large');
  const { side, base, quote, protocol, creator, cut } = amounts;
  const traderQuote = side === 'buy' ? quote + protocol + creator : quote - protocol - creator;
  if (base <= 0n || traderQuote <= 0n) return quoteFault('too_small');
  const sign = side === 'buy' ? 1n : -1n;
  const after: PoolReserves = {
    virtualBase: before.virtualBase - sign * base,
    virtualQuote: before.virtualQuote + sign * quote,
    realBase: before.realBase - sign * base,
    realQuote: before.realQuote + sign * quote,
  };
  if (after.realQuote < 0n || traderQuote > maxU64 || after.virtualQuote > maxU64 || after.virtualBase > maxU64)
    return quoteFault('too_large');
  const charged = { protocol, creator, lp: 0n, rates: { protocol: rates.protocol, creator: rates.creator, lp: 0n } };
  return {
    ok: true,
    quote: {
      side,
      baseAmount: base,
      quoteAmount: quote,
      traderQuote,
      ...feesOfCoin(charged, curve, settings.buybackBps),
      priceQuote: before.virtualQuote,
      priceBase: before.virtualBase,
      before,
      after,
      cut,
      completes: after.realBase === 0n,
    },
  };
}

function open(mint: QuotedMint, [address]: QuoteAccounts, accounts: AccountLookup): OpenedPool {
  const data = ownedData(accounts, address, programId);
  if (data === null) return { kind: 'absent' };
  const decoded = decodeAccount(data);
  if (decoded.kind === 'malformed') return decoded;
  if (decoded.kind !== 'decoded' || decoded.account.type !== 'curve') return { kind: 'absent' };
  const curve = decoded.account;
  const settings = settingsOf(ownedData(accounts, globalAddress, programId) ?? noBytes);
  const fees = feesIn(ownedData(accounts, feeConfig, feeProgram) ?? noBytes);
  if (settings.kind === 'malformed') return settings;
  if (fees.kind === 'malformed') return fees;
  const state: CurveState = { curve, settings: settings.settings, feeConfig: fees.settings, mintSupply: mint.supply };
  const { quoteMint, complete, reserves } = curve;
  const lamports = accounts(address)?.lamports ?? 0n;
  const rent = quoteMint === wrappedSolMint ? lamports - reserves.realQuote : lamports;
  const traded = { mint: mint.address, address, curve, settings: settings.settings, bytes: data.length, rent };
  return {
    kind: 'open',
    pool: {
      address,
      quoteMint,
      curve: true,
      complete,
      reserves,
      quote: (trade) => quoteCurve(state, trade),
      build: (order) => buildCurveTrade(traded, order),
    },
  };
}

/** The address of a curve follows from its coin, and the curve's account names the quote coin. */
export const quoting: VenueQuoting = {
  settings: [globalAddress, feeConfig],
  countsTransferFees: false,
  accountsOf: (mint) => [curveOf(mint)],
  open,
};
