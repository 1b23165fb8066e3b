import { createHash } from 'node:crypto';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { addressBytes } from '@sluice/shared/solana/addresses/pda.ts';
import { whirlpool, whirlpoolDiscriminator, whirlpoolLength } from '../../venues/src/orca/whirlpool/layout.ts';
import { usdcMint, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import {
  accountDiscriminators as ammAccounts,
  eventDiscriminators as ammEvents,
  programId as ammProgramId,
} from '@sluice/venues/pump/amm/program.ts';
import { accountDiscriminators, eventDiscriminators, programId } from '@sluice/venues/pump/curve/program.ts';

/** 32 bytes derived from a name, so that coins and traders are the same in every run. */
export function keyOf(name: string): Uint8Array {
  return createHash('sha256').update(name).digest();
}

export const addressOf = (name: string): string => encodeBase58(keyOf(name));

export function signatureOf(name: string): string {
  return encodeBase58(createHash('sha512').update(name).digest());
}

export interface PumpTrade {
  readonly mint: Uint8Array;
  readonly trader: Uint8Array;
  readonly side: 'buy' | 'sell';
  readonly solAmount: bigint;
  readonly tokenAmount: bigint;
  readonly virtualSol: bigint;
  readonly virtualToken: bigint;
  readonly timestamp: number;
  readonly feeBps?: bigint;
  readonly creatorFeeBps?: bigint;
}

class Writer {
  #parts: Buffer[] = [];

  bytes(bytes: Uint8Array): this {
    this.#parts.push(Buffer.from(bytes));
    return this;
  }

  u64(...values: readonly bigint[]): this {
    for (const value of values) {
      const part = Buffer.alloc(8);
      part.writeBigUInt64LE(value);
      this.#parts.push(part);
    }
    return this;
  }

  u8(value: number): this {
    this.#parts.push(Buffer.from([value]));
    return this;
  }

  text(value: string): this {
    const bytes = Buffer.from(value);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(bytes.length);
    this.#parts.push(length, bytes);
    return this;
  }

  done(): Buffer {
    return Buffer.concat(this.#parts);
  }
}

const zeroKey = new Uint8Array(32);
const initialRealToken = 793_100_000_000_000n;
export const initialVirtualToken = 1_073_000_000_000_000n;
export const initialVirtualSol = 30_000_000_000n;

/** TradeEvent in the layout of 2026-10 (382 bytes for a `buy`). */
export function tradeEventBytes(trade: PumpTrade): Buffer {
  const { feeBps = 95n, creatorFeeBps = 30n, solAmount, virtualSol, virtualToken } = trade;
  const fee = (solAmount * feeBps) / 10_000n;
  const creatorFee = (solAmount * creatorFeeBps) / 10_000n;
  const realSol = virtualSol - initialVirtualSol;
  const realToken = virtualToken - (initialVirtualToken - initialRealToken);
  return new Writer()
    .bytes(eventDiscriminators.trade)
    .bytes(trade.mint)
    .u64(solAmount, trade.tokenAmount)
    .u8(trade.side === 'buy' ? 1 : 0)
    .bytes(trade.trader)
    .u64(BigInt(trade.timestamp), virtualSol, virtualToken, realSol, realToken)
    .bytes(keyOf('fee recipient'))
    .u64(feeBps, fee)
    .bytes(keyOf('creator'))
    .u64(creatorFeeBps, creatorFee)
    .u8(0)
    .u64(0n, 0n, 0n, 0n)
    .text(trade.side)
    .u8(0)
    .u64(0n, 0n, 5_000n, fee / 2n)
    .bytes(new Uint8Array(4))
    .bytes(zeroKey)
    .u64(solAmount, virtualSol, realSol, 0n, 0n)
    .done();
}

export interface PumpCreation {
  readonly mint: Uint8Array;
  readonly curve: Uint8Array;
  readonly trader: Uint8Array;
  readonly name: string;
  readonly symbol: string;
  readonly uri: string;
  readonly timestamp: number;
  /** Null for a layout that is older than this field. */
  readonly tokenProgram: Uint8Array | null;
  readonly mayhem?: boolean;
}

export function createEventBytes(creation: PumpCreation): Buffer {
  const writer = new Writer()
    .bytes(eventDiscriminators.create)
    .text(creation.name)
    .text(creation.symbol)
    .text(creation.uri)
    .bytes(creation.mint)
    .bytes(creation.curve)
    .bytes(creation.trader)
    .bytes(creation.trader)
    .u64(BigInt(creation.timestamp), initialVirtualToken, initialVirtualSol, initialRealToken, 1_000_000_000_000_000n);
  if (creation.tokenProgram === null) return writer.done();
  return writer
    .bytes(creation.tokenProgram)
    .u8(creation.mayhem === true ? 1 : 0)
    .u8(0)
    .bytes(zeroKey)
    .u64(initialVirtualSol, 30n)
    .u8(0)
    .done();
}

/** BondingCurve of 125 bytes, as `create_v2` creates it. */
export function curveAccountBytes(virtualToken = initialVirtualToken, virtualSol = initialVirtualSol, mayhem = false): Buffer {
  const realToken = virtualToken - (initialVirtualToken - initialRealToken);
  return new Writer()
    .bytes(accountDiscriminators.bondingCurve)
    .u64(virtualToken, virtualSol, realToken, virtualSol - initialVirtualSol, 1_000_000_000_000_000n)
    .u8(0)
    .bytes(keyOf('creator'))
    .u8(mayhem ? 1 : 0)
    .u8(0)
    .bytes(zeroKey)
    .u64(30n)
    .u8(0)
    .u8(0)
    .done();
}

export function completeEventBytes(mint: Uint8Array, curve: Uint8Array, trader: Uint8Array, timestamp: number): Buffer {
  return new Writer()
    .bytes(eventDiscriminators.complete)
    .bytes(trader)
    .bytes(mint)
    .bytes(curve)
    .u64(BigInt(timestamp))
    .bytes(zeroKey)
    .done();
}

export function migrationEventBytes(migration: {
  readonly mint: Uint8Array;
  readonly curve: Uint8Array;
  readonly pool: Uint8Array;
  readonly baseAmount: bigint;
  readonly quoteAmount: bigint;
  readonly fee: bigint;
  readonly timestamp: number;
  /** SOL by default. */
  readonly quoteMint?: Uint8Array;
}): Buffer {
  return new Writer()
    .bytes(eventDiscriminators.completePumpAmmMigration)
    .bytes(keyOf('anyone'))
    .bytes(migration.mint)
    .u64(migration.baseAmount, migration.quoteAmount, migration.fee)
    .bytes(migration.curve)
    .u64(BigInt(migration.timestamp))
    .bytes(migration.pool)
    .bytes(migration.quoteMint ?? zeroKey)
    .done();
}

/** UpdateMayhemVirtualParamsEvent: virtual reserves before and after, then the real ones. */
export function virtualReservesEventBytes(mint: Uint8Array, virtualToken: bigint, virtualSol: bigint, timestamp: number): Buffer {
  return new Writer()
    .bytes(eventDiscriminators.updateMayhemVirtualParams)
    .u64(BigInt(timestamp))
    .bytes(mint)
    .u64(1n, 1n, virtualToken, virtualSol, initialRealToken, 0n)
    .done();
}

export interface AmmTrade {
  readonly side: 'buy' | 'sell';
  readonly pool: Uint8Array;
  readonly trader: Uint8Array;
  readonly baseAmount: bigint;
  readonly quoteAmount: bigint;
  readonly baseBefore: bigint;
  readonly quoteBefore: bigint;
  readonly virtualQuote?: bigint;
  /** 0 for a layout without this field. */
  readonly supply?: bigint;
  readonly timestamp: number;
}

/** BuyEvent or SellEvent of PumpSwap with an LP fee of 20, a protocol fee of 5 and no creator fee (bps). */
export function ammTradeEventBytes(trade: AmmTrade): Buffer {
  const { side, quoteAmount, virtualQuote = 0n, supply = 0n } = trade;
  const lpFee = (quoteAmount * 20n) / 10_000n;
  const protocolFee = (quoteAmount * 5n) / 10_000n;
  const sign = side === 'buy' ? 1n : -1n;
  const writer = new Writer()
    .bytes(side === 'buy' ? ammEvents.buy : ammEvents.sell)
    .u64(BigInt(trade.timestamp), trade.baseAmount, 0n, 0n, 0n, trade.baseBefore, trade.quoteBefore, quoteAmount)
    .u64(20n, lpFee, 5n, protocolFee, quoteAmount + sign * lpFee, quoteAmount + sign * (lpFee + protocolFee))
    .bytes(trade.pool)
    .bytes(trade.trader)
    .bytes(new Uint8Array(64))
    .bytes(keyOf('fee recipient'))
    .bytes(keyOf('account of the fee recipient'))
    .bytes(zeroKey)
    .u64(0n, 0n);
  if (side === 'buy') writer.u8(0).u64(0n, 0n, 0n, 0n, 0n).text('buy');
  return writer.u64(0n, 0n, 0n, 0n, virtualQuote, 0n).u8(0).u64(supply, 0n, 0n).done();
}

/** PostCompleteBuyEvent by the IDL of 2026-10: the part of a buy after its curve's end, and the reserves of the future pool. */
export function postCompleteBuyEventBytes(buy: {
  readonly mint: Uint8Array;
  readonly curve: Uint8Array;
  readonly trader: Uint8Array;
  readonly baseAmount: bigint;
  readonly baseBefore: bigint;
  readonly quoteBefore: bigint;
  readonly quoteAfter: bigint;
  readonly timestamp: number;
}): Buffer {
  const quoteIn = buy.quoteAfter - buy.quoteBefore;
  return new Writer()
    .bytes(eventDiscriminators.postCompleteBuy)
    .bytes(buy.trader)
    .bytes(buy.mint)
    .bytes(buy.curve)
    .bytes(zeroKey)
    .u64(BigInt(buy.timestamp), buy.baseAmount, quoteIn, 95n, (quoteIn * 95n) / 10_000n, 30n, (quoteIn * 30n) / 10_000n, 0n)
    .u64(buy.baseBefore, buy.quoteBefore, buy.baseBefore - buy.baseAmount, buy.quoteAfter)
    .done();
}

export interface BoostEvent {
  readonly mint: Uint8Array;
  readonly pool: Uint8Array;
  readonly virtualQuote: bigint;
  readonly realQuote: bigint;
  readonly timestamp: number;
}

export function initBoostEventBytes(boost: BoostEvent): Buffer {
  return new Writer()
    .bytes(ammEvents.initBoost)
    .u64(BigInt(boost.timestamp))
    .bytes(boost.mint)
    .bytes(keyOf('curve'))
    .bytes(boost.pool)
    .u64(boost.virtualQuote, 0n, boost.realQuote)
    .done();
}

export function boostBuyEventBytes(boost: BoostEvent & { readonly burned: bigint; readonly realBase: bigint }): Buffer {
  return new Writer()
    .bytes(ammEvents.boostBuyAndBurn)
    .u64(BigInt(boost.timestamp))
    .bytes(boost.mint)
    .bytes(keyOf('curve'))
    .bytes(boost.pool)
    .bytes(keyOf('boost authority'))
    .u64(1_000n, 1_000n, boost.burned, boost.virtualQuote, 0n, boost.realQuote, boost.realBase, 0n)
    .done();
}

/** CreatePoolEvent of 344 bytes: a token of six decimals against SOL. */
export function createPoolEventBytes(pool: Uint8Array, mint: Uint8Array, base: bigint, quote: bigint, timestamp: number): Buffer {
  return new Writer()
    .bytes(ammEvents.createPool)
    .u64(BigInt(timestamp))
    .bytes(new Uint8Array(2))
    .bytes(keyOf('pool authority'))
    .bytes(mint)
    .bytes(addressBytes(wrappedSolMint))
    .u8(6)
    .u8(9)
    .u64(base, quote, base, quote, 100n, 1_000n, 900n)
    .u8(255)
    .bytes(pool)
    .bytes(new Uint8Array(128))
    .bytes(new Uint8Array(11))
    .done();
}

/** DepositEvent or WithdrawEvent of `provider`. */
export function liquidityEventBytes(change: {
  readonly isAdded: boolean;
  readonly pool: Uint8Array;
  readonly lpAmount: bigint;
  readonly baseBefore: bigint;
  readonly quoteBefore: bigint;
  readonly baseAmount: bigint;
  readonly quoteAmount: bigint;
  readonly timestamp: number;
}): Buffer {
  const { isAdded, pool, lpAmount, baseBefore, quoteBefore, baseAmount, quoteAmount, timestamp } = change;
  return new Writer()
    .bytes(isAdded ? ammEvents.deposit : ammEvents.withdraw)
    .u64(BigInt(timestamp), lpAmount, 0n, 0n, 0n, 0n, baseBefore, quoteBefore, baseAmount, quoteAmount, 0n)
    .bytes(pool)
    .bytes(keyOf('provider'))
    .bytes(new Uint8Array(96))
    .done();
}

/** Pool of PumpSwap, 271 bytes. */
export function poolAccountBytes(
  baseMint: Uint8Array,
  quoteMint: Uint8Array,
  more: { readonly virtualQuote?: bigint; readonly mayhem?: boolean; readonly vaults?: readonly [Uint8Array, Uint8Array] } = {},
): Buffer {
  const data = Buffer.alloc(271);
  data.set(ammAccounts.pool, 0);
  data.set(baseMint, 43);
  data.set(quoteMint, 75);
  data.set(more.vaults?.[0] ?? zeroKey, 139);
  data.set(more.vaults?.[1] ?? zeroKey, 171);
  data[243] = more.mayhem === true ? 1 : 0;
  data.writeBigUInt64LE(more.virtualQuote ?? 0n, 245);
  return data;
}

/** Token account of 165 bytes, in the layout of both token programs. */
export function tokenAccountBytes(mint: Uint8Array, owner: Uint8Array, amount: bigint): Buffer {
  const data = Buffer.alloc(165);
  data.set(mint, 0);
  data.set(owner, 32);
  data.writeBigUInt64LE(amount, 64);
  data[108] = 1;
  return data;
}

/** An initialized mint of 82 bytes, in the layout of both token programs. */
export function mintAccountBytes(decimals: number, supply: bigint): Buffer {
  const data = Buffer.alloc(82);
  data.writeBigUInt64LE(supply, 36);
  data[44] = decimals;
  data[45] = 1;
  return data;
}

/** Whirlpool of SOL and USDC at a price, with the fields from which the price is read. */
export function whirlpoolBytes(usdPerSol: number, liquidity = 1_000_000n): Buffer {
  const data = Buffer.alloc(whirlpoolLength);
  data.set(whirlpoolDiscriminator, 0);
  const sqrtPriceX64 = BigInt(Math.round(Math.sqrt(usdPerSol / 1000) * 2 ** 32)) << 32n;
  for (const [at, value] of [
    [whirlpool.liquidity, liquidity],
    [whirlpool.sqrtPrice, sqrtPriceX64],
  ] as const) {
    data.writeBigUInt64LE(value & 0xffff_ffff_ffff_ffffn, at);
    data.writeBigUInt64LE(value >> 64n, at + 8);
  }
  data.set(addressBytes(wrappedSolMint), whirlpool.mintA);
  data.set(addressBytes(usdcMint), whirlpool.mintB);
  return data;
}

export const pumpProgram = programId;
export const ammProgram = ammProgramId;
