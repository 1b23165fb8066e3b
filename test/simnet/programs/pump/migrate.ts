import { eventAuthority as ammEventAuthority, globalConfig, programId as ammProgram } from '@sluice/venues/pump/amm/program.ts';
import { ammInstructions, curveInstructions } from '../constants.ts';
import { accountDiscriminators, eventAuthority, globalAddress } from '@sluice/venues/pump/curve/program.ts';
import {
  associatedTokenProgram,
  rentSysvar,
  systemProgram,
  token2022Program,
  tokenProgram,
  wrappedSolMint,
} from '@sluice/shared/solana/well-known.ts';
import type { Instruction } from '@sluice/shared/solana/transaction/transaction.ts';
import { minimumBalance } from '../../ledger/rent.ts';
import { addressBytes, deriveTokenAccount } from '../../layout/derive.ts';
import type { InstructionAccount } from '../../runtime/instruction-account.ts';
import { canonicalPoolOf, curveOf, lpMintOf, poolAuthorityOf } from '../addresses.ts';
import type { AnchorContext, AnchorInstruction } from '../anchor.ts';
import { associatedTokenInstruction } from '../token/associated-token.ts';
import { BorshWriter } from '../../layout/borsh.ts';
import { poolCreationRent } from '../pump-amm/create-pool.ts';
import { transferInstruction } from '../system.ts';
import { burnInstruction, syncNativeInstruction, transferCheckedInstruction } from '../token/token-instructions.ts';
import { immutableOwnerAccountBytes, mintFields, tokenAccountBytes, tokenFields } from '../../layout/token-state.ts';
import { pumpError } from './errors.ts';
import { migrationEvent } from './events.ts';
import { curveData, readCurve, readGlobal, type Curve, type Global } from './state.ts';

const migrateUnits = 70_000;

const migrateNames = [
  'global',
  'withdraw_authority',
  'base_mint',
  'bonding_curve',
  'associated_base_bonding_curve',
  'user',
  'system_program',
  'quote_token_program',
  'pump_amm',
  'pool',
  'pool_authority',
  'pool_authority_mint_account',
  'pool_authority_quote_account',
  'amm_global_config',
  'quote_mint',
  'lp_mint',
  'user_pool_token_account',
  'pool_base_token_account',
  'pool_quote_token_account',
  'token_2022_program',
  'associated_token_program',
  'pump_amm_event_authority',
  'event_authority',
  'program',
  'rent',
] as const;

const migrateV2Names = [
  'global',
  'withdraw_authority',
  'base_mint',
  'quote_mint',
  'bonding_curve',
  'associated_base_bonding_curve',
  'associated_quote_bonding_curve',
  'user',
  'system_program',
  'pump_amm',
  'pool',
  'pool_authority',
  'pool_authority_mint_account',
  'pool_authority_quote_account',
  'amm_global_config',
  'lp_mint',
  'user_pool_token_account',
  'pool_base_token_account',
  'pool_quote_token_account',
  'base_token_program',
  'quote_token_program',
  'token_2022_program',
  'associated_token_program',
  'pump_amm_event_authority',
  'rent',
  'event_authority',
  'program',
] as const;

interface Migration {
  readonly global: Global;
  readonly curve: Curve;
  readonly mint: InstructionAccount;
  readonly quoteMint: InstructionAccount;
  readonly user: string;
  readonly tokens: bigint;
  readonly quote: bigint;
  readonly fee: bigint;
}

/** Both instructions name the same accounts, in another order. `quote` is WSOL for the older one. */
function check(context: AnchorContext): Migration {
  const global = context.owned('global', accountDiscriminators.global).read(readGlobal);
  context.derived('global', globalAddress);
  context.require(global.enableMigrate, pumpError.disabledMigrate);
  context.require(context.writable('withdraw_authority').address === global.withdrawAuthority, pumpError.notAuthorized);
  const mint = context.mint('base_mint');
  context.derived('bonding_curve', curveOf(mint.address));
  const curve = context.owned('bonding_curve', accountDiscriminators.bondingCurve).read(readCurve);
  const user = context.signer('user').address;
  context.program('system_program', systemProgram);
  context.program('pump_amm', ammProgram);
  const quoteMint = context.mint('quote_mint', context.tokenProgram('quote_token_program').address);
  const expectedQuote = curve.quoteMint === systemProgram ? wrappedSolMint : curve.quoteMint;
  context.require(quoteMint.address === expectedQuote, pumpError.unsupportedQuoteMint);
  const authority = context.derived('pool_authority', poolAuthorityOf(mint.address)).address;
  const pool = context.derived('pool', canonicalPoolOf(mint.address, quoteMint.address)).address;
  const ata = (name: string, owner: string, of: InstructionAccount): InstructionAccount =>
    context.derived(name, deriveTokenAccount(owner, of.address, of.owner).address);
  const vault = ata('associated_base_bonding_curve', curveOf(mint.address), mint);
  ata('pool_authority_mint_account', authority, mint);
  ata('pool_authority_quote_account', authority, quoteMint);
  ata('pool_base_token_account', pool, mint);
  ata('pool_quote_token_account', pool, quoteMint);
  context.derived('lp_mint', lpMintOf(pool));
  context.derived('amm_global_config', globalConfig);
  context.program('token_2022_program', token2022Program);
  context.program('associated_token_program', associatedTokenProgram);
  context.derived('pump_amm_event_authority', ammEventAuthority);
  context.derived('event_authority', eventAuthority);
  context.program('program', context.programId);
  context.program('rent', rentSysvar);
  context.require(curve.complete, pumpError.notComplete);
  context.require(curve.realQuote > 0n && !context.get('pool').exists, pumpError.alreadyMigrated);
  const fee = curve.quoteMint === systemProgram ? global.poolMigrationFee : 0n;
  return { global, curve, mint, quoteMint, user, tokens: tokenFields.amount(vault.data), quote: curve.realQuote - fee, fee };
}

function transferTokens(
  context: AnchorContext,
  mint: InstructionAccount,
  from: string,
  to: string,
  amount: bigint,
  baseMint: string,
): void {
  const parts = { programId: mint.owner, source: from, mint: mint.address, destination: to, authority: curveOf(baseMint), amount };
  const decimals = mintFields.decimals(mint.data);
  context.raw.invoke(transferCheckedInstruction({ ...parts, decimals }), [['bonding-curve', addressBytes(baseMint)]]);
}

/** Moves the curve's coins and money to the pool's creator, which is an address of this program. */
function fundPoolAuthority(context: AnchorContext, migration: Migration): void {
  const { mint, quoteMint, user } = migration;
  const authority = context.get('pool_authority').address;
  const accountBytes = mint.owner === token2022Program ? immutableOwnerAccountBytes : tokenAccountBytes;
  const boostRent = context.remaining.length === 0 ? 0n : minimumBalance(tokenAccountBytes);
  context.raw.invoke(transferInstruction(user, authority, poolCreationRent(accountBytes, tokenAccountBytes) + boostRent));
  context.raw.invoke(associatedTokenInstruction(user, authority, mint.address, mint.owner, true));
  context.raw.invoke(associatedTokenInstruction(user, authority, quoteMint.address, quoteMint.owner, true));
  const baseTo = context.get('pool_authority_mint_account').address;
  const quoteTo = context.get('pool_authority_quote_account');
  transferTokens(context, mint, context.get('associated_base_bonding_curve').address, baseTo, migration.tokens, mint.address);
  if (quoteMint.address !== wrappedSolMint) {
    transferTokens(
      context,
      quoteMint,
      context.get('associated_quote_bonding_curve').address,
      quoteTo.address,
      migration.quote,
      mint.address,
    );
    return;
  }
  const curveAccount = context.get('bonding_curve');
  curveAccount.debit(migration.quote + migration.fee);
  quoteTo.credit(migration.quote);
  context.get('withdraw_authority').credit(migration.fee);
  context.raw.invoke(syncNativeInstruction(tokenProgram, quoteTo.address));
}

function createPool(context: AnchorContext, migration: Migration): Instruction {
  const { curve } = migration;
  const writable = (name: string, signer = false) => ({ address: context.get(name).address, signer, writable: true });
  const readonly = (name: string) => ({ address: context.get(name).address, signer: false, writable: false });
  const at = (address: string) => ({ address, signer: false, writable: false });
  return {
    programId: ammProgram,
    accounts: [
      writable('pool'),
      readonly('amm_global_config'),
      writable('pool_authority', true),
      readonly('base_mint'),
      readonly('quote_mint'),
      writable('lp_mint'),
      writable('pool_authority_mint_account'),
      writable('pool_authority_quote_account'),
      writable('user_pool_token_account'),
      writable('pool_base_token_account'),
      writable('pool_quote_token_account'),
      readonly('system_program'),
      readonly('token_2022_program'),
      at(migration.mint.owner),
      at(migration.quoteMint.owner),
      readonly('associated_token_program'),
      readonly('pump_amm_event_authority'),
      readonly('pump_amm'),
    ],
    data: new BorshWriter()
      .bytes(ammInstructions.createPool)
      .u16(0)
      .u64(migration.tokens)
      .u64(migration.quote)
      .address(curve.creator)
      .bool(curve.mayhem)
      .bool(curve.cashback)
      .u64(curve.creatorFeeBps)
      .bool(curve.canEditCreatorFee)
      .bool(curve.holderReward)
      .done(),
  };
}

/** If the boost vault and its authority follow the accounts of the interface, the new pool is boosted. */
function initBoost(context: AnchorContext, migration: Migration): void {
  const [vaultAuthority, vault] = context.remaining;
  if (vaultAuthority === undefined || vault === undefined) return;
  const meta = (name: string, writable = false, signer = false) => ({ address: context.get(name).address, signer, writable });
  context.raw.invoke(
    {
      programId: ammProgram,
      accounts: [
        meta('pool', true),
        meta('amm_global_config'),
        meta('pool_authority', true, true),
        meta('base_mint'),
        meta('quote_mint'),
        meta('pool_base_token_account'),
        meta('pool_quote_token_account', true),
        { address: vaultAuthority.address, signer: false, writable: false },
        { address: vault.address, signer: false, writable: true },
        { address: migration.quoteMint.owner, signer: false, writable: false },
        meta('system_program'),
        meta('associated_token_program'),
        meta('pump_amm_event_authority'),
        meta('pump_amm'),
      ],
      data: ammInstructions.initBoost,
    },
    [['pool-authority', addressBytes(migration.mint.address)]],
  );
}

function burnLiquidity(context: AnchorContext, mint: string): void {
  const account = context.get('user_pool_token_account');
  const authority = context.get('pool_authority').address;
  const seeds = ['pool-authority', addressBytes(mint)];
  const amount = tokenFields.amount(account.data);
  const lpMint = context.get('lp_mint').address;
  context.raw.invoke(burnInstruction(token2022Program, account.address, lpMint, authority, amount), [seeds]);
}

function runMigrate(context: AnchorContext): void {
  const migration = check(context);
  const { mint, curve, user, tokens, quote, fee } = migration;
  fundPoolAuthority(context, migration);
  context.raw.invoke(createPool(context, migration), [['pool-authority', addressBytes(mint.address)]]);
  initBoost(context, migration);
  burnLiquidity(context, mint.address);
  const account = context.get('bonding_curve');
  account.write().set(curveData({ ...curve, virtualToken: 0n, virtualQuote: 0n, realToken: 0n, realQuote: 0n }));
  context.emit(
    migrationEvent({
      user,
      mint: mint.address,
      tokens,
      quote,
      fee,
      bondingCurve: account.address,
      timestamp: context.raw.clock.unixTimestamp,
      pool: context.get('pool').address,
      quoteMint: curve.quoteMint,
    }),
  );
}

const { migrate, migrateV2 } = curveInstructions;

export const migrateInstructions: readonly AnchorInstruction[] = [
  { name: 'Migrate', discriminator: migrate, accounts: migrateNames, units: migrateUnits, run: runMigrate },
  { name: 'MigrateV2', discriminator: migrateV2, accounts: migrateV2Names, units: migrateUnits, run: runMigrate },
];
