import {
  accountDiscriminators,
  eventAuthority,
  feeConfig,
  feeProgram,
  globalConfig,
  globalVolumeAccumulator,
} from '@sluice/venues/pump/amm/program.ts';
import { associatedTokenProgram, systemProgram, zeroAddress } from '@sluice/shared/solana/well-known.ts';
import { deriveTokenAccount } from '../../layout/derive.ts';
import type { InstructionAccount } from '../../runtime/instruction-account.ts';
import { ammVolumeAccumulatorOf, coinCreatorAuthorityOf, poolV2Of } from '../addresses.ts';
import type { AnchorContext } from '../anchor.ts';
import { isTokenAccountData, tokenFields } from '../../layout/token-state.ts';
import { ammError } from './errors.ts';
import { readAmmConfig, readPool, type AmmConfig, type Pool } from './state.ts';

const head = [
  'pool',
  'user',
  'global_config',
  'base_mint',
  'quote_mint',
  'user_base_token_account',
  'user_quote_token_account',
  'pool_base_token_account',
  'pool_quote_token_account',
  'protocol_fee_recipient',
  'protocol_fee_recipient_token_account',
  'base_token_program',
  'quote_token_program',
  'system_program',
  'associated_token_program',
  'event_authority',
  'program',
  'coin_creator_vault_ata',
  'coin_creator_vault_authority',
] as const;

export const buyNames = [...head, 'global_volume_accumulator', 'user_volume_accumulator', 'fee_config', 'fee_program'] as const;
export const sellNames = [...head, 'fee_config', 'fee_program'] as const;

/** The checked accounts of a swap. */
export interface SwapAccounts {
  readonly config: AmmConfig;
  readonly poolAccount: InstructionAccount;
  readonly pool: Pool;
  readonly user: InstructionAccount;
  readonly baseMint: InstructionAccount;
  readonly quoteMint: InstructionAccount;
  readonly userBase: InstructionAccount;
  readonly userQuote: InstructionAccount;
  readonly poolBase: InstructionAccount;
  readonly poolQuote: InstructionAccount;
  readonly feeRecipient: InstructionAccount;
  readonly feeRecipientTokens: InstructionAccount;
  readonly creatorTokens: InstructionAccount;
  readonly creatorAuthority: InstructionAccount;
  readonly volume: InstructionAccount | null;
  readonly buybackTokens: InstructionAccount;
  /** The account for a cashback coin's creator fee; null if there is none, and the creator's vault receives the fee. */
  readonly cashbackTokens: InstructionAccount | null;
}

interface Behind {
  readonly volume: InstructionAccount | null;
  readonly cashbackTokens: InstructionAccount | null;
  readonly buyback: InstructionAccount;
  readonly buybackTokens: InstructionAccount;
}

/** Remaining accounts: those of a cashback coin, `pool_v2` if the coin has a creator, the buyback recipient and its account. */
function readRemaining(context: AnchorContext, pool: Pool, user: string, quoteProgram: string, isBuy: boolean): Behind {
  const { remaining } = context;
  let at = 0;
  let cashbackTokens: InstructionAccount | null = null;
  let volume: InstructionAccount | null = null;
  if (pool.cashback) {
    cashbackTokens = remaining[at++] ?? context.throws(ammError.missingCashbackAccounts);
    const expected = deriveTokenAccount(ammVolumeAccumulatorOf(user), pool.quoteMint, quoteProgram).address;
    context.require(cashbackTokens.address === expected, ammError.invalidCashbackAccumulatorAta);
    if (!isBuy) {
      volume = remaining[at++] ?? context.throws(ammError.missingCashbackAccounts);
      context.require(volume.address === ammVolumeAccumulatorOf(user), ammError.invalidCashbackAccumulator);
    }
  }
  if (pool.coinCreator !== zeroAddress) {
    const poolV2 = remaining[at++] ?? context.throws(ammError.invalidPoolV2);
    context.require(poolV2.address === poolV2Of(pool.baseMint), ammError.invalidPoolV2);
  }
  const buyback = remaining[at++] ?? context.throws(ammError.buybackMissing);
  const buybackTokens = remaining[at] ?? context.throws(ammError.buybackMissing);
  const tokens = deriveTokenAccount(buyback.address, pool.quoteMint, quoteProgram).address;
  if (buybackTokens.address !== tokens) context.refuse('buyback_fee_recipient_token_account', 2009);
  return { volume, cashbackTokens, buyback, buybackTokens };
}

function vault(context: AnchorContext, name: string, expected: string, error: number): InstructionAccount {
  const account = context.writable(name);
  context.require(account.address === expected && isTokenAccountData(account.owner, account.data), error);
  return account;
}

function checkPrograms(context: AnchorContext): void {
  context.program('system_program', systemProgram);
  context.program('associated_token_program', associatedTokenProgram);
  context.derived('event_authority', eventAuthority);
  context.program('program', context.programId);
  context.derived('fee_config', feeConfig);
  context.program('fee_program', feeProgram);
}

export function swapAccounts(context: AnchorContext, isBuy: boolean): SwapAccounts {
  const poolAccount = context.owned('pool', accountDiscriminators.pool);
  context.writable('pool');
  const pool = poolAccount.read(readPool);
  const user = context.signer('user');
  const config = context.owned('global_config', accountDiscriminators.globalConfig).read(readAmmConfig);
  context.derived('global_config', globalConfig);
  context.require(context.get('base_mint').address === pool.baseMint, ammError.invalidBaseMint);
  context.require(context.get('quote_mint').address === pool.quoteMint, ammError.invalidQuoteMint);
  const baseMint = context.mint('base_mint', context.tokenProgram('base_token_program').address);
  const quoteMint = context.mint('quote_mint', context.tokenProgram('quote_token_program').address);
  const userBase = context.tokenAccount('user_base_token_account', pool.baseMint, user.address);
  const userQuote = context.tokenAccount('user_quote_token_account', pool.quoteMint, user.address);
  const poolBase = vault(context, 'pool_base_token_account', pool.baseVault, ammError.invalidBaseVault);
  const poolQuote = vault(context, 'pool_quote_token_account', pool.quoteVault, ammError.invalidQuoteVault);
  const feeRecipient = context.get('protocol_fee_recipient');
  const allowed = pool.mayhem ? config.reservedFeeRecipients : config.protocolFeeRecipients;
  context.require(allowed.includes(feeRecipient.address), ammError.invalidFeeRecipient);
  const ata = (owner: string): string => deriveTokenAccount(owner, pool.quoteMint, quoteMint.owner).address;
  const feeRecipientTokens = context.derived('protocol_fee_recipient_token_account', ata(feeRecipient.address));
  context.tokenAccount('protocol_fee_recipient_token_account', pool.quoteMint, feeRecipient.address);
  checkPrograms(context);
  const creatorAuthority = context.derived('coin_creator_vault_authority', coinCreatorAuthorityOf(pool.coinCreator));
  const creatorTokens = context.derived('coin_creator_vault_ata', ata(creatorAuthority.address));
  context.writable('coin_creator_vault_ata');
  if (isBuy) {
    context.derived('global_volume_accumulator', globalVolumeAccumulator);
    context.derived('user_volume_accumulator', ammVolumeAccumulatorOf(user.address));
  }
  const behind = readRemaining(context, pool, user.address, quoteMint.owner, isBuy);
  context.require(config.buybackFeeRecipients.includes(behind.buyback.address), ammError.buybackNotAuthorized);
  return {
    config,
    poolAccount,
    pool,
    user,
    baseMint,
    quoteMint,
    userBase,
    userQuote,
    poolBase,
    poolQuote,
    feeRecipient,
    feeRecipientTokens,
    creatorTokens,
    creatorAuthority,
    volume: isBuy ? context.get('user_volume_accumulator') : behind.volume,
    buybackTokens: behind.buybackTokens,
    cashbackTokens: behind.cashbackTokens,
  };
}

export function amountOf(account: InstructionAccount): bigint {
  return tokenFields.amount(account.data);
}
