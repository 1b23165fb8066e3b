import { feeOf } from '../fee-schedule.ts';

/** Virtual reserves of a curve: price is quote / token. */
export interface CurveReserves {
  readonly virtualToken: bigint;
  readonly virtualQuote: bigint;
  readonly realToken: bigint;
}

/** Basis points charged beside the amount through the curve. */
export interface TradeRates {
  readonly protocol: bigint;
  readonly creator: bigint;
}

export interface TradeAmounts {
  readonly tokens: bigint;
  /** Through the curve, fees apart. */
  readonly quote: bigint;
  readonly protocolFee: bigint;
  readonly creatorFee: bigint;
}

const basisPoints = 10_000n;

function withFees(tokens: bigint, quote: bigint, rates: TradeRates): TradeAmounts {
  return { tokens, quote, protocolFee: feeOf(quote, rates.protocol), creatorFee: feeOf(quote, rates.creator) };
}

/** Buying an exact number of tokens; what the curve no longer has is not bought. */
export function buyTokens(curve: CurveReserves, wanted: bigint, rates: TradeRates): TradeAmounts {
  const tokens = wanted < curve.realToken ? wanted : curve.realToken;
  const quote = (tokens * curve.virtualQuote) / (curve.virtualToken - tokens) + 1n;
  return withFees(tokens, quote, rates);
}

/** Buying for an exact amount, fees included. Null where nothing is left of it after fees. */
export function buyWithQuote(curve: CurveReserves, spendable: bigint, rates: TradeRates): TradeAmounts | null {
  let net = (spendable * basisPoints) / (basisPoints + rates.protocol + rates.creator);
  const total = net + feeOf(net, rates.protocol) + feeOf(net, rates.creator);
  if (total > spendable) net -= total - spendable;
  if (net <= 1n) return null;
  const tokens = ((net - 1n) * curve.virtualToken) / (curve.virtualQuote + net - 1n);
  if (tokens >= curve.realToken) return buyTokens(curve, curve.realToken, rates);
  return withFees(tokens, net, rates);
}

export function sellTokens(curve: CurveReserves, tokens: bigint, rates: TradeRates): TradeAmounts {
  return withFees(tokens, (tokens * curve.virtualQuote) / (curve.virtualToken + tokens), rates);
}
