import { decodeBase58, encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { BorshReader, discriminatorLength, hasPrefix } from '@sluice/shared/solana/encoding/bytes.ts';
import { tokenProgram } from '@sluice/shared/solana/well-known.ts';
import { sameReserves, stateOfReserves } from '../../kit/constant-product.ts';
import { feesIn } from '../../seam/fee.ts';
import { chargedFee } from '../../kit/charged-fee.ts';
import { decoded, malformed, noTerms, undecodedAccount, undecodedEvent } from '../../seam/outcome.ts';
import type {
  AccountConstants,
  DecodeContext,
  DecodedAccount,
  DecodeOutcome,
  EmittingInstruction,
  Fee,
  VenueEvent,
  VenueTrade,
} from '../../seam/venue.ts';
import { withParts, type CpmmRates } from './config.ts';
import { opening, pool as poolAt, poolLength, swapEventLength, swapEventTail } from './layout.ts';
import {
  accountDiscriminators,
  authority,
  ignoredAccounts,
  ignoredEvents,
  openingInstructions,
  swapAccounts,
  swapEvent,
  swapInstructions,
  type OpeningForm,
} from './program.ts';

type Emit = (event: VenueEvent) => void;

/** The fields of a pool's account that prices and quotes need. Coin 0 is the base. */
export interface CpmmPool {
  readonly config: string;
  readonly mint0: string;
  readonly mint1: string;
  readonly vault0: string;
  readonly vault1: string;
  readonly status: number;
  /** Fees that wait in the vaults. They are not liquidity. */
  readonly waiting0: bigint;
  readonly waiting1: bigint;
  /** Unix seconds from which the pool trades. */
  readonly openTimeS: bigint;
  /** The coin in which the creator's fee is charged: 0 the input, 1 coin 0, 2 coin 1. */
  readonly creatorFeeOn: number;
  readonly hasCreatorFee: boolean;
}

/** Reads a pool's account; null if the bytes are not one. Never throws. */
export function decodePool(data: Uint8Array): CpmmPool | null {
  if (data.length < poolLength || !hasPrefix(data, accountDiscriminators.pool)) return null;
  const view = new DataView(data.buffer, data.byteOffset, data.length);
  const key = (at: number): string => encodeBase58(data, at, 32);
  const u64 = (at: number): bigint => view.getBigUint64(at, true);
  const [creatorFeeOn, enabled] = [data[poolAt.creatorFeeOn]!, data[poolAt.enableCreatorFee]!];
  if (creatorFeeOn > 2 || enabled > 1) return null;
  return {
    config: key(poolAt.config),
    mint0: key(poolAt.mint0),
    mint1: key(poolAt.mint1),
    vault0: key(poolAt.vault0),
    vault1: key(poolAt.vault1),
    status: data[poolAt.status]!,
    waiting0: u64(poolAt.protocolFees0) + u64(poolAt.fundFees0) + u64(poolAt.creatorFees0),
    waiting1: u64(poolAt.protocolFees1) + u64(poolAt.fundFees1) + u64(poolAt.creatorFees1),
    openTimeS: u64(poolAt.openTime),
    creatorFeeOn,
    hasCreatorFee: enabled === 1,
  };
}

interface Swapped {
  readonly pool: string;
  /** Reserves before the swap, without the fees that wait in the vaults. */
  readonly inputBefore: bigint;
  readonly outputBefore: bigint;
  /** What reached the vault, and what left it. */
  readonly input: bigint;
  readonly output: bigint;
  readonly inputTransferFee: bigint;
  readonly outputTransferFee: bigint;
  /** 0 in the older layout, which does not show them. */
  readonly tradeFee: bigint;
  readonly creatorFee: bigint;
  readonly creatorFeeOnInput: boolean;
}

function readSwap(data: Uint8Array): Swapped | null {
  const reader = new BorshReader(data, discriminatorLength);
  const pool = reader.address();
  const [inputBefore, outputBefore, input, output] = [reader.u64(), reader.u64(), reader.u64(), reader.u64()];
  const [inputTransferFee, outputTransferFee] = [reader.u64(), reader.u64()];
  reader.bool(); // base_input
  let [tradeFee, creatorFee, creatorFeeOnInput] = [0n, 0n, true];
  if (reader.has(swapEventTail)) {
    reader.skip(64); // input_mint and output_mint, which the instruction also has
    [tradeFee, creatorFee, creatorFeeOnInput] = [reader.u64(), reader.u64(), reader.bool()];
  }
  const amounts = { inputBefore, outputBefore, input, output, inputTransferFee, outputTransferFee };
  return reader.failed ? null : { pool, ...amounts, tradeFee, creatorFee, creatorFeeOnInput };
}

/** The program orders the coins of a pool by the bytes of their addresses. */
function isCoin0(mint: string, other: string): boolean {
  const [one, two] = [decodeBase58(mint), decodeBase58(other)];
  return one !== null && two !== null && Buffer.compare(one, two) < 0;
}

/** The swap instruction on this pool that emitted the event; null if another instruction did. */
function swapOn(
  pool: string,
  { accounts, data }: EmittingInstruction,
): { user: string; config: string; mints: readonly [string, string] } | null {
  const [user, config] = [accounts[swapAccounts.user], accounts[swapAccounts.config]];
  const [input, output] = [accounts[swapAccounts.inputMint], accounts[swapAccounts.outputMint]];
  if (!swapInstructions.some((discriminator) => hasPrefix(data, discriminator)) || accounts[swapAccounts.pool] !== pool) return null;
  return user === undefined || config === undefined || input === undefined || output === undefined
    ? null
    : { user, config, mints: [input, output] };
}

function decodeSwap(context: DecodeContext, emit: Emit): DecodeOutcome {
  if (context.data.length < swapEventLength) return malformed('SwapEvent too short');
  const swapped = readSwap(context.data);
  if (swapped === null) return malformed('SwapEvent ends inside a field or has an invalid value');
  const { pool, inputBefore, outputBefore, input, output, inputTransferFee, outputTransferFee, tradeFee, creatorFee } = swapped;
  const [creatorIn, creatorOut] = swapped.creatorFeeOnInput ? [creatorFee, 0n] : [0n, creatorFee];
  const [through, left] = [input - tradeFee - creatorIn, output + creatorOut];
  if (through < 0n || inputBefore === 0n || left >= outputBefore || outputTransferFee > output)
    return malformed('SwapEvent has an invalid amount');
  const emitting = context.instruction();
  if (emitting === null) return { kind: 'incomplete' };
  const swap = swapOn(pool, emitting);
  if (swap === null) return malformed('SwapEvent was emitted by an instruction that is not a swap on its pool');
  const isSell = isCoin0(...swap.mints);
  const [coinIn, coinOut] = isSell ? (['base', 'quote'] as const) : (['quote', 'base'] as const);
  const fees: Fee[] = [];
  const charge = (kind: Fee['kind'], amount: bigint, of: bigint, coin: Fee['coin']): void => {
    if (amount > 0n) fees.push(chargedFee(kind, amount, of, coin));
  };
  charge('lp', tradeFee, input, coinIn);
  charge('creator', creatorIn, input, coinIn);
  charge('creator', creatorOut, left, coinOut);
  charge('transfer', inputTransferFee, input + inputTransferFee, coinIn);
  charge('transfer', outputTransferFee, output, coinOut);
  const [inputAfter, outputAfter] = [inputBefore + through, outputBefore - left];
  const inOrder = <T>(given: T, received: T): readonly [T, T] => (isSell ? [given, received] : [received, given]);
  const [baseMint, quoteMint] = inOrder(...swap.mints);
  const [baseAmount, quoteAmount] = inOrder(through, left);
  const [priceBase, priceQuote] = inOrder(inputBefore, outputBefore);
  const [base, quote] = inOrder(inputAfter, outputAfter);
  const reserves = sameReserves(base, quote);
  const trade = {
    type: 'trade',
    pool,
    pair: { baseMint, quoteMint },
    side: isSell ? 'sell' : 'buy',
    trader: swap.user,
    baseAmount,
    quoteAmount,
    before: { priceQuote, priceBase },
    ...stateOfReserves(reserves),
    reserves,
    fees,
    feeTotal: feesIn('quote', fees),
    supply: null,
    timestamp: null,
  } as const;
  const complete = (rates: AccountConstants): VenueTrade => withParts(trade, rates as CpmmRates);
  emit(tradeFee > 0n ? { ...trade, needs: { account: swap.config, complete } } : trade);
  return decoded;
}

/** What a vault of a new pool received. A coin of the newer token program may withhold a part, which only the balances show. */
function receivedBy(vault: string | undefined, program: string | undefined, sent: bigint, { tokenBalances }: DecodeContext): bigint {
  if (program === tokenProgram) return sent;
  return tokenBalances?.find(({ account }) => account === vault)?.after ?? sent;
}

function decodeOpening(context: DecodeContext, form: OpeningForm, emit: Emit): DecodeOutcome {
  const { data, tokenBalances } = context;
  if (data.length < opening.length) return malformed('an instruction that opens a pool is too short');
  const emitting = context.instruction();
  if (emitting === null) return { kind: 'incomplete' };
  const { accounts } = emitting;
  const [creator, pool] = [accounts[form.creator], accounts[form.pool]];
  const [baseMint, quoteMint] = form.mints.map((at) => accounts[at]);
  if (creator === undefined || pool === undefined || baseMint === undefined || quoteMint === undefined)
    return malformed('an instruction that opens a pool has too few accounts');
  const view = new DataView(data.buffer, data.byteOffset, data.length);
  const decimalsOf = (coin: string): number | null => tokenBalances?.find(({ mint }) => mint === coin)?.decimals ?? null;
  const [base, quote] = [opening.amount0, opening.amount1].map((at, coin) =>
    receivedBy(accounts[form.vaults[coin]!], accounts[form.tokenPrograms[coin]!], view.getBigUint64(at, true), context),
  ) as [bigint, bigint];
  emit({
    type: 'poolCreated',
    pool,
    baseMint,
    quoteMint,
    baseDecimals: decimalsOf(baseMint),
    quoteDecimals: decimalsOf(quoteMint),
    reserves: sameReserves(base, quote),
    creator,
    timestamp: null,
  });
  return decoded;
}

/** Decodes one record of the program: a logged event, or an instruction that opens a pool. */
export function decode(context: DecodeContext, emit: Emit): DecodeOutcome {
  const { data } = context;
  if (data.length < discriminatorLength) return malformed('shorter than a discriminator');
  if (context.record === 'instruction') {
    const form = openingInstructions.find(({ discriminator }) => hasPrefix(data, discriminator));
    return form === undefined ? undecodedEvent(data, ignoredEvents) : decodeOpening(context, form, emit);
  }
  return hasPrefix(data, swapEvent) ? decodeSwap(context, emit) : undecodedEvent(data, ignoredEvents);
}

/** Decodes an account that the program owns. */
export function decodeAccount(data: Uint8Array): DecodedAccount {
  if (data.length < discriminatorLength) return malformed('shorter than a discriminator');
  if (!hasPrefix(data, accountDiscriminators.pool)) return undecodedAccount(data, ignoredAccounts);
  const pool = decodePool(data);
  if (pool === null) return malformed('PoolState too short, or with an invalid field');
  return {
    kind: 'decoded',
    account: {
      type: 'pool',
      baseMint: pool.mint0,
      quoteMint: pool.mint1,
      baseVault: pool.vault0,
      quoteVault: pool.vault1,
      vaultOwner: authority,
      tokenCreator: null,
      price: null,
      virtualBase: -pool.waiting0,
      virtualQuote: -pool.waiting1,
      ...noTerms,
    },
  };
}
