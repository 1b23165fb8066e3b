import { zeroAddress } from '@sluice/shared/solana/well-known.ts';
import { amountOut } from '../../kit/constant-product.ts';
import type { DecodedAs } from '../../kit/decode.ts';
import type { PoolSwap } from '../../kit/pool-quote.ts';
import { decodedOnce, ownedData, type AccountLookup, type OpenedPool } from '../../seam/quoting.ts';
import type { Fee, PoolReserves } from '../../seam/venue.ts';
import { decodeFeeConfig, type DecodedSettings, type FeeConfig, type FeeRates } from './fee-config.ts';
import { feeOf, splitExactIn } from './fee-math.ts';
import type { CommonSettings } from './settings.ts';

/** The properties of a coin that affect its fees. */
interface CoinTerms {
  readonly creatorFeeBps: number;
  readonly cashback: boolean;
  readonly holderReward: boolean;
}

/** The rates of a coin, from those of its tier. The creator is the zero address if there is none. */
export function ratesOfCoin(rates: FeeRates, creator: string, { creatorFeeBps }: CoinTerms, settings: CommonSettings): FeeRates {
  if (creator === zeroAddress) return { ...rates, creator: 0n };
  return settings.creatorFeeConfigurable && creatorFeeBps !== 0 ? { ...rates, creator: BigInt(creatorFeeBps) } : rates;
}

/** What a trade moves through the pool, and the amounts of its fees, all in the quote coin. */
export interface Moved {
  readonly base: bigint;
  readonly quote: bigint;
  readonly charged: FeeRates;
}

/** `quoteFor`: what a buy of this much pays, null if the pool does not have it. The base is 0 if fees leave nothing of the amount. */
export function movedBy(
  { virtualBase, virtualQuote }: PoolReserves,
  { amount, exactIn, isBuy }: { readonly amount: bigint; readonly exactIn: boolean; readonly isBuy: boolean },
  rates: FeeRates,
  quoteFor: (base: bigint) => bigint | null,
): Moved | null {
  if (isBuy && exactIn) {
    const { net, fees } = splitExactIn(amount, [rates.lp, rates.protocol, rates.creator]) ?? { net: 1n, fees: [0n, 0n, 0n] };
    const base = amountOut(net - 1n, virtualQuote, virtualBase);
    return { base, quote: net, charged: { lp: fees[0]!, protocol: fees[1]!, creator: fees[2]! } };
  }
  const quote = isBuy ? quoteFor(amount) : amountOut(amount, virtualBase, virtualQuote);
  if (quote === null) return null;
  const charged = { lp: feeOf(quote, rates.lp), protocol: feeOf(quote, rates.protocol), creator: feeOf(quote, rates.creator) };
  return { base: amount, quote, charged };
}

/** The swap with its fees. The creator's part is cashback for the trader, or goes to the holders, if the coin is of that kind. */
export function swapOf(isBuy: boolean, { base, quote, charged }: Moved, rates: FeeRates, coin: CoinTerms): PoolSwap | 'too_small' {
  const total = charged.lp + charged.protocol + charged.creator;
  const traderQuote = isBuy ? quote + total : quote - total;
  if (base <= 0n || traderQuote <= 0n) return 'too_small';
  const fee = (kind: Fee['kind'], part: keyof FeeRates): Fee => ({ kind, amount: charged[part], bps: Number(rates[part]), coin: 'quote' });
  const [protocol, lp] = [fee('protocol', 'protocol'), fee('lp', 'lp')];
  const ofCreator = fee(coin.cashback ? 'cashback' : coin.holderReward ? 'holderRewards' : 'creator', 'creator');
  const fees = ofCreator.kind === 'creator' ? [protocol, ofCreator, lp] : [protocol, lp, ofCreator];
  return isBuy
    ? { amountIn: traderQuote, amountOut: base, through: quote, left: base, fees }
    : { amountIn: base, amountOut: traderQuote, through: base, left: quote, fees };
}

/** Where a program has what each of its quotes depends on. */
interface Sources<A, S> {
  readonly programId: string;
  readonly decodeAccount: (data: Uint8Array) => DecodedAs<A>;
  readonly settings: string;
  readonly settingsOf: (data: Uint8Array) => DecodedSettings<S>;
  readonly feeConfig: string;
  readonly feeProgram: string;
}

const noBytes = new Uint8Array(0);
const feesIn = decodedOnce(decodeFeeConfig);

/** Reads the account of a curve or pool, the program's settings and its fees, and opens the pool with them. */
export function openWith<A, S>(
  { programId, decodeAccount, settings: settingsAt, settingsOf, feeConfig, feeProgram }: Sources<A, S>,
  address: string,
  accounts: AccountLookup,
  open: (account: A, settings: S, fees: FeeConfig, data: Uint8Array) => OpenedPool,
): OpenedPool {
  const data = ownedData(accounts, address, programId);
  if (data === null) return { kind: 'absent' };
  const decoded = decodeAccount(data);
  if (decoded.kind === 'malformed') return decoded;
  if (decoded.kind !== 'decoded') return { kind: 'absent' };
  const settings = settingsOf(ownedData(accounts, settingsAt, programId) ?? noBytes);
  const fees = feesIn(ownedData(accounts, feeConfig, feeProgram) ?? noBytes);
  if (settings.kind === 'malformed') return settings;
  return fees.kind === 'malformed' ? fees : open(decoded.account, settings.settings, fees.settings, data);
}
