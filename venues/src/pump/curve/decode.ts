import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { BorshReader, discriminatorLength, hasPrefix, isZeroKey } from '@sluice/shared/solana/encoding/bytes.ts';
import { wrappedSolMint, zeroAddress } from '@sluice/shared/solana/well-known.ts';
import { creatorPart, feeList, noFee, readFee, traitsOf } from '../fees/fees.ts';
import { decoded, malformed, undecodedAccount, undecodedEvent, type UndecodedAccount } from '../../seam/outcome.ts';
import type { CurveAccount, CurveGoal, DecodeContext, DecodeOutcome, FeePart, PoolReserves, VenueEvent } from '../../seam/venue.ts';
import { curve, curveMinLength, shareholderLength, tradeMinLength } from './layout.ts';
import {
  accountDiscriminators,
  eventDiscriminators,
  curveOf,
  ignoredEvents,
  initialRealToken,
  initialSupply,
  initialVirtualSol,
  initialVirtualToken,
  mayhemInitialSupply,
  tokenDecimals,
} from './program.ts';

type Emit = (event: VenueEvent) => void;

/** Fields of a bonding curve's account. */
export interface PumpCurve extends CurveAccount {
  readonly mayhemMode: boolean;
  readonly cashback: boolean;
  readonly holderReward: boolean;
}

/** The fields on which a quote and an instruction depend. */
export type QuotedCurve = Omit<PumpCurve, 'traits' | 'supplyByMint' | 'baseMint' | 'goal'>;

interface TradeTail {
  protocol: FeePart;
  creatorFee: FeePart;
  cashback: FeePart;
  holderRewards: FeePart;
  /** Null before the layout with quote coins (2026-05), and for SOL (the zero key): then the `sol_*` fields are valid. */
  quote: { readonly mint: string; readonly amount: bigint; readonly virtual: bigint; readonly real: bigint } | null;
}

/** The fields after `real_token_reserves`, as far as the event's layout has them. */
function readTradeTail(reader: BorshReader): TradeTail {
  const tail: TradeTail = { protocol: noFee, creatorFee: noFee, cashback: noFee, holderRewards: noFee, quote: null };
  if (!reader.has(48)) return tail;
  reader.skip(32); // fee_recipient
  tail.protocol = readFee(reader);
  if (!reader.has(48)) return tail;
  reader.skip(32); // creator
  tail.creatorFee = readFee(reader);
  if (!reader.has(33)) return tail;
  reader.skip(33); // track_volume, total_unclaimed_tokens, total_claimed_tokens, current_sol_volume, last_update_timestamp
  if (!reader.has(4)) return tail;
  reader.skipText(); // ix_name
  if (!reader.has(1)) return tail;
  reader.bool(); // mayhem_mode
  if (!reader.has(16)) return tail;
  tail.cashback = readFee(reader);
  if (!reader.has(16)) return tail;
  reader.skip(16); // buyback_fee: a share of the protocol fee, not an additional one
  if (!reader.has(4)) return tail;
  reader.skipList(shareholderLength);
  if (!reader.has(56)) return tail;
  if (isZeroKey(reader.bytes, reader.at)) reader.skip(56);
  else tail.quote = { mint: reader.address(), amount: reader.u64(), virtual: reader.u64(), real: reader.u64() };
  if (!reader.has(16)) return tail;
  tail.holderRewards = readFee(reader);
  return tail; // creator_fee_unclaimed may follow (2026-10)
}

function decodeTrade(data: Uint8Array, emit: Emit): DecodeOutcome {
  if (data.length < tradeMinLength) return malformed('TradeEvent too short');
  const reader = new BorshReader(data, discriminatorLength);
  const mintAt = reader.at;
  reader.skip(32);
  const solAmount = reader.u64();
  const baseAmount = reader.u64();
  const isBuy = reader.bool();
  const traderAt = reader.at;
  reader.skip(32);
  const timestamp = reader.timestamp();
  const virtualSol = reader.u64();
  const virtualBase = reader.u64();
  const realSol = reader.u64();
  const realBase = reader.u64();
  const tail = readTradeTail(reader);
  if (reader.failed) return malformed('TradeEvent ends inside a field or has an invalid value');
  const { protocol, creatorFee, cashback, holderRewards, quote } = tail;
  const reserves: PoolReserves = {
    virtualBase,
    virtualQuote: quote === null ? virtualSol : quote.virtual,
    realBase,
    realQuote: quote === null ? realSol : quote.real,
  };
  if (virtualBase === 0n || reserves.virtualQuote === 0n) return malformed('TradeEvent without reserves');
  const quoteAmount = quote === null ? solAmount : quote.amount;
  const baseMint = encodeBase58(data, mintAt, 32);
  emit({
    type: 'trade',
    pool: curveOf(baseMint),
    pair: { baseMint, quoteMint: quote === null ? wrappedSolMint : quote.mint },
    side: isBuy ? 'buy' : 'sell',
    trader: encodeBase58(data, traderAt, 32),
    baseAmount,
    quoteAmount,
    before: {
      priceQuote: isBuy ? reserves.virtualQuote - quoteAmount : reserves.virtualQuote + quoteAmount,
      priceBase: isBuy ? virtualBase + baseAmount : virtualBase - baseAmount,
    },
    priceQuote: reserves.virtualQuote,
    priceBase: virtualBase,
    reserves,
    depth: null,
    fees: feeList({ protocol, creator: creatorPart(creatorFee, holderRewards), lp: noFee, cashback, holderRewards }),
    feeTotal: protocol.amount + creatorFee.amount + cashback.amount,
    supply: null,
    timestamp,
  });
  return decoded;
}

/** A CreateEvent of 2024 ends after `user`. The missing values are the constants with which every curve then began. */
const firstReserves: PoolReserves = {
  virtualBase: initialVirtualToken,
  virtualQuote: initialVirtualSol,
  realBase: initialRealToken,
  realQuote: 0n,
};

function decodeCreate(data: Uint8Array, emit: Emit): DecodeOutcome {
  const reader = new BorshReader(data, discriminatorLength);
  const name = reader.text();
  const symbol = reader.text();
  const uri = reader.text();
  const mint = reader.address();
  const pool = reader.address();
  const trader = reader.address();
  let creator = trader;
  let timestamp: number | null = null;
  let reserves = firstReserves;
  let supply = initialSupply;
  let tokenProgram: string | null = null;
  let quoteMint = wrappedSolMint;
  if (reader.has(72)) {
    creator = reader.address();
    timestamp = reader.timestamp();
    reserves = { virtualBase: reader.u64(), virtualQuote: reader.u64(), realBase: reader.u64(), realQuote: 0n };
    supply = reader.u64();
  }
  if (reader.has(32)) tokenProgram = reader.address();
  const mayhemMode = reader.has(1) && reader.bool();
  // The event contains the curve's part only.
  if (mayhemMode && supply < mayhemInitialSupply) supply = mayhemInitialSupply;
  const cashback = reader.has(1) && reader.bool();
  if (reader.has(40)) {
    quoteMint = reader.quoteMint();
    const virtualQuote = reader.u64();
    if (quoteMint !== wrappedSolMint) reserves = { ...reserves, virtualQuote };
  }
  const creatorFeeBps = reader.has(8) ? reader.u64Number() : 0;
  const holderReward = reader.has(1) && reader.bool();
  if (reader.failed) return malformed('CreateEvent ends inside a field or has an invalid value');
  if (reserves.virtualBase === 0n || reserves.virtualQuote === 0n) return malformed('CreateEvent without reserves');
  emit({
    type: 'created',
    mint,
    quoteMint,
    pool,
    name,
    symbol,
    uri,
    creator,
    trader,
    tokenProgram,
    supply,
    decimals: tokenDecimals,
    reserves,
    traits: traitsOf({ mayhemMode, cashback, holderReward }),
    supplyByMint: mayhemMode,
    creatorFeeBps,
    timestamp,
  });
  return decoded;
}

function decodeComplete(data: Uint8Array, emit: Emit): DecodeOutcome {
  const reader = new BorshReader(data, discriminatorLength);
  reader.skip(32); // user
  const mint = reader.address();
  const pool = reader.address();
  const timestamp = reader.timestamp();
  const quoteMint = reader.has(32) ? reader.quoteMint() : wrappedSolMint;
  if (reader.failed) return malformed('CompleteEvent ends inside a field or has an invalid value');
  emit({ type: 'completed', mint, pool, quoteMint, timestamp });
  return decoded;
}

function decodeMigration(data: Uint8Array, emit: Emit): DecodeOutcome {
  const reader = new BorshReader(data, discriminatorLength);
  reader.skip(32); // user
  const mint = reader.address();
  const baseAmount = reader.u64();
  const quoteAmount = reader.u64();
  const paidFee = reader.u64();
  const fromPool = reader.address();
  const timestamp = reader.timestamp();
  const toPool = reader.address();
  const quoteMint = reader.has(32) ? reader.quoteMint() : wrappedSolMint;
  // The event shows lamports for every quote coin. If the coin is not SOL, the migrator pays them, and all of the curve's coins move.
  const fee = quoteMint === wrappedSolMint ? paidFee : 0n;
  if (reader.failed) return malformed('CompletePumpAmmMigrationEvent ends inside a field or has an invalid value');
  emit({ type: 'migrated', mint, quoteMint, fromPool, toVenue: 'pump-amm', toPool, baseAmount, quoteAmount, fee, timestamp });
  return decoded;
}

/**
 * The buy that empties a curve may continue against the tokens reserved for its pool, at the pool's opening price (since 2026-10-08).
 * TradeEvent contains the curve's part, this event the rest. The amounts through the pool follow from the reserves.
 */
function decodePostCompleteBuy(data: Uint8Array, emit: Emit): DecodeOutcome {
  const reader = new BorshReader(data, discriminatorLength);
  const trader = reader.address();
  const baseMint = reader.address();
  const pool = reader.address();
  const quoteMint = reader.quoteMint();
  const timestamp = reader.timestamp();
  const baseAmount = reader.u64();
  reader.skip(8); // quote_in
  const protocol = readFee(reader);
  const creator = readFee(reader);
  reader.skip(8); // buyback_fee: a share of the protocol fee
  reader.skip(8); // pool_base_reserves_before
  const quoteBefore = reader.u64();
  const virtualBase = reader.u64();
  const virtualQuote = reader.u64();
  if (reader.failed) return malformed('PostCompleteBuyEvent ends inside a field or has an invalid value');
  if (virtualBase === 0n || virtualQuote < quoteBefore) return malformed('PostCompleteBuyEvent with more traded than there was');
  emit({
    type: 'trade',
    pool,
    pair: { baseMint, quoteMint },
    side: 'buy',
    trader,
    baseAmount,
    quoteAmount: virtualQuote - quoteBefore,
    before: { priceQuote: quoteBefore, priceBase: virtualBase + baseAmount },
    priceQuote: virtualQuote,
    priceBase: virtualBase,
    reserves: { virtualBase, virtualQuote, realBase: virtualBase, realQuote: virtualQuote },
    depth: null,
    fees: feeList({ protocol, creator, lp: noFee, cashback: noFee, holderRewards: noFee }),
    feeTotal: protocol.amount + creator.amount,
    supply: null,
    timestamp,
  });
  return decoded;
}

/**
 * New virtual reserves of a mayhem coin. The event has `sol_*` fields only. For a coin with another quote they may be 0, as in its trades.
 * The quote is then unknown, and there is no price until the curve's account shows it.
 */
function decodeMayhemParams(data: Uint8Array, emit: Emit): DecodeOutcome {
  const reader = new BorshReader(data, discriminatorLength);
  const timestamp = reader.timestamp();
  const mint = reader.address();
  reader.skip(16); // the virtual reserves before
  const reserves: PoolReserves = { virtualBase: reader.u64(), virtualQuote: reader.u64(), realBase: reader.u64(), realQuote: reader.u64() };
  if (reader.failed) return malformed('UpdateMayhemVirtualParamsEvent ends inside a field or has an invalid value');
  if (reserves.virtualBase === 0n) return malformed('UpdateMayhemVirtualParamsEvent without reserves');
  emit({ type: 'reserves', pool: curveOf(mint), mint, reserves, burned: 0n, timestamp });
  return decoded;
}

/** Decodes one event of the program. */
export function decode({ data }: DecodeContext, emit: Emit): DecodeOutcome {
  if (data.length < discriminatorLength) return malformed('shorter than a discriminator');
  if (hasPrefix(data, eventDiscriminators.trade)) return decodeTrade(data, emit);
  if (hasPrefix(data, eventDiscriminators.create)) return decodeCreate(data, emit);
  if (hasPrefix(data, eventDiscriminators.complete)) return decodeComplete(data, emit);
  if (hasPrefix(data, eventDiscriminators.completePumpAmmMigration)) return decodeMigration(data, emit);
  if (hasPrefix(data, eventDiscriminators.postCompleteBuy)) return decodePostCompleteBuy(data, emit);
  if (hasPrefix(data, eventDiscriminators.updateMayhemVirtualParams)) return decodeMayhemParams(data, emit);
  return undecodedEvent(data, ignoredEvents);
}

const ignoredAccounts: readonly (readonly [Uint8Array, string])[] = [
  [accountDiscriminators.global, 'Global'],
  [accountDiscriminators.feeConfig, 'FeeConfig'],
  [accountDiscriminators.globalVolumeAccumulator, 'GlobalVolumeAccumulator'],
  [accountDiscriminators.quoteControl, 'QuoteControl'],
  [accountDiscriminators.sharingConfig, 'SharingConfig'],
  [accountDiscriminators.userVolumeAccumulator, 'UserVolumeAccumulator'],
];

/** Every curve starts with the same tokens. */
const goal: CurveGoal = { reserve: 'realBase', from: initialRealToken, to: 0n };

type DecodedCurve = UndecodedAccount | { readonly kind: 'decoded'; readonly account: PumpCurve };

/** A field that the account's layout lacks is zero, as the program reads it. */
function decodeCurve(data: Uint8Array): DecodedCurve {
  const length = data.length;
  if (length < curveMinLength) return malformed('BondingCurve too short');
  const view = new DataView(data.buffer, data.byteOffset, length);
  const key = (at: number): string => (length >= at + 32 ? encodeBase58(data, at, 32) : zeroAddress);
  const flag = (at: number): boolean => length > at && data[at] === 1;
  const quoteMint = key(curve.quoteMint);
  const mayhemMode = flag(curve.mayhemMode);
  const cashback = flag(curve.cashback);
  const holderReward = flag(curve.holderReward);
  return {
    kind: 'decoded',
    account: {
      type: 'curve',
      baseMint: null,
      quoteMint: quoteMint === zeroAddress ? wrappedSolMint : quoteMint,
      reserves: {
        virtualBase: view.getBigUint64(curve.virtualToken, true),
        virtualQuote: view.getBigUint64(curve.virtualQuote, true),
        realBase: view.getBigUint64(curve.realToken, true),
        realQuote: view.getBigUint64(curve.realQuote, true),
      },
      supply: mayhemMode ? null : view.getBigUint64(curve.supply, true),
      complete: flag(curve.complete),
      goal,
      creator: key(curve.creator),
      mayhemMode,
      cashback,
      holderReward,
      traits: traitsOf({ mayhemMode, cashback, holderReward }),
      supplyByMint: mayhemMode,
      creatorFeeBps: length >= curve.creatorFeeBps + 8 ? Number(view.getBigUint64(curve.creatorFeeBps, true)) : 0,
    },
  };
}

/** Decodes an account that the program owns. Never throws. */
export function decodeAccount(data: Uint8Array): DecodedCurve {
  if (data.length < discriminatorLength) return malformed('shorter than a discriminator');
  if (hasPrefix(data, accountDiscriminators.bondingCurve)) return decodeCurve(data);
  return undecodedAccount(data, ignoredAccounts);
}
