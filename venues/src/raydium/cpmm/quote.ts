import { decodeTokenAccount } from '@sluice/shared/solana/tokens/token-account.ts';
import { sameReserves } from '../../kit/constant-product.ts';
import { tierFees } from '../../kit/fee-tier.ts';
import { noOrders, quotePool, type PoolSwap, type QuotedState } from '../../kit/pool-quote.ts';
import { malformed } from '../../seam/outcome.ts';
import {
  maxU64,
  ownedData,
  quoteFault,
  type AccountLookup,
  type MintLookup,
  type OpenedPool,
  type QuoteAccounts,
  type QuotedMint,
  type QuoteFault,
  type VenueQuoting,
} from '../../seam/quoting.ts';
import { decodeConfig, type CpmmRates } from './config.ts';
import { decodePool, type CpmmPool } from './decode.ts';
import { swapDisabled } from './layout.ts';
import { authority, programId } from './program.ts';
import { swapExactIn, swapExactOut } from './swap.ts';

/** Everything on which a trade on a pool depends. */
export interface CpmmState {
  readonly pool: CpmmPool;
  readonly rates: CpmmRates;
  /** Without the fees that wait in the vaults. */
  readonly reserve0: bigint;
  readonly reserve1: bigint;
  readonly tokenIs0: boolean;
}

/** Swaps on the pool. `amount` is what reaches the vault, or leaves it if `exactIn` is false. */
function swapOn(
  { pool, rates: tier, reserve0, reserve1, tokenIs0 }: CpmmState,
  amount: bigint,
  exactIn: boolean,
  isBuy: boolean,
): PoolSwap | QuoteFault {
  const pays0 = isBuy !== tokenIs0;
  const [reserveIn, reserveOut] = pays0 ? [reserve0, reserve1] : [reserve1, reserve0];
  const creatorFeeOnInput = pool.creatorFeeOn === 0 || (pool.creatorFeeOn === 1) === pays0;
  const rates = pool.hasCreatorFee ? tier : { ...tier, creator: 0n };
  const state = { reserveIn, reserveOut, rates, creatorFeeOnInput };
  const swapped = exactIn ? swapExactIn(state, amount) : swapExactOut(state, amount);
  if (swapped === null || reserveIn + swapped.amountIn > maxU64) return 'too_large';
  const [coinIn, coinOut] = isBuy ? (['quote', 'base'] as const) : (['base', 'quote'] as const);
  const creator = {
    amount: swapped.fees.creator,
    bps: Math.round(Number(rates.creator) / 100),
    coin: creatorFeeOnInput ? coinIn : coinOut,
  };
  return { ...swapped, fees: [...tierFees(swapped.fees, rates, coinIn), { kind: 'creator', ...creator }] };
}

/** What is in a vault; null if the account is not the vault of this pool's coin. */
function heldBy(vault: string, mint: string, accounts: AccountLookup): bigint | null {
  const account = accounts(vault);
  const decoded = account === null ? null : decodeTokenAccount(account.owner, account.data);
  return decoded !== null && decoded.owner === authority && decoded.mint === mint ? decoded.amount : null;
}

/** The pool's account names its vaults and its fee tier, which are read in a second round. */
function open(mint: QuotedMint, [address, ...others]: QuoteAccounts, accounts: AccountLookup, mintOf: MintLookup): OpenedPool {
  const data = ownedData(accounts, address, programId);
  const pool = data === null ? null : decodePool(data);
  if (pool === null || (pool.mint0 !== mint.address && pool.mint1 !== mint.address)) return { kind: 'absent' };
  const needed = [pool.vault0, pool.vault1, pool.config];
  if (!needed.every((account) => others.includes(account))) return { kind: 'more', addresses: needed };
  const rates = decodeConfig(ownedData(accounts, pool.config, programId) ?? new Uint8Array(0));
  const [held0, held1] = [heldBy(pool.vault0, pool.mint0, accounts), heldBy(pool.vault1, pool.mint1, accounts)];
  if (rates === null || held0 === null || held1 === null) return malformed('a vault or the fee tier of the pool cannot be read');
  const [reserve0, reserve1] = [held0 - pool.waiting0, held1 - pool.waiting1];
  if (reserve0 <= 0n || reserve1 <= 0n) return malformed('a vault of the pool holds no more than its fees');
  const tokenIs0 = pool.mint0 === mint.address;
  const quoteMint = tokenIs0 ? pool.mint1 : pool.mint0;
  const reserves = tokenIs0 ? sameReserves(reserve0, reserve1) : sameReserves(reserve1, reserve0);
  const state: CpmmState = { pool, rates, reserve0, reserve1, tokenIs0 };
  const quoted: QuotedState = {
    price: { priceQuote: reserves.virtualQuote, priceBase: reserves.virtualBase },
    reserves,
    token: mint.transferFee,
    money: mintOf(quoteMint)?.transferFee ?? null,
    swap: (amount, exactIn, isBuy) => swapOn(state, amount, exactIn, isBuy),
  };
  const isClosed = (unixTimeS: number): boolean => (pool.status & swapDisabled) !== 0 || BigInt(unixTimeS) < pool.openTimeS;
  return {
    kind: 'open',
    pool: {
      address,
      quoteMint,
      curve: false,
      complete: false,
      reserves,
      quote: (trade, at) => (isClosed(at.unixTimeS) ? quoteFault('disabled') : quotePool(quoted, trade, at)),
      build: noOrders,
    },
  };
}

/** The fee tiers are many, and each pool names its own, so they are read with the pool. */
export const quoting: VenueQuoting = { settings: [], countsTransferFees: true, accountsOf: () => null, open };
