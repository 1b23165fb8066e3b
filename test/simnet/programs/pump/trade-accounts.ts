import {
  accountDiscriminators,
  eventAuthority,
  feeConfig,
  feeProgram,
  globalAddress,
  globalVolumeAccumulator,
} from '@sluice/venues/pump/curve/program.ts';
import { associatedTokenProgram, systemProgram, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { deriveTokenAccount } from '../../layout/derive.ts';
import type { InstructionAccount } from '../../runtime/instruction-account.ts';
import { creatorVaultOf, curveOf, curveV2Of, sharingConfigOf, volumeAccumulatorOf } from '../addresses.ts';
import type { AnchorContext } from '../anchor.ts';
import { mintFields } from '../../layout/token-state.ts';
import { pumpError } from './errors.ts';
import { readCurve, readGlobal, type Curve, type Global } from './state.ts';

/** Token accounts that pay for a coin that is not quoted in SOL. */
export interface QuoteAccounts {
  readonly mint: InstructionAccount;
  readonly program: string;
  readonly decimals: number;
  readonly feeRecipient: InstructionAccount;
  readonly buyback: InstructionAccount;
  readonly curve: InstructionAccount;
  readonly user: InstructionAccount;
  readonly creatorVault: InstructionAccount;
  readonly volume: InstructionAccount;
}

/** The checked accounts of a trade, for every instruction. */
export interface TradeAccounts {
  readonly global: Global;
  readonly mint: InstructionAccount;
  readonly tokenProgram: string;
  readonly curveAccount: InstructionAccount;
  readonly curve: Curve;
  readonly curveTokens: InstructionAccount;
  readonly userTokens: InstructionAccount;
  readonly user: InstructionAccount;
  readonly feeRecipient: InstructionAccount;
  readonly buyback: InstructionAccount;
  readonly creatorVault: InstructionAccount;
  /** Null if the instruction has none (a legacy sale of an ordinary coin). */
  readonly volume: InstructionAccount | null;
  /** Null for a coin quoted in SOL. */
  readonly quote: QuoteAccounts | null;
}

export const legacyBuyNames = [
  'global',
  'fee_recipient',
  'mint',
  'bonding_curve',
  'associated_bonding_curve',
  'associated_user',
  'user',
  'system_program',
  'token_program',
  'creator_vault',
  'event_authority',
  'program',
  'global_volume_accumulator',
  'user_volume_accumulator',
  'fee_config',
  'fee_program',
] as const;

export const legacySellNames = [
  'global',
  'fee_recipient',
  'mint',
  'bonding_curve',
  'associated_bonding_curve',
  'associated_user',
  'user',
  'system_program',
  'creator_vault',
  'token_program',
  'event_authority',
  'program',
  'fee_config',
  'fee_program',
] as const;

const v2Head = [
  'global',
  'base_mint',
  'quote_mint',
  'base_token_program',
  'quote_token_program',
  'associated_token_program',
  'fee_recipient',
  'associated_quote_fee_recipient',
  'buyback_fee_recipient',
  'associated_quote_buyback_fee_recipient',
  'bonding_curve',
  'associated_base_bonding_curve',
  'associated_quote_bonding_curve',
  'user',
  'associated_base_user',
  'associated_quote_user',
  'creator_vault',
  'associated_creator_vault',
  'sharing_config',
] as const;
const v2Tail = [
  'user_volume_accumulator',
  'associated_user_volume_accumulator',
  'fee_config',
  'fee_program',
  'system_program',
  'event_authority',
  'program',
] as const;
export const v2BuyNames = [...v2Head, 'global_volume_accumulator', ...v2Tail] as const;
export const v2SellNames = [...v2Head, ...v2Tail] as const;

function checkFeeRecipients(context: AnchorContext, global: Global, curve: Curve, feeRecipient: string, buyback: string): void {
  const allowed = curve.mayhem ? global.reservedFeeRecipients : global.feeRecipients;
  context.require(allowed.includes(feeRecipient), pumpError.notAuthorized);
  context.require(global.buybackFeeRecipients.includes(buyback), pumpError.buybackNotAuthorized);
}

function tokenAccountAt(context: AnchorContext, name: string, mint: string, owner: string, tokenProgram: string): InstructionAccount {
  const account = context.tokenAccount(name, mint, owner);
  const expected = deriveTokenAccount(owner, mint, tokenProgram).address;
  if (account.address !== expected) context.refuse(name, 2009);
  context.writable(name);
  return account;
}

function checkPrograms(context: AnchorContext): void {
  context.program('system_program', systemProgram);
  context.derived('event_authority', eventAuthority);
  context.program('program', context.programId);
  context.derived('fee_config', feeConfig);
  context.program('fee_program', feeProgram);
}

/**
 * `bonding_curve_v2` and the buyback recipient follow the accounts of the interface; the accumulator of a cashback sale comes before them.
 */
function legacyRemaining(
  context: AnchorContext,
  mint: string,
  user: string,
  cashbackSale: boolean,
): { readonly volume: InstructionAccount | null; readonly buyback: InstructionAccount } {
  const { remaining } = context;
  let at = 0;
  let volume: InstructionAccount | null = null;
  if (cashbackSale) {
    volume = remaining[at++] ?? context.throws(pumpError.missingCashbackAccounts);
    context.require(volume.address === volumeAccumulatorOf(user), pumpError.invalidCashbackAccumulator);
  }
  const curveV2 = remaining[at++] ?? context.throws(pumpError.invalidCurveV2);
  context.require(curveV2.address === curveV2Of(mint), pumpError.invalidCurveV2);
  const buyback = remaining[at] ?? context.throws(pumpError.buybackMissing);
  if (!buyback.writable) context.refuse('buyback_fee_recipient', 2000);
  return { volume, buyback };
}

/** Accounts of `buy`, `buy_exact_sol_in` and `sell`, which trade coins quoted in SOL only. */
export function legacyAccounts(context: AnchorContext, isBuy: boolean): TradeAccounts {
  const global = context.owned('global', accountDiscriminators.global).read(readGlobal);
  context.derived('global', globalAddress);
  const feeRecipient = context.writable('fee_recipient');
  const mint = context.mint('mint', context.tokenProgram('token_program').address);
  context.derived('bonding_curve', curveOf(mint.address));
  const curveAccount = context.owned('bonding_curve', accountDiscriminators.bondingCurve);
  const curve = curveAccount.read(readCurve);
  context.writable('bonding_curve');
  const curveTokens = tokenAccountAt(context, 'associated_bonding_curve', mint.address, curveAccount.address, mint.owner);
  const user = context.signer('user');
  context.writable('user');
  const userTokens = context.tokenAccount('associated_user', mint.address, user.address);
  context.writable('associated_user');
  const creatorVault = context.derived('creator_vault', creatorVaultOf(curve.creator));
  context.writable('creator_vault');
  checkPrograms(context);
  if (isBuy) {
    context.derived('global_volume_accumulator', globalVolumeAccumulator);
    context.derived('user_volume_accumulator', volumeAccumulatorOf(user.address));
    context.writable('user_volume_accumulator');
  }
  context.require(curve.quoteMint === systemProgram, pumpError.unsupportedQuoteMint);
  const behind = legacyRemaining(context, mint.address, user.address, !isBuy && curve.cashback);
  checkFeeRecipients(context, global, curve, feeRecipient.address, behind.buyback.address);
  return {
    global,
    mint,
    tokenProgram: mint.owner,
    curveAccount,
    curve,
    curveTokens,
    userTokens,
    user,
    feeRecipient,
    buyback: behind.buyback,
    creatorVault,
    volume: isBuy ? context.get('user_volume_accumulator') : behind.volume,
    quote: null,
  };
}

/** The seeds of the quote accounts are checked for every coin. Only those of a token-quoted coin must exist. */
function quoteAccounts(context: AnchorContext, curve: Curve, user: string): QuoteAccounts | null {
  const mint = context.mint('quote_mint', context.tokenProgram('quote_token_program').address);
  const expected = curve.quoteMint === systemProgram ? wrappedSolMint : curve.quoteMint;
  context.require(mint.address === expected, pumpError.unsupportedQuoteMint);
  const ata = (name: string, owner: string): InstructionAccount =>
    context.derived(name, deriveTokenAccount(owner, mint.address, mint.owner).address);
  const accounts: QuoteAccounts = {
    mint,
    program: mint.owner,
    decimals: mintFields.decimals(mint.data),
    feeRecipient: ata('associated_quote_fee_recipient', context.get('fee_recipient').address),
    buyback: ata('associated_quote_buyback_fee_recipient', context.get('buyback_fee_recipient').address),
    curve: ata('associated_quote_bonding_curve', context.get('bonding_curve').address),
    user: ata('associated_quote_user', user),
    creatorVault: ata('associated_creator_vault', context.get('creator_vault').address),
    volume: ata('associated_user_volume_accumulator', context.get('user_volume_accumulator').address),
  };
  if (curve.quoteMint === systemProgram) return null;
  for (const name of ['associated_quote_fee_recipient', 'associated_quote_buyback_fee_recipient', 'associated_quote_bonding_curve']) {
    context.tokenAccount(name, mint.address, null);
    context.writable(name);
  }
  context.tokenAccount('associated_quote_user', mint.address, user);
  context.writable('associated_quote_user');
  return accounts;
}

/** Accounts of the `v2` instructions: the same order for every coin. */
export function v2Accounts(context: AnchorContext, isBuy: boolean): TradeAccounts {
  const global = context.owned('global', accountDiscriminators.global).read(readGlobal);
  context.derived('global', globalAddress);
  const mint = context.mint('base_mint', context.tokenProgram('base_token_program').address);
  context.program('associated_token_program', associatedTokenProgram);
  const feeRecipient = context.writable('fee_recipient');
  const buyback = context.writable('buyback_fee_recipient');
  context.derived('bonding_curve', curveOf(mint.address));
  const curveAccount = context.owned('bonding_curve', accountDiscriminators.bondingCurve);
  const curve = curveAccount.read(readCurve);
  context.writable('bonding_curve');
  const curveTokens = tokenAccountAt(context, 'associated_base_bonding_curve', mint.address, curveAccount.address, mint.owner);
  const user = context.signer('user');
  context.writable('user');
  const userTokens = context.tokenAccount('associated_base_user', mint.address, user.address);
  context.writable('associated_base_user');
  const creatorVault = context.derived('creator_vault', creatorVaultOf(curve.creator));
  context.writable('creator_vault');
  context.derived('sharing_config', sharingConfigOf(mint.address));
  if (isBuy) context.derived('global_volume_accumulator', globalVolumeAccumulator);
  const volume = context.derived('user_volume_accumulator', volumeAccumulatorOf(user.address));
  context.writable('user_volume_accumulator');
  checkPrograms(context);
  checkFeeRecipients(context, global, curve, feeRecipient.address, buyback.address);
  return {
    global,
    mint,
    tokenProgram: mint.owner,
    curveAccount,
    curve,
    curveTokens,
    userTokens,
    user,
    feeRecipient,
    buyback,
    creatorVault,
    volume,
    quote: quoteAccounts(context, curve, user.address),
  };
}
