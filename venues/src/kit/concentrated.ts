import { depthShare } from '@sluice/shared/market/pools/depth-share.ts';
import type { TokenBalance } from '@sluice/shared/solana/transaction/inner-events.ts';
import type { LiquidityChanged, PoolAccount, PriceState } from '../seam/venue.ts';
import { noTerms } from './decode.ts';

/** Pools of concentrated liquidity. The square root of a price is that of raw quote for raw base, times 2^64 (Q64.64). */
const sqrtPriceBits = 64n;
const one = 1n << (2n * sqrtPriceBits);

const scale = 1_000_000_000n;
const fallen = BigInt(Math.round(depthShare * Number(scale)));

/** The depth if the liquidity is the same within that band. */
function depthOf(sqrtPrice: bigint, liquidity: bigint): bigint {
  return (((liquidity * sqrtPrice) / scale) * fallen) >> sqrtPriceBits;
}

/** State from the square root of the price and the liquidity (null if unknown). */
export function stateOfSqrtPrice(sqrtPrice: bigint, liquidity: bigint | null): PriceState {
  return {
    priceQuote: sqrtPrice * sqrtPrice,
    priceBase: one,
    reserves: null,
    depth: liquidity === null ? null : depthOf(sqrtPrice, liquidity),
  };
}

/** The account of a pool that owns its vaults and stores the square root of its price. */
export function concentratedPool(
  coins: Pick<PoolAccount, 'baseMint' | 'quoteMint' | 'baseVault' | 'quoteVault'>,
  { sqrtPriceX64, liquidity }: { readonly sqrtPriceX64: bigint; readonly liquidity: bigint },
): PoolAccount {
  const own = { vaultOwner: null, tokenCreator: null, virtualBase: 0n, virtualQuote: 0n, ...noTerms };
  return { type: 'pool', ...coins, price: stateOfSqrtPrice(sqrtPriceX64, liquidity), ...own };
}

/** Average liquidity during a swap: the raw quote that moved, divided by the change of the square root. Null if the price did not change. */
export function liquidityMet(quoteAmount: bigint, sqrtPriceBefore: bigint, sqrtPriceAfter: bigint): bigint | null {
  const way = sqrtPriceBefore > sqrtPriceAfter ? sqrtPriceBefore - sqrtPriceAfter : sqrtPriceAfter - sqrtPriceBefore;
  return way === 0n ? null : (quoteAmount << sqrtPriceBits) / way;
}

/** The depth, at most what either side holds, because few coins in a narrow range would show a large one. Null if the balances are unknown. */
export function cappedDepth(state: PriceState, pool: string, isSell: boolean, balances: readonly TokenBalance[] | null): bigint | null {
  const vaults = (balances ?? []).filter(({ owner, before, after }) => owner === pool && before !== after);
  const received = vaults.filter(({ before, after }) => after > before);
  if (state.depth === null || vaults.length !== 2 || received.length !== 1) return null;
  const paid = vaults.find((vault) => vault !== received[0])!;
  const [base, quote] = isSell ? [received[0]!.after, paid.after] : [paid.after, received[0]!.after];
  return depthWithin(state, base, quote);
}

/** The depth, at most what either side holds. Null if the state has none. */
export function depthWithin({ depth, priceQuote, priceBase }: PriceState, base: bigint, quote: bigint): bigint | null {
  if (depth === null) return null;
  const worthOfBase = (base * priceQuote) / priceBase;
  return [depth, quote, worthOfBase].reduce((least, amount) => (amount < least ? amount : least));
}

/** Liquidity of a position that came or went. It does not move the price. */
export function positionChanged(
  changed: Pick<LiquidityChanged, 'type' | 'pool' | 'pair' | 'provider' | 'baseAmount' | 'quoteAmount' | 'left'>,
): LiquidityChanged {
  return { ...changed, lpAmount: null, state: null, timestamp: null };
}
