import { associatedTokenAddress } from '@sluice/shared/solana/addresses/pda.ts';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { token2022Program, tokenProgram, usdcMint, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import * as amm from '@sluice/venues/pump/amm/program.ts';
import { quoting as poolQuoting } from '../../venues/src/pump/amm/quote.ts';
import * as pump from '@sluice/venues/pump/curve/program.ts';
import { quoting as curveQuoting } from '../../venues/src/pump/curve/quote.ts';
import type { LookedUpAccount, OpenedPool, QuotedPool, QuotedTrade } from '@sluice/venues/seam/quoting.ts';
import type { TradeOrder } from '@sluice/venues/seam/trading.ts';
import { PublicKey } from '@solana/web3.js';
import * as fc from 'fast-check';
import { encodeWith } from '../property/encode.ts';
import { feeConfigData } from '../simnet/programs/fee-schedule.ts';
import { ammFees, curveFees } from '../simnet/programs/genesis/genesis-fees.ts';
import { ammConfigData } from '../simnet/programs/pump-amm/state.ts';
import { globalData } from '../simnet/programs/pump/state.ts';
import { buybackFeeRecipients, feeRecipients, reservedFeeRecipients } from '../simnet/programs/recipients.ts';
import { tokenAccountData } from '../simnet/layout/token-state.ts';
import { atAnyTime, noMints } from '../support/chain/quote-moment.ts';

/** Coins of every kind, at random, with the accounts of their curve or pool as anchor writes them by the programs' IDL. */
const zeroKey = new Uint8Array(32);

const address = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => encodeBase58(bytes));
const program = fc.constantFrom(tokenProgram, token2022Program);
const u64 = fc.bigInt({ min: 1n, max: (1n << 64n) - 1n });
export const coin = fc.record({
  mint: address,
  user: address,
  creator: fc.oneof(fc.constant('none' as const), fc.constant('sharing' as const), address),
  quoteMint: fc.oneof(fc.constant(wrappedSolMint), fc.constant(usdcMint), address),
  base: program,
  quote: program,
  mayhem: fc.boolean(),
  cashback: fc.boolean(),
  holderReward: fc.boolean(),
  exact: fc.constantFrom('quoteIn' as const, 'baseOut' as const, 'baseIn' as const),
  recipient: fc.nat(1_000_000),
  poolBytes: fc.constantFrom(211, 244, 261, 271, 300, 301),
  minOut: u64,
  maxIn: u64,
});
export type Coin = typeof coin extends fc.Arbitrary<infer T> ? T : never;

const bytesOf = (text: string): Uint8Array => new PublicKey(text).toBytes();
const creatorOf = ({ creator, mint }: Coin): Uint8Array =>
  creator === 'none' ? zeroKey : bytesOf(creator === 'sharing' ? pump.sharingConfigAddress(mint) : creator);
/** Quote coins of SOL and USDC are of SPL Token; any other may be of either program. */
export const quoteProgramOf = (one: Coin): string =>
  one.quoteMint === wrappedSolMint || one.quoteMint === usdcMint ? tokenProgram : one.quote;

export const globalBytes = globalData({
  authority: usdcMint,
  initialVirtualToken: pump.initialVirtualToken,
  initialVirtualSol: pump.initialVirtualSol,
  initialRealToken: pump.initialRealToken,
  supply: pump.initialSupply,
  feeBps: 95n,
  withdrawAuthority: usdcMint,
  enableMigrate: true,
  poolMigrationFee: 15_000_001n,
  creatorFeeBps: 5n,
  feeRecipients,
  setCreatorAuthority: usdcMint,
  adminSetCreatorAuthority: usdcMint,
  createV2Enabled: true,
  whitelistPda: usdcMint,
  mayhemEnabled: true,
  reservedFeeRecipients,
  cashbackEnabled: true,
  buybackFeeRecipients,
  buybackBps: 5_000n,
  initialVirtualQuote: 4_292_000_000n,
  whitelistedQuoteMint: usdcMint,
  creatorFeeConfigurable: true,
  maxCreatorFeeBps: 300n,
  holderRewardClaimAuthority: usdcMint,
  holderRewardEnabled: true,
});
export const configBytes = ammConfigData({
  admin: usdcMint,
  lpBps: 20n,
  protocolBps: 5n,
  disableFlags: 0,
  protocolFeeRecipients: feeRecipients,
  creatorBps: 5n,
  adminSetCoinCreatorAuthority: usdcMint,
  whitelistPda: usdcMint,
  mayhemEnabled: true,
  reservedFeeRecipients,
  cashbackEnabled: true,
  buybackFeeRecipients,
  buybackBps: 5_000n,
  boostAuthority: usdcMint,
  boostEnabled: true,
  creatorFeeConfigurable: true,
  maxCreatorFeeBps: 300n,
});

function lookup(accounts: readonly (readonly [at: string, owner: string, data: Uint8Array])[]) {
  const map = new Map<string, LookedUpAccount>(accounts.map(([at, owner, data]) => [at, { owner, data, lamports: 10n ** 9n }]));
  return (at: string): LookedUpAccount | null => map.get(at) ?? null;
}

function opened(result: OpenedPool): QuotedPool {
  if (result.kind !== 'open') throw new Error(JSON.stringify(result));
  return result.pool;
}

const amounts = { quoteIn: 50_000_000n, baseOut: 1_234_567_890n, baseIn: 987_654_321n } as const;

export function orderOf(one: Coin, pool: QuotedPool, trade: QuotedTrade = { exact: one.exact, amount: amounts[one.exact] }): TradeOrder {
  const outcome = pool.quote(trade, atAnyTime);
  if (!outcome.ok) throw new Error(outcome.fault);
  const { user, minOut, maxIn, base, recipient } = one;
  const programs = { baseTokenProgram: base, quoteTokenProgram: quoteProgramOf(one) };
  const wrappedSol = (): string => associatedTokenAddress(user, wrappedSolMint, tokenProgram);
  const bytes = { baseAccountBytes: 170, quoteAccountBytes: 165 };
  return { user, trade, quote: outcome.quote, minOut, maxIn, ...programs, ...bytes, wrappedSol, recipient };
}

export function openCurve(one: Coin, parts: Record<string, unknown> = {}): { readonly pool: QuotedPool; readonly bytes: Buffer } {
  const at = pump.bondingCurveAddress(one.mint);
  const bytes = encodeWith('pump', 'accounts', 'BondingCurve', {
    virtual_token_reserves: pump.initialVirtualToken,
    virtual_quote_reserves: pump.initialVirtualSol,
    real_token_reserves: pump.initialRealToken,
    real_quote_reserves: 5_000_000_000n,
    token_total_supply: pump.initialSupply,
    complete: false,
    creator: creatorOf(one),
    is_mayhem_mode: one.mayhem,
    is_cashback_coin: one.cashback,
    quote_mint: one.quoteMint === wrappedSolMint && one.recipient % 2 === 0 ? zeroKey : bytesOf(one.quoteMint),
    creator_fee_bps: 0n,
    can_edit_creator_fee: false,
    is_holder_reward: one.holderReward,
    ...parts,
  });
  const accounts = lookup([
    [at, pump.programId, bytes],
    [pump.globalAddress, pump.programId, globalBytes],
    [pump.feeConfig, pump.feeProgram, feeConfigData(0, usdcMint, curveFees)],
  ]);
  return {
    pool: opened(
      curveQuoting.open({ address: one.mint, decimals: 6, supply: pump.initialSupply, transferFee: null }, [at], accounts, noMints),
    ),
    bytes,
  };
}

const newestPool = 271;

export function openPool(one: Coin): { readonly pool: QuotedPool; readonly at: string; readonly bytes: Buffer } {
  const at = amm.canonicalPoolAddress(one.mint, one.quoteMint);
  const vaults = { base: associatedTokenAddress(at, one.mint, one.base), quote: associatedTokenAddress(at, one.quoteMint, tokenProgram) };
  const isOld = one.poolBytes < newestPool;
  const whole = encodeWith('pump-amm', 'accounts', 'Pool', {
    pool_bump: 1,
    index: 0,
    creator: bytesOf(pump.poolAuthorityAddress(one.mint)),
    base_mint: bytesOf(one.mint),
    quote_mint: bytesOf(one.quoteMint),
    lp_mint: zeroKey,
    pool_base_token_account: bytesOf(vaults.base),
    pool_quote_token_account: bytesOf(vaults.quote),
    lp_supply: 1n,
    coin_creator: creatorOf(one),
    is_mayhem_mode: one.mayhem,
    is_cashback_coin: one.cashback,
    virtual_quote_reserves: isOld ? 0n : 1_000n,
    creator_fee_bps: 0n,
    can_edit_creator_fee: false,
    is_holder_reward: one.holderReward && !isOld,
  });
  const bytes = Buffer.alloc(one.poolBytes);
  whole.copy(bytes, 0, 0, one.poolBytes);
  const accounts = lookup([
    [at, amm.programId, bytes],
    [vaults.base, tokenProgram, tokenAccountData(one.mint, at, 10n ** 15n)],
    [vaults.quote, tokenProgram, tokenAccountData(one.quoteMint, at, 10n ** 12n)],
    [amm.globalConfig, amm.programId, configBytes],
    [amm.feeConfig, amm.feeProgram, feeConfigData(0, usdcMint, ammFees)],
  ]);
  return {
    pool: opened(poolQuoting.open({ address: one.mint, decimals: 6, supply: 10n ** 15n, transferFee: null }, [at], accounts, noMints)),
    at,
    bytes,
  };
}
