import type { PriceState } from '../../seam/venue.ts';

/** The price of a bin is (1 + step / 10,000)^id as a Q64.64 integer, rounded as the program rounds: once for each square and for each product. */
const scaleBits = 64n;
const priceOne = 1n << scaleBits;
const maxU128 = (1n << 128n) - 1n;
const basisPoints = 10_000n;
/** The program computes powers up to this exponent. */
const maxExponent = 0x80000;
/** Pairs have few steps, and trade near few bins. The oldest prices are dropped first. */
const maxStored = 20_000;
const stored = new Map<number, bigint | null>();

/** Null if the program's arithmetic overflows. */
export function priceOfBin(step: number, id: number): bigint | null {
  if (Math.abs(id) >= maxExponent) return null;
  const key = step * 2 * maxExponent + id;
  const known = stored.get(key);
  if (known !== undefined) return known;
  const price = computed(BigInt(step), id);
  if (stored.size === maxStored) stored.delete(stored.keys().next().value!);
  stored.set(key, price);
  return price;
}

function computed(step: bigint, id: number): bigint | null {
  if (id === 0 || step === 0n) return priceOne;
  // Powers of a base above 1 would overflow, so those of its reciprocal are computed.
  let base = maxU128 / (priceOne + (step << scaleBits) / basisPoints);
  let result = priceOne;
  for (let rest = Math.abs(id); rest > 0; rest >>= 1) {
    if ((rest & 1) === 1) result = (result * base) >> scaleBits;
    base = (base * base) >> scaleBits;
  }
  if (result === 0n) return null;
  return id < 0 ? result : maxU128 / result;
}

/** The price of a bin; invalid if it has none. */
export function stateOfBin(step: number, id: number): PriceState {
  const price = priceOfBin(step, id);
  return { priceQuote: price ?? 0n, priceBase: price === null ? 0n : priceOne, reserves: null, depth: null };
}
