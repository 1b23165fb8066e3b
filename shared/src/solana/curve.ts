const prime = 2n ** 255n - 19n;
const edwardsD = 37095705934669439343138083508754565189542113879843219016388785533085940283555n;
const low255 = 2n ** 255n - 1n;

function reduce(value: bigint): bigint {
  let rest = value;
  while (rest > low255) rest = (rest & low255) + 19n * (rest >> 255n);
  return rest >= prime ? rest - prime : rest;
}

/** Euler's criterion: value^((p-1)/2) is 1 for a square, p-1 for none, 0 for 0. (p-1)/2 = 2^254 - 10. */
function isSquare(value: bigint): boolean {
  if (value === 0n) return true;
  const exponent = (prime - 1n) / 2n;
  let result = 1n;
  for (let bit = 254n; bit >= 0n; bit--) {
    result = reduce(result * result);
    if ((exponent >> bit) & 1n) result = reduce(result * value);
  }
  return result === 1n;
}

/**
 * Whether 32 bytes are a point of the Ed25519 curve as the runtime decides it: x^2 = (y^2 - 1) / (d y^2 + 1) has a root.
 * The sign bit is left out, and y is taken modulo p.
 */
export function isOnCurve(bytes: Uint8Array): boolean {
  const littleEndian = Buffer.from(Uint8Array.from(bytes).toReversed()).toString('hex');
  const y = reduce(BigInt(`0x${littleEndian}`) & low255);
  const y2 = reduce(y * y);
  return isSquare(reduce((y2 + prime - 1n) * reduce(edwardsD * y2 + 1n)));
}
