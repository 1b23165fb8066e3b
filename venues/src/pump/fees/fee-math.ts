const basisPoints = 10_000n;

/** Fee on an amount, rounded up: `ceil(amount × bps / 10,000)`, as both pump programs charge each of their fees. */
export function feeOf(amount: bigint, bps: bigint): bigint {
  return (amount * bps + basisPoints - 1n) / basisPoints;
}

/**
 * Subtracts all fees from an amount to spend, as `buy_exact_sol_in`, `buy_exact_quote_in` and their later versions do (formula in the IDL
 * of pump, instruction `buy_exact_sol_in`). The fees are computed before the amount is reduced by the excess, in the order of the rates. `net`
 * goes through the pool. Null if nothing is left.
 */
export function splitExactIn(spendable: bigint, rates: readonly bigint[]) {
  const total = rates.reduce((sum, bps) => sum + bps, 0n);
  let net = (spendable * basisPoints) / (basisPoints + total);
  const fees = rates.map((bps) => feeOf(net, bps));
  const cost = fees.reduce((sum, fee) => sum + fee, net);
  if (cost > spendable) net -= cost - spendable;
  return net > 0n ? { net, fees } : null;
}
