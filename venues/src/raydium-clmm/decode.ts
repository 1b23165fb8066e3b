import { encodeBase58 } from '@sluice/shared/solana/base58.ts';
import { BorshReader, discriminatorLength, hasPrefix } from '@sluice/shared/solana/bytes.ts';
import { feesIn } from '../fee.ts';
import { chargedFee } from '../kit/charged-fee.ts';
import { cappedDepth, concentratedPool, stateOfSqrtPrice } from '../kit/concentrated.ts';
import { decoded, malformed, undecodedAccount, undecodedEvent } from '../outcome.ts';
import type { DecodeContext, DecodedAccount, DecodeOutcome, EmittingInstruction, Fee, Pair, VenueEvent } from '../venue.ts';
import { dynamicFeeLength, pool as poolAt, poolLength, swapEventLength, swapEventTail } from './layout.ts';
import {
  accountDiscriminators,
  creatorAccount,
  eventDiscriminators,
  ignoredAccounts,
  ignoredEvents,
  swapAccounts,
  swapInstructions,
} from './program.ts';

type Emit = (event: VenueEvent) => void;

/** The fields of a pool's account that prices and quotes need. Coin 0 is the base. */
export interface ClmmPool {
  readonly config: string;
  readonly mint0: string;
  readonly mint1: string;
  readonly vault0: string;
  readonly vault1: string;
  readonly tickSpacing: number;
  readonly liquidity: bigint;
  /** Square root of raw coin 1 per raw coin 0, times 2^64. */
  readonly sqrtPriceX64: bigint;
  readonly tick: number;
  readonly status: number;
  /** The coin in which the fee is charged: 0 the one that comes in, 1 coin 0, 2 coin 1. */
  readonly feeOn: number;
  /** The fee rate changes with the trades and the time. */
  readonly dynamicFee: boolean;
  /** Unix seconds after which the pool trades. */
  readonly openTimeS: bigint;
  /** 1,024 bits: which of the tick arrays around tick 0 have ticks. */
  readonly bitmap: Uint8Array;
}

function u128(view: DataView, at: number): bigint {
  return view.getBigUint64(at, true) | (view.getBigUint64(at + 8, true) << 64n);
}

/** Reads a pool's account; null if the bytes are not one. Never throws. */
export function decodePool(data: Uint8Array): ClmmPool | null {
  if (data.length < poolLength || !hasPrefix(data, accountDiscriminators.pool)) return null;
  const view = new DataView(data.buffer, data.byteOffset, data.length);
  const key = (at: number): string => encodeBase58(data, at, 32);
  return {
    config: key(poolAt.config),
    mint0: key(poolAt.mint0),
    mint1: key(poolAt.mint1),
    vault0: key(poolAt.vault0),
    vault1: key(poolAt.vault1),
    tickSpacing: view.getUint16(poolAt.tickSpacing, true),
    liquidity: u128(view, poolAt.liquidity),
    sqrtPriceX64: u128(view, poolAt.sqrtPrice),
    tick: view.getInt32(poolAt.tick, true),
    status: data[poolAt.status]!,
    feeOn: data[poolAt.feeOn]!,
    dynamicFee: data.subarray(poolAt.dynamicFee, poolAt.dynamicFee + dynamicFeeLength).some((byte) => byte !== 0),
    openTimeS: view.getBigUint64(poolAt.openTime, true),
    bitmap: data.slice(poolAt.bitmap, poolAt.bitmap + 128),
  };
}

interface Side {
  readonly amount: bigint;
  readonly transferFee: bigint;
  readonly tradeFee: bigint;
}

interface Swapped {
  readonly pool: string;
  readonly sender: string;
  /** Coin 0 comes in. */
  readonly zeroForOne: boolean;
  readonly given: Side;
  readonly gotten: Side;
  /** After the swap. */
  readonly sqrtPrice: bigint;
  readonly liquidity: bigint;
}

function readSwap(data: Uint8Array): Swapped | null {
  const reader = new BorshReader(data, discriminatorLength);
  const [pool, sender] = [reader.address(), reader.address()];
  reader.skip(64); // the user's token accounts
  const [amount0, transfer0, amount1, transfer1] = [reader.u64(), reader.u64(), reader.u64(), reader.u64()];
  const zeroForOne = reader.bool();
  const [sqrtPrice, liquidity] = [reader.u64() | (reader.u64() << 64n), reader.u64() | (reader.u64() << 64n)];
  reader.u32(); // tick
  const [trade0, trade1] = reader.has(swapEventTail) ? [reader.u64(), reader.u64()] : [0n, 0n];
  const side0 = { amount: amount0, transferFee: transfer0, tradeFee: trade0 };
  const side1 = { amount: amount1, transferFee: transfer1, tradeFee: trade1 };
  const [given, gotten] = zeroForOne ? [side0, side1] : [side1, side0];
  return reader.failed ? null : { pool, sender, zeroForOne, given, gotten, sqrtPrice, liquidity };
}

/** The coins of the vaults of a swap on this pool; null if another instruction emitted the event, or the balances are unknown. */
function pairOf({ accounts }: EmittingInstruction, zeroForOne: boolean, { tokenBalances }: DecodeContext): Pair | null {
  const mintOf = (at: number): string | undefined => tokenBalances?.find(({ account }) => account === accounts[at])?.mint;
  const [input, output] = [mintOf(swapAccounts.inputVault), mintOf(swapAccounts.outputVault)];
  if (input === undefined || output === undefined) return null;
  return zeroForOne ? { baseMint: input, quoteMint: output } : { baseMint: output, quoteMint: input };
}

function decodeSwap(context: DecodeContext, emit: Emit): DecodeOutcome {
  if (context.data.length < swapEventLength) return malformed('SwapEvent too short');
  const swapped = readSwap(context.data);
  if (swapped === null) return malformed('SwapEvent ends inside a field or has an invalid value');
  const { pool, sender, zeroForOne: isSell, given, gotten, sqrtPrice, liquidity } = swapped;
  // Of the output, the event states what the trader received.
  const sent = gotten.amount + gotten.transferFee;
  const [through, left] = [given.amount - given.tradeFee, sent + gotten.tradeFee];
  if (through < 0n || sqrtPrice === 0n) return malformed('SwapEvent has an invalid amount');
  const emitting = context.instruction();
  if (emitting === null) return { kind: 'incomplete' };
  const isDirect =
    swapInstructions.some((discriminator) => hasPrefix(emitting.data, discriminator)) && emitting.accounts[swapAccounts.pool] === pool;
  const config = isDirect ? emitting.accounts[swapAccounts.config] : undefined;
  const [coinIn, coinOut] = isSell ? (['base', 'quote'] as const) : (['quote', 'base'] as const);
  const charged: readonly Fee[] = [
    chargedFee('lp', given.tradeFee, given.amount, coinIn),
    chargedFee('lp', gotten.tradeFee, left, coinOut),
    chargedFee('transfer', given.transferFee, given.amount + given.transferFee, coinIn),
    chargedFee('transfer', gotten.transferFee, sent, coinOut),
  ];
  const fees = charged.filter(({ amount }) => amount > 0n);
  const [baseAmount, quoteAmount] = isSell ? [through, left] : [left, through];
  const state = stateOfSqrtPrice(sqrtPrice, liquidity);
  const needsTier = config !== undefined && given.tradeFee + gotten.tradeFee > 0n;
  emit({
    type: 'trade',
    pool,
    pair: isDirect ? pairOf(emitting, isSell, context) : null,
    side: isSell ? 'sell' : 'buy',
    trader: sender,
    baseAmount,
    quoteAmount,
    before: null,
    ...state,
    depth: cappedDepth(state, pool, isSell, context.tokenBalances),
    fees,
    feeTotal: feesIn('quote', fees),
    supply: null,
    timestamp: null,
    ...(needsTier ? { needs: config } : {}),
  });
  return decoded;
}

function decodePoolCreated(context: DecodeContext, emit: Emit): DecodeOutcome {
  const reader = new BorshReader(context.data, discriminatorLength);
  const [baseMint, quoteMint] = [reader.address(), reader.address()];
  reader.skip(2); // tick_spacing
  const pool = reader.address();
  reader.skip(84); // sqrt_price_x64, tick, and the vaults
  if (reader.failed) return malformed('PoolCreatedEvent too short');
  const emitting = context.instruction();
  if (emitting === null) return { kind: 'incomplete' };
  const creator = emitting.accounts[creatorAccount];
  if (creator === undefined) return malformed('PoolCreatedEvent was emitted by an instruction without accounts');
  const decimalsOf = (coin: string): number | null => context.tokenBalances?.find(({ mint }) => mint === coin)?.decimals ?? null;
  emit({
    type: 'poolCreated',
    pool,
    baseMint,
    quoteMint,
    baseDecimals: decimalsOf(baseMint),
    quoteDecimals: decimalsOf(quoteMint),
    reserves: null,
    creator,
    timestamp: null,
  });
  return decoded;
}

/** Decodes one event of the program. */
export function decode(context: DecodeContext, emit: Emit): DecodeOutcome {
  const { data } = context;
  if (data.length < discriminatorLength) return malformed('shorter than a discriminator');
  if (hasPrefix(data, eventDiscriminators.swap)) return decodeSwap(context, emit);
  if (hasPrefix(data, eventDiscriminators.poolCreated)) return decodePoolCreated(context, emit);
  return undecodedEvent(data, ignoredEvents);
}

/** Decodes an account that the program owns. */
export function decodeAccount(data: Uint8Array): DecodedAccount {
  if (data.length < discriminatorLength) return malformed('shorter than a discriminator');
  if (!hasPrefix(data, accountDiscriminators.pool)) return undecodedAccount(data, ignoredAccounts);
  const pool = decodePool(data);
  if (pool === null || pool.sqrtPriceX64 === 0n) return malformed('PoolState too short, or without a price');
  const coins = { baseMint: pool.mint0, quoteMint: pool.mint1, baseVault: pool.vault0, quoteVault: pool.vault1 };
  return concentratedPool(coins, pool);
}
