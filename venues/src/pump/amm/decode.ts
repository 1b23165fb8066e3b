import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { BorshReader, discriminatorLength, hasPrefix, isZeroKey } from '@sluice/shared/solana/encoding/bytes.ts';
import { wrappedSolMint, zeroAddress } from '@sluice/shared/solana/well-known.ts';
import { creatorPart, feeList, noFee, readFee, traitsOf } from '../fees/fees.ts';
import { decoded, malformed, undecodedAccount, undecodedEvent, type UndecodedAccount } from '../../seam/outcome.ts';
import type { DecodeContext, DecodeOutcome, FeePart, PoolAccount, VenueEvent } from '../../seam/venue.ts';
import { pool as poolAt, poolMinLength, tradeMinLength } from './layout.ts';
import { accountDiscriminators, eventDiscriminators, ignoredEvents } from './program.ts';

type Emit = (event: VenueEvent) => void;

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

interface TradeTail {
  creatorFee: FeePart;
  cashback: FeePart;
  holderRewards: FeePart;
  buyback: bigint;
  virtualQuote: bigint;
  supply: bigint | null;
}

/** The fields after `protocol_fee_recipient_token_account`, as far as the event's layout has them. */
function readTradeTail(reader: BorshReader, isBuy: boolean): TradeTail {
  const tail: TradeTail = { creatorFee: noFee, cashback: noFee, holderRewards: noFee, buyback: 0n, virtualQuote: 0n, supply: null };
  if (!reader.has(48)) return tail;
  reader.skip(32); // coin_creator
  tail.creatorFee = readFee(reader);
  if (isBuy) {
    if (!reader.has(33)) return tail;
    reader.skip(33); // track_volume, total_unclaimed_tokens, total_claimed_tokens, current_sol_volume, last_update_timestamp
    if (!reader.has(8)) return tail;
    reader.skip(8); // min_base_amount_out
    if (!reader.has(4)) return tail;
    reader.skipText(); // ix_name
  }
  if (!reader.has(16)) return tail;
  tail.cashback = readFee(reader);
  if (!reader.has(16)) return tail;
  tail.buyback = readFee(reader).amount; // a share of the protocol fee, not an additional one
  if (!reader.has(16)) return tail;
  tail.virtualQuote = reader.i128();
  if (!reader.has(1)) return tail;
  reader.bool(); // can_boost
  if (!reader.has(8)) return tail;
  const supply = reader.u64();
  if (supply !== 0n) tail.supply = supply;
  if (!reader.has(16)) return tail;
  tail.holderRewards = readFee(reader);
  return tail;
}

/**
 * BuyEvent and SellEvent differ only in names and signs before their tails. The reserves that they log, the virtual part included, are
 * those before the trade. The LP fee stays in the pool's vault.
 *
 * The amount through the pool is `quote_amount_out` in a sell. In a buy it is `quote_amount_in_with_lp_fee` less the LP fee, because
 * `quote_amount_in` and `user_quote_amount_in` are swapped in `buy_exact_quote_in`.
 */
function decodeTrade(data: Uint8Array, isBuy: boolean, emit: Emit): DecodeOutcome {
  if (data.length < tradeMinLength) return malformed('trade event too short');
  const reader = new BorshReader(data, discriminatorLength);
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
  const feesStay = isZeroKey(data, reader.at); // protocol_fee_recipient
  reader.skip(64);
  const { creatorFee, cashback, holderRewards, buyback, virtualQuote, supply } = readTradeTail(reader, isBuy);
  if (reader.failed) return malformed('trade event ends inside a field or has an invalid value');
  const quoteAmount = isBuy ? vaultDelta - lp.amount : amountField;
  const userQuote = isBuy && amountField > userField ? amountField : userField;
  const total = isBuy ? userQuote - quoteAmount : quoteAmount - userQuote;
  const realBase = isBuy ? baseBefore - baseAmount : baseBefore + baseAmount;
  const pricedQuote = isBuy ? quoteBefore + vaultDelta : quoteBefore - vaultDelta;
  // The v2 instructions leave fees in the vault until they are swept, and subtract them from the virtual part: they are not liquidity.
  const stayed = feesStay ? protocol.amount - buyback + creatorFee.amount : 0n;
  const pricingQuote = pricedQuote + virtualQuote;
  if (realBase <= 0n || pricedQuote < 0n || pricingQuote <= 0n) return malformed('trade event with more traded than there was');
  if (quoteAmount < 0n || total < 0n || stayed < 0n) return malformed('trade event with negative fees');
  emit({
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
  });
  return decoded;
}

function decodeCreatePool(data: Uint8Array, emit: Emit): DecodeOutcome {
  const reader = new BorshReader(data, discriminatorLength);
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
  if (reader.failed) return malformed('CreatePoolEvent ends inside a field or has an invalid value');
  if (realBase === 0n || realQuote === 0n) return malformed('CreatePoolEvent without reserves');
  emit({
    type: 'poolCreated',
    pool,
    baseMint,
    quoteMint,
    baseDecimals,
    quoteDecimals,
    reserves: { virtualBase: realBase, virtualQuote: realQuote, realBase, realQuote },
    creator,
    timestamp,
  });
  return decoded;
}

/** A part of a new pool's quote coins moved to its boost vault and is treated as virtual from now on. The base does not change. */
function decodeInitBoost(data: Uint8Array, emit: Emit): DecodeOutcome {
  const reader = new BorshReader(data, discriminatorLength);
  const timestamp = reader.timestamp();
  const mint = reader.address();
  reader.skip(32); // bonding_curve
  const pool = reader.address();
  const virtualPart = reader.i128();
  const realQuote = reader.u64();
  if (reader.failed) return malformed('InitBoostEvent ends inside a field or has an invalid value');
  const virtualQuote = realQuote + virtualPart;
  if (virtualQuote <= 0n) return malformed('InitBoostEvent without reserves');
  const reserves = { virtualBase: null, virtualQuote, realBase: null, realQuote };
  emit({ type: 'reserves', pool, mint, reserves, burned: 0n, timestamp });
  return decoded;
}

/** Coins of the boost vault bought tokens from the pool, which were burned. The virtual part does not change. */
function decodeBoostBuy(data: Uint8Array, emit: Emit): DecodeOutcome {
  const reader = new BorshReader(data, discriminatorLength);
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
  if (reader.failed) return malformed('BoostBuyAndBurnEvent ends inside a field or has an invalid value');
  const virtualQuote = realQuote + virtualPart;
  if (virtualQuote <= 0n || realBase === 0n) return malformed('BoostBuyAndBurnEvent without reserves');
  const reserves = { virtualBase: realBase, virtualQuote, realBase, realQuote };
  emit({ type: 'reserves', pool, mint, reserves, burned, timestamp });
  return decoded;
}

/** Decodes one event of the program. */
export function decode({ data }: DecodeContext, emit: Emit): DecodeOutcome {
  if (data.length < discriminatorLength) return malformed('shorter than a discriminator');
  if (hasPrefix(data, eventDiscriminators.buy)) return decodeTrade(data, true, emit);
  if (hasPrefix(data, eventDiscriminators.sell)) return decodeTrade(data, false, emit);
  if (hasPrefix(data, eventDiscriminators.createPool)) return decodeCreatePool(data, emit);
  if (hasPrefix(data, eventDiscriminators.boostBuyAndBurn)) return decodeBoostBuy(data, emit);
  if (hasPrefix(data, eventDiscriminators.initBoost)) return decodeInitBoost(data, emit);
  return undecodedEvent(data, ignoredEvents);
}

const ignoredAccounts: readonly (readonly [Uint8Array, string])[] = [
  [accountDiscriminators.globalConfig, 'GlobalConfig'],
  [accountDiscriminators.feeConfig, 'FeeConfig'],
  [accountDiscriminators.globalVolumeAccumulator, 'GlobalVolumeAccumulator'],
  [accountDiscriminators.userVolumeAccumulator, 'UserVolumeAccumulator'],
  [accountDiscriminators.sharingConfig, 'SharingConfig'],
  [accountDiscriminators.bondingCurve, 'BondingCurve'],
];

type DecodedPool = UndecodedAccount | { readonly kind: 'decoded'; readonly account: PumpAmmPool };

/** A field that the account's layout lacks is zero, as the program reads it. */
function decodePool(data: Uint8Array): DecodedPool {
  const length = data.length;
  if (length < poolMinLength) return malformed('Pool too short');
  const view = new DataView(data.buffer, data.byteOffset, length);
  const key = (at: number): string => (length >= at + 32 ? encodeBase58(data, at, 32) : zeroAddress);
  const flag = (at: number): boolean => length > at && data[at] === 1;
  const u64 = (at: number): bigint => (length >= at + 8 ? view.getBigUint64(at, true) : 0n);
  const quoteMint = key(poolAt.quoteMint);
  const mayhemMode = flag(poolAt.mayhemMode);
  const cashback = flag(poolAt.cashback);
  const holderReward = flag(poolAt.holderReward);
  const coinCreator = key(poolAt.coinCreator);
  return {
    kind: 'decoded',
    account: {
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
      virtualQuote:
        length >= poolAt.virtualQuote + 16
          ? view.getBigUint64(poolAt.virtualQuote, true) | (view.getBigInt64(poolAt.virtualQuote + 8, true) << 64n)
          : 0n,
      waitingFees: u64(poolAt.protocolFeesWaiting) + u64(poolAt.creatorFeesWaiting),
      mayhemMode,
      cashback,
      holderReward,
      traits: traitsOf({ mayhemMode, cashback, holderReward }),
      supplyByMint: mayhemMode,
      creatorFeeBps: Number(u64(poolAt.creatorFeeBps)),
    },
  };
}

/** Decodes an account that the program owns. Never throws. */
export function decodeAccount(data: Uint8Array): DecodedPool {
  if (data.length < discriminatorLength) return malformed('shorter than a discriminator');
  if (hasPrefix(data, accountDiscriminators.pool)) return decodePool(data);
  return undecodedAccount(data, ignoredAccounts);
}
