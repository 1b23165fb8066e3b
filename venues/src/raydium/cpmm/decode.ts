import { decodeBase58, encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { hasPrefix, viewOf, type BorshReader } from '@sluice/shared/solana/encoding/bytes.ts';
import { tokenProgram } from '@sluice/shared/solana/well-known.ts';
import { sameReserves, stateOfReserves } from '../../kit/constant-product.ts';
import { accountDecoder, noTerms, recordDecoder } from '../../kit/decode.ts';
import { decimalsOf, swapTrade, type Charge } from '../../kit/swap-trade.ts';
import type { DecodeContext, EmittingInstruction, PoolAccount, VenueEvent } from '../../seam/venue.ts';
import { liquidityAmount, liquidityEventLength, opening, pool as poolAt, poolLength, swapEventLength, swapEventTail } from './layout.ts';
import * as program from './program.ts';

/** The fields of a pool's account that prices and quotes need. Coin 0 is the base. */
export interface CpmmPool {
  readonly config: string;
  readonly mint0: string;
  readonly mint1: string;
  readonly vault0: string;
  readonly vault1: string;
  /** The account with the pool's price history. */
  readonly observation: string;
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
  if (data.length < poolLength || !hasPrefix(data, program.accountDiscriminators.pool)) return null;
  const view = viewOf(data);
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
    observation: key(poolAt.observation),
    status: data[poolAt.status]!,
    waiting0: u64(poolAt.protocolFees0) + u64(poolAt.fundFees0) + u64(poolAt.creatorFees0),
    waiting1: u64(poolAt.protocolFees1) + u64(poolAt.fundFees1) + u64(poolAt.creatorFees1),
    openTimeS: u64(poolAt.openTime),
    creatorFeeOn,
    hasCreatorFee: enabled === 1,
  };
}

/** The program orders the coins of a pool by the bytes of their addresses. */
function isCoin0(mint: string, other: string): boolean {
  const [one, two] = [decodeBase58(mint), decodeBase58(other)];
  return one !== null && two !== null && Buffer.compare(one, two) < 0;
}

/** The accounts of the swap instruction on this pool that emitted the event; null if another instruction did. */
function swapOn(pool: string, { accounts, data }: EmittingInstruction) {
  const [trader, config] = [accounts[program.swapAccounts.user], accounts[program.swapAccounts.config]];
  const [input, output] = [accounts[program.swapAccounts.inputMint], accounts[program.swapAccounts.outputMint]];
  if (!program.swapInstructions.some((discriminator) => hasPrefix(data, discriminator)) || accounts[program.swapAccounts.pool] !== pool)
    return null;
  if (trader === undefined || config === undefined || input === undefined || output === undefined) return null;
  return { trader, config, mints: [input, output] as const };
}

/** Its reserves are those before the swap, without the fees that wait in the vaults; `input` reached the vault, and `output` left it. */
function readSwap(reader: BorshReader, context: DecodeContext): VenueEvent | string | null {
  const pool = reader.address();
  const [inputBefore, outputBefore, input, output] = [reader.u64(), reader.u64(), reader.u64(), reader.u64()];
  const [inputTransferFee, outputTransferFee] = [reader.u64(), reader.u64()];
  reader.bool(); // base_input
  // The older layout does not show the fees.
  let [tradeFee, creatorFee, creatorFeeOnInput] = [0n, 0n, true];
  if (reader.has(swapEventTail)) {
    reader.skip(64); // input_mint and output_mint, which the instruction also has
    [tradeFee, creatorFee, creatorFeeOnInput] = [reader.u64(), reader.u64(), reader.bool()];
  }
  const [creatorIn, creatorOut] = creatorFeeOnInput ? [creatorFee, 0n] : [0n, creatorFee];
  const [through, left] = [input - tradeFee - creatorIn, output + creatorOut];
  if (through < 0n || inputBefore === 0n || left >= outputBefore || outputTransferFee > output) return 'has an invalid amount';
  const emitting = context.instruction();
  if (emitting === null) return null;
  const swap = swapOn(pool, emitting);
  if (swap === null) return 'was emitted by an instruction that is not a swap on its pool';
  const isSell = isCoin0(...swap.mints);
  const charges: readonly Charge[] = [
    ['lp', tradeFee, input, 'in'],
    ['creator', creatorIn, input, 'in'],
    ['creator', creatorOut, left, 'out'],
    ['transfer', inputTransferFee, input + inputTransferFee, 'in'],
    ['transfer', outputTransferFee, output, 'out'],
  ];
  const inOrder = <T>(given: T, received: T): readonly [T, T] => (isSell ? [given, received] : [received, given]);
  const [baseMint, quoteMint] = inOrder(...swap.mints);
  const [priceBase, priceQuote] = inOrder(inputBefore, outputBefore);
  const reserves = sameReserves(...inOrder(inputBefore + through, outputBefore - left));
  const { trader, config } = swap;
  const shown = { pool, pair: { baseMint, quoteMint }, trader, before: { priceQuote, priceBase }, ...stateOfReserves(reserves) };
  const trade = swapTrade({ isSell, through, left, charges }, shown);
  if (tradeFee === 0n) return trade;
  return { ...trade, needs: { account: config, facts: [] } };
}

/**
 * Reserves before, without the fees that wait in the vaults. A deposit shows what reached the vaults, and a withdrawal what reached the user: the transfer
 * fee left the vault too.
 */
function readLiquidity(reader: BorshReader, context: DecodeContext): VenueEvent | string | null {
  const pool = reader.address();
  const [lpBefore, before0, before1, amount0, amount1, fee0, fee1] = [
    reader.u64(),
    reader.u64(),
    reader.u64(),
    reader.u64(),
    reader.u64(),
    reader.u64(),
    reader.u64(),
  ];
  const kind = reader.u8();
  if (kind > 1) return 'is neither a deposit nor a withdrawal';
  const isDeposit = kind === 0;
  const [baseAmount, quoteAmount] = isDeposit ? [amount0, amount1] : [amount0 + fee0, amount1 + fee1];
  const left = isDeposit
    ? { base: before0 + baseAmount, quote: before1 + quoteAmount }
    : { base: before0 - baseAmount, quote: before1 - quoteAmount };
  if (left.base < 0n || left.quote < 0n) return 'has an invalid amount';
  const emitting = context.instruction();
  if (emitting === null) return null;
  const { accounts, data } = emitting;
  const { owner, pool: at, mint0, mint1 } = program.liquidityAccounts;
  const [provider, baseMint, quoteMint] = [accounts[owner], accounts[mint0], accounts[mint1]];
  const isRight = hasPrefix(data, program.liquidityInstructions[kind]!) && accounts[at] === pool && data.length >= liquidityAmount.length;
  if (!isRight || provider === undefined || baseMint === undefined || quoteMint === undefined)
    return 'was emitted by an instruction that does not change the liquidity of its pool';
  const lpAmount = viewOf(data).getBigUint64(liquidityAmount.lp, true);
  if (!isDeposit && lpAmount > lpBefore) return 'burns more LP tokens than there are';
  const state = left.base > 0n && left.quote > 0n ? stateOfReserves(sameReserves(left.base, left.quote)) : null;
  const type = isDeposit ? 'liquidityAdded' : 'liquidityRemoved';
  const shown = { pool, pair: { baseMint, quoteMint }, provider };
  return { type, ...shown, baseAmount, quoteAmount, lpAmount, left, state, timestamp: null };
}

/** What a vault of a new pool received. A coin of the newer token program may withhold a part, which only the balances show. */
function receivedBy(vault: string | undefined, owner: string | undefined, sent: bigint, { tokenBalances }: DecodeContext): bigint {
  if (owner === tokenProgram) return sent;
  return tokenBalances?.find(({ account }) => account === vault)?.after ?? sent;
}

function readOpening({ view }: BorshReader, context: DecodeContext, form: program.OpeningForm): VenueEvent | string | null {
  const emitting = context.instruction();
  if (emitting === null) return null;
  const { accounts } = emitting;
  const [creator, pool] = [accounts[form.creator], accounts[form.pool]];
  const [baseMint, quoteMint] = form.mints.map((at) => accounts[at]);
  if (creator === undefined || pool === undefined || baseMint === undefined || quoteMint === undefined) return 'has too few accounts';
  const [base, quote] = [opening.amount0, opening.amount1].map((at, coin) =>
    receivedBy(accounts[form.vaults[coin]!], accounts[form.tokenPrograms[coin]!], view.getBigUint64(at, true), context),
  ) as [bigint, bigint];
  return {
    type: 'poolCreated',
    pool,
    baseMint,
    quoteMint,
    baseDecimals: decimalsOf(context.tokenBalances, baseMint),
    quoteDecimals: decimalsOf(context.tokenBalances, quoteMint),
    reserves: sameReserves(base, quote),
    creator,
    timestamp: null,
  };
}

/** A logged event, or an instruction that opens a pool. */
export const decode = recordDecoder(
  [
    { discriminator: program.swapEvent, name: 'SwapEvent', minLength: swapEventLength, read: readSwap },
    { discriminator: program.liquidityEvent, name: 'LpChangeEvent', minLength: liquidityEventLength, read: readLiquidity },
    ...program.openingInstructions.map((form) => ({
      discriminator: form.discriminator,
      name: 'an instruction that opens a pool',
      isInstruction: true as const,
      minLength: opening.length,
      read: (reader: BorshReader, context: DecodeContext) => readOpening(reader, context, form),
    })),
  ],
  new Map(),
);

function readPool(data: Uint8Array): PoolAccount | string {
  const pool = decodePool(data);
  if (pool === null) return 'PoolState too short, or with an invalid field';
  return {
    type: 'pool',
    baseMint: pool.mint0,
    quoteMint: pool.mint1,
    baseVault: pool.vault0,
    quoteVault: pool.vault1,
    vaultOwner: program.authority,
    tokenCreator: null,
    price: null,
    virtualBase: -pool.waiting0,
    virtualQuote: -pool.waiting1,
    ...noTerms,
  };
}

export const decodeAccount = accountDecoder(program.accountDiscriminators.pool, readPool, program.ignoredAccounts);
