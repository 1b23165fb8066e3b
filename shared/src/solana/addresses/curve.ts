const prime = 2n ** 255n - 19n;
const low255 = 2n ** 255n - 1n;
/** The d of Ed25519's equation -x^2 + y^2 = 1 + d x^2 y^2 (RFC 8032, 5.1). */
const edwardsD = 37095705934669439343138083508754565189542113879843219016388785533085940283555n;

/** value mod p for 0 <= value < 2^510: bits above 255 are multiplied by 19 and added. */
function reduce(value: bigint): bigint {
  let rest = value;
  while (rest > low255) rest = (rest & low255) + 19n * (rest >> 255n);
  return rest >= prime ? rest - prime : rest;
}

const limbBits = 30;
const limbCount = 9;
const limbMask = 2 ** limbBits - 1;
const primeLimbs = new Int32Array(limbCount);
const left = new Int32Array(limbCount + 1);
const right = new Int32Array(limbCount + 1);

function toLimbs(value: bigint, limbs: Int32Array): void {
  let rest = value;
  for (let i = 0; i < limbCount; i++) {
    limbs[i] = Number(rest & BigInt(limbMask));
    rest >>= BigInt(limbBits);
  }
}
toLimbs(prime, primeLimbs);

/** Removes the low zero bits of a number that is not 0, and returns how many there were. */
function stripZeros(limbs: Int32Array): number {
  let whole = 0;
  while (limbs[whole] === 0) whole++;
  const low = limbs[whole]!;
  const bits = 31 - Math.clz32(low & -low);
  for (let i = 0; i < limbCount; i++) {
    const from = i + whole;
    const here = from < limbCount ? limbs[from]! : 0;
    const above = from + 1 < limbCount ? limbs[from + 1]! : 0;
    limbs[i] = (here >>> bits) | ((above << (limbBits - bits)) & limbMask);
  }
  return whole * limbBits + bits;
}

function isLess(a: Int32Array, b: Int32Array): boolean {
  for (let i = limbCount - 1; i >= 0; i--) if (a[i] !== b[i]) return a[i]! < b[i]!;
  return false;
}

/** a -= b for a >= b. Returns whether the result is not 0. */
function subtract(a: Int32Array, b: Int32Array): boolean {
  let borrow = 0;
  let any = 0;
  for (let i = 0; i < limbCount; i++) {
    const difference = a[i]! - b[i]! - borrow;
    borrow = difference < 0 ? 1 : 0;
    const limb = difference & limbMask;
    a[i] = limb;
    any |= limb;
  }
  return any !== 0;
}

/** Whether 0 < value < p is a square modulo p: the Jacobi symbol by the binary algorithm. Raising to (p-1)/2 takes thirty times as long. */
function isSquare(value: bigint): boolean {
  let a = left;
  let n = right;
  toLimbs(value, a);
  n.set(primeLimbs);
  let flips = 0;
  for (;;) {
    const low = n[0]! & 7;
    if ((stripZeros(a) & 1) === 1 && (low === 3 || low === 5)) flips++;
    if (isLess(a, n)) {
      if ((a[0]! & n[0]! & 3) === 3) flips++;
      [a, n] = [n, a];
    }
    if (!subtract(a, n)) return (flips & 1) === 0;
  }
}

/**
 * Whether 32 bytes are a point of the Ed25519 curve, as the runtime decides it: (y^2 - 1) / (d y^2 + 1) must have a square root, which is
 * true if the product of the two is a square. The sign bit is ignored, and y is taken modulo p.
 */
export function isOnCurve(bytes: Uint8Array): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, 32);
  const high = (view.getBigUint64(24, true) << 64n) | view.getBigUint64(16, true);
  const low = (view.getBigUint64(8, true) << 64n) | view.getBigUint64(0, true);
  const y = reduce(((high << 128n) | low) & low255);
  const ySquared = reduce(y * y);
  const product = reduce((ySquared + prime - 1n) * reduce(edwardsD * ySquared + 1n));
  return product === 0n || isSquare(product);
}

/** y of the points whose order divides 8: 0 for the two of order 4, the identity, the one of order 2, and those of order 8. */
const order8Y = 2707385501144840649318225287225658788936804267575313519463743609750303402022n;
const smallOrderYs: ReadonlySet<bigint> = new Set([0n, 1n, prime - 1n, order8Y, prime - order8Y]);

/** Whether 32 bytes are a point of small order, in any encoding. Anyone can make signatures that are valid for such a key, so it has no owner. */
export function isSmallOrder(bytes: Uint8Array): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, 32);
  let y = 0n;
  for (let at = 24; at >= 0; at -= 8) y = (y << 64n) | view.getBigUint64(at, true);
  return smallOrderYs.has(reduce(y & low255));
}
