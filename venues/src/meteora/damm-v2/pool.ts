import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { hasPrefix, u128At, viewOf } from '@sluice/shared/solana/encoding/bytes.ts';
import { sameReserves, stateOfReserves } from '../../kit/constant-product.ts';
import { accountDecoder, malformed, noTerms } from '../../kit/decode.ts';
import type { DecodedConstants, PoolAccount, PriceState } from '../../seam/venue.ts';
import { pool as at, poolLength } from './layout.ts';
import { stateOfHeld } from './price.ts';
import { collectFeeModes, ignoredAccounts, poolAuthority, poolDiscriminator } from './program.ts';

/** The fields of a pool's account that prices and quotes need. A is the base. */
export interface DammPool {
  readonly mintA: string;
  readonly mintB: string;
  readonly vaultA: string;
  readonly vaultB: string;
  /** In Q64.64. */
  readonly liquidity: bigint;
  readonly sqrtMinPrice: bigint;
  readonly sqrtMaxPrice: bigint;
  /** Square root of raw B per raw A, times 2^64. */
  readonly sqrtPrice: bigint;
  readonly collectFeeMode: number;
  /** What trades can take out. */
  readonly amountA: bigint;
  readonly amountB: bigint;
  readonly isEnabled: boolean;
  /** Swaps begin at this slot or second. */
  readonly activationPoint: bigint;
  readonly activationType: number;
  /** All bytes, for the fees. */
  readonly view: DataView;
}

function isPool(data: Uint8Array): boolean {
  return data.length >= poolLength && hasPrefix(data, poolDiscriminator);
}

/** The coins of a pool; null if the bytes are not one. */
export function coinsOf(data: Uint8Array): readonly [a: string, b: string] | null {
  return isPool(data) ? [encodeBase58(data, at.mintA, 32), encodeBase58(data, at.mintB, 32)] : null;
}

/** Reads a pool's account; null if the bytes are not one. Never throws. */
export function decodePool(data: Uint8Array): DammPool | null {
  if (!isPool(data)) return null;
  const view = viewOf(data);
  const key = (from: number): string => encodeBase58(data, from, 32);
  const collectFeeMode = data[at.collectFeeMode]!;
  const range = {
    liquidity: u128At(view, at.liquidity),
    sqrtMinPrice: u128At(view, at.sqrtMinPrice),
    sqrtMaxPrice: u128At(view, at.sqrtMaxPrice),
    sqrtPrice: u128At(view, at.sqrtPrice),
  };
  if (collectFeeMode > collectFeeModes.compounding || range.sqrtPrice === 0n) return null;
  // Version 0 does not have the amounts.
  const stated = { amountA: view.getBigUint64(at.amountA, true), amountB: view.getBigUint64(at.amountB, true) };
  const amounts = data[at.layoutVersion] === 0 ? amountsOf(range) : stated;
  return {
    mintA: key(at.mintA),
    mintB: key(at.mintB),
    vaultA: key(at.vaultA),
    vaultB: key(at.vaultB),
    ...range,
    ...amounts,
    collectFeeMode,
    isEnabled: data[at.status] === 0,
    activationPoint: view.getBigUint64(at.activationPoint, true),
    activationType: data[at.activationType]!,
    view,
  };
}

type Range = Pick<DammPool, 'liquidity' | 'sqrtMinPrice' | 'sqrtMaxPrice' | 'sqrtPrice'>;

/** What the pool holds between its price and the ends of its range, rounded up. */
function amountsOf({ liquidity, sqrtMinPrice, sqrtMaxPrice, sqrtPrice }: Range): Pick<DammPool, 'amountA' | 'amountB'> {
  const [above, below] = [sqrtMaxPrice - sqrtPrice, sqrtPrice - sqrtMinPrice];
  if (above < 0n || below < 0n) return { amountA: 0n, amountB: 0n };
  const product = sqrtPrice * sqrtMaxPrice;
  return { amountA: (liquidity * above + product - 1n) / product, amountB: (liquidity * below + (1n << 128n) - 1n) >> 128n };
}

export function priceOfPool({ collectFeeMode, liquidity, sqrtPrice, amountA, amountB }: DammPool): PriceState {
  return collectFeeMode === collectFeeModes.compounding
    ? stateOfReserves(sameReserves(amountA, amountB))
    : stateOfHeld({ sqrtPrice, a: amountA, b: amountB }, liquidity);
}

function readPool(data: Uint8Array): PoolAccount | string {
  const pool = decodePool(data);
  if (pool === null) return 'Pool too short, or with an invalid field';
  const price = priceOfPool(pool);
  if (price.priceBase === 0n || price.priceQuote === 0n) return 'Pool without a price';
  const { mintA, mintB, vaultA, vaultB } = pool;
  const coins = { baseMint: mintA, quoteMint: mintB, baseVault: vaultA, quoteVault: vaultB };
  const own = { vaultOwner: poolAuthority, tokenCreator: null, virtualBase: 0n, virtualQuote: 0n, ...noTerms };
  return { type: 'pool', ...coins, price, ...own };
}

export const decodeAccount = accountDecoder(poolDiscriminator, readPool, ignoredAccounts);

/** What purchases by the older event need. It never changes. */
export function constantsOf(data: Uint8Array): DecodedConstants {
  const pool = decodePool(data);
  if (pool === null) return malformed('not a pool');
  return { kind: 'decoded', constants: { collectFeeMode: BigInt(pool.collectFeeMode) } };
}
