import { quotient } from '../../solana/amounts.ts';
import { encodeBase58 } from '../../solana/base58.ts';
import { hasPrefix } from '../../solana/bytes.ts';
import { solDecimals, usdcDecimals, usdcMint, wrappedSolMint } from '../../solana/well-known.ts';
import { whirlpool, whirlpoolDiscriminator, whirlpoolLength } from './layout.ts';

/** A Whirlpool as its price needs it. */
export interface Whirlpool {
  readonly mintA: string;
  readonly mintB: string;
  readonly vaultA: string;
  readonly vaultB: string;
  /** Square root of raw B per raw A, times 2^64. */
  readonly sqrtPriceX64: bigint;
  readonly liquidity: bigint;
  readonly tick: number;
}

const oneX128 = 1n << 128n;

/** Reads a Whirlpool account; null when the bytes are none. Never throws. */
export function decodeWhirlpool(data: Uint8Array): Whirlpool | null {
  if (data.length < whirlpoolLength || !hasPrefix(data, whirlpoolDiscriminator)) return null;
  const view = new DataView(data.buffer, data.byteOffset, data.length);
  const u128 = (at: number): bigint => view.getBigUint64(at, true) | (view.getBigUint64(at + 8, true) << 64n);
  return {
    mintA: encodeBase58(data, whirlpool.mintA, 32),
    mintB: encodeBase58(data, whirlpool.mintB, 32),
    vaultA: encodeBase58(data, whirlpool.vaultA, 32),
    vaultB: encodeBase58(data, whirlpool.vaultB, 32),
    sqrtPriceX64: u128(whirlpool.sqrtPrice),
    liquidity: u128(whirlpool.liquidity),
    tick: view.getInt32(whirlpool.tick, true),
  };
}

/** Whole coins of B for one whole coin of A, correctly rounded. `sqrtPriceX64` must be above 0. */
export function whirlpoolPrice({ sqrtPriceX64 }: Pick<Whirlpool, 'sqrtPriceX64'>, decimalsA: number, decimalsB: number): number {
  return quotient(sqrtPriceX64 ** 2n * 10n ** BigInt(decimalsA), oneX128 * 10n ** BigInt(decimalsB));
}

/** USDC for one SOL from a pool of that pair, in either order, correctly rounded; null for another pair, or without a price or liquidity behind it. */
export function usdcPerSol(pool: Whirlpool): number | null {
  const { mintA, mintB, sqrtPriceX64, liquidity } = pool;
  if (sqrtPriceX64 === 0n || liquidity === 0n) return null;
  if (mintA === wrappedSolMint && mintB === usdcMint) return whirlpoolPrice(pool, solDecimals, usdcDecimals);
  if (mintA !== usdcMint || mintB !== wrappedSolMint) return null;
  return quotient(oneX128 * 10n ** BigInt(solDecimals), sqrtPriceX64 ** 2n * 10n ** BigInt(usdcDecimals));
}
