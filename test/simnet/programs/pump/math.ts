import { feeOf } from '../fee-schedule.ts';

/** Virtual reserves of a curve: price is quote / token. */
export interface CurveReserves {
  readonly virtualToken: bigint;
  readonly virtualQuote: bigint;
  readonly realToken: bigint;
}

/** Basis points charged in addition to the amount through the curve. */
export interface TradeRates {
  readonly protocol: bigint;
  readonly creator: bigint;
}

export interface TradeAmounts {
  readonly tokens: bigint;
  /** The amount through the curve, without fees. */
  readonly quote: bigint;
  readonly protocolFee: bigint;
  readonly creatorFee: bigint;
}

const basisPoints = 10_000n;

function withFees(tokens: bigint, quote: bigint, rates: TradeRates): TradeAmounts {
  return { tokens, quote, protocolFee: feeOf(quote, rates.protocol), creatorFee: feeOf(quote, rates.creator) };
}

/** Buys an exact number of tokens, or as many as the curve still has. */
export function buyTokens(curve: CurveReserves, requested: bigint, rates: TradeRates): TradeAmounts {
  const tokens = requested < curve.realToken ? requested : curve.realToken;
  const quote = (tokens * curve.virtualQuote) / (curve.virtualToken - tokens) + 1n;
  return withFees(tokens, quote, rates);
}

/**
 * Buys for an exact amount, fees included. Null if nothing remains of it after fees. The fees are computed before the amount is reduced by
 * what they exceed it (steps 2 and 3 of the IDL's text on `buy_exact_sol_in`).
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
