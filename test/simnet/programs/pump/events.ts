import { eventDiscriminators } from '@sluice/venues/pump/curve/program.ts';
import { BorshWriter } from '../../layout/borsh.ts';
import type { Curve } from './state.ts';

export interface TradeFacts {
  readonly mint: string;
  readonly user: string;
  readonly timestamp: number;
  readonly isBuy: boolean;
  readonly tokens: bigint;
  readonly quote: bigint;
  /** The curve after the trade. */
  readonly curve: Curve;
  readonly isSol: boolean;
  readonly feeRecipient: string;
  readonly protocolBps: bigint;
  readonly protocolFee: bigint;
  /** What goes to the creator, or back to the trader of a cashback coin. */
  readonly creatorBps: bigint;
  readonly creatorFee: bigint;
  readonly buybackBps: bigint;
  readonly buybackFee: bigint;
  readonly trackVolume: boolean;
  readonly ixName: string;
}

/** TradeEvent with all fields of September 2026. For a coin that is not quoted in SOL, the `sol_` fields are zero. */
export function tradeEvent(facts: TradeFacts): Uint8Array {
  const { curve, isSol } = facts;
  const creatorPart = curve.cashback ? 0n : facts.creatorFee;
  const creatorBps = curve.cashback ? 0n : facts.creatorBps;
  const sol = (value: bigint): bigint => (isSol ? value : 0n);
  return new BorshWriter()
    .bytes(eventDiscriminators.trade)
    .address(facts.mint)
    .u64(sol(facts.quote))
    .u64(facts.tokens)
    .bool(facts.isBuy)
    .address(facts.user)
    .i64(BigInt(facts.timestamp))
    .u64(sol(curve.virtualQuote))
    .u64(curve.virtualToken)
    .u64(sol(curve.realQuote))
    .u64(curve.realToken)
    .address(facts.feeRecipient)
    .u64(facts.protocolBps)
    .u64(facts.protocolFee)
    .address(curve.creator)
    .u64(creatorBps)
    .u64(creatorPart)
    .bool(facts.trackVolume)
    .u64(0n)
    .u64(0n)
    .u64(0n)
    .i64(0n)
    .string(facts.ixName)
    .bool(curve.mayhem)
    .u64(curve.cashback ? facts.creatorBps : 0n)
    .u64(curve.cashback ? facts.creatorFee : 0n)
    .u64(facts.buybackBps)
    .u64(facts.buybackFee)
    .u32(0)
    .address(curve.quoteMint)
    .u64(facts.quote)
    .u64(curve.virtualQuote)
    .u64(curve.realQuote)
    .u64(curve.holderReward ? creatorBps : 0n)
    .u64(curve.holderReward ? creatorPart : 0n)
    .done();
}

export interface CreateFacts {
  readonly name: string;
  readonly symbol: string;
  readonly uri: string;
  readonly mint: string;
  readonly bondingCurve: string;
  readonly user: string;
  readonly timestamp: number;
  readonly tokenProgram: string;
  readonly curve: Curve;
  readonly isSol: boolean;
}

export function createEvent(facts: CreateFacts): Uint8Array {
  const { curve } = facts;
  return new BorshWriter()
    .bytes(eventDiscriminators.create)
    .string(facts.name)
    .string(facts.symbol)
    .string(facts.uri)
    .address(facts.mint)
    .address(facts.bondingCurve)
    .address(facts.user)
    .address(curve.creator)
    .i64(BigInt(facts.timestamp))
    .u64(curve.virtualToken)
    .u64(facts.isSol ? curve.virtualQuote : 0n)
    .u64(curve.realToken)
    .u64(curve.supply)
    .address(facts.tokenProgram)
    .bool(curve.mayhem)
    .bool(curve.cashback)
    .address(curve.quoteMint)
    .u64(curve.virtualQuote)
    .u64(curve.creatorFeeBps)
    .bool(curve.holderReward)
    .done();
}

export function completeEvent(user: string, mint: string, bondingCurve: string, timestamp: number, quoteMint: string): Uint8Array {
  return new BorshWriter()
    .bytes(eventDiscriminators.complete)
    .address(user)
    .address(mint)
    .address(bondingCurve)
    .i64(BigInt(timestamp))
    .address(quoteMint)
    .done();
}

export interface MigrationFacts {
  readonly user: string;
  readonly mint: string;
  readonly tokens: bigint;
  readonly quote: bigint;
  readonly fee: bigint;
  readonly bondingCurve: string;
  readonly timestamp: number;
  readonly pool: string;
  readonly quoteMint: string;
}

export function migrationEvent(facts: MigrationFacts): Uint8Array {
  return new BorshWriter()
    .bytes(eventDiscriminators.completePumpAmmMigration)
    .address(facts.user)
    .address(facts.mint)
    .u64(facts.tokens)
    .u64(facts.quote)
    .u64(facts.fee)
    .address(facts.bondingCurve)
    .i64(BigInt(facts.timestamp))
    .address(facts.pool)
    .address(facts.quoteMint)
    .done();
}
