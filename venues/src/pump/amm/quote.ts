import { associatedTokenAddress } from '@sluice/shared/solana/addresses/pda.ts';
import { decodeTokenAccount } from '@sluice/shared/solana/tokens/token-account.ts';
import { token2022Program, tokenProgram, zeroAddress } from '@sluice/shared/solana/well-known.ts';
import { amountOut } from '../../kit/constant-product.ts';
import { curveRates, decodeFeeConfig, type FeeConfig, type FeeRates } from '../fees/fee-config.ts';
import { feeOf, splitExactIn } from '../fees/fee-math.ts';
import { feesOfCoin } from '../fees/fees.ts';
import {
  decodedOnce,
  maxU64,
  ownedData,
  quoteFault,
  type AccountLookup,
  type OpenedPool,
  type QuoteAccounts,
  type QuotedMint,
  type QuotedTrade,
  type QuoteOutcome,
  type VenueQuoting,
} from '../../seam/quoting.ts';
import type { PoolReserves } from '../../seam/venue.ts';
import { decodeAccount, type QuotedAmmPool } from './decode.ts';
import { buildPoolTrade } from './instructions.ts';
import { canonicalPoolAddress, feeConfig, feeProgram, globalConfig, mayhemTierSupply, programId } from './program.ts';
import { decodeGlobalConfig, type PumpAmmSettings } from './settings.ts';

const noBytes = new Uint8Array(0);
const settingsOf = decodedOnce(decodeGlobalConfig);
const feesIn = decodedOnce(decodeFeeConfig);

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

function ratesOf(state: PoolState, base: bigint, quote: bigint): FeeRates {
  const { pool, settings, feeConfig: config, mintSupply } = state;
  const supply = pool.mayhemMode ? mayhemTierSupply : mintSupply;
  const rates = state.canonical ? curveRates(config, pool.quoteMint, (quote * supply) / base) : config.flat;
  if (pool.coinCreator === zeroAddress) return { ...rates, creator: 0n };
  const isOwn = settings.creatorFeeConfigurable && pool.creatorFeeBps !== 0;
  return isOwn ? { ...rates, creator: BigInt(pool.creatorFeeBps) } : rates;
}

interface Amounts {
  readonly base: bigint;
  readonly quote: bigint;
  readonly lp: bigint;
  readonly protocol: bigint;
  readonly creator: bigint;
}

function withFees(base: bigint, quote: bigint, rates: FeeRates): Amounts {
  return { base, quote, lp: feeOf(quote, rates.lp), protocol: feeOf(quote, rates.protocol), creator: feeOf(quote, rates.creator) };
}

/** Null if the pool does not have that much; base 0 if nothing is left of the amount after fees. */
function amountsOf(base: bigint, quote: bigint, { exact, amount }: QuotedTrade, rates: FeeRates): Amounts | null {
  if (exact === 'baseIn') return withFees(amount, amountOut(amount, base, quote), rates);
  if (exact === 'baseOut') {
    const left = base - amount;
    return left <= 0n ? null : withFees(amount, (quote * amount + left - 1n) / left, rates);
  }
  const split = splitExactIn(amount, [rates.lp, rates.protocol, rates.creator]);
  if (split === null) return withFees(0n, 0n, rates);
  const { net, fees } = split;
  return { base: amountOut(net - 1n, quote, base), quote: net, lp: fees[0]!, protocol: fees[1]!, creator: fees[2]! };
}

/**
 * The result of a trade on a pool by `buy`, `buy_exact_quote_in` and `sell` (and their v2), without the rent of accounts that it must
 * create. Formulas: README.md.
 */
export function quotePool(state: PoolState, trade: QuotedTrade): QuoteOutcome {
  const { pool, settings, baseVault, quoteVault } = state;
  const side = trade.exact === 'baseIn' ? 'sell' : 'buy';
  if (side === 'buy' ? settings.buyDisabled : settings.sellDisabled) return quoteFault('disabled');
  if (trade.amount <= 0n) return quoteFault('too_small');
  if (trade.amount > maxU64) return quoteFault('too_large');
  const before = reservesOf(state);
  const { virtualBase, virtualQuote } = before;
  if (virtualBase <= 0n || virtualQuote <= 0n) return quoteFault('too_large');
  const rates = ratesOf(state, virtualBase, virtualQuote);
  const amounts = amountsOf(virtualBase, virtualQuote, trade, rates);
  if (amounts === null) return quoteFault('too_large');
  const { base, quote, lp, protocol, creator } = amounts;
  const traderQuote = side === 'buy' ? quote + lp + protocol + creator : quote - lp - protocol - creator;
  if (base <= 0n || traderQuote <= 0n) return quoteFault('too_small');
  // The LP fee stays in the pool. Fees that wait for a sweep are in the vault but are not liquidity.
  const vaultChange = side === 'buy' ? quote + lp : lp - quote;
  const baseChange = side === 'buy' ? -base : base;
  if (quoteVault - pool.waitingFees + vaultChange < 0n) return quoteFault('too_large');
  const after: PoolReserves = {
    virtualBase: virtualBase + baseChange,
    virtualQuote: virtualQuote + vaultChange,
    realBase: baseVault + baseChange,
    realQuote: quoteVault + vaultChange,
  };
  if (traderQuote > maxU64 || after.realQuote > maxU64 || after.realBase > maxU64) return quoteFault('too_large');
  return {
    ok: true,
    quote: {
      side,
      baseAmount: base,
      quoteAmount: quote,
      traderQuote,
      ...feesOfCoin({ protocol, creator, lp, rates }, pool, settings.buybackBps),
      priceQuote: before.virtualQuote,
      priceBase: before.virtualBase,
      before,
      after,
      cut: false,
      completes: false,
    },
  };
}

function reservesOf({ pool, baseVault, quoteVault }: PoolState): PoolReserves {
  return { virtualBase: baseVault, virtualQuote: quoteVault + pool.virtualQuote, realBase: baseVault, realQuote: quoteVault };
}

/** Balance of a token account; null if the account is not one. */
function balanceOf(accounts: AccountLookup, address: string): bigint | null {
  const account = accounts(address);
  return account === null ? null : (decodeTokenAccount(account.owner, account.data)?.amount ?? null);
}

/** The canonical pool of a pair. Its creator is part of its address. */
function open(mint: QuotedMint, [address]: QuoteAccounts, accounts: AccountLookup): OpenedPool {
  const data = ownedData(accounts, address, programId);
  if (data === null) return { kind: 'absent' };
  const decoded = decodeAccount(data);
  if (decoded.kind === 'malformed') return decoded;
  if (decoded.kind !== 'decoded' || decoded.account.type !== 'pool') return { kind: 'absent' };
  const pool = decoded.account;
  const settings = settingsOf(ownedData(accounts, globalConfig, programId) ?? noBytes);
  const fees = feesIn(ownedData(accounts, feeConfig, feeProgram) ?? noBytes);
  const [baseVault, quoteVault] = [balanceOf(accounts, pool.baseVault), balanceOf(accounts, pool.quoteVault)];
  if (settings.kind === 'malformed') return settings;
  if (fees.kind === 'malformed') return fees;
  if (baseVault === null || quoteVault === null)
    return { kind: 'malformed', reason: 'a vault of the pool is missing or is not a token account' };
  const state: PoolState = {
    pool,
    canonical: true,
    baseVault,
    quoteVault,
    settings: settings.settings,
    feeConfig: fees.settings,
    mintSupply: mint.supply,
  };
  const traded = { address, pool, settings: settings.settings, bytes: data.length, rent: accounts(address)?.lamports ?? 0n };
  return {
    kind: 'open',
    pool: {
      address,
      quoteMint: pool.quoteMint,
      curve: false,
      complete: false,
      reserves: reservesOf(state),
      quote: (trade) => quotePool(state, trade),
      build: (order) => buildPoolTrade(traded, order),
    },
  };
}

/** The canonical pool and its vaults. The token program of each mint is not known yet, so the vaults are named for both. */
function accountsOf(mint: string, quoteMint: string): QuoteAccounts {
  const pool = canonicalPoolAddress(mint, quoteMint);
  const programs = [tokenProgram, token2022Program];
  return [pool, ...[mint, quoteMint].flatMap((coin) => programs.map((program) => associatedTokenAddress(pool, coin, program)))];
}

export const quoting: VenueQuoting = { settings: [globalConfig, feeConfig], countsTransferFees: false, accountsOf, open };
