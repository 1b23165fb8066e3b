import { readLogs } from '@sluice/shared/solana/transaction/logs.ts';
import { orcaWhirlpool } from '../../venues/src/orca/whirlpool/index.ts';
import { coinPrice } from '@sluice/ingest/pipeline/sol-usd.ts';
import { whirlpoolDiscriminator, whirlpoolLength } from '../../venues/src/orca/whirlpool/layout.ts';
import { pumpAmm } from '../../venues/src/pump/amm/index.ts';
import { pump } from '../../venues/src/pump/curve/index.ts';
import type { DecodedAccount, Venue } from '@sluice/venues/seam/venue.ts';
import { describe, expect, it } from 'vitest';
import { mutateLog } from '../hostile/mutate.ts';
import { encodeWith } from './encode.ts';
import { decodeEvent, decodeWith, type PlainDecoded } from '../support/events/decoded.ts';
import { fuzzCases } from '../support/fuzz.ts';

/** A million in all: half a million logs, and as many events and accounts. */
const logRuns = fuzzCases(500_000);
const eventRuns = fuzzCases(300_000);
const accountRuns = fuzzCases(200_000);

/** Xorshift: the same mutations in every run. */
function generator(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

const key = (fill: number): Uint8Array => new Uint8Array(32).fill(fill);
const trade = {
  mint: key(1),
  sol_amount: 5n,
  token_amount: 6n,
  is_buy: true,
  user: key(2),
  timestamp: 1_791_485_924,
  virtual_sol_reserves: 30n,
  virtual_token_reserves: 1073n,
  real_sol_reserves: 1n,
  real_token_reserves: 793n,
  fee_recipient: key(3),
  fee_basis_points: 95n,
  fee: 1n,
  creator: key(4),
  creator_fee_basis_points: 30n,
  creator_fee: 1n,
  track_volume: true,
  total_unclaimed_tokens: 0n,
  total_claimed_tokens: 0n,
  current_sol_volume: 0n,
  last_update_timestamp: 0,
  ix_name: 'buy',
  mayhem_mode: false,
  cashback_fee_basis_points: 0n,
  cashback: 0n,
  buyback_fee_basis_points: 5000n,
  buyback_fee: 1n,
  shareholders: [{ address: key(5), share_bps: 9 }],
  quote_mint: key(6),
  quote_amount: 5n,
  virtual_quote_reserves: 30n,
  real_quote_reserves: 1n,
  holder_rewards_bps: 30n,
  holder_rewards: 1n,
};
const amm = {
  timestamp: 1_791_485_924,
  user_base_token_reserves: 1n,
  user_quote_token_reserves: 1n,
  pool_base_token_reserves: 1000n,
  pool_quote_token_reserves: 1000n,
  lp_fee_basis_points: 20n,
  lp_fee: 1n,
  protocol_fee_basis_points: 5n,
  protocol_fee: 1n,
  pool: key(7),
  user: key(8),
  user_base_token_account: key(9),
  user_quote_token_account: key(10),
  protocol_fee_recipient: key(11),
  protocol_fee_recipient_token_account: key(12),
  coin_creator: key(13),
  coin_creator_fee_basis_points: 30n,
  coin_creator_fee: 1n,
  cashback_fee_basis_points: 0n,
  cashback: 0n,
  buyback_fee_basis_points: 0n,
  buyback_fee: 0n,
  virtual_quote_reserves: -5n,
  can_boost: true,
  base_supply: 1000n,
  holder_rewards_bps: 0n,
  holder_rewards: 0n,
};
const buy = {
  ...amm,
  base_amount_out: 5n,
  max_quote_amount_in: 9n,
  quote_amount_in: 6n,
  quote_amount_in_with_lp_fee: 7n,
  user_quote_amount_in: 9n,
  track_volume: true,
  total_unclaimed_tokens: 0n,
  total_claimed_tokens: 0n,
  current_sol_volume: 0n,
  last_update_timestamp: 0,
  min_base_amount_out: 1n,
  ix_name: 'buy',
};
const sell = {
  ...amm,
  base_amount_in: 5n,
  min_quote_amount_out: 1n,
  quote_amount_out: 6n,
  quote_amount_out_without_lp_fee: 5n,
  user_quote_amount_out: 3n,
};
const create = {
  name: 'Name',
  symbol: 'SYM',
  uri: 'https://example.invalid/1',
  mint: key(1),
  bonding_curve: key(2),
  user: key(3),
  creator: key(4),
  timestamp: 1,
  virtual_token_reserves: 1073n,
  virtual_sol_reserves: 30n,
  real_token_reserves: 793n,
  token_total_supply: 1000n,
  token_program: key(5),
  is_mayhem_mode: false,
  is_cashback_enabled: false,
  quote_mint: key(0),
  virtual_quote_reserves: 30n,
  creator_fee_bps: 0n,
  is_holder_reward: true,
};
const createPool = {
  timestamp: 1,
  index: 0,
  creator: key(1),
  base_mint: key(2),
  quote_mint: key(3),
  base_mint_decimals: 6,
  quote_mint_decimals: 9,
  base_amount_in: 1n,
  quote_amount_in: 1n,
  pool_base_amount: 1n,
  pool_quote_amount: 1n,
  minimum_liquidity: 100n,
  initial_liquidity: 1n,
  lp_token_amount_out: 1n,
  pool_bump: 255,
  pool: key(4),
  lp_mint: key(5),
  user_base_token_account: key(6),
  user_quote_token_account: key(7),
  coin_creator: key(8),
  is_mayhem_mode: false,
  creator_fee_bps: 0n,
  can_edit_creator_fee: false,
  is_holder_reward: false,
};
const migration = {
  user: key(1),
  mint: key(2),
  mint_amount: 1n,
  sol_amount: 2n,
  pool_migration_fee: 3n,
  bonding_curve: key(3),
  timestamp: 4,
  pool: key(4),
  quote_mint: key(0),
};

/** Not in the SDK's IDL yet: four keys, a time, and eleven amounts, the last of which are the pool's reserves. */
const postCompleteBuy = Buffer.concat([
  Buffer.from('6fb06d8b316cd5fb', 'hex'),
  Buffer.alloc(128, 3),
  Buffer.from('64e8c76a00000000', 'hex'),
  Buffer.alloc(88, 1),
]);

const eventSamples: readonly (readonly [Venue, Uint8Array])[] = [
  [pump, encodeWith('pump', 'events', 'TradeEvent', trade)],
  [pump, encodeWith('pump', 'events', 'CreateEvent', create)],
  [
    pump,
    encodeWith('pump', 'events', 'CompleteEvent', { user: key(1), mint: key(2), bonding_curve: key(3), timestamp: 4, quote_mint: key(5) }),
  ],
  [pump, encodeWith('pump', 'events', 'CompletePumpAmmMigrationEvent', migration)],
  [
    pump,
    encodeWith('pump', 'events', 'ExtendAccountEvent', { account: key(1), user: key(2), current_size: 1n, new_size: 2n, timestamp: 3 }),
  ],
  [pump, postCompleteBuy],
  [pumpAmm, encodeWith('pump-amm', 'events', 'BuyEvent', buy)],
  [pumpAmm, encodeWith('pump-amm', 'events', 'SellEvent', sell)],
  [pumpAmm, encodeWith('pump-amm', 'events', 'CreatePoolEvent', createPool)],
];

const curve = {
  virtual_token_reserves: 1n,
  virtual_quote_reserves: 2n,
  real_token_reserves: 3n,
  real_quote_reserves: 4n,
  token_total_supply: 5n,
  complete: false,
  creator: key(1),
  is_mayhem_mode: false,
  is_cashback_coin: false,
  quote_mint: key(0),
  creator_fee_bps: 0n,
  can_edit_creator_fee: false,
  is_holder_reward: false,
};
const pool = {
  pool_bump: 1,
  index: 0,
  creator: key(1),
  base_mint: key(2),
  quote_mint: key(3),
  lp_mint: key(4),
  pool_base_token_account: key(5),
  pool_quote_token_account: key(6),
  lp_supply: 7n,
  coin_creator: key(8),
  is_mayhem_mode: false,
  is_cashback_coin: false,
  virtual_quote_reserves: -9n,
  creator_fee_bps: 0n,
  can_edit_creator_fee: false,
  is_holder_reward: false,
};

/** Flips bytes, cuts, or appends. */
function mutateBytes(bytes: Uint8Array, below: (limit: number) => number): Uint8Array {
  const action = below(10);
  if (action === 0) return bytes.subarray(0, below(bytes.length + 1));
  const copy = Buffer.alloc(bytes.length + (action === 1 ? below(64) : 0), below(256));
  copy.set(bytes);
  if (action === 2) return copy.fill(below(256), 8 + below(bytes.length - 8));
  for (let flips = below(5); flips >= 0; flips--) copy[below(copy.length)] = below(256);
  return copy;
}

/** Properties of every decoded event, for any bytes. */
function assertSound(decoded: PlainDecoded): void {
  if (decoded.kind !== 'decoded') return;
  const { event } = decoded;
  if (event.timestamp !== null && !(Number.isInteger(event.timestamp) && event.timestamp >= 0)) throw new Error('an invalid time');
  if (event.type === 'trade') {
    const { virtualBase, virtualQuote, realBase, realQuote } = event.reserves;
    if (virtualBase <= 0n || virtualQuote <= 0n || realBase < 0n || realQuote < 0n || event.fees.total < 0n)
      throw new Error('senseless reserves or fees');
    if (event.trader.length < 32 || event.trader.length > 44) throw new Error('a trader that is not an address');
  }
}

function count(kinds: Record<string, number>, kind: string): void {
  kinds[kind] = (kinds[kind] ?? 0) + 1;
}

describe('random mutations', () => {
  it(`${logRuns} logs: no exception, and a verdict for each`, () => {
    const below = generator(0x5eed);
    const event = Buffer.from(eventSamples[0]![1]).toString('base64');
    const swap = Buffer.from(eventSamples[6]![1]).toString('base64');
    const token = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb';
    const lines = [
      'Program ComputeBudget111111111111111111111111111111 invoke [1]',
      'Program ComputeBudget111111111111111111111111111111 success',
      `Program ${pump.programId} invoke [1]`,
      'Program log: Instruction: Buy',
      `Program ${token} invoke [2]`,
      `Program ${token} consumed 2562 of 92643 compute units`,
      `Program ${token} success`,
      `Program data: ${event}`,
      `Program ${pump.programId} invoke [2]`,
      `Program ${pump.programId} success`,
      `Program ${pump.programId} success`,
      `Program ${pumpAmm.programId} invoke [1]`,
      `Program data: ${swap}`,
      `Program ${pumpAmm.programId} success`,
    ];
    const verdicts: Record<string, number> = {};
    const kinds: Record<string, number> = {};
    for (let run = 0; run < logRuns; run++) {
      const reading = readLogs(mutateLog(lines, below), (programId, path, data) => {
        if (path.length === 0 || path.length > 12) throw new Error(`an invalid path: ${path}`);
        const decoded = decodeWith(programId, data);
        if (decoded === undefined) return;
        assertSound(decoded);
        count(kinds, decoded.kind);
      });
      count(verdicts, reading.truncated ? 'truncated' : (reading.malformed ?? 'fine'));
    }
    expect(Object.values(verdicts).reduce((sum, number) => sum + number, 0)).toBe(logRuns);
    for (const verdict of [
      'fine',
      'data is not base64',
      'an invoke of the wrong depth',
      'the end of a program that is not running',
      'a program without its end',
      'data outside of any program',
    ]) {
      expect(verdicts[verdict], verdict).toBeGreaterThan(0);
    }
    expect(kinds['decoded']).toBeGreaterThan(logRuns / 2);
    expect(kinds['malformed']).toBeGreaterThan(0);
  });

  it(`${eventRuns} events: no exception, and only valid ones decoded`, () => {
    const below = generator(0xbeef);
    const kinds: Record<string, number> = {};
    for (const [venue, sample] of eventSamples) expect(['decoded', 'ignored']).toContain(decodeEvent(venue, sample).kind);
    for (let run = 0; run < eventRuns; run++) {
      const [venue, sample] = eventSamples[run % eventSamples.length]!;
      const decoded = decodeEvent(venue, mutateBytes(sample, below));
      assertSound(decoded);
      count(kinds, decoded.kind);
    }
    for (const kind of ['decoded', 'ignored', 'unknown', 'malformed']) expect(kinds[kind], kind).toBeGreaterThan(1000);
  });

  it(`${accountRuns} accounts: no exception, and a verdict for each`, () => {
    const below = generator(0xacc);
    const whirlpool = Buffer.alloc(whirlpoolLength, 1);
    whirlpool.set(whirlpoolDiscriminator);
    const samples: readonly (readonly [(data: Uint8Array) => DecodedAccount | null, Uint8Array])[] = [
      [(data) => pump.decodeAccount(data), encodeWith('pump', 'accounts', 'BondingCurve', curve)],
      [(data) => pumpAmm.decodeAccount(data), encodeWith('pump-amm', 'accounts', 'Pool', pool)],
      [
        (data) => {
          const decoded = orcaWhirlpool.decodeAccount(data);
          if (decoded.kind === 'decoded' && decoded.account.type === 'pool') coinPrice(decoded.account);
          return decoded;
        },
        whirlpool,
      ],
    ];
    const kinds: Record<string, number> = {};
    for (let run = 0; run < accountRuns; run++) {
      const [decode, sample] = samples[run % samples.length]!;
      count(kinds, decode(mutateBytes(sample, below))?.kind ?? 'none');
    }
    for (const kind of ['decoded', 'unknown', 'malformed']) expect(kinds[kind], kind).toBeGreaterThan(1000);
  });

  it('derivedPools accepts any text', () => {
    for (const text of ['', 'x', '1'.repeat(31), 'O'.repeat(44), '\u0000', 'z'.repeat(44), '🙂'.repeat(20)]) {
      expect(pump.derivedPools(text), text).toEqual([]);
      expect(pumpAmm.derivedPools(text), text).toEqual([]);
    }
    expect(pump.derivedPools('CLYsNxoYZZGhLdS2s6LP7AK7g4d9VQxm2Baxrfppump')[0]?.address).toBe(
      'Ct1er2nHmt1ga8vahhmPZBW2BVwv71Boi6HtAdMyskZx',
    );
  });
});
