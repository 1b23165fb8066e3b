import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { isZeroKey, viewOf, type BorshReader } from '@sluice/shared/solana/encoding/bytes.ts';
import { wrappedSolMint, zeroAddress } from '@sluice/shared/solana/well-known.ts';
import { creatorPart, feeList, laterFee, noFee, readFee, traitsOf } from '../fees/fees.ts';
import { accountDecoder, anchorNames, recordDecoder } from '../../kit/decode.ts';
import { sameReserves, stateOfReserves } from '../../kit/constant-product.ts';
import type { CurveAccount, CurveGoal, PoolReserves, VenueEvent } from '../../seam/venue.ts';
import { curve, curveMinLength, shareholderLength, tradeMinLength } from './layout.ts';
import * as program from './program.ts';

/** Fields of a bonding curve's account. */
export interface PumpCurve extends CurveAccount {
  readonly mayhemMode: boolean;
  readonly cashback: boolean;
  readonly holderReward: boolean;
}

/** The fields on which a quote and an instruction depend. */
export type QuotedCurve = Omit<PumpCurve, 'traits' | 'supplyByMint' | 'baseMint' | 'goal'>;

/** The fields in the quote coin. Null before 2026-05, and for SOL (the zero key): then the `sol_*` fields are valid. */
function readQuote(reader: BorshReader) {
  if (!reader.has(56)) return null;
  if (!isZeroKey(reader.bytes, reader.at)) {
    return { mint: reader.address(), amount: reader.u64(), virtual: reader.u64(), real: reader.u64() };
  }
  reader.skip(56);
  return null;
}

/** The fields after `real_token_reserves`, as far as the event's layout has them. `creator_fee_unclaimed` may follow (2026-10). */
function readTradeTail(reader: BorshReader) {
  const protocol = laterFee(reader, 32); // after fee_recipient
  const creatorFee = laterFee(reader, 32); // after creator
  if (reader.has(33)) reader.skip(33); // track_volume, total_unclaimed_tokens, total_claimed_tokens, current_sol_volume, last_update_timestamp
  if (reader.has(4)) reader.skipText(); // ix_name
  if (reader.has(1)) reader.bool(); // mayhem_mode
  const cashback = laterFee(reader);
  if (reader.has(16)) reader.skip(16); // buyback_fee: a share of the protocol fee, not an additional one
  if (reader.has(4)) reader.skipList(shareholderLength);
  const quote = readQuote(reader);
  return { protocol, creatorFee, cashback, quote, holderRewards: laterFee(reader) };
}

function readTrade(reader: BorshReader): VenueEvent | string {
  const baseMint = reader.address();
  const solAmount = reader.u64();
  const baseAmount = reader.u64();
  const isBuy = reader.bool();
  const trader = reader.address();
  const timestamp = reader.timestamp();
  const virtualSol = reader.u64();
  const virtualBase = reader.u64();
  const realSol = reader.u64();
  const realBase = reader.u64();
  const { protocol, creatorFee, cashback, holderRewards, quote } = readTradeTail(reader);
  const reserves: PoolReserves = {
    virtualBase,
    virtualQuote: quote === null ? virtualSol : quote.virtual,
    realBase,
    realQuote: quote === null ? realSol : quote.real,
  };
  if (virtualBase === 0n || reserves.virtualQuote === 0n) return 'without reserves';
  const quoteAmount = quote === null ? solAmount : quote.amount;
  return {
    type: 'trade',
    pool: program.curveOf(baseMint),
    pair: { baseMint, quoteMint: quote === null ? wrappedSolMint : quote.mint },
    side: isBuy ? 'buy' : 'sell',
    trader,
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
  };
}

/** A CreateEvent of 2024 ends after `user`. The missing values are the constants with which every curve then began. */
const firstReserves: PoolReserves = {
  virtualBase: program.initialVirtualToken,
  virtualQuote: program.initialVirtualSol,
  realBase: program.initialRealToken,
  realQuote: 0n,
};

function readCreate(reader: BorshReader): VenueEvent | string {
  const name = reader.text();
  const symbol = reader.text();
  const uri = reader.text();
  const mint = reader.address();
  const pool = reader.address();
  const trader = reader.address();
  let creator = trader;
  let timestamp: number | null = null;
  let reserves = firstReserves;
  let supply = program.initialSupply;
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
  if (mayhemMode && supply < program.mayhemInitialSupply) supply = program.mayhemInitialSupply;
  const cashback = reader.has(1) && reader.bool();
  if (reader.has(40)) {
    quoteMint = reader.quoteMint();
    const virtualQuote = reader.u64();
    if (quoteMint !== wrappedSolMint) reserves = { ...reserves, virtualQuote };
  }
  const creatorFeeBps = reader.has(8) ? reader.u64Number() : 0;
  const holderReward = reader.has(1) && reader.bool();
  if (reserves.virtualBase === 0n || reserves.virtualQuote === 0n) return 'without reserves';
  return {
    type: 'created',
    mint,
    quoteMint,
    pool,
    name,
    symbol,
    uri,
    creator,
    platform: null,
    trader,
    tokenProgram,
    supply,
    decimals: program.tokenDecimals,
    reserves,
    traits: traitsOf({ mayhemMode, cashback, holderReward }),
    supplyByMint: mayhemMode,
    creatorFeeBps,
    timestamp,
  };
}

function readComplete(reader: BorshReader): VenueEvent | string {
  reader.skip(32); // user
  const mint = reader.address();
  const pool = reader.address();
  const timestamp = reader.timestamp();
  const quoteMint = reader.has(32) ? reader.quoteMint() : wrappedSolMint;
  return { type: 'completed', mint, pool, quoteMint, timestamp };
}

function readMigration(reader: BorshReader): VenueEvent | string {
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
  return { type: 'migrated', mint, quoteMint, fromPool, toVenue: 'pump-amm', toPool, baseAmount, quoteAmount, fee, timestamp };
}

/**
 * The buy that empties a curve may continue against the tokens reserved for its pool, at the pool's opening price (since 2026-10-08).
 * TradeEvent contains the curve's part, this event the rest. The amounts through the pool follow from the reserves.
 */
function readPostCompleteBuy(reader: BorshReader): VenueEvent | string {
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
  if (virtualBase === 0n || virtualQuote < quoteBefore) return 'with more traded than there was';
  return {
    type: 'trade',
    pool,
    pair: { baseMint, quoteMint },
    side: 'buy',
    trader,
    baseAmount,
    quoteAmount: virtualQuote - quoteBefore,
    before: { priceQuote: quoteBefore, priceBase: virtualBase + baseAmount },
    ...stateOfReserves(sameReserves(virtualBase, virtualQuote)),
    fees: feeList({ protocol, creator, lp: noFee, cashback: noFee, holderRewards: noFee }),
    feeTotal: protocol.amount + creator.amount,
    supply: null,
    timestamp,
  };
}

/**
 * New virtual reserves of a mayhem coin. The event has `sol_*` fields only. For a coin with another quote they may be 0, as in its trades.
 * The quote is then unknown, and there is no price until the curve's account shows it.
 */
function readMayhemParams(reader: BorshReader): VenueEvent | string {
  const timestamp = reader.timestamp();
  const mint = reader.address();
  reader.skip(16); // the virtual reserves before
  const reserves: PoolReserves = { virtualBase: reader.u64(), virtualQuote: reader.u64(), realBase: reader.u64(), realQuote: reader.u64() };
  if (reserves.virtualBase === 0n) return 'without reserves';
  return { type: 'reserves', pool: program.curveOf(mint), mint, reserves, burned: 0n, timestamp };
}

export const decode = recordDecoder(
  [
    { discriminator: program.eventDiscriminators.trade, name: 'TradeEvent', minLength: tradeMinLength, read: readTrade },
    { discriminator: program.eventDiscriminators.create, name: 'CreateEvent', read: readCreate },
    { discriminator: program.eventDiscriminators.complete, name: 'CompleteEvent', read: readComplete },
    { discriminator: program.eventDiscriminators.completePumpAmmMigration, name: 'CompletePumpAmmMigrationEvent', read: readMigration },
    { discriminator: program.eventDiscriminators.postCompleteBuy, name: 'PostCompleteBuyEvent', read: readPostCompleteBuy },
    {
      discriminator: program.eventDiscriminators.updateMayhemVirtualParams,
      name: 'UpdateMayhemVirtualParamsEvent',
      read: readMayhemParams,
    },
  ],
  program.ignoredEvents,
);

const ignoredAccounts = anchorNames('account', 'Global FeeConfig GlobalVolumeAccumulator QuoteControl SharingConfig UserVolumeAccumulator');

/** Every curve starts with the same tokens. */
const goal: CurveGoal = { reserve: 'realBase', from: program.initialRealToken, to: 0n };

/** A field that the account's layout lacks is zero, as the program reads it. */
function readCurve(data: Uint8Array): PumpCurve | string {
  const { length } = data;
  if (length < curveMinLength) return 'BondingCurve too short';
  const view = viewOf(data);
  const key = (at: number): string => (length >= at + 32 ? encodeBase58(data, at, 32) : zeroAddress);
  const flag = (at: number): boolean => length > at && data[at] === 1;
  const quoteMint = key(curve.quoteMint);
  const traits = { mayhemMode: flag(curve.mayhemMode), cashback: flag(curve.cashback), holderReward: flag(curve.holderReward) };
  return {
    type: 'curve',
    baseMint: null,
    quoteMint: quoteMint === zeroAddress ? wrappedSolMint : quoteMint,
    reserves: {
      virtualBase: view.getBigUint64(curve.virtualToken, true),
      virtualQuote: view.getBigUint64(curve.virtualQuote, true),
      realBase: view.getBigUint64(curve.realToken, true),
      realQuote: view.getBigUint64(curve.realQuote, true),
    },
    supply: traits.mayhemMode ? null : view.getBigUint64(curve.supply, true),
    complete: flag(curve.complete),
    goal,
    creator: key(curve.creator),
    ...traits,
    traits: traitsOf(traits),
    supplyByMint: traits.mayhemMode,
    creatorFeeBps: length >= curve.creatorFeeBps + 8 ? Number(view.getBigUint64(curve.creatorFeeBps, true)) : 0,
  };
}

export const decodeAccount = accountDecoder(program.accountDiscriminators.bondingCurve, readCurve, ignoredAccounts);
