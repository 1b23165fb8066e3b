import { pumpAmm } from '../../venues/src/pump/amm/index.ts';
import { pump } from '../../venues/src/pump/curve/index.ts';
import { coinPrice } from '@sluice/ingest/pipeline/sol-usd.ts';
import { quotient } from '@sluice/shared/solana/encoding/amounts.ts';
import { stateOfSqrtPrice } from '@sluice/venues/kit/concentrated.ts';
import { decodeWhirlpool } from '../../venues/src/orca/whirlpool/decode.ts';
import { venueByProgram } from '@sluice/venues/registry.ts';
import { usdcMint, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { describe, expect, it } from 'vitest';
import { type AnchorRecord, pumpAccounts, pumpAmmAccounts } from './anchor.ts';
import { fixtureAccount, fixtureJson, fixtureNames, fixturesNote, fixturesPresent } from './fixtures.ts';
import { decodeEvent, decodeAccount } from '../support/events/decoded.ts';

const usdPerSol = (pool: Parameters<typeof coinPrice>[0]): number | null => coinPrice(pool)?.price ?? null;

const sol = wrappedSolMint;

function recordedEvent(name: string): Uint8Array {
  const all = fixtureJson('events/events_2026-10.json') as { name: string; event_b64: string }[];
  return Buffer.from(all.find((event) => event.name === name)!.event_b64, 'base64');
}

describe.skipIf(!fixturesPresent)(`single events (${fixturesNote})`, () => {
  it('CreateEvent of 356 bytes, with the flag of holder-reward coins', () => {
    const data = recordedEvent('pump_create_v2_2026-10-08');
    expect(data).toHaveLength(356);
    expect(decodeEvent(pump, data)).toEqual({
      kind: 'decoded',
      event: {
        type: 'created',
        mint: 'CLYsNxoYZZGhLdS2s6LP7AK7g4d9VQxm2Baxrfppump',
        quoteMint: sol,
        pool: 'Ct1er2nHmt1ga8vahhmPZBW2BVwv71Boi6HtAdMyskZx',
        name: 'Rolex (ROLX)',
        symbol: 'Rolex',
        uri: 'https://ipfs.io/ipfs/QmSoiHKoXcQPSkqGeYbdSnPEW1Pw7iKJGwBPD4RYwafGsa',
        creator: 'FLmqWm6XLqWUgz32DSVRQPMnGmMCii3QihwQn2AxPKtr',
        platform: null,
        trader: 'FLmqWm6XLqWUgz32DSVRQPMnGmMCii3QihwQn2AxPKtr',
        tokenProgram: 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb',
        supply: 1_000_000_000_000_000n,
        decimals: 6,
        reserves: { virtualBase: 1_073_000_000_000_000n, virtualQuote: 30_000_000_000n, realBase: 793_100_000_000_000n, realQuote: 0n },
        mayhemMode: false,
        cashback: false,
        holderReward: false,
        creatorFeeBps: 0,
        timestamp: 1_791_495_216,
      },
    });
    expect(pump.derivedPools('CLYsNxoYZZGhLdS2s6LP7AK7g4d9VQxm2Baxrfppump')).toEqual([
      { address: 'Ct1er2nHmt1ga8vahhmPZBW2BVwv71Boi6HtAdMyskZx', vaults: [] },
    ]);
  });

  it('SellEvent of 441 bytes on a boosted pool: reserves after the trade, virtual quote included', () => {
    const data = recordedEvent('pumpswap_sell_2026-10-08');
    expect(data).toHaveLength(441);
    // Before: 201,507,997,683,183 tokens and 72,941,752,249 lamports in the vaults, 15,421,472,586 virtual.
    expect(decodeEvent(pumpAmm, data)).toEqual({
      kind: 'decoded',
      event: {
        type: 'trade',
        pool: '6g2v2FRny274RxReMcNX2B4N5Xzc8m8aQE2RbaQDdxRW',
        pair: null,
        side: 'sell',
        trader: 'H1MkQA2uUnycYsBtfxwVLNAqGBNZYoZpnKSxJWEmFLTu',
        baseAmount: 185_302_193_907n,
        quoteAmount: 81_182_168n,
        before: { priceQuote: 88_363_224_835n, priceBase: 201_507_997_683_183n },
        reserves: {
          virtualBase: 201_693_299_877_090n,
          virtualQuote: 88_282_205_032n,
          realBase: 201_693_299_877_090n,
          realQuote: 72_860_732_446n,
        },
        fees: {
          protocol: { amount: 40_592n, bps: 5 },
          creator: { amount: 0n, bps: 0 },
          lp: { amount: 162_365n, bps: 20 },
          cashback: { amount: 0n, bps: 0 },
          holderRewards: { amount: 771_231n, bps: 95 },
          total: 974_188n,
        },
        supply: 988_717_900_720_934n,
        timestamp: 1_791_485_743,
      },
    });
    // The pool's own formula on the reserves before the trade gives the amount that the event names.
    const [baseBefore, quoteBefore, sold] = [201_507_997_683_183n, 72_941_752_249n + 15_421_472_586n, 185_302_193_907n];
    expect((quoteBefore * sold) / (baseBefore + sold)).toBe(81_182_168n);
    // The parts make up the total: the creator fee of this coin is the holders', and is charged once.
    expect(40_592n + 162_365n + 771_231n).toBe(974_188n);
  });
});

describe.skipIf(!fixturesPresent)(`accounts (${fixturesNote})`, () => {
  const curves = [
    {
      name: 'pump_bonding_curve_166_5rL1_2026-10-08',
      length: 166,
      reserves: {
        virtualBase: 1_072_399_200_294_529n,
        virtualQuote: 30_016_807_539n,
        realBase: 792_499_200_294_529n,
        realQuote: 16_807_539n,
      },
      creator: '7xPr9BDh6c5VHYQzywz8QYpVhiM8siL4gD5hmmjG2ptu',
      cashback: false,
      holderReward: true,
    },
    {
      name: 'pump_bonding_curve_2026-07-29',
      length: 151,
      reserves: {
        virtualBase: 1_045_502_991_298_183n,
        virtualQuote: 30_789_008_086n,
        realBase: 765_602_991_298_183n,
        realQuote: 789_008_086n,
      },
      creator: '5htGpHK2oV9g2BcDqLdRBqjCLdy8mc3fsESfR5DU73eM',
      cashback: true,
      holderReward: false,
    },
    {
      name: 'pump_bonding_curve_ws_125_2026-09',
      length: 125,
      reserves: {
        virtualBase: 1_064_240_816_370_404n,
        virtualQuote: 30_246_913_580n,
        realBase: 784_340_816_370_404n,
        realQuote: 246_913_580n,
      },
      creator: 'CgZR94gNvPvRVB6WuN6WaFCedypYm3V6Y2VPFXc6gxAq',
      cashback: false,
      holderReward: false,
    },
  ];
  for (const { name, length, reserves, creator, cashback, holderReward } of curves) {
    it(name, () => {
      const { owner, data } = fixtureAccount(name);
      expect(owner).toBe(pump.programId);
      expect(data).toHaveLength(length);
      expect(decodeAccount(pump, data)).toEqual({
        kind: 'decoded',
        account: {
          type: 'curve',
          quoteMint: sol,
          reserves,
          supply: 1_000_000_000_000_000n,
          complete: false,
          creator,
          mayhemMode: false,
          cashback,
          holderReward,
          creatorFeeBps: 0,
        },
      });
      const anchor = pumpAccounts.decode<AnchorRecord>('BondingCurve', Buffer.from(data));
      expect(anchor['virtual_token_reserves']!.toString(10)).toBe(reserves.virtualBase.toString());
      expect(anchor['virtual_quote_reserves']!.toString(10)).toBe(reserves.virtualQuote.toString());
      expect(anchor['real_token_reserves']!.toString(10)).toBe(reserves.realBase.toString());
      expect(anchor['real_quote_reserves']!.toString(10)).toBe(reserves.realQuote.toString());
      expect(anchor['creator']!.toString()).toBe(creator);
      expect(anchor['is_holder_reward']).toBe(holderReward);
      expect(anchor['is_cashback_coin']).toBe(cashback);
    });
  }

  it('pumpswap_pool_0_2026-09: 301 bytes, virtual quote reserves', () => {
    const { owner, data } = fixtureAccount('pumpswap_pool_0_2026-09');
    expect(owner).toBe(pumpAmm.programId);
    expect(data).toHaveLength(301);
    expect(decodeAccount(pumpAmm, data)).toEqual({
      kind: 'decoded',
      account: {
        type: 'pool',
        baseMint: '9tiUg9bDHpEgE3rQU8kmdMJMvMfwM81ph6WuyTapump',
        quoteMint: sol,
        baseVault: '23KBAwN4DxMMZu134FC2bNyQbnaV6UWUWzAuGiATaLsn',
        quoteVault: '6TdWv5tPv5PQxWdyscCTxcfEvdYWXsQoqDFKQpVv7yan',
        lpMint: '7PvQSdzvAUjW67DDFpH2fDak6jLr5bXxqEMABrrGesS1',
        creator: '6w1b2T7rDXrdtbfUXQJWDr5RDXz8MV3fLEfKqPp65iyB',
        coinCreator: 'Hh9UQQzb9SKguRpUMZbDLo2MnRzKktGkCjDcjWq8PNf7',
        virtualQuote: 17_584_505_289n,
        waitingFees: 0n,
        mayhemMode: false,
        cashback: false,
        holderReward: false,
        creatorFeeBps: 0,
      },
    });
    const anchor = pumpAmmAccounts.decode<AnchorRecord>('Pool', Buffer.from(data));
    expect(anchor['virtual_quote_reserves']!.toString(10)).toBe('17584505289');
    expect(anchor['pool_quote_token_account']!.toString()).toBe('6TdWv5tPv5PQxWdyscCTxcfEvdYWXsQoqDFKQpVv7yan');
  });

  it('configuration accounts are known by name, and every account of our programs is known', () => {
    expect(decodeAccount(pump, fixtureAccount('pump_global_2026-09-12').data)).toEqual({ kind: 'ignored', name: 'Global' });
    expect(decodeAccount(pump, fixtureAccount('pump_fee_config_2026-10-08').data)).toEqual({ kind: 'ignored', name: 'FeeConfig' });
    expect(decodeAccount(pumpAmm, fixtureAccount('pumpswap_global_config_2026-10-08').data)).toEqual({
      kind: 'ignored',
      name: 'GlobalConfig',
    });
    for (const file of fixtureNames('accounts')) {
      const { owner, data } = fixtureAccount(file.replace(/\.json$/, ''));
      const venue = venueByProgram.get(owner);
      if (venue !== undefined) expect(['decoded', 'ignored'], file).toContain(venue.decodeAccount(data).kind);
    }
  });

  it('whirlpool_account: every field equals the recording', () => {
    const recorded = fixtureJson('instructions/orca-whirlpool/whirlpool_account.json') as {
      data: string;
      data_decoded: Record<string, { data: string }>;
    };
    const pool = decodeWhirlpool(Buffer.from(recorded.data, 'base64'))!;
    expect(pool).toEqual({
      mintA: wrappedSolMint,
      mintB: 'DzkKGBw4njGApBJ4Bd2csCpm4rsdgEmkgivR7XZvENPv',
      vaultA: '6cS7s6TZuQofs1TPYSpZ51qGPQKnrxk6xWhW131MysXh',
      vaultB: '25tSGzR5NcRpuoWKzWFTWfMaB1ijiaHP6HkqjxZNH72m',
      sqrtPriceX64: 1_304_381_782_533_278_221_200_000n,
      liquidity: 141_421_356n,
      tick: 223_338,
      tickSpacing: 32_896,
      feeRate: 10_000,
      protocolFeeRate: 1_300,
      adaptiveFee: false,
    });
    expect(recorded.data_decoded).toMatchObject({
      tickSpacing: { data: '32896' },
      tickSpacingSeed: { data: [128, 128] },
      feeRate: { data: '10000' },
      protocolFeeRate: { data: '1300' },
    });
    expect(recorded.data_decoded['sqrtPrice']!.data).toBe('1304381782533278221200000');
    expect(recorded.data_decoded['tokenMintB']!.data).toBe(pool.mintB);
    // The tick is the price's logarithm to 1.0001, rounded down.
    const price = stateOfSqrtPrice(pool.sqrtPriceX64, pool.liquidity);
    expect(Math.floor(Math.log(quotient(price.priceQuote, price.priceBase)) / Math.log(1.0001))).toBe(pool.tick);
    expect(usdPerSol({ baseMint: pool.mintA, quoteMint: pool.mintB, price })).toBeNull();
  });
});

describe('SOL/USD from a Whirlpool', () => {
  // sqrt(0.15 raw USDC a lamport) * 2^64: 150 USDC a SOL.
  const sqrtPriceX64 = BigInt(Math.round(Math.sqrt(0.15) * 2 ** 64));
  const stateOf = (sqrtPrice: bigint, liquidity = 1_000_000n) => ({ price: stateOfSqrtPrice(sqrtPrice, liquidity) });
  const pool = { baseMint: wrappedSolMint, quoteMint: usdcMint, ...stateOf(sqrtPriceX64) };

  it('is read in USDC for one SOL, in either order of the pair', () => {
    expect(usdPerSol(pool)).toBeCloseTo(150, 9);
    const inverse = BigInt(Math.round((1 / Math.sqrt(0.15)) * 2 ** 64));
    expect(usdPerSol({ baseMint: usdcMint, quoteMint: wrappedSolMint, ...stateOf(inverse) })).toBeCloseTo(150, 9);
  });

  it('rounds the exact quotient once, in either order', () => {
    const orders = [
      [wrappedSolMint, usdcMint],
      [usdcMint, wrappedSolMint],
    ] as const;
    for (let i = 1n; i <= 500n; i++) {
      const root = (i * 6_700_417_000_000_007n) ** 2n / 1_000_003n + 1n;
      const square = root ** 2n;
      // 60 decimals more than a double can tell apart.
      const [direct, inverse] = [(square * 10n ** 100n) >> 128n, (10n ** 100n * 2n ** 128n) / square];
      const exact = [Number(`${direct}e-97`), Number(`${inverse}e-97`)];
      const prices = orders.map(([baseMint, quoteMint]) =>
        usdPerSol({ baseMint, quoteMint, price: { ...stateOf(root).price, depth: null } }),
      );
      expect(prices).toEqual(exact);
    }
  });

  it('gives no price without liquidity, for another pair, or for bytes that are not a Whirlpool', () => {
    expect(usdPerSol({ ...pool, ...stateOf(sqrtPriceX64, 0n) })).toBeNull();
    expect(usdPerSol({ ...pool, quoteMint: wrappedSolMint })).toBeNull();
    expect(usdPerSol({ ...pool, price: null })).toBeNull();
    expect(decodeWhirlpool(new Uint8Array(653))).toBeNull();
    expect(decodeWhirlpool(new Uint8Array(0))).toBeNull();
  });
});
