import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { wrappedSolMint, zeroAddress } from '@sluice/shared/solana/well-known.ts';
import { pumpAmm } from '../../venues/src/pump/amm/index.ts';
import { pump } from '../../venues/src/pump/curve/index.ts';
import { bondingCurveAddress } from '@sluice/venues/pump/curve/program.ts';
import type { FeePart, Venue } from '@sluice/venues/seam/venue.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  anchorEvent,
  type AnchorRecord,
  pumpAccounts,
  pumpAmmAccounts,
  pumpAmmEvents,
  pumpAmmIdl,
  pumpEvents,
  pumpIdl,
} from '../golden/anchor.ts';
import { encodeWith } from './encode.ts';
import { fuzzCases } from '../support/fuzz.ts';
import { decodeAccount, decodeEvent, type PlainDecoded } from '../support/events/decoded.ts';

/** Anchor 0.32.1 with the IDLs of pump-sdk 2.0.0 writes and reads the records; ours must read the same. */
const runs = { seed: 20261121, numRuns: fuzzCases(6_000) };
const maxU64 = 2n ** 64n - 1n;

const u64 = fc.bigInt({ min: 0n, max: maxU64 });
const positive = fc.bigInt({ min: 1n, max: maxU64 });
const half = fc.bigInt({ min: 1n, max: 2n ** 62n });
const seconds = fc.integer({ min: 0, max: 2 ** 33 - 1 });
const key = fc.uint8Array({ minLength: 32, maxLength: 32 });
const zeroKey = new Uint8Array(32);
const maybeZeroKey = fc.oneof(key, fc.constant(zeroKey));
const text = fc.string({ unit: 'grapheme', maxLength: 24 });
const bool = fc.boolean();

const address = (bytes: Uint8Array): string => encodeBase58(bytes);

const fee = (bps: bigint, amount: bigint): FeePart => ({ bps: Number(bps), amount });

/** The creator's share after the holders of a holder-reward coin received theirs. */
function creatorShare(creator: FeePart, holders: FeePart): FeePart {
  if (holders.amount === 0n) return creator;
  if (holders.amount >= creator.amount) return fee(0n, 0n);
  return { amount: creator.amount - holders.amount, bps: Math.max(0, creator.bps - holders.bps) };
}

function cut(data: Uint8Array, bytes: number): Uint8Array {
  return data.subarray(0, data.length - bytes);
}

const shareholder = fc.record({ address: key, share_bps: fc.constant(7) });
const tradeEvent = fc.record({
  mint: key,
  sol_amount: u64,
  token_amount: u64,
  is_buy: bool,
  user: key,
  timestamp: seconds,
  virtual_sol_reserves: positive,
  virtual_token_reserves: positive,
  real_sol_reserves: u64,
  real_token_reserves: u64,
  fee_recipient: key,
  fee_basis_points: u64,
  fee: u64,
  creator: key,
  creator_fee_basis_points: u64,
  creator_fee: u64,
  track_volume: bool,
  total_unclaimed_tokens: u64,
  total_claimed_tokens: u64,
  current_sol_volume: u64,
  last_update_timestamp: seconds,
  ix_name: text,
  mayhem_mode: bool,
  cashback_fee_basis_points: u64,
  cashback: u64,
  buyback_fee_basis_points: u64,
  buyback_fee: u64,
  shareholders: fc.array(shareholder, { maxLength: 5 }),
  quote_mint: maybeZeroKey,
  quote_amount: u64,
  virtual_quote_reserves: positive,
  real_quote_reserves: u64,
  holder_rewards_bps: u64,
  holder_rewards: u64,
});

type Trade = typeof tradeEvent extends fc.Arbitrary<infer T> ? T : never;

/** Bytes of each part of the tail, last first: the parts that older layouts lack. */
function tailParts(trade: Trade): { readonly name: string; readonly bytes: number }[] {
  return [
    { name: 'all', bytes: 0 },
    { name: 'holder rewards', bytes: 16 },
    { name: 'quote', bytes: 56 },
    { name: 'shareholders', bytes: 4 + 34 * trade.shareholders.length },
    { name: 'buyback', bytes: 16 },
    { name: 'cashback', bytes: 16 },
    { name: 'mayhem', bytes: 1 },
    { name: 'ix_name', bytes: 4 + Buffer.byteLength(trade.ix_name) },
    { name: 'volume', bytes: 33 },
    { name: 'creator', bytes: 48 },
    { name: 'fee', bytes: 48 },
  ];
}

/** What the decoder must return for a trade whose layout lacks the last `lacking` parts. */
function expectedTrade(t: Trade, lacking: number): PlainDecoded {
  const protocol = lacking >= 10 ? fee(0n, 0n) : fee(t.fee_basis_points, t.fee);
  const creator = lacking >= 9 ? fee(0n, 0n) : fee(t.creator_fee_basis_points, t.creator_fee);
  const cashback = lacking >= 5 ? fee(0n, 0n) : fee(t.cashback_fee_basis_points, t.cashback);
  const holderRewards = lacking >= 1 ? fee(0n, 0n) : fee(t.holder_rewards_bps, t.holder_rewards);
  const sign = t.is_buy ? 1n : -1n;
  const otherQuote = lacking < 2 && Buffer.compare(t.quote_mint, zeroKey) !== 0;
  return {
    kind: 'decoded',
    event: {
      type: 'trade',
      pool: bondingCurveAddress(address(t.mint)),
      pair: { baseMint: address(t.mint), quoteMint: otherQuote ? address(t.quote_mint) : wrappedSolMint },
      side: t.is_buy ? 'buy' : 'sell',
      trader: address(t.user),
      baseAmount: t.token_amount,
      quoteAmount: otherQuote ? t.quote_amount : t.sol_amount,
      before: {
        priceQuote: (otherQuote ? t.virtual_quote_reserves : t.virtual_sol_reserves) - sign * (otherQuote ? t.quote_amount : t.sol_amount),
        priceBase: t.virtual_token_reserves + sign * t.token_amount,
      },
      reserves: {
        virtualBase: t.virtual_token_reserves,
        virtualQuote: otherQuote ? t.virtual_quote_reserves : t.virtual_sol_reserves,
        realBase: t.real_token_reserves,
        realQuote: otherQuote ? t.real_quote_reserves : t.real_sol_reserves,
      },
      fees: {
        protocol,
        creator: creatorShare(creator, holderRewards),
        lp: fee(0n, 0n),
        cashback,
        holderRewards,
        total: protocol.amount + creator.amount + cashback.amount,
      },
      supply: null,
      timestamp: t.timestamp,
    },
  };
}

describe('pump TradeEvent', () => {
  it('agrees with anchor on every used field, with and without unknown bytes at the end', () => {
    fc.assert(
      fc.property(tradeEvent, fc.uint8Array({ maxLength: 24 }), (trade, extra) => {
        const data = encodeWith('pump', 'events', 'TradeEvent', trade);
        const anchor = anchorEvent(pumpEvents, data);
        const decoded = decodeEvent(pump, Buffer.concat([data, extra]));
        expect(decoded).toEqual(expectedTrade(trade, 0));
        expect(anchor['mint']!.toString()).toBe(address(trade.mint));
        expect(anchor['user']!.toString()).toBe(address(trade.user));
        for (const name of [
          'sol_amount',
          'token_amount',
          'virtual_sol_reserves',
          'quote_amount',
          'virtual_quote_reserves',
          'holder_rewards',
          'fee',
          'cashback',
        ] as const) {
          expect(anchor[name]!.toString(10)).toBe(trade[name].toString());
        }
      }),
      runs,
    );
  });

  it('reads every older layout, and refuses one that ends inside a field', () => {
    fc.assert(
      fc.property(tradeEvent, fc.nat(10), fc.nat(), (trade, lacking, inside) => {
        const full = encodeWith('pump', 'events', 'TradeEvent', trade);
        const parts = tailParts(trade);
        const older = cut(
          full,
          parts.slice(0, lacking + 1).reduce((sum, part) => sum + part.bytes, 0),
        );
        expect(decodeEvent(pump, older)).toEqual(expectedTrade(trade, lacking));
        const last = parts[lacking + 1]?.bytes ?? 121;
        const torn = cut(older, 1 + (inside % (last - 1)));
        if (last > 1) expect(decodeEvent(pump, torn).kind).toBe('malformed');
      }),
      runs,
    );
  });

  it('refuses an invalid side, an invalid time, and empty reserves', () => {
    const trade = fc.sample(tradeEvent, { seed: 1, numRuns: 1 })[0]!;
    const data = encodeWith('pump', 'events', 'TradeEvent', trade);
    const torn = (at: number, ...bytes: number[]): Uint8Array => {
      const copy = Buffer.from(data);
      copy.set(bytes, at);
      return copy;
    };
    expect(decodeEvent(pump, torn(56, 2)).kind).toBe('malformed');
    expect(decodeEvent(pump, torn(89, 0, 0, 0, 0, 0, 0, 0, 128)).kind).toBe('malformed');
    expect(decodeEvent(pump, torn(105, 0, 0, 0, 0, 0, 0, 0, 0)).kind).toBe('malformed');
  });
});

const createEvent = fc.record({
  name: text,
  symbol: text,
  uri: text,
  mint: key,
  bonding_curve: key,
  user: key,
  creator: key,
  timestamp: seconds,
  virtual_token_reserves: positive,
  virtual_sol_reserves: positive,
  real_token_reserves: u64,
  token_total_supply: fc.oneof(u64, fc.constant(1_000_000_000_000_000n)),
  token_program: key,
  is_mayhem_mode: bool,
  is_cashback_enabled: bool,
  quote_mint: maybeZeroKey,
  virtual_quote_reserves: positive,
  creator_fee_bps: fc.bigInt({ min: 0n, max: 2n ** 53n - 1n }),
  is_holder_reward: bool,
});

/** For a mayhem coin, the event reports only the curve's part of the supply. */
function trueSupply(create: { readonly token_total_supply: bigint; readonly is_mayhem_mode: boolean }, lacking: number): bigint {
  const doubled = lacking < 5 && create.is_mayhem_mode && create.token_total_supply < 2_000_000_000_000_000n;
  return doubled ? 2_000_000_000_000_000n : create.token_total_supply;
}

describe('pump CreateEvent', () => {
  it('agrees with anchor in every layout', () => {
    const parts = [0, 1, 8, 40, 1, 1, 32, 72];
    fc.assert(
      fc.property(createEvent, fc.nat(parts.length - 1), (c, lacking) => {
        const full = encodeWith('pump', 'events', 'CreateEvent', c);
        expect(anchorEvent(pumpEvents, full)['bonding_curve']!.toString()).toBe(address(c.bonding_curve));
        const data = cut(
          full,
          parts.slice(0, lacking + 1).reduce((sum, bytes) => sum + bytes, 0),
        );
        const otherQuote = lacking < 3 && Buffer.compare(c.quote_mint, zeroKey) !== 0;
        const first = lacking >= 7;
        expect(decodeEvent(pump, data)).toEqual({
          kind: 'decoded',
          event: {
            type: 'created',
            mint: address(c.mint),
            quoteMint: otherQuote ? address(c.quote_mint) : wrappedSolMint,
            pool: address(c.bonding_curve),
            name: c.name,
            symbol: c.symbol,
            uri: c.uri,
            creator: first ? address(c.user) : address(c.creator),
            platform: null,
            trader: address(c.user),
            tokenProgram: lacking >= 6 ? null : address(c.token_program),
            supply: first ? 1_000_000_000_000_000n : trueSupply(c, lacking),
            decimals: 6,
            reserves: first
              ? { virtualBase: 1_073_000_000_000_000n, virtualQuote: 30_000_000_000n, realBase: 793_100_000_000_000n, realQuote: 0n }
              : {
                  virtualBase: c.virtual_token_reserves,
                  virtualQuote: otherQuote ? c.virtual_quote_reserves : c.virtual_sol_reserves,
                  realBase: c.real_token_reserves,
                  realQuote: 0n,
                },
            mayhemMode: lacking < 5 && c.is_mayhem_mode,
            cashback: lacking < 4 && c.is_cashback_enabled,
            holderReward: lacking < 1 && c.is_holder_reward,
            creatorFeeBps: lacking < 2 ? Number(c.creator_fee_bps) : 0,
            timestamp: first ? null : c.timestamp,
          },
        });
      }),
      runs,
    );
  });

  it('accepts names that are not UTF-8, and refuses lengths beyond the event', () => {
    const create = fc.sample(createEvent, { seed: 2, numRuns: 1 })[0]!;
    const data = encodeWith('pump', 'events', 'CreateEvent', { ...create, name: 'abcd' });
    const broken = Buffer.from(data);
    broken.set([0xff, 0xfe, 0xc3, 0x28], 12);
    const decoded = decodeEvent(pump, broken);
    expect(decoded).toMatchObject({ kind: 'decoded', event: { name: '\ufffd\ufffd\ufffd(' } });
    const endless = Buffer.from(data);
    endless.writeUInt32LE(0xffff_ffff, 8);
    expect(decodeEvent(pump, endless).kind).toBe('malformed');
  });
});

describe('pump PostCompleteBuyEvent (2026-10)', () => {
  /** Laid out by the published IDL of 2026-10, which the SDK's copy does not have yet. */
  const u64Bytes = (value: bigint): Buffer => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(value);
    return bytes;
  };

  it("is the pool's part of the buy that emptied the curve", () => {
    fc.assert(
      fc.property(
        fc.tuple(key, key, key, maybeZeroKey),
        fc.array(u64, { minLength: 4, maxLength: 4 }),
        half,
        half,
        half,
        ([user, mint, curve, quote], fees, out, net, left) => {
          const [feeBps, feeAmount, creatorBps, creatorAmount] = fees as [bigint, bigint, bigint, bigint];
          const numbers = [
            1_791_485_924n,
            out,
            net + 1n,
            feeBps,
            feeAmount,
            creatorBps,
            creatorAmount,
            7n,
            left + out,
            84_990n,
            left,
            84_990n + net,
          ];
          const data = Buffer.concat([Buffer.from('6fb06d8b316cd5fb', 'hex'), user, mint, curve, quote, ...numbers.map(u64Bytes)]);
          expect(data).toHaveLength(232);
          expect(decodeEvent(pump, data)).toEqual({
            kind: 'decoded',
            event: {
              type: 'trade',
              pool: address(curve),
              pair: { baseMint: address(mint), quoteMint: Buffer.compare(quote, zeroKey) === 0 ? wrappedSolMint : address(quote) },
              side: 'buy',
              trader: address(user),
              baseAmount: out,
              quoteAmount: net,
              before: { priceQuote: 84_990n, priceBase: left + out },
              reserves: { virtualBase: left, virtualQuote: 84_990n + net, realBase: left, realQuote: 84_990n + net },
              fees: {
                protocol: fee(feeBps, feeAmount),
                creator: fee(creatorBps, creatorAmount),
                lp: fee(0n, 0n),
                cashback: fee(0n, 0n),
                holderRewards: fee(0n, 0n),
                total: feeAmount + creatorAmount,
              },
              supply: null,
              timestamp: 1_791_485_924,
            },
          });
          expect(decodeEvent(pump, cut(data, 1)).kind).toBe('malformed');
        },
      ),
      { ...runs, numRuns: 300 },
    );
  });

  it('events of that upgrade without a trade are known by name', () => {
    const named = (venue: Venue, hex: string): unknown => decodeEvent(venue, Buffer.from(`${hex}00`, 'hex'));
    expect(named(pump, '742b4dbd117a482b')).toEqual({ kind: 'ignored', name: 'SweepBondingCurveFeeEvent' });
    expect(named(pump, 'a943276d6686b6e8')).toEqual({ kind: 'ignored', name: 'SetQuoteControlMintReservesEvent' });
    expect(named(pump, '43fbb3b6575ca921')).toEqual({ kind: 'ignored', name: 'SetQuoteControlReservesAdminEvent' });
    expect(named(pumpAmm, '82a42461e48287a5')).toEqual({ kind: 'ignored', name: 'SweepPoolFeeEvent' });
  });
});

describe('pump, other events', () => {
  it('CompleteEvent, migration and mayhem parameters agree with anchor, with and without a quote mint', () => {
    const complete = fc.record({ user: key, mint: key, bonding_curve: key, timestamp: seconds, quote_mint: maybeZeroKey });
    const migration = fc.record({
      user: key,
      mint: key,
      mint_amount: u64,
      sol_amount: u64,
      pool_migration_fee: u64,
      bonding_curve: key,
      timestamp: seconds,
      pool: key,
      quote_mint: maybeZeroKey,
    });
    const mayhem = fc.record({
      timestamp: seconds,
      mint: key,
      virtual_token_reserves: u64,
      virtual_sol_reserves: u64,
      new_virtual_token_reserves: positive,
      new_virtual_sol_reserves: u64,
      real_token_reserves: u64,
      real_sol_reserves: u64,
    });
    const quoteOf = (bytes: Uint8Array, older: boolean): string =>
      older || Buffer.compare(bytes, zeroKey) === 0 ? wrappedSolMint : address(bytes);
    fc.assert(
      fc.property(complete, migration, mayhem, bool, (c, m, v, older) => {
        const lacking = older ? 32 : 0;
        expect(decodeEvent(pump, cut(encodeWith('pump', 'events', 'CompleteEvent', c), lacking))).toEqual({
          kind: 'decoded',
          event: {
            type: 'completed',
            mint: address(c.mint),
            pool: address(c.bonding_curve),
            quoteMint: quoteOf(c.quote_mint, older),
            timestamp: c.timestamp,
          },
        });
        expect(decodeEvent(pump, cut(encodeWith('pump', 'events', 'CompletePumpAmmMigrationEvent', m), lacking))).toEqual({
          kind: 'decoded',
          event: {
            type: 'migrated',
            mint: address(m.mint),
            quoteMint: quoteOf(m.quote_mint, older),
            fromPool: address(m.bonding_curve),
            toVenue: 'pump-amm',
            toPool: address(m.pool),
            baseAmount: m.mint_amount,
            quoteAmount: m.sol_amount,
            fee: quoteOf(m.quote_mint, older) === wrappedSolMint ? m.pool_migration_fee : 0n,
            timestamp: m.timestamp,
          },
        });
        expect(decodeEvent(pump, encodeWith('pump', 'events', 'UpdateMayhemVirtualParamsEvent', v))).toEqual({
          kind: 'decoded',
          event: {
            type: 'reserves',
            pool: bondingCurveAddress(address(v.mint)),
            mint: address(v.mint),
            burned: 0n,
            timestamp: v.timestamp,
            reserves: {
              virtualBase: v.new_virtual_token_reserves,
              virtualQuote: v.new_virtual_sol_reserves,
              realBase: v.real_token_reserves,
              realQuote: v.real_sol_reserves,
            },
          },
        });
      }),
      { ...runs, numRuns: 300 },
    );
  });
});

const ammCommon = {
  timestamp: seconds,
  user_base_token_reserves: u64,
  user_quote_token_reserves: u64,
  pool_base_token_reserves: half,
  pool_quote_token_reserves: half,
  lp_fee_basis_points: u64,
  lp_fee: u64,
  protocol_fee_basis_points: u64,
  protocol_fee: u64,
  pool: key,
  user: key,
  user_base_token_account: key,
  user_quote_token_account: key,
  protocol_fee_recipient: maybeZeroKey,
  protocol_fee_recipient_token_account: key,
  coin_creator: key,
  coin_creator_fee_basis_points: u64,
  coin_creator_fee: u64,
  cashback_fee_basis_points: u64,
  cashback: u64,
  buyback_fee_basis_points: u64,
  buyback_fee: u64,
  virtual_quote_reserves: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 70n }),
  can_boost: bool,
  base_supply: fc.oneof(u64, fc.constant(0n)),
  holder_rewards_bps: u64,
  holder_rewards: u64,
};
const volume = {
  track_volume: bool,
  total_unclaimed_tokens: u64,
  total_claimed_tokens: u64,
  current_sol_volume: u64,
  last_update_timestamp: seconds,
  min_base_amount_out: u64,
  ix_name: text,
};
const wildBuy = fc.record({
  ...ammCommon,
  ...volume,
  base_amount_out: half,
  max_quote_amount_in: u64,
  quote_amount_in: u64,
  quote_amount_in_with_lp_fee: half,
  user_quote_amount_in: u64,
});
const wildSell = fc.record({
  ...ammCommon,
  base_amount_in: half,
  min_quote_amount_out: u64,
  quote_amount_out: u64,
  quote_amount_out_without_lp_fee: half,
  user_quote_amount_out: u64,
});
/** Consistent amounts, as the program writes them: the net amount, each fee, and which of the two buys it was. */
const amounts = fc.record({
  net: half,
  lp: fc.bigInt({ min: 0n, max: 2n ** 40n }),
  protocol: fc.bigInt({ min: 0n, max: 2n ** 40n }),
  creator: fc.bigInt({ min: 0n, max: 2n ** 40n }),
  exactIn: bool,
});
const soundBuy = fc.tuple(wildBuy, amounts).map(([buy, { net, lp, protocol, creator, exactIn }]) => {
  const paid = net + lp + protocol + creator;
  return {
    ...buy,
    base_amount_out: buy.pool_base_token_reserves / 3n,
    lp_fee: lp,
    protocol_fee: protocol,
    coin_creator_fee: creator,
    buyback_fee: protocol / 2n,
    quote_amount_in_with_lp_fee: net + lp,
    quote_amount_in: exactIn ? paid : net,
    user_quote_amount_in: exactIn ? net : paid,
  };
});
const soundSell = fc.tuple(wildSell, amounts).map(([sell, { net, lp, protocol, creator }]) => ({
  ...sell,
  pool_quote_token_reserves: sell.pool_quote_token_reserves + net + lp + protocol + creator,
  lp_fee: lp,
  protocol_fee: protocol,
  coin_creator_fee: creator,
  buyback_fee: protocol / 2n,
  quote_amount_out: net + lp + protocol + creator,
  quote_amount_out_without_lp_fee: net + protocol + creator,
  user_quote_amount_out: net,
}));
const buyEvent = fc.oneof({ weight: 3, arbitrary: soundBuy }, { weight: 1, arbitrary: wildBuy });
const sellEvent = fc.oneof({ weight: 3, arbitrary: soundSell }, { weight: 1, arbitrary: wildSell });

type CommonField = keyof typeof ammCommon & keyof AmmTrade;

interface AmmAmounts {
  readonly side: 'buy' | 'sell';
  readonly baseAmount: bigint;
  readonly quoteAmount: bigint;
  readonly realBase: bigint;
  readonly realQuote: bigint;
  readonly total: bigint;
}

type AmmTrade = typeof sellEvent extends fc.Arbitrary<infer T> ? T : never;

/** `lacking` counts the parts missing at the tail: holder rewards, supply, can_boost, virtual quote, buyback, cashback, (name, bound, volume), creator. */
function expectedAmm(
  t: Pick<AmmTrade, CommonField>,
  amounts_: AmmAmounts,
  has: { holders: boolean; supply: boolean; virtual: boolean; buyback: boolean; cashback: boolean; creator: boolean },
): PlainDecoded | 'malformed' {
  const { side, baseAmount, quoteAmount, realBase, realQuote, total } = amounts_;
  const virtualQuote = realQuote + (has.virtual ? t.virtual_quote_reserves : 0n);
  const retained = Buffer.compare(t.protocol_fee_recipient, zeroKey) === 0;
  const stayed = retained ? t.protocol_fee - (has.buyback ? t.buyback_fee : 0n) + (has.creator ? t.coin_creator_fee : 0n) : 0n;
  if (realBase <= 0n || realQuote < 0n || virtualQuote <= 0n || total < 0n || quoteAmount < 0n || stayed < 0n) return 'malformed';
  const creator = has.creator ? fee(t.coin_creator_fee_basis_points, t.coin_creator_fee) : fee(0n, 0n);
  const holderRewards = has.holders ? fee(t.holder_rewards_bps, t.holder_rewards) : fee(0n, 0n);
  return {
    kind: 'decoded',
    event: {
      type: 'trade',
      pool: address(t.pool),
      pair: null,
      side,
      trader: address(t.user),
      baseAmount,
      quoteAmount,
      before: {
        priceQuote: t.pool_quote_token_reserves + (has.virtual ? t.virtual_quote_reserves : 0n),
        priceBase: t.pool_base_token_reserves,
      },
      reserves: { virtualBase: realBase, virtualQuote, realBase, realQuote: realQuote + stayed },
      fees: {
        protocol: fee(t.protocol_fee_basis_points, t.protocol_fee),
        creator: creatorShare(creator, holderRewards),
        lp: fee(t.lp_fee_basis_points, t.lp_fee),
        cashback: has.cashback ? fee(t.cashback_fee_basis_points, t.cashback) : fee(0n, 0n),
        holderRewards,
        total,
      },
      supply: has.supply && t.base_supply !== 0n ? t.base_supply : null,
      timestamp: t.timestamp,
    },
  };
}

function check(venue: Venue, data: Uint8Array, expected: PlainDecoded | 'malformed'): void {
  const decoded = decodeEvent(venue, data);
  if (expected === 'malformed') expect(decoded.kind).toBe('malformed');
  else expect(decoded).toEqual(expected);
}

describe('PumpSwap trades', () => {
  it('BuyEvent agrees with anchor in every layout', () => {
    fc.assert(
      fc.property(buyEvent, fc.nat(10), fc.uint8Array({ maxLength: 16 }), (b, lacking, extra) => {
        const full = encodeWith('pump-amm', 'events', 'BuyEvent', b);
        const anchor = anchorEvent(pumpAmmEvents, full);
        expect(anchor['virtual_quote_reserves']!.toString(10)).toBe(b.virtual_quote_reserves.toString());
        expect(anchor['quote_amount_in']!.toString(10)).toBe(b.quote_amount_in.toString());
        const parts = [0, 16, 8, 1, 16, 16, 16, 4 + Buffer.byteLength(b.ix_name), 8, 33, 48];
        const older = cut(
          full,
          parts.slice(0, lacking + 1).reduce((sum, bytes) => sum + bytes, 0),
        );
        const net = b.quote_amount_in_with_lp_fee - b.lp_fee;
        const paid = b.quote_amount_in > b.user_quote_amount_in ? b.quote_amount_in : b.user_quote_amount_in;
        const expected: AmmAmounts = {
          side: 'buy',
          baseAmount: b.base_amount_out,
          quoteAmount: net,
          realBase: b.pool_base_token_reserves - b.base_amount_out,
          realQuote: b.pool_quote_token_reserves + b.quote_amount_in_with_lp_fee,
          total: paid - net,
        };
        const has = {
          holders: lacking < 1,
          supply: lacking < 2,
          virtual: lacking < 4,
          buyback: lacking < 5,
          cashback: lacking < 6,
          creator: lacking < 10,
        };
        check(pumpAmm, lacking === 0 ? Buffer.concat([full, extra]) : older, expectedAmm(b, expected, has));
      }),
      runs,
    );
  });

  it('SellEvent agrees with anchor in every layout', () => {
    fc.assert(
      fc.property(sellEvent, fc.nat(7), (s, lacking) => {
        const full = encodeWith('pump-amm', 'events', 'SellEvent', s);
        expect(anchorEvent(pumpAmmEvents, full)['user_quote_amount_out']!.toString(10)).toBe(s.user_quote_amount_out.toString());
        const parts = [0, 16, 8, 1, 16, 16, 16, 48];
        const older = cut(
          full,
          parts.slice(0, lacking + 1).reduce((sum, bytes) => sum + bytes, 0),
        );
        const expected: AmmAmounts = {
          side: 'sell',
          baseAmount: s.base_amount_in,
          quoteAmount: s.quote_amount_out,
          realBase: s.pool_base_token_reserves + s.base_amount_in,
          realQuote: s.pool_quote_token_reserves - s.quote_amount_out_without_lp_fee,
          total: s.quote_amount_out - s.user_quote_amount_out,
        };
        const has = {
          holders: lacking < 1,
          supply: lacking < 2,
          virtual: lacking < 4,
          buyback: lacking < 5,
          cashback: lacking < 6,
          creator: lacking < 7,
        };
        check(pumpAmm, older, expectedAmm(s, expected, has));
      }),
      runs,
    );
  });

  it("the boost's events contain the reserves after them", () => {
    const boost = {
      timestamp: seconds,
      mint: key,
      bonding_curve: key,
      pool: key,
      virtual_quote_reserves: fc.bigInt({ min: -(2n ** 62n), max: 2n ** 100n }),
      real_quote_reserves_after: fc.bigInt({ min: 2n ** 62n + 1n, max: 2n ** 64n - 1n }),
    };
    const bought = fc.record({
      ...boost,
      authority: key,
      quote_amount_in_requested: u64,
      quote_amount_in_used: u64,
      base_amount_burned: u64,
      base_reserves_after: positive,
      boost_vault_remaining: u64,
    });
    fc.assert(
      fc.property(fc.record(boost), bought, (i, b) => {
        expect(decodeEvent(pumpAmm, encodeWith('pump-amm', 'events', 'InitBoostEvent', i))).toEqual({
          kind: 'decoded',
          event: {
            type: 'reserves',
            pool: address(i.pool),
            mint: address(i.mint),
            reserves: {
              virtualBase: null,
              virtualQuote: i.real_quote_reserves_after + i.virtual_quote_reserves,
              realBase: null,
              realQuote: i.real_quote_reserves_after,
            },
            burned: 0n,
            timestamp: i.timestamp,
          },
        });
        const data = encodeWith('pump-amm', 'events', 'BoostBuyAndBurnEvent', b);
        expect(decodeEvent(pumpAmm, data)).toEqual({
          kind: 'decoded',
          event: {
            type: 'reserves',
            pool: address(b.pool),
            mint: address(b.mint),
            reserves: {
              virtualBase: b.base_reserves_after,
              virtualQuote: b.real_quote_reserves_after + b.virtual_quote_reserves,
              realBase: b.base_reserves_after,
              realQuote: b.real_quote_reserves_after,
            },
            burned: b.base_amount_burned,
            timestamp: b.timestamp,
          },
        });
        expect(decodeEvent(pumpAmm, data.subarray(0, data.length - 1)).kind).toBe('malformed');
        const empty = { ...b, virtual_quote_reserves: -b.real_quote_reserves_after };
        expect(decodeEvent(pumpAmm, encodeWith('pump-amm', 'events', 'BoostBuyAndBurnEvent', empty)).kind).toBe('malformed');
      }),
      { ...runs, numRuns: 300 },
    );
  });

  // Values of three mainnet trades of 2026-10-08, checked against the vaults' balances after them.
  const zeros = {
    user_base_token_reserves: 0n,
    user_quote_token_reserves: 0n,
    cashback_fee_basis_points: 0n,
    cashback: 0n,
    can_boost: true,
  };
  const keys = {
    pool: new Uint8Array(32).fill(1),
    user: new Uint8Array(32).fill(2),
    user_base_token_account: zeroKey,
    user_quote_token_account: zeroKey,
    protocol_fee_recipient_token_account: zeroKey,
    coin_creator: new Uint8Array(32).fill(3),
  };
  const rates = {
    lp_fee_basis_points: 20n,
    protocol_fee_basis_points: 5n,
    buyback_fee_basis_points: 5000n,
    holder_rewards_bps: 0n,
    holder_rewards: 0n,
  };
  const noVolume = {
    track_volume: false,
    total_unclaimed_tokens: 0n,
    total_claimed_tokens: 0n,
    current_sol_volume: 0n,
    last_update_timestamp: 0,
    min_base_amount_out: 1n,
  };

  it('buy_exact_quote_in: the event has the paid amount, and that of `buy` has the net one', () => {
    const data = encodeWith('pump-amm', 'events', 'BuyEvent', {
      ...zeros,
      ...keys,
      ...rates,
      ...noVolume,
      ix_name: 'buy_exact_quote_in',
      timestamp: 1_791_446_119,
      base_amount_out: 62_224_634n,
      max_quote_amount_in: 204_964n,
      pool_base_token_reserves: 73_512_782_561_925n,
      pool_quote_token_reserves: 221_923_837_942n,
      quote_amount_in: 204_964n,
      lp_fee: 406n,
      protocol_fee: 102n,
      quote_amount_in_with_lp_fee: 203_138n,
      user_quote_amount_in: 202_732n,
      protocol_fee_recipient: new Uint8Array(32).fill(9),
      coin_creator_fee_basis_points: 85n,
      coin_creator_fee: 1_724n,
      buyback_fee: 51n,
      virtual_quote_reserves: 17_584_317_180n,
      base_supply: 998_385_152_426_951n,
    });
    expect(decodeEvent(pumpAmm, data)).toMatchObject({
      event: {
        quoteAmount: 202_732n,
        fees: { total: 2_232n, lp: { amount: 406n }, protocol: { amount: 102n }, creator: { amount: 1_724n } },
        reserves: {
          virtualBase: 73_512_720_337_291n,
          virtualQuote: 239_508_358_260n,
          realBase: 73_512_720_337_291n,
          realQuote: 221_924_041_080n,
        },
      },
    });
  });

  it('sell_v2: the fees that wait in the vault are stored there, but are not liquidity', () => {
    const data = encodeWith('pump-amm', 'events', 'SellEvent', {
      ...zeros,
      ...keys,
      ...rates,
      timestamp: 1_791_444_341,
      base_amount_in: 3_143_049_857n,
      min_quote_amount_out: 0n,
      pool_base_token_reserves: 74_473_392_242_842n,
      pool_quote_token_reserves: 218_834_620_214n,
      quote_amount_out: 9_977_328n,
      lp_fee: 19_955n,
      protocol_fee: 4_989n,
      quote_amount_out_without_lp_fee: 9_957_373n,
      user_quote_amount_out: 9_867_576n,
      protocol_fee_recipient: zeroKey,
      coin_creator_fee_basis_points: 85n,
      coin_creator_fee: 84_808n,
      buyback_fee: 2_494n,
      virtual_quote_reserves: 17_584_418_739n,
      base_supply: 999_833_451_684_198n,
    });
    expect(decodeEvent(pumpAmm, data)).toMatchObject({
      event: {
        quoteAmount: 9_977_328n,
        fees: { total: 109_752n },
        reserves: {
          virtualBase: 74_476_535_292_699n,
          virtualQuote: 236_409_081_580n,
          realBase: 74_476_535_292_699n,
          realQuote: 218_824_750_144n,
        },
      },
    });
    // 87,303 of the fees stayed: the virtual part falls by the same amount, so the price does not change.
    expect(218_824_750_144n + (17_584_418_739n - 87_303n)).toBe(236_409_081_580n);
  });

  it('buy_exact_quote_in_v2: parts and total are what the buyer paid in addition to the net amount', () => {
    const data = encodeWith('pump-amm', 'events', 'BuyEvent', {
      ...zeros,
      ...keys,
      ...rates,
      ...noVolume,
      ix_name: 'buy_exact_quote_in_v2',
      timestamp: 1_791_446_115,
      base_amount_out: 344_675_460_426n,
      max_quote_amount_in: 5_196_523_749n,
      pool_base_token_reserves: 152_502_187_179_376n,
      pool_quote_token_reserves: 1_941_817_726_351n,
      quote_amount_in: 5_196_523_749n,
      lp_fee: 10_164_350n,
      protocol_fee: 2_541_088n,
      quote_amount_in_with_lp_fee: 5_092_339_164n,
      user_quote_amount_in: 5_082_174_814n,
      protocol_fee_recipient: zeroKey,
      coin_creator_fee_basis_points: 200n,
      coin_creator_fee: 101_643_497n,
      buyback_fee: 1_270_544n,
      virtual_quote_reserves: 301_716_155_377n,
      base_supply: 930_775_381_733_199n,
    });
    expect(decodeEvent(pumpAmm, data)).toMatchObject({
      event: {
        quoteAmount: 5_082_174_814n,
        fees: { total: 114_348_935n },
        reserves: { virtualQuote: 2_248_626_220_892n, realQuote: 1_947_012_979_556n },
      },
    });
    expect(10_164_350n + 2_541_088n + 101_643_497n).toBe(114_348_935n);
    expect(5_082_174_814n + 114_348_935n).toBe(5_196_523_749n);
  });

  it('CreatePoolEvent agrees with anchor in every layout', () => {
    const createPool = fc.record({
      timestamp: seconds,
      index: fc.nat(65_535),
      creator: key,
      base_mint: key,
      quote_mint: key,
      base_mint_decimals: fc.nat(255),
      quote_mint_decimals: fc.nat(255),
      base_amount_in: u64,
      quote_amount_in: u64,
      pool_base_amount: positive,
      pool_quote_amount: positive,
      minimum_liquidity: u64,
      initial_liquidity: u64,
      lp_token_amount_out: u64,
      pool_bump: fc.nat(255),
      pool: key,
      lp_mint: key,
      user_base_token_account: key,
      user_quote_token_account: key,
      coin_creator: key,
      is_mayhem_mode: bool,
      creator_fee_bps: u64,
      can_edit_creator_fee: bool,
      is_holder_reward: bool,
    });
    fc.assert(
      fc.property(createPool, fc.nat(4), (p, lacking) => {
        const full = encodeWith('pump-amm', 'events', 'CreatePoolEvent', p);
        expect(anchorEvent(pumpAmmEvents, full)['pool_base_amount']!.toString(10)).toBe(p.pool_base_amount.toString());
        const parts = [0, 1, 9, 1, 32];
        expect(
          decodeEvent(
            pumpAmm,
            cut(
              full,
              parts.slice(0, lacking + 1).reduce((sum, bytes) => sum + bytes, 0),
            ),
          ),
        ).toEqual({
          kind: 'decoded',
          event: {
            type: 'poolCreated',
            pool: address(p.pool),
            baseMint: address(p.base_mint),
            quoteMint: address(p.quote_mint),
            baseDecimals: p.base_mint_decimals,
            quoteDecimals: p.quote_mint_decimals,
            creator: address(p.creator),
            timestamp: p.timestamp,
            reserves: {
              virtualBase: p.pool_base_amount,
              virtualQuote: p.pool_quote_amount,
              realBase: p.pool_base_amount,
              realQuote: p.pool_quote_amount,
            },
          },
        });
      }),
      { ...runs, numRuns: 500 },
    );
  });
});

describe('accounts', () => {
  const curve = fc.record({
    virtual_token_reserves: u64,
    virtual_quote_reserves: u64,
    real_token_reserves: u64,
    real_quote_reserves: u64,
    token_total_supply: u64,
    complete: bool,
    creator: key,
    is_mayhem_mode: bool,
    is_cashback_coin: bool,
    quote_mint: maybeZeroKey,
    creator_fee_bps: fc.bigInt({ min: 0n, max: 2n ** 53n - 1n }),
    can_edit_creator_fee: bool,
    is_holder_reward: bool,
  });

  it('BondingCurve of every length from 49 to 256 agrees with anchor on the bytes zero-padded', () => {
    fc.assert(
      fc.property(curve, fc.integer({ min: 49, max: 256 }), (record, length) => {
        const full = encodeWith('pump', 'accounts', 'BondingCurve', record);
        expect(full).toHaveLength(125);
        // A layout ends between fields: a field that is cut is missing completely.
        const ends = [49, 81, 82, 83, 115, 123, 124, 125];
        const retained = ends.filter((end) => end <= length).at(-1)!;
        const data = Buffer.alloc(length);
        full.copy(data, 0, 0, Math.min(length, full.length));
        const padded = Buffer.alloc(256);
        full.copy(padded, 0, 0, retained);
        const anchor = pumpAccounts.decode<AnchorRecord>('BondingCurve', padded);
        const quote = anchor['quote_mint']!.toString();
        expect(decodeAccount(pump, data)).toEqual({
          kind: 'decoded',
          account: {
            type: 'curve',
            quoteMint: quote === zeroAddress ? wrappedSolMint : quote,
            reserves: {
              virtualBase: BigInt(anchor['virtual_token_reserves']!.toString(10)),
              virtualQuote: BigInt(anchor['virtual_quote_reserves']!.toString(10)),
              realBase: BigInt(anchor['real_token_reserves']!.toString(10)),
              realQuote: BigInt(anchor['real_quote_reserves']!.toString(10)),
            },
            supply: anchor['is_mayhem_mode'] === true ? null : BigInt(anchor['token_total_supply']!.toString(10)),
            complete: anchor['complete'],
            creator: anchor['creator']!.toString(),
            mayhemMode: anchor['is_mayhem_mode'],
            cashback: anchor['is_cashback_coin'],
            holderReward: anchor['is_holder_reward'],
            creatorFeeBps: Number(anchor['creator_fee_bps']!.toString(10)),
          },
        });
      }),
      runs,
    );
  });

  it('Pool of every length from 211 to 301 agrees with anchor on the bytes zero-padded', () => {
    const pool = fc.record({
      pool_bump: fc.nat(255),
      index: fc.nat(65_535),
      creator: key,
      base_mint: key,
      quote_mint: key,
      lp_mint: key,
      pool_base_token_account: key,
      pool_quote_token_account: key,
      lp_supply: u64,
      coin_creator: key,
      is_mayhem_mode: bool,
      is_cashback_coin: bool,
      virtual_quote_reserves: fc.bigInt({ min: -(2n ** 100n), max: 2n ** 100n }),
      creator_fee_bps: fc.bigInt({ min: 0n, max: 2n ** 53n - 1n }),
      can_edit_creator_fee: bool,
      is_holder_reward: bool,
    });
    fc.assert(
      fc.property(pool, fc.integer({ min: 211, max: 301 }), (p, length) => {
        const full = encodeWith('pump-amm', 'accounts', 'Pool', p);
        expect(full).toHaveLength(271);
        const ends = [211, 243, 244, 245, 261, 269, 270, 271];
        const retained = ends.filter((end) => end <= length).at(-1)!;
        const data = Buffer.alloc(length);
        full.copy(data, 0, 0, Math.min(length, full.length));
        const padded = Buffer.alloc(301);
        full.copy(padded, 0, 0, retained);
        const anchor = pumpAmmAccounts.decode<AnchorRecord>('Pool', padded);
        const quote = anchor['quote_mint']!.toString();
        expect(decodeAccount(pumpAmm, data)).toEqual({
          kind: 'decoded',
          account: {
            type: 'pool',
            baseMint: anchor['base_mint']!.toString(),
            quoteMint: quote === zeroAddress ? wrappedSolMint : quote,
            baseVault: anchor['pool_base_token_account']!.toString(),
            quoteVault: anchor['pool_quote_token_account']!.toString(),
            lpMint: anchor['lp_mint']!.toString(),
            creator: anchor['creator']!.toString(),
            coinCreator: anchor['coin_creator']!.toString(),
            virtualQuote: BigInt(anchor['virtual_quote_reserves']!.toString(10)),
            // After the layout of this IDL; the bytes there are zero.
            waitingFees: 0n,
            mayhemMode: anchor['is_mayhem_mode'],
            cashback: anchor['is_cashback_coin'],
            holderReward: anchor['is_holder_reward'],
            creatorFeeBps: Number(anchor['creator_fee_bps']!.toString(10)),
          },
        });
      }),
      runs,
    );
  });
});

describe('the whole IDL', () => {
  const decodedEvents = new Set([
    'TradeEvent',
    'CreateEvent',
    'CompleteEvent',
    'CompletePumpAmmMigrationEvent',
    'UpdateMayhemVirtualParamsEvent',
    'BuyEvent',
    'SellEvent',
    'CreatePoolEvent',
    'DepositEvent',
    'WithdrawEvent',
    'InitBoostEvent',
    'BoostBuyAndBurnEvent',
  ]);
  for (const [venue, idl] of [
    [pump, pumpIdl],
    [pumpAmm, pumpAmmIdl],
  ] as const) {
    it(`${venue.name}: no event and no account is unknown, and each ignored one has its name`, () => {
      for (const { name, discriminator } of idl.events!) {
        const decoded = decodeEvent(venue, Uint8Array.from(discriminator));
        if (decodedEvents.has(name)) expect(decoded.kind, name).toBe('malformed');
        else expect(decoded).toEqual({ kind: 'ignored', name });
      }
      for (const { name, discriminator } of idl.accounts!) {
        const decoded = venue.decodeAccount(Uint8Array.from(discriminator));
        const ours = (venue === pump && name === 'BondingCurve') || (venue === pumpAmm && name === 'Pool');
        if (ours) expect(decoded.kind, name).toBe('malformed');
        else expect(decoded).toEqual({ kind: 'ignored', name });
      }
      expect(decodeEvent(venue, Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8, 9))).toEqual({ kind: 'unknown', discriminator: '0102030405060708' });
      expect(venue.decodeAccount(new Uint8Array(7)).kind).toBe('malformed');
    });
  }
});
