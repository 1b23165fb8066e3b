import { eventDiscriminators } from '@sluice/venues/pump/amm/program.ts';
import { BorshWriter } from '../../layout/borsh.ts';
import type { FeeRates } from '../fee-schedule.ts';
import type { SwapAmounts } from './math.ts';
import type { Pool } from './state.ts';

export interface SwapFacts {
  readonly timestamp: number;
  readonly amounts: SwapAmounts;
  readonly rates: FeeRates;
  readonly pool: Pool;
  readonly poolAddress: string;
  readonly user: string;
  /** The maximum to pay or the minimum to receive, as the caller set it. */
  readonly limit: bigint;
  /** Token balances before the trade. */
  readonly userBase: bigint;
  readonly userQuote: bigint;
  readonly poolBase: bigint;
  readonly poolQuote: bigint;
  readonly userBaseAccount: string;
  readonly userQuoteAccount: string;
  readonly feeRecipient: string;
  readonly feeRecipientAccount: string;
  readonly buybackBps: bigint;
  readonly buybackFee: bigint;
  readonly baseSupply: bigint;
}

interface CreatorParts {
  readonly creatorBps: bigint;
  readonly creatorFee: bigint;
  readonly cashbackBps: bigint;
  readonly cashback: bigint;
  readonly holderBps: bigint;
  readonly holder: bigint;
}

/** The creator's part, by who receives it: creator, trader (cashback), or the coin's holders (named next to the creator's). */
function creatorParts({ pool, rates, amounts }: SwapFacts): CreatorParts {
  if (pool.cashback) {
    return { creatorBps: 0n, creatorFee: 0n, cashbackBps: rates.creator, cashback: amounts.creatorFee, holderBps: 0n, holder: 0n };
  }
  const holderBps = pool.holderReward ? rates.creator : 0n;
  const holder = pool.holderReward ? amounts.creatorFee : 0n;
  return { creatorBps: rates.creator, creatorFee: amounts.creatorFee, cashbackBps: 0n, cashback: 0n, holderBps, holder };
}

function writeAddresses(writer: BorshWriter, facts: SwapFacts): BorshWriter {
  return writer
    .address(facts.poolAddress)
    .address(facts.user)
    .address(facts.userBaseAccount)
    .address(facts.userQuoteAccount)
    .address(facts.feeRecipient)
    .address(facts.feeRecipientAccount)
    .address(facts.pool.coinCreator);
}

function writeTail(writer: BorshWriter, facts: SwapFacts, parts: CreatorParts): Uint8Array {
  return writer
    .u64(parts.cashbackBps)
    .u64(parts.cashback)
    .u64(facts.buybackBps)
    .u64(facts.buybackFee)
    .i128(facts.pool.virtualQuote)
    .bool(facts.pool.virtualQuote !== 0n)
    .u64(facts.baseSupply)
    .u64(parts.holderBps)
    .u64(parts.holder)
    .done();
}

/** BuyEvent with all fields of September 2026; reserves are those before the trade. */
export function buyEvent(facts: SwapFacts, minBaseOut: bigint, trackVolume: boolean, ixName: string): Uint8Array {
  const { amounts, rates } = facts;
  const parts = creatorParts(facts);
  const withLp = amounts.quote + amounts.lpFee;
  const writer = new BorshWriter()
    .bytes(eventDiscriminators.buy)
    .i64(BigInt(facts.timestamp))
    .u64(amounts.base)
    .u64(facts.limit)
    .u64(facts.userBase)
    .u64(facts.userQuote)
    .u64(facts.poolBase)
    .u64(facts.poolQuote)
    .u64(amounts.quote)
    .u64(rates.lp)
    .u64(amounts.lpFee)
    .u64(rates.protocol)
    .u64(amounts.protocolFee)
    .u64(withLp)
    .u64(withLp + amounts.protocolFee + amounts.creatorFee);
  writeAddresses(writer, facts)
    .u64(parts.creatorBps)
    .u64(parts.creatorFee)
    .bool(trackVolume)
    .u64(0n)
    .u64(0n)
    .u64(0n)
    .i64(0n)
    .u64(minBaseOut)
    .string(ixName);
  return writeTail(writer, facts, parts);
}

/** SellEvent with all fields of September 2026; reserves are those before the trade. */
export function sellEvent(facts: SwapFacts): Uint8Array {
  const { amounts, rates } = facts;
  const parts = creatorParts(facts);
  const withoutLp = amounts.quote - amounts.lpFee;
  const writer = new BorshWriter()
    .bytes(eventDiscriminators.sell)
    .i64(BigInt(facts.timestamp))
    .u64(amounts.base)
    .u64(facts.limit)
    .u64(facts.userBase)
    .u64(facts.userQuote)
    .u64(facts.poolBase)
    .u64(facts.poolQuote)
    .u64(amounts.quote)
    .u64(rates.lp)
    .u64(amounts.lpFee)
    .u64(rates.protocol)
    .u64(amounts.protocolFee)
    .u64(withoutLp)
    .u64(withoutLp - amounts.protocolFee - amounts.creatorFee);
  writeAddresses(writer, facts).u64(parts.creatorBps).u64(parts.creatorFee);
  return writeTail(writer, facts, parts);
}

export interface PoolFacts {
  readonly timestamp: number;
  readonly pool: Pool;
  readonly poolAddress: string;
  readonly baseDecimals: number;
  readonly quoteDecimals: number;
  readonly base: bigint;
  readonly quote: bigint;
  readonly minimumLiquidity: bigint;
  readonly initialLiquidity: bigint;
  readonly userBaseAccount: string;
  readonly userQuoteAccount: string;
}

export function createPoolEvent(facts: PoolFacts): Uint8Array {
  const { pool } = facts;
  return new BorshWriter()
    .bytes(eventDiscriminators.createPool)
    .i64(BigInt(facts.timestamp))
    .u16(pool.index)
    .address(pool.creator)
    .address(pool.baseMint)
    .address(pool.quoteMint)
    .u8(facts.baseDecimals)
    .u8(facts.quoteDecimals)
    .u64(facts.base)
    .u64(facts.quote)
    .u64(facts.base)
    .u64(facts.quote)
    .u64(facts.minimumLiquidity)
    .u64(facts.initialLiquidity)
    .u64(facts.initialLiquidity - facts.minimumLiquidity)
    .u8(pool.bump)
    .address(facts.poolAddress)
    .address(pool.lpMint)
    .address(facts.userBaseAccount)
    .address(facts.userQuoteAccount)
    .address(pool.coinCreator)
    .bool(pool.mayhem)
    .u64(pool.creatorFeeBps)
    .bool(pool.canEditCreatorFee)
    .bool(pool.holderReward)
    .done();
}
