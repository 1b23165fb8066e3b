import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { discriminatorHex, discriminatorLength, hasPrefix } from '@sluice/shared/solana/encoding/bytes.ts';
import { zeroAddress } from '@sluice/shared/solana/well-known.ts';
import type { TokenBalance } from '@sluice/shared/solana/transaction/inner-events.ts';
import { chargedFee } from '../../kit/charged-fee.ts';
import { cappedDepth, concentratedPool, liquidityMet, stateOfSqrtPrice } from '../../kit/concentrated.ts';
import { decoded, malformed, undecodedEvent } from '../../seam/outcome.ts';
import type { DecodeContext, DecodedAccount, DecodeOutcome, EmittingInstruction, Pair, VenueEvent } from '../../seam/venue.ts';
import { initialized, initializedLength, traded, tradedLength, whirlpool, whirlpoolDiscriminator, whirlpoolLength } from './layout.ts';
import { eventDiscriminators, ignoredEvents, swapInstructions, type SwapForm } from './program.ts';

/** The fields of a Whirlpool account that prices and quotes need. */
export interface Whirlpool {
  readonly mintA: string;
  readonly mintB: string;
  readonly vaultA: string;
  readonly vaultB: string;
  readonly tickSpacing: number;
  /** Hundredths of a basis point of the input. */
  readonly feeRate: number;
  /** Basis points of the fee. */
  readonly protocolFeeRate: number;
  /** The fee rate changes with the trades. Its state is in a separate oracle account. */
  readonly adaptiveFee: boolean;
  /** Square root of raw B per raw A, times 2^64. */
  readonly sqrtPriceX64: bigint;
  readonly liquidity: bigint;
  readonly tick: number;
}

/** Reads a Whirlpool account; null if the bytes are not one. Never throws. */
export function decodeWhirlpool(data: Uint8Array): Whirlpool | null {
  if (data.length < whirlpoolLength || !hasPrefix(data, whirlpoolDiscriminator)) return null;
  const view = viewOf(data);
  const tickSpacing = view.getUint16(whirlpool.tickSpacing, true);
  return {
    tickSpacing,
    feeRate: view.getUint16(whirlpool.feeRate, true),
    protocolFeeRate: view.getUint16(whirlpool.protocolFeeRate, true),
    // The index of an ordinary fee tier is its tick spacing.
    adaptiveFee: view.getUint16(whirlpool.feeTierIndex, true) !== tickSpacing,
    mintA: encodeBase58(data, whirlpool.mintA, 32),
    mintB: encodeBase58(data, whirlpool.mintB, 32),
    vaultA: encodeBase58(data, whirlpool.vaultA, 32),
    vaultB: encodeBase58(data, whirlpool.vaultB, 32),
    sqrtPriceX64: u128(view, whirlpool.sqrtPrice),
    liquidity: u128(view, whirlpool.liquidity),
    tick: view.getInt32(whirlpool.tick, true),
  };
}

type Emit = (event: VenueEvent) => void;

function viewOf(data: Uint8Array): DataView {
  return new DataView(data.buffer, data.byteOffset, data.length);
}

function u128(view: DataView, at: number): bigint {
  return view.getBigUint64(at, true) | (view.getBigUint64(at + 8, true) << 64n);
}

/** The form of the swap; null if the instruction is not a swap on this pool. */
function formOf({ accounts, data }: EmittingInstruction, pool: string): SwapForm | null {
  const form = swapInstructions.find(({ discriminator }) => hasPrefix(data, discriminator));
  return form === undefined || !accounts.includes(pool) ? null : form;
}

/** The coins of the pool's vaults. Null if the instruction has vaults of two pools, or the balances are unknown. */
function pairOf({ accounts }: EmittingInstruction, { vaults }: SwapForm, balances: readonly TokenBalance[] | null): Pair | null {
  if (vaults === null || balances === null) return null;
  const [baseMint, quoteMint] = vaults.map((at) => balances.find(({ account }) => account === accounts[at])?.mint);
  return baseMint === undefined || quoteMint === undefined ? null : { baseMint, quoteMint };
}

/** A is the base and B the quote. Fees are taken from the input. */
function decodeTraded(context: DecodeContext, emit: Emit): DecodeOutcome {
  const { data } = context;
  if (data.length < tradedLength) return malformed('Traded too short');
  const view = viewOf(data);
  const direction = data[traded.aToB]!;
  const [before, after] = [u128(view, traded.sqrtPriceBefore), u128(view, traded.sqrtPriceAfter)];
  const [lp, protocol] = [view.getBigUint64(traded.lpFee, true), view.getBigUint64(traded.protocolFee, true)];
  const [paid, output] = [view.getBigUint64(traded.input, true), view.getBigUint64(traded.output, true)];
  const [paidTransfer, outputTransfer] = [
    view.getBigUint64(traded.inputTransferFee, true),
    view.getBigUint64(traded.outputTransferFee, true),
  ];
  const received = paid - paidTransfer;
  const input = received - lp - protocol;
  if (direction > 1 || after === 0n || input < 0n || outputTransfer > output) return malformed('Traded has an invalid field');
  const emitting = context.instruction();
  if (emitting === null) return { kind: 'incomplete' };
  const pool = encodeBase58(data, traded.pool, 32);
  const form = formOf(emitting, pool);
  const trader = form === null ? undefined : emitting.accounts[form.user];
  if (form === null || trader === undefined) return malformed('Traded was emitted by an instruction that is not a swap on its pool');
  const isSell = direction === 1;
  const [baseAmount, quoteAmount] = isSell ? [input, output] : [output, input];
  const [coinIn, coinOut] = isSell ? (['base', 'quote'] as const) : (['quote', 'base'] as const);
  const fees = [chargedFee('lp', lp, received, coinIn), chargedFee('protocol', protocol, received, coinIn)];
  if (paidTransfer > 0n) fees.push(chargedFee('transfer', paidTransfer, paid, coinIn));
  if (outputTransfer > 0n) fees.push(chargedFee('transfer', outputTransfer, output, coinOut));
  const state = stateOfSqrtPrice(after, liquidityMet(quoteAmount, before, after));
  emit({
    type: 'trade',
    pool,
    pair: pairOf(emitting, form, context.tokenBalances),
    side: isSell ? 'sell' : 'buy',
    trader,
    baseAmount,
    quoteAmount,
    before: stateOfSqrtPrice(before, null),
    ...state,
    depth: cappedDepth(state, pool, isSell, context.tokenBalances),
    fees,
    feeTotal: isSell ? outputTransfer : paid - input,
    supply: null,
    timestamp: null,
  });
  return decoded;
}

function decodeInitialized(data: Uint8Array, emit: Emit): DecodeOutcome {
  if (data.length < initializedLength) return malformed('PoolInitialized too short');
  const key = (at: number): string => encodeBase58(data, at, 32);
  emit({
    type: 'poolCreated',
    pool: key(initialized.pool),
    baseMint: key(initialized.mintA),
    quoteMint: key(initialized.mintB),
    baseDecimals: data[initialized.decimalsA]!,
    quoteDecimals: data[initialized.decimalsB]!,
    reserves: null,
    creator: zeroAddress,
    timestamp: null,
  });
  return decoded;
}

/** Decodes one event of the program. */
export function decode(context: DecodeContext, emit: Emit): DecodeOutcome {
  const { data } = context;
  if (data.length < discriminatorLength) return malformed('shorter than a discriminator');
  if (hasPrefix(data, eventDiscriminators.traded)) return decodeTraded(context, emit);
  if (hasPrefix(data, eventDiscriminators.poolInitialized)) return decodeInitialized(data, emit);
  return undecodedEvent(data, ignoredEvents);
}

/** Decodes an account that the program owns. */
export function decodeAccount(data: Uint8Array): DecodedAccount {
  if (data.length < discriminatorLength) return malformed('shorter than a discriminator');
  if (!hasPrefix(data, whirlpoolDiscriminator)) return { kind: 'unknown', discriminator: discriminatorHex(data) };
  const pool = decodeWhirlpool(data);
  if (pool === null || pool.sqrtPriceX64 === 0n) return malformed('Whirlpool too short, or without a price');
  const coins = { baseMint: pool.mintA, quoteMint: pool.mintB, baseVault: pool.vaultA, quoteVault: pool.vaultB };
  return concentratedPool(coins, pool);
}
