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

/**
 * Buying for an exact amount, fees included. Null where nothing is left of it after fees. The fees are those of the amount before
 * it is made smaller by what they overshoot (steps 2 and 3 in the IDL's words on `buy_exact_sol_in`).
 */
export function buyWithQuote(curve: CurveReserves, spendable: bigint, rates: TradeRates): TradeAmounts | null {
  const whole = (spendable * basisPoints) / (basisPoints + rates.protocol + rates.creator);
  const [protocolFee, creatorFee] = [feeOf(whole, rates.protocol), feeOf(whole, rates.creator)];
  const over = whole + protocolFee + creatorFee - spendable;
  const quote = over > 0n ? whole - over : whole;
  if (quote <= 1n) return null;
  const tokens = ((quote - 1n) * curve.virtualToken) / (curve.virtualQuote + quote - 1n);
  if (tokens > curve.realToken) return buyTokens(curve, curve.realToken, rates);
  return { tokens, quote, protocolFee, creatorFee };
}

export function sellTokens(curve: CurveReserves, tokens: bigint, rates: TradeRates): TradeAmounts {
  return withFees(tokens, (tokens * curve.virtualQuote) / (curve.virtualToken + tokens), rates);
}
