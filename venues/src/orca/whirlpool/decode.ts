import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { hasPrefix, u128At, viewOf, type BorshReader } from '@sluice/shared/solana/encoding/bytes.ts';
import { zeroAddress } from '@sluice/shared/solana/well-known.ts';
import { cappedDepth, concentratedPool, liquidityMet, stateOfSqrtPrice } from '../../kit/concentrated.ts';
import { accountDecoder, recordDecoder } from '../../kit/decode.ts';
import { pairOf, swapTrade, type Charge } from '../../kit/swap-trade.ts';
import type { DecodeContext, EmittingInstruction, VenueEvent } from '../../seam/venue.ts';
import { initialized, initializedLength, tradedLength, whirlpool, whirlpoolDiscriminator, whirlpoolLength } from './layout.ts';
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
    sqrtPriceX64: u128At(view, whirlpool.sqrtPrice),
    liquidity: u128At(view, whirlpool.liquidity),
    tick: view.getInt32(whirlpool.tick, true),
  };
}

/** The form of the swap; null if the instruction is not a swap on this pool. */
function formOf({ accounts, data }: EmittingInstruction, pool: string): SwapForm | null {
  const form = swapInstructions.find(({ discriminator }) => hasPrefix(data, discriminator));
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
  const form = formOf(emitting, pool);
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

function readInitialized({ bytes }: BorshReader): VenueEvent {
  const key = (at: number): string => encodeBase58(bytes, at, 32);
  return {
    type: 'poolCreated',
    pool: key(initialized.pool),
    baseMint: key(initialized.mintA),
    quoteMint: key(initialized.mintB),
    baseDecimals: bytes[initialized.decimalsA]!,
    quoteDecimals: bytes[initialized.decimalsB]!,
    reserves: null,
    creator: zeroAddress,
    timestamp: null,
  };
}

export const decode = recordDecoder(
  [
    { discriminator: eventDiscriminators.traded, name: 'Traded', minLength: tradedLength, read: readTraded },
    { discriminator: eventDiscriminators.poolInitialized, name: 'PoolInitialized', minLength: initializedLength, read: readInitialized },
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
