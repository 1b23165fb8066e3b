import { product } from '../../kit/ticks.ts';

export const maxSqrtPrice = 79_226_673_515_401_279_992_447_579_055n;

/** Bits after the point of the roots from which the factors are made. */
const precision = 512n;

function squareRoot(square: bigint): bigint {
  let root = 1n << BigInt(2 * square.toString(16).length);
  for (;;) {
    const next = (root + square / root) >> 1n;
    if (next >= root) return root;
    root = next;
  }
}

/** Square roots of 1.0001^(2^i), for i from 0 to 18. */
const roots: bigint[] = [squareRoot((10_001n << (2n * precision)) / 10_000n)];
for (let i = 0; i < 18; i++) roots.push((roots[i]! * roots[i]!) >> precision);
/** The same as Q32.96, and those of 1.0001^-(2^i) as Q64.64, rounded down like the constants of the program. */
const rising = roots.map((root) => root >> (precision - 96n));
const falling = roots.map((root) => (1n << (precision + 64n)) / root);

/** Square root of the price of a tick, Q64.64. The tick must lie within `minTick` and `maxTick`. */
export function sqrtPriceOfTick(tick: number): bigint {
  return tick >= 0 ? product(tick, rising, 96n) >> 32n : product(-tick, falling, 64n);
}
