import { BorshCoder, type Idl } from '@coral-xyz/anchor';
import { CpAmmIdl } from '@meteora-ag/cp-amm-sdk';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { feesIn } from '@sluice/venues/seam/fee.ts';
import type { DecodeOutcome, EmittingInstruction, VenueEvent } from '@sluice/venues/seam/venue.ts';
import { PublicKey } from '@solana/web3.js';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { meteoraDammV2 } from '../../venues/src/meteora/damm-v2/index.ts';
import { decodePool } from '../../venues/src/meteora/damm-v2/pool.ts';
import { collectFeeModes, events, programId, swap } from '../../venues/src/meteora/damm-v2/program.ts';
import { fixtureBytes, fixturesPresent } from '../golden/fixtures.ts';
import { BN } from '../support/chain/bn.ts';
import { fuzzCases, mutated } from '../support/fuzz.ts';

/** Anchor with the IDL of the SDK writes and reads the records; ours must read the same. */
const idl = CpAmmIdl as unknown as Idl;
const coder = new BorshCoder(idl);

/** Plain values as anchor encodes them. Numbers are its small integers. */
function toAnchor(value: unknown): unknown {
  if (typeof value === 'bigint') return new BN(value.toString());
  if (value instanceof Uint8Array) return value.length === 32 ? new PublicKey(value) : [...value];
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, toAnchor(item)]));
}

function encoded(name: string, record: object): Buffer {
  const { discriminator } = idl.events!.find((event) => event.name === name)!;
  return Buffer.concat([Buffer.from(discriminator), coder.types.encode(name, toAnchor(record))]);
}

const key = (fill: number): Uint8Array => new Uint8Array(32).fill(fill);
const address = (fill: number): string => encodeBase58(key(fill));
const pool = address(1);
/** Of a swap the pool is the second, and its mints, its user follow at 6, 7 and 8. */
const swapping = {
  programId,
  accounts: [20, 1, 21, 22, 23, 24, 2, 3, 4, 25, 26, 27, 28, 29].map(address),
  data: swap,
  inner: [],
  at: -1,
} satisfies EmittingInstruction;
/** When liquidity is added the pool is the first, and its mints are at 6 and 7. */
const adding = { ...swapping, accounts: [1, 21, 22, 23, 24, 25, 2, 3].map(address), data: new Uint8Array(8) } satisfies EmittingInstruction;

function decoded(data: Uint8Array, emitting: EmittingInstruction | null): { outcome: DecodeOutcome; events: VenueEvent[] } {
  const found: VenueEvent[] = [];
  const context = { record: 'event', data, text: null, instruction: () => emitting, feePayer: null, tokenBalances: null } as const;
  return { outcome: meteoraDammV2.decode(context, (event) => found.push(event)), events: found };
}

const u64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
const below = (bits: bigint): fc.Arbitrary<bigint> => fc.bigInt({ min: 1n, max: 2n ** bits });

const swaps = fc
  .record({
    trade_direction: fc.nat(1),
    collect_fee_mode: fc.nat(2),
    has_referral: fc.boolean(),
    through: below(60n),
    output: below(60n),
    fees: fc.tuple(below(50n), below(50n), fc.bigInt({ min: 0n, max: 2n ** 40n }), below(50n)),
    withheld: fc.tuple(fc.bigInt({ min: 0n, max: 2n ** 40n }), fc.bigInt({ min: 0n, max: 2n ** 40n })),
    sqrtPrice: fc.bigInt({ min: 4_295_048_016n, max: 79_226_673_521_066_979_257_578_248_091n }),
    reserves: fc.tuple(below(63n), below(63n)),
    timestamp: fc.bigInt({ min: 0n, max: 2n ** 32n }),
    swap_mode: fc.nat(2),
  })
  .map((s) => ({ ...s, output: s.output + s.withheld[1] }));
type Swap = typeof swaps extends fc.Arbitrary<infer T> ? T : never;

const total = (fees: readonly bigint[]): bigint => fees.reduce((sum, fee) => sum + fee, 0n);
const isOnInput = ({ trade_direction: direction, collect_fee_mode: mode }: Swap): boolean => direction === 1 && mode !== 0;

function swap2Event(s: Swap): Buffer {
  const included = isOnInput(s) ? s.through + total(s.fees) : s.through;
  return encoded('EvtSwap2', {
    pool: key(1),
    trade_direction: s.trade_direction,
    collect_fee_mode: s.collect_fee_mode,
    has_referral: s.has_referral,
    params: { amount_0: 7n, amount_1: 8n, swap_mode: s.swap_mode },
    swap_result: {
      included_fee_input_amount: included,
      excluded_fee_input_amount: s.through,
      amount_left: 9n,
      output_amount: s.output,
      next_sqrt_price: s.sqrtPrice,
      claiming_fee: s.fees[0],
      protocol_fee: s.fees[1],
      compounding_fee: s.fees[2],
      referral_fee: s.fees[3],
    },
    included_transfer_fee_amount_in: included + s.withheld[0],
    included_transfer_fee_amount_out: s.output,
    excluded_transfer_fee_amount_out: s.output - s.withheld[1],
    current_timestamp: s.timestamp,
    reserve_a_amount: s.reserves[0],
    reserve_b_amount: s.reserves[1],
  });
}

describe('records by the IDL', () => {
  it('EvtSwap2', () => {
    fc.assert(
      fc.property(swaps, (s) => {
        const { outcome, events: found } = decoded(swap2Event(s), swapping);
        const isSell = s.trade_direction === 0;
        const left = isOnInput(s) ? s.output : s.output + total(s.fees);
        const [a, b] = s.reserves;
        const compounds = s.collect_fee_mode === collectFeeModes.compounding;
        // The program would have refused a swap that leaves or had nothing.
        if (compounds && (isSell ? a <= s.through || b + left <= s.fees[2] : b <= s.through + s.fees[2])) {
          expect(outcome.kind).toBe('malformed');
          return;
        }
        const [trade] = found;
        if (trade?.type !== 'trade') throw new Error(JSON.stringify(outcome));
        const [coinIn, coinOut] = isSell ? (['base', 'quote'] as const) : (['quote', 'base'] as const);
        const [given, gotten] = isSell ? [trade.baseAmount, trade.quoteAmount] : [trade.quoteAmount, trade.baseAmount];
        expect([given, gotten]).toEqual([s.through, left]);
        const paid = s.through + (isOnInput(s) ? total(s.fees) : 0n) + s.withheld[0];
        expect([given + feesIn(coinIn, trade.fees), gotten - feesIn(coinOut, trade.fees)]).toEqual([paid, s.output - s.withheld[1]]);
        const { pair, trader, timestamp, priceQuote, priceBase, reserves } = trade;
        expect({ pool: trade.pool, pair, trader, timestamp }).toEqual({
          pool,
          pair: { baseMint: address(2), quoteMint: address(3) },
          trader: address(4),
          timestamp: Number(s.timestamp),
        });
        expect([priceQuote, priceBase]).toEqual(compounds ? [b, a] : [s.sqrtPrice ** 2n, 1n << 128n]);
        expect(reserves === null).toBe(!compounds);
        const kinds = trade.fees.map(({ kind }) => kind);
        expect([kinds.includes('partner'), new Set(kinds).size <= kinds.length]).toEqual([!compounds && s.fees[2] > 0n, true]);
      }),
      { seed: 20261128, numRuns: fuzzCases(4_000) },
    );
  });

  it('EvtLiquidityChange counts what reached the vaults, or left them', () => {
    fc.assert(
      fc.property(fc.tuple(u64, u64, u64, u64, u64, u64), fc.nat(1), ([a, b, grossA, grossB, leftA, leftB], change) => {
        const data = encoded('EvtLiquidityChange', {
          pool: key(1),
          position: key(5),
          owner: key(6),
          token_a_amount: a,
          token_b_amount: b,
          transfer_fee_included_token_a_amount: grossA,
          transfer_fee_included_token_b_amount: grossB,
          reserve_a_amount: leftA,
          reserve_b_amount: leftB,
          liquidity_delta: 2n ** 100n,
          token_a_amount_threshold: 0n,
          token_b_amount_threshold: 0n,
          change_type: change,
        });
        const event = {
          type: change === 0 ? 'liquidityAdded' : 'liquidityRemoved',
          pool,
          provider: address(6),
          baseAmount: change === 0 ? a : grossA,
          quoteAmount: change === 0 ? b : grossB,
          lpAmount: 2n ** 100n,
          left: { base: leftA, quote: leftB },
          state: null,
          timestamp: null,
        };
        // To remove, the accounts begin with one more.
        const removing = { ...adding, accounts: [address(20), ...adding.accounts] };
        const pair = { baseMint: address(2), quoteMint: address(3) };
        for (const emitting of [adding, removing]) expect(decoded(data, emitting).events).toEqual([{ ...event, pair }]);
      }),
      { seed: 2, numRuns: 100 },
    );
  });

  it.each([
    null,
    {
      bin_step: 1,
      bin_step_u128: 5n,
      filter_period: 1,
      decay_period: 2,
      reduction_factor: 3,
      max_volatility_accumulator: 4,
      variable_fee_control: 5,
    },
  ])('EvtInitializePool with the dynamic fee %o', (dynamic) => {
    for (const mode of [0, 1, 2]) {
      const data = encoded('EvtInitializePool', {
        pool: key(1),
        token_a_mint: key(2),
        token_b_mint: key(3),
        creator: key(4),
        payer: key(5),
        alpha_vault: key(6),
        pool_fees: { base_fee: { data: new Uint8Array(27) }, compounding_fee_bps: 0, padding: 0, dynamic_fee: dynamic },
        sqrt_min_price: 1n,
        sqrt_max_price: 2n,
        activation_type: 0,
        collect_fee_mode: mode,
        liquidity: 3n,
        sqrt_price: 4n,
        activation_point: 5n,
        token_a_flag: 0,
        token_b_flag: 0,
        token_a_amount: 6n,
        token_b_amount: 7n,
        total_amount_a: 8n,
        total_amount_b: 9n,
        pool_type: 0,
      });
      const reserves = mode === 2 ? { virtualBase: 6n, virtualQuote: 7n, realBase: 6n, realQuote: 7n } : null;
      const coins = { baseMint: address(2), quoteMint: address(3), baseDecimals: null, quoteDecimals: null };
      const state = { priceQuote: 16n, priceBase: 2n ** 128n, reserves: null, depth: 0n };
      const opening = mode === 2 ? {} : { opening: { state, held: { base: 6n, quote: 7n } } };
      expect(decoded(data, adding).events).toEqual([
        { type: 'poolCreated', pool, ...coins, reserves, ...opening, creator: address(4), timestamp: null },
      ]);
    }
  });

  it('liquidity that is locked for good, and for a time', () => {
    const forGood = { pool: key(1), position: key(5), lock_liquidity_amount: 2n ** 90n, total_permanent_locked_liquidity: 2n ** 91n };
    const position = { pool: key(1), position: key(5), owner: key(6), vesting: key(7), cliff_point: 1n, period_frequency: 2n };
    const forSomeTime = { ...position, cliff_unlock_liquidity: 5n, liquidity_per_period: 2n ** 70n, number_of_period: 3 };
    for (const [data, lpAmount] of [
      [encoded('EvtPermanentLockPosition', forGood), 2n ** 90n],
      [encoded('EvtLockPosition', forSomeTime), 5n + 3n * 2n ** 70n],
    ] as const)
      expect(decoded(data, null).events).toEqual([{ type: 'liquidityLocked', pool, lpAmount, timestamp: null }]);
  });

  it('no event and no account is unknown', () => {
    const used = new Set(['EvtSwap2', 'EvtInitializePool', 'EvtLiquidityChange', 'EvtPermanentLockPosition', 'EvtLockPosition']);
    for (const { name, discriminator } of idl.events!)
      expect(decoded(Uint8Array.from(discriminator), null).outcome).toMatchObject(
        used.has(name) ? { kind: 'malformed' } : { kind: 'ignored', name },
      );
    for (const { name, discriminator } of idl.accounts!)
      expect(meteoraDammV2.decodeAccount(Uint8Array.from(discriminator))).toMatchObject(
        name === 'Pool' ? { kind: 'malformed' } : { kind: 'ignored', name },
      );
    expect(decoded(new Uint8Array(9), null).outcome.kind).toBe('unknown');
  });
});

const accountNames = ['3u2BK3ykdjv1hAeGQwAkZMxjb4otV5yvW7g72uviCaZZ', 'CGPxT5d1uf9a8cKVJuZaJAU76t2EfLGbTmRbfvLLZp5j', 'pool_account'];
const accountOf = (name: string): Buffer => fixtureBytes(`accounts/meteora-damm-v2/${name}.bin`);

it.skipIf(!fixturesPresent).each(accountNames)('the account %s is read as anchor reads it', (name) => {
  const ours = decodePool(accountOf(name))!;
  const theirs = coder.accounts.decode<Record<string, { toString(): string }>>('Pool', accountOf(name));
  expect(
    [ours.mintA, ours.mintB, ours.vaultA, ours.vaultB, ours.liquidity, ours.sqrtMinPrice, ours.sqrtMaxPrice, ours.sqrtPrice].map(String),
  ).toEqual(
    ['token_a_mint', 'token_b_mint', 'token_a_vault', 'token_b_vault', 'liquidity', 'sqrt_min_price', 'sqrt_max_price', 'sqrt_price'].map(
      (field) => theirs[field]!.toString(),
    ),
  );
  expect(ours.collectFeeMode).toBe(Number(theirs['collect_fee_mode']));
});

/** The older events, which the IDL no longer has. */
function older(discriminator: Uint8Array, length: number): Buffer {
  const data = Buffer.alloc(length, 1);
  data.set(discriminator);
  data.writeBigUInt64LE(1_700_000_000n, length - 8);
  return data;
}

it('any bytes give a sound event, or a verdict', () => {
  const sample = swap2Event({
    trade_direction: 0,
    collect_fee_mode: 2,
    has_referral: false,
    through: 1_000n,
    output: 900n,
    fees: [3n, 2n, 1n, 1n],
    withheld: [5n, 6n],
    sqrtPrice: 1n << 64n,
    reserves: [10_000n, 9_000n],
    timestamp: 1_700_000_000n,
    swap_mode: 0,
  });
  const swapSample = older(events.swap, 130);
  swapSample.set([0, 0], 40);
  const others = [
    older(events.addLiquidity, 168),
    older(events.removeLiquidity, 152),
    older(events.liquidityChange, 185),
    older(events.initializePool, 372),
  ];
  let trades = 0;
  fc.assert(
    fc.property(fc.oneof(mutated(sample), mutated(swapSample), ...others.map(mutated), fc.uint8Array()), fc.nat(14), (data, length) => {
      for (const emitting of [null, swapping, adding, { ...swapping, accounts: swapping.accounts.slice(0, length) }]) {
        for (const event of decoded(data, emitting).events) {
          if (event.type !== 'trade') continue;
          trades++;
          const completed = [event, ...[0n, 1n, 2n].map((collectFeeMode) => meteoraDammV2.completeTrade!(event, { collectFeeMode }))];
          for (const { baseAmount, quoteAmount, priceBase, priceQuote, fees, before } of event.needs === undefined ? [event] : completed) {
            expect([baseAmount, quoteAmount, ...fees.map(({ amount }) => amount)].every((amount) => amount >= 0n)).toBe(true);
            expect(priceBase > 0n && priceQuote > 0n && (before === null || (before.priceBase > 0n && before.priceQuote > 0n))).toBe(true);
          }
        }
      }
    }),
    { seed: 1, numRuns: fuzzCases(30_000) },
  );
  expect(trades).toBeGreaterThan(100);
});

it.skipIf(!fixturesPresent)('any bytes of an account give a pool, or a verdict', () => {
  fc.assert(
    fc.property(fc.oneof(...accountNames.map((name) => mutated(accountOf(name)))), (data) => {
      const outcome = meteoraDammV2.decodeAccount(data);
      if (outcome.kind === 'decoded' && outcome.account.type === 'pool') expect(outcome.account.price!.priceBase).toBeGreaterThan(0n);
      meteoraDammV2.constantsOf!(data, () => null, '');
    }),
    { seed: 1, numRuns: fuzzCases(20_000) },
  );
});
