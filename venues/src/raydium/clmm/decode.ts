import { BorshReader, discriminatorLength, hasPrefix } from '@sluice/shared/solana/encoding/bytes.ts';
import { feesIn } from '../../seam/fee.ts';
import { chargedFee } from '../../kit/charged-fee.ts';
import { cappedDepth, concentratedPool, stateOfSqrtPrice } from '../../kit/concentrated.ts';
import { decoded, malformed, undecodedAccount, undecodedEvent } from '../../seam/outcome.ts';
import type {
  AccountConstants,
  DecodeContext,
  DecodedAccount,
  DecodeOutcome,
  EmittingInstruction,
  Fee,
  Pair,
  VenueEvent,
  VenueTrade,
} from '../../seam/venue.ts';
import { feesInParts, type TierRates } from '../../kit/fee-tier.ts';
import { swapEventLength, swapEventTail } from './layout.ts';
import { decodePool } from './pool.ts';
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
  // The router of the program names the fee tiers of several pools. The account of the pool names the one of this pool.
  const account = isDirect ? emitting.accounts[swapAccounts.config]! : pool;
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
  const trade: VenueTrade = {
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
  };
  const complete = (rates: AccountConstants): VenueTrade => ({ ...trade, fees: feesInParts(trade.fees, rates as TierRates) });
  emit(given.tradeFee + gotten.tradeFee > 0n ? { ...trade, needs: { account, complete } } : trade);
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
