import { accountDiscriminators, eventAuthority, eventDiscriminators, globalConfig } from '@sluice/venues/pump/amm/program.ts';
import { associatedTokenProgram, systemProgram } from '@sluice/shared/solana/well-known.ts';
import { deriveTokenAccount } from '../../layout/derive.ts';
import { boostAuthorityOf, curveOf } from '../addresses.ts';
import { ammInstructions } from '../constants.ts';
import type { AnchorContext, AnchorInstruction } from '../anchor.ts';
import { associatedTokenInstruction } from '../token/associated-token.ts';
import { BorshWriter } from '../../layout/borsh.ts';
import { transferCheckedInstruction } from '../token/token-instructions.ts';
import { mintFields, tokenFields } from '../../layout/token-state.ts';
import { ammError } from './errors.ts';
import { poolData, readAmmConfig, readPool } from './state.ts';
import { poolSeeds } from './trade.ts';

const initBoostUnits = 30_000;
/** Share of the quote vault that moves to the boost vault. Pools on the network hold a virtual 20.69 % of their initial quote coins. */
const boostShare = 2_069n;
const shareScale = 10_000n;

const initBoostNames = [
  'pool',
  'global_config',
  'creator',
  'base_mint',
  'quote_mint',
  'pool_base_token_account',
  'pool_quote_token_account',
  'boost_vault_authority',
  'boost_vault',
  'quote_token_program',
  'system_program',
  'associated_token_program',
  'event_authority',
  'program',
] as const;

/** Moves a part of a new pool's quote coins to the boost vault, and counts it as virtual reserves in the price. */
function runInitBoost(context: AnchorContext): void {
  const account = context.owned('pool', accountDiscriminators.pool);
  const pool = account.read(readPool);
  context.derived('global_config', globalConfig);
  const config = context.owned('global_config', accountDiscriminators.globalConfig).read(readAmmConfig);
  context.require(config.boostEnabled, ammError.boostDisabled);
  const creator = context.signer('creator').address;
  context.require(creator === pool.creator && pool.virtualQuote === 0n, ammError.poolCannotBoost);
  const mint = context.mint('quote_mint', context.tokenProgram('quote_token_program').address);
  context.require(mint.address === pool.quoteMint, ammError.invalidQuoteMint);
  const vault = context.get('pool_quote_token_account');
  context.require(vault.address === pool.quoteVault, ammError.invalidQuoteVault);
  const authority = context.derived('boost_vault_authority', boostAuthorityOf(account.address)).address;
  const boostVault = context.derived('boost_vault', deriveTokenAccount(authority, mint.address, mint.owner).address).address;
  context.program('system_program', systemProgram);
  context.program('associated_token_program', associatedTokenProgram);
  context.derived('event_authority', eventAuthority);
  context.program('program', context.programId);
  const amount = (tokenFields.amount(vault.data) * boostShare) / shareScale;
  context.raw.invoke(associatedTokenInstruction(creator, authority, mint.address, mint.owner, true));
  const parts = { programId: mint.owner, source: vault.address, mint: mint.address, destination: boostVault, authority: account.address };
  context.raw.invoke(transferCheckedInstruction({ ...parts, amount, decimals: mintFields.decimals(mint.data) }), [poolSeeds(pool)]);
  account.write().set(poolData({ ...pool, virtualQuote: amount }));
  context.emit(
    new BorshWriter()
      .bytes(eventDiscriminators.initBoost)
      .i64(BigInt(context.raw.clock.unixTimestamp))
      .address(pool.baseMint)
      .address(curveOf(pool.baseMint))
      .address(account.address)
      .i128(amount)
      .u64(tokenFields.amount(vault.data))
      .done(),
  );
}

export const initBoostInstruction: AnchorInstruction = {
  name: 'InitBoost',
  discriminator: ammInstructions.initBoost,
  accounts: initBoostNames,
  units: initBoostUnits,
  run: runInitBoost,
};
