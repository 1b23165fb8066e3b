import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { i128At, isZeroKey, viewOf, type BorshReader } from '@sluice/shared/solana/encoding/bytes.ts';
import { wrappedSolMint, zeroAddress } from '@sluice/shared/solana/well-known.ts';
import { creatorPart, feeList, laterFee, readFee, traitsOf } from '../fees/fees.ts';
import { accountDecoder, anchorNames, recordDecoder } from '../../kit/decode.ts';
import { sameReserves } from '../../kit/constant-product.ts';
import type { DecodeContext, PoolAccount, VenueEvent } from '../../seam/venue.ts';
import { pool as poolAt, poolMinLength, tradeMinLength } from './layout.ts';
import { accountDiscriminators, eventDiscriminators, ignoredEvents, liquidityAccounts } from './program.ts';

/** Fields of a pool's account. */
export interface PumpAmmPool extends PoolAccount {
  readonly lpMint: string;
  readonly creator: string;
  /** The zero address if there is none. */
  readonly coinCreator: string;
  /** Fees in the quote vault that are not paid out yet; `virtualQuote` is reduced by the same amount. */
  readonly waitingFees: bigint;
  readonly mayhemMode: boolean;
  readonly cashback: boolean;
  readonly holderReward: boolean;
}

/** The fields on which a quote and an instruction depend. */
export type QuotedAmmPool = Omit<PumpAmmPool, 'traits' | 'supplyByMint' | 'price' | 'tokenCreator' | 'vaultOwner' | 'virtualBase'>;

/** The fields after `protocol_fee_recipient_token_account`, as far as the event's layout has them. */
function readTradeTail(reader: BorshReader, isBuy: boolean) {
  const creatorFee = laterFee(reader, 32); // after coin_creator
  if (isBuy) {
    if (reader.has(33)) reader.skip(33); // track_volume, total_unclaimed_tokens, total_claimed_tokens, current_sol_volume, last_update_timestamp
    if (reader.has(8)) reader.skip(8); // min_base_amount_out
    if (reader.has(4)) reader.skipText(); // ix_name
  }
  const cashback = laterFee(reader);
  const buyback = laterFee(reader).amount; // a share of the protocol fee, not an additional one
  const virtualQuote = reader.has(16) ? reader.i128() : 0n;
  if (reader.has(1)) reader.bool(); // can_boost
  const supply = reader.has(8) ? reader.u64() : 0n;
  return { creatorFee, cashback, holderRewards: laterFee(reader), buyback, virtualQuote, supply: supply === 0n ? null : supply };
}

/**
 * BuyEvent and SellEvent differ only in names and signs before their tails. The reserves that they log, the virtual part included, are
 * those before the trade. The LP fee stays in the pool's vault.
 *
 * The amount through the pool is `quote_amount_out` in a sell. In a buy it is `quote_amount_in_with_lp_fee` less the LP fee, because
 * `quote_amount_in` and `user_quote_amount_in` are swapped in `buy_exact_quote_in`.
 */
function readTrade(reader: BorshReader, isBuy: boolean): VenueEvent | string {
  const timestamp = reader.timestamp();
  const baseAmount = reader.u64();
  reader.skip(24); // the user's bound, and the user's balances before the trade
  const baseBefore = reader.u64();
  const quoteBefore = reader.u64();
  const amountField = reader.u64();
  const lp = readFee(reader);
  const protocol = readFee(reader);
  const vaultDelta = reader.u64();
  const userField = reader.u64();
  const pool = reader.address();
  const trader = reader.address();
  reader.skip(64); // the user's token accounts
  const feesStay = isZeroKey(reader.bytes, reader.at); // protocol_fee_recipient
  reader.skip(64);
  const { creatorFee, cashback, holderRewards, buyback, virtualQuote, supply } = readTradeTail(reader, isBuy);
  const quoteAmount = isBuy ? vaultDelta - lp.amount : amountField;
  const userQuote = isBuy && amountField > userField ? amountField : userField;
  const total = isBuy ? userQuote - quoteAmount : quoteAmount - userQuote;
  const realBase = isBuy ? baseBefore - baseAmount : baseBefore + baseAmount;
  const pricedQuote = isBuy ? quoteBefore + vaultDelta : quoteBefore - vaultDelta;
  // The v2 instructions leave fees in the vault until they are swept, and subtract them from the virtual part: they are not liquidity.
  const stayed = feesStay ? protocol.amount - buyback + creatorFee.amount : 0n;
  const pricingQuote = pricedQuote + virtualQuote;
  if (realBase <= 0n || pricedQuote < 0n || pricingQuote <= 0n) return 'with more traded than there was';
  if (quoteAmount < 0n || total < 0n || stayed < 0n) return 'with negative fees';
  return {
    type: 'trade',
    pool,
    pair: null,
    side: isBuy ? 'buy' : 'sell',
    trader,
    baseAmount,
    quoteAmount,
    before: { priceQuote: quoteBefore + virtualQuote, priceBase: baseBefore },
    priceQuote: pricingQuote,
    priceBase: realBase,
    reserves: { virtualBase: realBase, virtualQuote: pricingQuote, realBase, realQuote: pricedQuote + stayed },
    depth: null,
    fees: feeList({ protocol, creator: creatorPart(creatorFee, holderRewards), lp, cashback, holderRewards }),
    feeTotal: total,
    supply,
    timestamp,
  };
}

function readCreatePool(reader: BorshReader): VenueEvent | string {
  const timestamp = reader.timestamp();
  reader.skip(2); // index
  const creator = reader.address();
  const baseMint = reader.address();
  const quoteMint = reader.quoteMint();
  const baseDecimals = reader.u8();
  const quoteDecimals = reader.u8();
  reader.skip(16); // base_amount_in, quote_amount_in
  const realBase = reader.u64();
  const realQuote = reader.u64();
  reader.skip(25); // minimum_liquidity, initial_liquidity, lp_token_amount_out, pool_bump
  const pool = reader.address();
  reader.skip(96); // lp_mint and the user's token accounts
  if (realBase === 0n || realQuote === 0n) return 'without reserves';
  return {
    type: 'poolCreated',
    pool,
    baseMint,
    quoteMint,
    baseDecimals,
    quoteDecimals,
    reserves: sameReserves(realBase, realQuote),
    creator,
    timestamp,
  };
}

/**
 * DepositEvent and WithdrawEvent differ only in names. The reserves that they log are those before. The price does not move, and its virtual part is not
 * in the event.
 */
function readLiquidity(reader: BorshReader, context: DecodeContext, isAdded: boolean): VenueEvent | string {
  const timestamp = reader.timestamp();
  const lpAmount = reader.u64();
  reader.skip(32); // the user's bounds, and the user's balances before
  const [baseBefore, quoteBefore] = [reader.u64(), reader.u64()];
  const [baseAmount, quoteAmount] = [reader.u64(), reader.u64()];
  reader.skip(8); // lp_mint_supply
  const pool = reader.address();
  const provider = reader.address();
  reader.skip(96); // the user's token accounts
  if (!isAdded && (baseAmount > baseBefore || quoteAmount > quoteBefore)) return 'with more taken out than there was';
  const accounts = context.instruction()?.accounts;
  const [baseMint, quoteMint] = [accounts?.[liquidityAccounts.baseMint], accounts?.[liquidityAccounts.quoteMint]];
  const isOwn = accounts?.[liquidityAccounts.pool] === pool && baseMint !== undefined && quoteMint !== undefined;
  return {
    type: isAdded ? 'liquidityAdded' : 'liquidityRemoved',
    pool,
    pair: isOwn ? { baseMint, quoteMint } : null,
    provider,
    baseAmount,
    quoteAmount,
    lpAmount,
    left: isAdded
      ? { base: baseBefore + baseAmount, quote: quoteBefore + quoteAmount }
      : { base: baseBefore - baseAmount, quote: quoteBefore - quoteAmount },
    state: null,
    timestamp,
  };
}

/** A part of a new pool's quote coins moved to its boost vault and is treated as virtual from now on. The base does not change. */
function readInitBoost(reader: BorshReader): VenueEvent | string {
  const timestamp = reader.timestamp();
  const mint = reader.address();
  reader.skip(32); // bonding_curve
  const pool = reader.address();
  const virtualPart = reader.i128();
  const realQuote = reader.u64();
  const virtualQuote = realQuote + virtualPart;
  if (virtualQuote <= 0n) return 'without reserves';
  const reserves = { virtualBase: null, virtualQuote, realBase: null, realQuote };
  return { type: 'reserves', pool, mint, reserves, burned: 0n, timestamp };
}

/** Coins of the boost vault bought tokens from the pool, which were burned. The virtual part does not change. */
function readBoostBuy(reader: BorshReader): VenueEvent | string {
  const timestamp = reader.timestamp();
  const mint = reader.address();
  reader.skip(32); // bonding_curve
  const pool = reader.address();
  reader.skip(48); // authority, quote_amount_in_requested and _used
  const burned = reader.u64();
  const virtualPart = reader.i128();
  const realQuote = reader.u64();
  const realBase = reader.u64();
  reader.skip(8); // boost_vault_remaining
  const virtualQuote = realQuote + virtualPart;
  if (virtualQuote <= 0n || realBase === 0n) return 'without reserves';
  const reserves = { virtualBase: realBase, virtualQuote, realBase, realQuote };
  return { type: 'reserves', pool, mint, reserves, burned, timestamp };
}

export const decode = recordDecoder(
  [
    { discriminator: eventDiscriminators.buy, name: 'BuyEvent', minLength: tradeMinLength, read: (reader) => readTrade(reader, true) },
    { discriminator: eventDiscriminators.sell, name: 'SellEvent', minLength: tradeMinLength, read: (reader) => readTrade(reader, false) },
    { discriminator: eventDiscriminators.createPool, name: 'CreatePoolEvent', read: readCreatePool },
    { discriminator: eventDiscriminators.deposit, name: 'DepositEvent', read: (reader, context) => readLiquidity(reader, context, true) },
    {
      discriminator: eventDiscriminators.withdraw,
      name: 'WithdrawEvent',
      read: (reader, context) => readLiquidity(reader, context, false),
    },
    { discriminator: eventDiscriminators.boostBuyAndBurn, name: 'BoostBuyAndBurnEvent', read: readBoostBuy },
    { discriminator: eventDiscriminators.initBoost, name: 'InitBoostEvent', read: readInitBoost },
  ],
  ignoredEvents,
);

const ignoredAccounts = anchorNames(
  'account',
  'GlobalConfig FeeConfig GlobalVolumeAccumulator UserVolumeAccumulator SharingConfig BondingCurve',
);

/** A field that the account's layout lacks is zero, as the program reads it. */
function readPool(data: Uint8Array): PumpAmmPool | string {
  const { length } = data;
  if (length < poolMinLength) return 'Pool too short';
  const view = viewOf(data);
  const key = (at: number): string => (length >= at + 32 ? encodeBase58(data, at, 32) : zeroAddress);
  const flag = (at: number): boolean => length > at && data[at] === 1;
  const u64 = (at: number): bigint => (length >= at + 8 ? view.getBigUint64(at, true) : 0n);
  const quoteMint = key(poolAt.quoteMint);
  const traits = { mayhemMode: flag(poolAt.mayhemMode), cashback: flag(poolAt.cashback), holderReward: flag(poolAt.holderReward) };
  const coinCreator = key(poolAt.coinCreator);
  return {
    type: 'pool',
    baseMint: key(poolAt.baseMint),
    quoteMint: quoteMint === zeroAddress ? wrappedSolMint : quoteMint,
    baseVault: key(poolAt.baseVault),
    quoteVault: key(poolAt.quoteVault),
    lpMint: key(poolAt.lpMint),
    creator: key(poolAt.creator),
    coinCreator,
    vaultOwner: null,
    tokenCreator: coinCreator === zeroAddress ? null : coinCreator,
    price: null,
    virtualBase: 0n,
    virtualQuote: length >= poolAt.virtualQuote + 16 ? i128At(view, poolAt.virtualQuote) : 0n,
    waitingFees: u64(poolAt.protocolFeesWaiting) + u64(poolAt.creatorFeesWaiting),
    ...traits,
    traits: traitsOf(traits),
    supplyByMint: traits.mayhemMode,
    creatorFeeBps: Number(u64(poolAt.creatorFeeBps)),
  };
}

export const decodeAccount = accountDecoder(accountDiscriminators.pool, readPool, ignoredAccounts);
