import { associatedTokenAddress } from '@sluice/shared/solana/addresses/pda.ts';
import { decodeTokenAccount } from '@sluice/shared/solana/tokens/token-account.ts';
import { token2022Program, tokenProgram } from '@sluice/shared/solana/well-known.ts';
import { stateOfReserves } from '../../kit/constant-product.ts';
import { malformed } from '../../kit/decode.ts';
import { quotePool as quoteSwap, type PoolSwap } from '../../kit/pool-quote.ts';
import { decodedOnce, maxU64, quoteFault } from '../../seam/quoting.ts';
import type { AccountLookup, QuoteAccounts, QuotedPool, QuoteFault, QuotedTrade, QuoteOutcome, VenueQuoting } from '../../seam/quoting.ts';
import type { PoolReserves } from '../../seam/venue.ts';
import { curveRates, type FeeConfig, type FeeRates } from '../fees/fee-config.ts';
import { movedBy, openWith, ratesOfCoin, swapOf } from '../fees/quoting.ts';
import { decodeAccount, type QuotedAmmPool } from './decode.ts';
import { buildPoolTrade, type PoolAndSettings } from './instructions.ts';
import { canonicalPoolAddress, feeConfig, feeProgram, globalConfig, mayhemTierSupply, programId } from './program.ts';
import { decodeGlobalConfig, type PumpAmmSettings } from './settings.ts';

/** Everything on which a trade on a pool depends. */
export interface PoolState {
  readonly pool: QuotedAmmPool;
  /** Whether a curve migrated to this pool; other pools pay the flat fees. */
  readonly canonical: boolean;
  /** Balances of the vaults. */
  readonly baseVault: bigint;
  readonly quoteVault: bigint;
  readonly settings: PumpAmmSettings;
  readonly feeConfig: FeeConfig;
  readonly mintSupply: bigint;
}

function ratesOf({ pool, canonical, settings, feeConfig: config, mintSupply }: PoolState, base: bigint, quote: bigint): FeeRates {
  const supply = pool.mayhemMode ? mayhemTierSupply : mintSupply;
  const rates = canonical ? curveRates(config, pool.quoteMint, (quote * supply) / base) : config.flat;
  return ratesOfCoin(rates, pool.coinCreator, pool, settings);
}

/** The LP fee stays in the pool. Fees that wait for a sweep are in the vault but are not liquidity. */
function swapOn(state: PoolState, amount: bigint, exactIn: boolean, isBuy: boolean): PoolSwap | QuoteFault {
  const { pool, baseVault, quoteVault } = state;
  const reserves = reservesOf(state);
  const { virtualBase, virtualQuote } = reserves;
  if (virtualBase <= 0n || virtualQuote <= 0n) return 'too_large';
  const rates = ratesOf(state, virtualBase, virtualQuote);
  const moved = movedBy(reserves, { amount, exactIn, isBuy }, rates, (base) => {
    const left = virtualBase - base;
    return left <= 0n ? null : (virtualQuote * base + left - 1n) / left;
  });
  if (moved === null) return 'too_large';
  const swap = swapOf(isBuy, moved, rates, pool);
  if (swap === 'too_small') return swap;
  const { base, quote, charged } = moved;
  const held = quoteVault + charged.lp + (isBuy ? quote : -quote);
  return held < pool.waitingFees || held > maxU64 || (!isBuy && baseVault + base > maxU64) ? 'too_large' : swap;
}

/** The result of a trade by `buy`, `buy_exact_quote_in` and `sell` (and their v2), without the rent of new accounts. Formulas: README.md. */
export function quotePool(state: PoolState, trade: QuotedTrade): QuoteOutcome {
  const { buyDisabled, sellDisabled } = state.settings;
  if (trade.exact === 'baseIn' ? sellDisabled : buyDisabled) return quoteFault('disabled');
  const swap = (amount: bigint, exactIn: boolean, isBuy: boolean): PoolSwap | QuoteFault => swapOn(state, amount, exactIn, isBuy);
  return quoteSwap({ price: stateOfReserves(reservesOf(state)), token: null, money: null, swap }, trade, 0);
}

function reservesOf({ pool, baseVault, quoteVault }: PoolState): PoolReserves {
  return { virtualBase: baseVault, virtualQuote: quoteVault + pool.virtualQuote, realBase: baseVault, realQuote: quoteVault };
}

/** Balance of a token account; null if the account is not one. */
function balanceOf(accounts: AccountLookup, address: string): bigint | null {
  const account = accounts(address);
  return account === null ? null : (decodeTokenAccount(account.owner, account.data)?.amount ?? null);
}

/** The canonical pool and its vaults. The token program of each mint is not known yet, so the vaults are named for both. */
function accountsOf(mint: string, quoteMint: string): QuoteAccounts {
  const pool = canonicalPoolAddress(mint, quoteMint);
  const programs = [tokenProgram, token2022Program];
  return [pool, ...[mint, quoteMint].flatMap((coin) => programs.map((program) => associatedTokenAddress(pool, coin, program)))];
}

function poolOf(traded: PoolAndSettings, state: PoolState): QuotedPool {
  return {
    address: traded.address,
    quoteMint: state.pool.quoteMint,
    curve: false,
    complete: false,
    reserves: reservesOf(state),
    quote: (trade) => quotePool(state, trade),
    after: ({ after }) => after && poolOf(traded, { ...state, baseVault: after.realBase, quoteVault: after.realQuote }),
    build: (order) => buildPoolTrade(traded, order),
  };
}

const sources = { programId, decodeAccount, settings: globalConfig, settingsOf: decodedOnce(decodeGlobalConfig), feeConfig, feeProgram };

/** The canonical pool of a pair. Its creator is part of its address. */
export const quoting: VenueQuoting = {
  settings: [globalConfig, feeConfig],
  countsTransferFees: false,
  accountsOf,
  open: (mint, [address], accounts) =>
    openWith(sources, address, accounts, (pool, settings, fees, data) => {
      const [baseVault, quoteVault] = [balanceOf(accounts, pool.baseVault), balanceOf(accounts, pool.quoteVault)];
      if (baseVault === null || quoteVault === null) return malformed('a vault of the pool is missing or is not a token account');
      const state: PoolState = { pool, canonical: true, baseVault, quoteVault, settings, feeConfig: fees, mintSupply: mint.supply };
      const traded = { address, pool, settings, bytes: data.length, rent: accounts(address)?.lamports ?? 0n };
      return { kind: 'open', pool: poolOf(traded, state) };
    }),
};
