import { accountDiscriminators, eventAuthority, globalConfig } from '@sluice/venues/pump/amm/program.ts';
import { associatedTokenProgram, systemProgram, token2022Program, zeroAddress } from '@sluice/shared/solana/well-known.ts';
import { minimumBalance } from '../../ledger/rent.ts';
import { addressBytes, derive, deriveTokenAccount } from '../../layout/derive.ts';
import type { InstructionAccount } from '../../runtime/instruction-account.ts';
import { lpMintOf, poolAuthorityOf } from '../addresses.ts';
import { ammInstructions } from '../constants.ts';
import type { AnchorContext, AnchorInstruction } from '../anchor.ts';
import { associatedTokenInstruction } from '../token/associated-token.ts';
import type { BorshReader } from '../../layout/borsh.ts';
import { createAccountInstruction } from '../system.ts';
import { initializeMint2Instruction, mintToInstruction, transferCheckedInstruction } from '../token/token-instructions.ts';
import { mintBytes, mintFields } from '../../layout/token-state.ts';
import { ammError } from './errors.ts';
import { createPoolEvent } from './events.ts';
import { squareRoot } from './math.ts';
import { poolBytes, poolData, type Pool } from './state.ts';
import { poolSeeds } from './trade.ts';

const createPoolUnits = 60_000;
const lpDecimals = 9;
const minimumLiquidity = 100n;

const createPoolNames = [
  'pool',
  'global_config',
  'creator',
  'base_mint',
  'quote_mint',
  'lp_mint',
  'user_base_token_account',
  'user_quote_token_account',
  'user_pool_token_account',
  'pool_base_token_account',
  'pool_quote_token_account',
  'system_program',
  'token_2022_program',
  'base_token_program',
  'quote_token_program',
  'associated_token_program',
  'event_authority',
  'program',
] as const;

/** What the creator pays for the accounts of a new pool. */
export const poolCreationRent = (baseAccountBytes: number, quoteAccountBytes: number): bigint =>
  minimumBalance(poolBytes) +
  minimumBalance(mintBytes) +
  minimumBalance(170) +
  minimumBalance(baseAccountBytes) +
  minimumBalance(quoteAccountBytes);

function readPlan(context: AnchorContext, args: BorshReader): { readonly pool: Pool; readonly base: bigint; readonly quote: bigint } {
  const index = args.u16();
  const base = args.u64();
  const quote = args.u64();
  const creator = context.signer('creator').address;
  const baseMint = context.get('base_mint').address;
  const quoteMint = context.get('quote_mint').address;
  const found = derive(
    context.programId,
    'pool',
    Uint8Array.of(index & 255, index >> 8),
    addressBytes(creator),
    addressBytes(baseMint),
    addressBytes(quoteMint),
  );
  context.derived('pool', found.address);
  const pool: Pool = {
    bump: found.bump,
    index,
    creator,
    baseMint,
    quoteMint,
    lpMint: lpMintOf(found.address),
    baseVault: deriveTokenAccount(found.address, baseMint, context.get('base_token_program').address).address,
    quoteVault: deriveTokenAccount(found.address, quoteMint, context.get('quote_token_program').address).address,
    lpSupply: 0n,
    coinCreator: args.address(),
    mayhem: args.bool(),
    cashback: args.orFalse(),
    virtualQuote: 0n,
    creatorFeeBps: args.orZero(),
    canEditCreatorFee: args.orFalse(),
    holderReward: args.orFalse(),
  };
  return { pool, base, quote };
}

function check(context: AnchorContext, pool: Pool): void {
  context.owned('global_config', accountDiscriminators.globalConfig);
  context.derived('global_config', globalConfig);
  context.mint('base_mint', context.tokenProgram('base_token_program').address);
  context.mint('quote_mint', context.tokenProgram('quote_token_program').address);
  context.require(pool.baseMint !== pool.quoteMint, ammError.sameMint);
  context.derived('lp_mint', pool.lpMint);
  context.tokenAccount('user_base_token_account', pool.baseMint, pool.creator);
  context.tokenAccount('user_quote_token_account', pool.quoteMint, pool.creator);
  context.derived('user_pool_token_account', deriveTokenAccount(pool.creator, pool.lpMint, token2022Program).address);
  context.derived('pool_base_token_account', pool.baseVault);
  context.derived('pool_quote_token_account', pool.quoteVault);
  context.program('system_program', systemProgram);
  context.program('token_2022_program', token2022Program);
  context.program('associated_token_program', associatedTokenProgram);
  context.derived('event_authority', eventAuthority);
  context.program('program', context.programId);
  const canonical = pool.creator === poolAuthorityOf(pool.baseMint);
  context.require(canonical || pool.coinCreator === zeroAddress, ammError.onlyCanonical);
}

function deposit(context: AnchorContext, side: 'base' | 'quote', amount: bigint): void {
  const mint: InstructionAccount = context.get(`${side}_mint`);
  context.raw.invoke(
    transferCheckedInstruction({
      programId: mint.owner,
      source: context.get(`user_${side}_token_account`).address,
      mint: mint.address,
      destination: context.get(`pool_${side}_token_account`).address,
      authority: context.get('creator').address,
      amount,
      decimals: mintFields.decimals(mint.data),
    }),
  );
}

function runCreatePool(context: AnchorContext, args: BorshReader): void {
  const { pool, base, quote } = readPlan(context, args);
  check(context, pool);
  context.require(base > 0n, ammError.zeroBase);
  context.require(quote > 0n, ammError.zeroQuote);
  const liquidity = squareRoot(base * quote);
  context.require(liquidity > minimumLiquidity, ammError.tooLittleLiquidity);
  const account = context.get('pool');
  const creator = pool.creator;
  const signer = poolSeeds(pool);
  const lpSeeds = ['pool_lp_mint', addressBytes(account.address)];
  context.raw.invoke(createAccountInstruction(creator, account.address, minimumBalance(poolBytes), poolBytes, context.programId), [signer]);
  context.raw.invoke(createAccountInstruction(creator, pool.lpMint, minimumBalance(mintBytes), mintBytes, token2022Program), [lpSeeds]);
  context.raw.invoke(initializeMint2Instruction(token2022Program, pool.lpMint, lpDecimals, account.address));
  context.raw.invoke(associatedTokenInstruction(creator, creator, pool.lpMint, token2022Program, true));
  context.raw.invoke(associatedTokenInstruction(creator, account.address, pool.baseMint, context.get('base_token_program').address, true));
  context.raw.invoke(
    associatedTokenInstruction(creator, account.address, pool.quoteMint, context.get('quote_token_program').address, true),
  );
  deposit(context, 'base', base);
  deposit(context, 'quote', quote);
  const lpAccount = context.get('user_pool_token_account').address;
  const issued = liquidity - minimumLiquidity;
  context.raw.invoke(mintToInstruction(token2022Program, pool.lpMint, lpAccount, account.address, issued), [signer]);
  const created: Pool = { ...pool, lpSupply: liquidity };
  account.write().set(poolData(created));
  context.emit(
    createPoolEvent({
      timestamp: context.raw.clock.unixTimestamp,
      pool: created,
      poolAddress: account.address,
      baseDecimals: mintFields.decimals(context.get('base_mint').data),
      quoteDecimals: mintFields.decimals(context.get('quote_mint').data),
      base,
      quote,
      minimumLiquidity,
      initialLiquidity: liquidity,
      userBaseAccount: context.get('user_base_token_account').address,
      userQuoteAccount: context.get('user_quote_token_account').address,
    }),
  );
}

export const createPoolInstruction: AnchorInstruction = {
  name: 'CreatePool',
  discriminator: ammInstructions.createPool,
  accounts: createPoolNames,
  units: createPoolUnits,
  run: runCreatePool,
};
