import {
  associatedTokenProgram,
  rentSysvar,
  systemProgram,
  token2022Program,
  tokenProgram,
  wrappedSolMint,
} from '@sluice/shared/solana/well-known.ts';
import type { AccountMeta, Instruction } from '@sluice/shared/solana/transaction/transaction.ts';
import * as amm from '@sluice/venues/pump/amm/program.ts';
import * as pump from '@sluice/venues/pump/curve/program.ts';
import { curveInstructions, mayhemGlobalParams, mayhemSolVault } from '../programs/constants.ts';
import {
  ammVolumeAccumulatorOf,
  boostAuthorityOf,
  canonicalPoolOf,
  coinCreatorAuthorityOf,
  creatorVaultOf,
  curveOf,
  curveV2Of,
  lpMintOf,
  mayhemStateOf,
  poolAuthorityOf,
  poolV2Of,
  sharingConfigOf,
  volumeAccumulatorOf,
} from '../programs/addresses.ts';
import { BorshWriter } from '../layout/borsh.ts';
import type { Pool } from '../programs/pump-amm/state.ts';
import type { Curve } from '../programs/pump/state.ts';
import { operators } from '../programs/recipients.ts';
import { deriveTokenAccount } from '../layout/derive.ts';
import type { CoinText } from './names.ts';

const readonly = (address: string): AccountMeta => ({ address, signer: false, writable: false });
const writable = (address: string): AccountMeta => ({ address, signer: false, writable: true });
const signer = (address: string): AccountMeta => ({ address, signer: true, writable: true });
const ata = (owner: string, mint: string, program: string): string => deriveTokenAccount(owner, mint, program).address;

export interface CurveTrade {
  readonly mint: string;
  readonly tokenProgram: string;
  readonly curve: Curve;
  readonly user: string;
  readonly feeRecipient: string;
  readonly buyback: string;
  /** The first and second argument of the instruction. */
  readonly amount: bigint;
  readonly limit: bigint;
}

function args(discriminator: Uint8Array, amount: bigint, limit: bigint): BorshWriter {
  return new BorshWriter().bytes(discriminator).u64(amount).u64(limit);
}

/** `buy` or `buy_exact_sol_in` of a coin quoted in SOL. */
export function legacyBuy(trade: CurveTrade, exactSol: boolean): Instruction {
  const { mint, user } = trade;
  const curve = curveOf(mint);
  const discriminator = exactSol ? curveInstructions.buyExactSolIn : curveInstructions.buy;
  return {
    programId: pump.programId,
    accounts: [
      readonly(pump.globalAddress),
      writable(trade.feeRecipient),
      readonly(mint),
      writable(curve),
      writable(ata(curve, mint, trade.tokenProgram)),
      writable(ata(user, mint, trade.tokenProgram)),
      signer(user),
      readonly(systemProgram),
      readonly(trade.tokenProgram),
      writable(creatorVaultOf(trade.curve.creator)),
      readonly(pump.eventAuthority),
      readonly(pump.programId),
      readonly(pump.globalVolumeAccumulator),
      writable(volumeAccumulatorOf(user)),
      readonly(pump.feeConfig),
      readonly(pump.feeProgram),
      readonly(curveV2Of(mint)),
      writable(trade.buyback),
    ],
    data: args(discriminator, trade.amount, trade.limit).bool(false).done(),
  };
}

/** `sell` of a coin quoted in SOL. */
export function legacySell(trade: CurveTrade): Instruction {
  const { mint, user } = trade;
  const curve = curveOf(mint);
  return {
    programId: pump.programId,
    accounts: [
      readonly(pump.globalAddress),
      writable(trade.feeRecipient),
      readonly(mint),
      writable(curve),
      writable(ata(curve, mint, trade.tokenProgram)),
      writable(ata(user, mint, trade.tokenProgram)),
      signer(user),
      readonly(systemProgram),
      writable(creatorVaultOf(trade.curve.creator)),
      readonly(trade.tokenProgram),
      readonly(pump.eventAuthority),
      readonly(pump.programId),
      readonly(pump.feeConfig),
      readonly(pump.feeProgram),
      ...(trade.curve.cashback ? [writable(volumeAccumulatorOf(user))] : []),
      readonly(curveV2Of(mint)),
      writable(trade.buyback),
    ],
    data: args(curveInstructions.sell, trade.amount, trade.limit).done(),
  };
}

/** `buy_v2`, `buy_exact_quote_in_v2` or `sell_v2` of any coin. */
export function tradeV2(trade: CurveTrade, kind: 'buy' | 'buyExactQuote' | 'sell'): Instruction {
  const { mint, user, feeRecipient, buyback } = trade;
  const curve = curveOf(mint);
  const quoteMint = trade.curve.quoteMint === systemProgram ? wrappedSolMint : trade.curve.quoteMint;
  const creatorVault = creatorVaultOf(trade.curve.creator);
  const quoteOf = (owner: string): string => ata(owner, quoteMint, tokenProgram);
  const { buyV2, buyExactQuoteInV2, sellV2 } = curveInstructions;
  const volume = volumeAccumulatorOf(user);
  return {
    programId: pump.programId,
    accounts: [
      readonly(pump.globalAddress),
      readonly(mint),
      readonly(quoteMint),
      readonly(trade.tokenProgram),
      readonly(tokenProgram),
      readonly(associatedTokenProgram),
      writable(feeRecipient),
      writable(quoteOf(feeRecipient)),
      writable(buyback),
      writable(quoteOf(buyback)),
      writable(curve),
      writable(ata(curve, mint, trade.tokenProgram)),
      writable(quoteOf(curve)),
      signer(user),
      writable(ata(user, mint, trade.tokenProgram)),
      writable(quoteOf(user)),
      writable(creatorVault),
      writable(quoteOf(creatorVault)),
      readonly(sharingConfigOf(mint)),
      ...(kind === 'sell' ? [] : [readonly(pump.globalVolumeAccumulator)]),
      writable(volume),
      writable(quoteOf(volume)),
      readonly(pump.feeConfig),
      readonly(pump.feeProgram),
      readonly(systemProgram),
      readonly(pump.eventAuthority),
      readonly(pump.programId),
    ],
    data: args(kind === 'sell' ? sellV2 : kind === 'buy' ? buyV2 : buyExactQuoteInV2, trade.amount, trade.limit).done(),
  };
}

export interface NewCoin {
  readonly mint: string;
  readonly user: string;
  readonly creator: string;
  readonly text: CoinText;
  readonly mayhem: boolean;
  readonly cashback: boolean;
  readonly holderReward: boolean;
  readonly creatorFeeBps: bigint;
  /** Null for SOL. */
  readonly quoteMint: string | null;
}

export function createV2(coin: NewCoin): Instruction {
  const { mint, text, quoteMint } = coin;
  const curve = curveOf(mint);
  const quote =
    quoteMint === null
      ? []
      : [readonly(quoteMint), writable(ata(curve, quoteMint, tokenProgram)), readonly(tokenProgram), readonly(pump.quoteControl)];
  return {
    programId: pump.programId,
    accounts: [
      signer(mint),
      readonly(pump.mintAuthority),
      writable(curve),
      writable(ata(curve, mint, token2022Program)),
      readonly(pump.globalAddress),
      signer(coin.user),
      readonly(systemProgram),
      readonly(token2022Program),
      readonly(associatedTokenProgram),
      writable(pump.mayhemProgram),
      readonly(mayhemGlobalParams),
      writable(mayhemSolVault),
      writable(mayhemStateOf(mint)),
      writable(ata(mayhemSolVault, mint, token2022Program)),
      readonly(pump.eventAuthority),
      readonly(pump.programId),
      ...quote,
    ],
    data: new BorshWriter()
      .bytes(curveInstructions.createV2)
      .string(text.name)
      .string(text.symbol)
      .string(text.uri)
      .address(coin.creator)
      .bool(coin.mayhem)
      .bool(coin.cashback)
      .u64(coin.creatorFeeBps)
      .bool(coin.holderReward)
      .done(),
  };
}

/** Accounts of the pool side of a migration. Both instructions use the same order. */
function poolSide(mint: string, baseProgram: string, quoteMint: string) {
  const authority = poolAuthorityOf(mint);
  const pool = canonicalPoolOf(mint, quoteMint);
  const lpMint = lpMintOf(pool);
  return {
    pool: writable(pool),
    authority: writable(authority),
    authorityBase: writable(ata(authority, mint, baseProgram)),
    authorityQuote: writable(ata(authority, quoteMint, tokenProgram)),
    lpMint: writable(lpMint),
    authorityLp: writable(ata(authority, lpMint, token2022Program)),
    poolBase: writable(ata(pool, mint, baseProgram)),
    poolQuote: writable(ata(pool, quoteMint, tokenProgram)),
    boost: [readonly(boostAuthorityOf(pool)), writable(ata(boostAuthorityOf(pool), quoteMint, tokenProgram))],
  };
}

/** `migrate` of a completed coin quoted in SOL. */
export function migrate(mint: string, baseProgram: string, user: string, boost: boolean): Instruction {
  const curve = curveOf(mint);
  const side = poolSide(mint, baseProgram, wrappedSolMint);
  return {
    programId: pump.programId,
    accounts: [
      readonly(pump.globalAddress),
      writable(operators.withdraw),
      readonly(mint),
      writable(curve),
      writable(ata(curve, mint, baseProgram)),
      signer(user),
      readonly(systemProgram),
      readonly(tokenProgram),
      readonly(amm.programId),
      side.pool,
      side.authority,
      side.authorityBase,
      side.authorityQuote,
      readonly(amm.globalConfig),
      readonly(wrappedSolMint),
      side.lpMint,
      side.authorityLp,
      side.poolBase,
      side.poolQuote,
      readonly(token2022Program),
      readonly(associatedTokenProgram),
      readonly(amm.eventAuthority),
      readonly(pump.eventAuthority),
      readonly(pump.programId),
      readonly(rentSysvar),
      ...(boost ? side.boost : []),
    ],
    data: curveInstructions.migrate,
  };
}

/** `migrate_v2` of a completed coin of any quote. */
export function migrateV2(mint: string, baseProgram: string, quoteMint: string, user: string, boost: boolean): Instruction {
  const curve = curveOf(mint);
  const side = poolSide(mint, baseProgram, quoteMint);
  return {
    programId: pump.programId,
    accounts: [
      readonly(pump.globalAddress),
      writable(operators.withdraw),
      readonly(mint),
      readonly(quoteMint),
      writable(curve),
      writable(ata(curve, mint, baseProgram)),
      writable(ata(curve, quoteMint, tokenProgram)),
      signer(user),
      readonly(systemProgram),
      readonly(amm.programId),
      side.pool,
      side.authority,
      side.authorityBase,
      side.authorityQuote,
      readonly(amm.globalConfig),
      side.lpMint,
      side.authorityLp,
      side.poolBase,
      side.poolQuote,
      readonly(baseProgram),
      readonly(tokenProgram),
      readonly(token2022Program),
      readonly(associatedTokenProgram),
      readonly(amm.eventAuthority),
      readonly(rentSysvar),
      readonly(pump.eventAuthority),
      readonly(pump.programId),
      ...(boost ? side.boost : []),
    ],
    data: curveInstructions.migrateV2,
  };
}

export interface PoolTrade {
  readonly pool: Pool;
  readonly poolAddress: string;
  readonly baseProgram: string;
  readonly user: string;
  readonly feeRecipient: string;
  readonly buyback: string;
  readonly amount: bigint;
  readonly limit: bigint;
}

/** `buy`, `buy_exact_quote_in` or `sell` on a pool. */
export function poolTrade(trade: PoolTrade, kind: 'buy' | 'buyExactQuote' | 'sell'): Instruction {
  const { pool, user, buyback } = trade;
  const isBuy = kind !== 'sell';
  const quoteOf = (owner: string): string => ata(owner, pool.quoteMint, tokenProgram);
  const authority = coinCreatorAuthorityOf(pool.coinCreator);
  const volume = ammVolumeAccumulatorOf(user);
  const { buy, buyExactQuoteIn, sell } = amm.instructionDiscriminators;
  const data = args(kind === 'sell' ? sell : kind === 'buy' ? buy : buyExactQuoteIn, trade.amount, trade.limit);
  return {
    programId: amm.programId,
    accounts: [
      writable(trade.poolAddress),
      signer(user),
      readonly(amm.globalConfig),
      readonly(pool.baseMint),
      readonly(pool.quoteMint),
      writable(ata(user, pool.baseMint, trade.baseProgram)),
      writable(quoteOf(user)),
      writable(pool.baseVault),
      writable(pool.quoteVault),
      readonly(trade.feeRecipient),
      writable(quoteOf(trade.feeRecipient)),
      readonly(trade.baseProgram),
      readonly(tokenProgram),
      readonly(systemProgram),
      readonly(associatedTokenProgram),
      readonly(amm.eventAuthority),
      readonly(amm.programId),
      writable(quoteOf(authority)),
      readonly(authority),
      ...(isBuy ? [readonly(amm.globalVolumeAccumulator), writable(volume)] : []),
      readonly(amm.feeConfig),
      readonly(amm.feeProgram),
      ...(pool.cashback ? [writable(quoteOf(volume)), ...(isBuy ? [] : [writable(volume)])] : []),
      ...(pool.coinCreator === systemProgram ? [] : [readonly(poolV2Of(pool.baseMint))]),
      readonly(buyback),
      writable(quoteOf(buyback)),
    ],
    data: isBuy ? data.bool(false).done() : data.done(),
  };
}
