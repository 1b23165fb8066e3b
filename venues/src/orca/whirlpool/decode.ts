import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { hasPrefix, u128At, viewOf, type BorshReader } from '@sluice/shared/solana/encoding/bytes.ts';
import { zeroAddress } from '@sluice/shared/solana/well-known.ts';
import { cappedDepth, concentratedPool, liquidityMet, positionChanged, stateOfSqrtPrice } from '../../kit/concentrated.ts';
import { accountDecoder, recordDecoder } from '../../kit/decode.ts';
import { heldIn, pairOf, swapTrade, type Charge } from '../../kit/swap-trade.ts';
import { sentFrom } from '../../kit/transfers.ts';
import type { DecodeContext, EmittingInstruction, LiquidityChanged, VenueEvent } from '../../seam/venue.ts';
import { initialized, initializedLength, tradedLength, whirlpool, whirlpoolDiscriminator, whirlpoolLength } from './layout.ts';
import {
  adaptivePoolAccount,
  eventDiscriminators,
  ignoredEvents,
  liquidityInstructions,
  swapInstructions,
  type SwapForm,
} from './program.ts';

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
    sqrtPriceX64: u128At(view, whirlpool.sqrtPrice),
    liquidity: u128At(view, whirlpool.liquidity),
    tick: view.getInt32(whirlpool.tick, true),
  };
}

/** The form of the instruction; null if it is none of these, or not on this pool. */
function formOf({ accounts, data }: EmittingInstruction, pool: string, forms: readonly SwapForm[]): SwapForm | null {
  const form = forms.find(({ discriminator }) => hasPrefix(data, discriminator));
  return form === undefined || !accounts.includes(pool) ? null : form;
}

/** A is the base and B the quote. Fees are taken from the input. */
function readTraded(reader: BorshReader, context: DecodeContext): VenueEvent | string | null {
  const pool = reader.address();
  const isSell = reader.bool();
  const [before, after] = [reader.u128(), reader.u128()];
  const [paid, output] = [reader.u64(), reader.u64()];
  const [paidTransfer, outputTransfer] = [reader.u64(), reader.u64()];
  const [lp, protocol] = [reader.u64(), reader.u64()];
  const received = paid - paidTransfer;
  const through = received - lp - protocol;
  if (after === 0n || through < 0n || outputTransfer > output) return 'has an invalid field';
  const emitting = context.instruction();
  if (emitting === null) return null;
  const form = formOf(emitting, pool, swapInstructions);
  const trader = form === null ? undefined : emitting.accounts[form.user];
  if (form === null || trader === undefined) return 'was emitted by an instruction that is not a swap on its pool';
  const [baseVault, quoteVault] = (form.vaults ?? []).map((at) => emitting.accounts[at]);
  const state = stateOfSqrtPrice(after, liquidityMet(isSell ? output : through, before, after));
  const charges: readonly Charge[] = [
    ['lp', lp, received, 'in'],
    ['protocol', protocol, received, 'in'],
    ['transfer', paidTransfer, paid, 'in'],
    ['transfer', outputTransfer, output, 'out'],
  ];
  return swapTrade(
    { isSell, through, left: output, charges },
    {
      pool,
      pair: pairOf(context.tokenBalances, baseVault, quoteVault),
      trader,
      before: stateOfSqrtPrice(before, null),
      ...state,
      depth: cappedDepth(state, pool, isSell, context.tokenBalances),
    },
  );
}

/** Who pays for a new pool is the account before it. Only the instruction for adaptive fees has another one between them. */
function funderOf({ accounts }: EmittingInstruction, pool: string): string | undefined {
  const at = accounts.indexOf(pool);
  return accounts[at === adaptivePoolAccount ? at - 2 : at - 1];
}

function readInitialized({ bytes }: BorshReader, context: DecodeContext): VenueEvent | null {
  const emitting = context.instruction();
  if (emitting === null) return null;
  const key = (at: number): string => encodeBase58(bytes, at, 32);
  const pool = key(initialized.pool);
  return {
    type: 'poolCreated',
    pool,
    baseMint: key(initialized.mintA),
    quoteMint: key(initialized.mintB),
    baseDecimals: bytes[initialized.decimalsA]!,
    quoteDecimals: bytes[initialized.decimalsB]!,
    reserves: null,
    opening: { state: stateOfSqrtPrice(u128At(viewOf(bytes), initialized.sqrtPrice), 0n), held: null },
    creator: funderOf(emitting, pool) ?? zeroAddress,
    timestamp: null,
  };
}

/** What is withheld of a deposit never reaches the vaults. Of a withdrawal, the transfers show what left them. */
const readLiquidity =
  (type: LiquidityChanged['type']) =>
  (reader: BorshReader, context: DecodeContext): VenueEvent | string | null => {
    const pool = reader.address();
    reader.skip(32 + 8 + 16); // position, ticks, liquidity
    const [amountA, amountB, withheldA, withheldB] = [reader.u64(), reader.u64(), reader.u64(), reader.u64()];
    const emitting = context.instruction();
    if (emitting === null) return null;
    const form = formOf(emitting, pool, liquidityInstructions);
    const provider = form === null ? undefined : emitting.accounts[form.user];
    if (provider === undefined || withheldA > amountA || withheldB > amountB)
      return 'has an invalid amount, or was emitted by an instruction that is not known to change a position';
    const [vaultA, vaultB] = form!.vaults!.map((at) => emitting.accounts[at]);
    const moved = (amount: bigint, withheld: bigint, vault: string | undefined): bigint =>
      withheld === 0n ? amount : type === 'liquidityAdded' ? amount - withheld : sentFrom(emitting, vault ?? '') || amount;
    return positionChanged({
      type,
      pool,
      pair: pairOf(context.tokenBalances, vaultA, vaultB),
      provider,
      left: heldIn(context.tokenBalances, vaultA, vaultB),
      baseAmount: moved(amountA, withheldA, vaultA),
      quoteAmount: moved(amountB, withheldB, vaultB),
    });
  };

export const decode = recordDecoder(
  [
    { discriminator: eventDiscriminators.traded, name: 'Traded', minLength: tradedLength, read: readTraded },
    { discriminator: eventDiscriminators.poolInitialized, name: 'PoolInitialized', minLength: initializedLength, read: readInitialized },
    { discriminator: eventDiscriminators.increased, name: 'LiquidityIncreased', read: readLiquidity('liquidityAdded') },
    { discriminator: eventDiscriminators.decreased, name: 'LiquidityDecreased', read: readLiquidity('liquidityRemoved') },
  ],
  ignoredEvents,
);

export const decodeAccount = accountDecoder(
  whirlpoolDiscriminator,
  (data) => {
    const pool = decodeWhirlpool(data);
    if (pool === null || pool.sqrtPriceX64 === 0n) return 'Whirlpool too short, or without a price';
    return concentratedPool({ baseMint: pool.mintA, quoteMint: pool.mintB, baseVault: pool.vaultA, quoteVault: pool.vaultB }, pool);
  },
  new Map(),
);
