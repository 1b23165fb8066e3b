import { describe, expect, it } from 'vitest';
import { addressBytes } from '@sluice/shared/solana/addresses/pda.ts';
import { token2022Program, tokenProgram, usdcMint, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { accountDiscriminators as clmmAccounts, programId as clmmProgram } from '../../venues/src/raydium/clmm/program.ts';
import { programId as whirlpoolProgram } from '@sluice/venues/orca/whirlpool/program.ts';
import { pumpAmm } from '../../venues/src/pump/amm/index.ts';
import { pump as pumpVenue } from '../../venues/src/pump/curve/index.ts';
import { bondingCurveAddress } from '@sluice/venues/pump/curve/program.ts';
import type { DecodedConstants, Venue } from '@sluice/venues/seam/venue.ts';
import type { MigrationEvent, NewTokenEvent, PriceEvent, StreamEvent, TradeEvent } from '@sluice/shared/wire/events/events.ts';
import { setCaps } from '../../ingest/src/pipeline/main-pools.ts';
import { valuation } from '../../ingest/src/pipeline/price.ts';
import { firstMain } from '@sluice/shared/market/pools/main-pool.ts';
import { SettledPrice } from '@sluice/shared/market/pools/settled-price.ts';
import { agreedPrice, coinPriceOf, SolUsdFeed } from '@sluice/ingest/pipeline/sol-usd.ts';
import { pricePools, solPricePool } from '@sluice/venues/registry.ts';
import { createHarness, type Harness } from './harness.ts';
import { until } from '../support/until.ts';
import { silentLog } from '../contract/bus-harness.ts';
import {
  addressOf,
  ammProgram,
  ammTradeEventBytes,
  completeEventBytes,
  createEventBytes,
  curveAccountBytes,
  keyOf,
  migrationEventBytes,
  mintAccountBytes,
  poolAccountBytes,
  pumpProgram,
  signatureOf,
  virtualReservesEventBytes,
  whirlpoolBytes,
} from './pump-frames.ts';
import { dataLine, invoked } from './log-frames.ts';
import { curveBuy } from './some-trades.ts';
import { accountJson } from './scripted-node.ts';
import { wholeTransaction } from './whole-transaction.ts';
import { logsSighting } from './sightings.ts';
import { decodeEvent } from '../support/events/decoded.ts';

const nowMs = 1_791_485_924_000;
const solUsd = { price: 150, slot: 9, atMs: nowMs };
const mint = keyOf('coin');
const mintAddress = addressOf('coin');
const curveAddress = bondingCurveAddress(mintAddress);
const trader = keyOf('trader');

let serial = 0;

function take(harness: Harness, logs: readonly string[], slot = 100): string {
  const signature = signatureOf(`transaction ${serial++}`);
  harness.pipeline.takeNew(logsSighting({ signature, slot, logs, receivedUs: nowMs * 1000 }));
  return signature;
}

function pump(...events: readonly Buffer[]): string[] {
  return invoked(pumpProgram, 1, events.map(dataLine));
}

function amm(...events: readonly Buffer[]): string[] {
  return invoked(ammProgram, 1, events.map(dataLine));
}

function account(harness: Harness, address: string, owner: string, data: Uint8Array, slot = 100): void {
  harness.pipeline.takeAccount({ address, owner, data, slot, receivedUs: nowMs * 1000 });
}

const kinds = (events: readonly StreamEvent[]): string[] => events.map((event) => event.type);
const pool = keyOf('pool');
const poolAddress = addressOf('pool');

function ammBuy(overrides: Partial<Parameters<typeof ammTradeEventBytes>[0]> = {}): Buffer {
  return ammTradeEventBytes({
    side: 'buy',
    pool,
    trader,
    baseAmount: 1_000_000n,
    quoteAmount: 2_000_000n,
    baseBefore: 1_000_000_000n,
    quoteBefore: 2_000_000_000n,
    timestamp: 1_791_485_924,
    ...overrides,
  });
}

it('a mint that states no supply, as that of wrapped SOL, has a price and no market cap', () => {
  const rates = { solUsd: null, solUsdAt: null, coins: new Map() };
  expect(valuation(200, usdcMint, rates)).toMatchObject({ priceUsd: 200, priceSol: null });
  const token = { ...createHarness().pipeline.book.token(mintAddress), decimals: 9, settled: new SettledPrice(9, 200, null) };
  const main = firstMain({
    pool: 'orca-whirlpool',
    poolAddress,
    quoteMint: usdcMint,
    depthSol: 1,
    priceQuote: 200,
    priceUsd: 200,
    sizeSol: 1,
    atS: 1,
  });
  const caps = (supply: bigint) => {
    const event = { slot: 9, marketCapSol: null, marketCapUsd: null };
    setCaps({ ...token, main, supply }, event, rates);
    return event;
  };
  expect(caps(0n)).toMatchObject({ marketCapSol: null, marketCapUsd: null });
  expect(caps(10n ** 9n)).toMatchObject({ marketCapSol: null, marketCapUsd: 200 });
});

describe('curves', () => {
  it('value a trade without its market cap until the supply is known, then with it', async () => {
    const accounts = new Map([[curveAddress, accountJson(pumpProgram, curveAccountBytes())]]);
    const harness = createHarness({ solUsd, accounts });
    take(harness, pump(curveBuy()));
    expect(harness.events[0]).toMatchObject({ type: 'trade', marketCapSol: null, priceUsd: expect.any(Number) as number });
    await until('the curve was read', () => harness.pipeline.book.token(mintAddress).supply !== null);
    take(harness, pump(curveBuy()));
    const trade = harness.events[2] as TradeEvent;
    // At the price before the trade, of 30 SOL and 1,073 M tokens.
    expect(trade.marketCapSol).toBeCloseTo(30 / 1.073, 6);
    expect(trade.marketCapUsd).toBeCloseTo((30 / 1.073) * 150, 6);
    expect(harness.calls).toHaveLength(1);
  });

  it('mark the trade that completed the curve, and no other', () => {
    const harness = createHarness();
    take(harness, pump(curveBuy(), curveBuy(), completeEventBytes(mint, addressBytes(curveAddress), trader, 1)));
    take(harness, pump(curveBuy()));
    expect(harness.events.filter((event) => event.type === 'trade').map((event) => event.curveCompleted)).toEqual([
      undefined,
      true,
      undefined,
    ]);
  });

  it('publish a creation after all purchases of its own wallet, without those of others', () => {
    const creation = createEventBytes({
      mint,
      curve: addressBytes(curveAddress),
      trader,
      name: 'Ünï "quoted"',
      symbol: 'U',
      uri: 'ipfs://x',
      timestamp: 5,
      tokenProgram: addressBytes(token2022Program),
    });
    const harness = createHarness();
    take(
      harness,
      pump(
        creation,
        curveBuy({ virtualSol: 31_000_000_000n }),
        curveBuy({ virtualSol: 32_000_000_000n }),
        curveBuy({ trader: keyOf('a sniper'), virtualSol: 40_000_000_000n }),
      ),
    );
    expect(kinds(harness.events)).toEqual(['newToken', 'trade', 'price', 'trade', 'price', 'trade', 'price']);
    const created = harness.events[0] as NewTokenEvent;
    expect(created).toMatchObject({ name: 'Ünï "quoted"', tokenProgram: token2022Program, bondingCurve: curveAddress });
    expect(created.initialBuy).toEqual({
      trader: addressOf('trader'),
      baseAmount: '69225806451612',
      quoteAmount: '2000000000',
      tokenAmount: 69_225_806.451612,
      solAmount: 2,
    });
    expect(created.reserves.virtualQuote).toBe('32000000000');
    expect(created.marketCapSol).toBeCloseTo(created.priceSol! * 1e9, 6);
  });

  it('read the token program of a creation with the old layout from the mint, and preserve the order', async () => {
    const accounts = new Map([[mintAddress, accountJson(tokenProgram, mintAccountBytes(6, 10n ** 15n))]]);
    const harness = createHarness({ accounts });
    const curve = addressBytes(curveAddress);
    take(harness, pump(createEventBytes({ mint, curve, trader, name: 'a', symbol: 'b', uri: 'c', timestamp: 5, tokenProgram: null })));
    take(harness, pump(curveBuy()));
    expect(harness.events).toEqual([]);
    await until('the mint was read', () => harness.events.length === 3);
    expect(kinds(harness.events)).toEqual(['newToken', 'trade', 'price']);
    expect(harness.events[0]).toMatchObject({ tokenProgram });
  });

  it('publish changed virtual reserves as a price of their transaction', () => {
    const harness = createHarness({ solUsd });
    take(harness, pump(curveBuy()));
    const signature = take(harness, pump(virtualReservesEventBytes(mint, 10n ** 15n, 50_000_000_000n, 77)));
    expect(harness.events.at(-1)).toMatchObject({
      type: 'price',
      id: `${signature}:0.price`,
      signature,
      source: 'account',
      blockTime: 77,
      priceSol: 5e-8,
      priceUsd: expect.closeTo(7.5e-6, 12) as number,
    });
  });

  it('publish a creation with the numbers that complete its purchases; without them, lose both with a count', async () => {
    const config = addressOf('a config');
    const venue: Venue = {
      ...pumpVenue,
      decode: (context, emit) =>
        pumpVenue.decode(context, (event) => emit(event.type === 'trade' ? { ...event, needs: { account: config, facts: [] } } : event)),
      constantsOf: (data) => ({ kind: 'decoded', constants: { paid: BigInt(data.at(-1)!) } }),
      completeTrade: (trade, { paid }) => ({ ...trade, quoteAmount: paid! }),
    };
    const curve = addressBytes(curveAddress);
    const launched = { mint, curve, trader, name: 'a', symbol: 'b', uri: 'c', timestamp: 5, tokenProgram: addressBytes(tokenProgram) };
    const launchedBy = (owner: string): Harness => {
      const accounts = new Map([[config, accountJson(owner, Uint8Array.of(7))]]);
      const harness = createHarness({ accounts, venues: [venue, pumpAmm] });
      take(harness, pump(createEventBytes(launched), curveBuy()));
      expect(harness.events).toEqual([]);
      return harness;
    };
    const known = launchedBy(pumpProgram);
    await until('published', () => known.events.length === 3);
    expect(known.events[0]).toMatchObject({ type: 'newToken', initialBuy: { quoteAmount: '7' } });
    const unknown = launchedBy(ammProgram);
    await until('lost', () => unknown.pipeline.counts.lostEvents === 2);
    expect([unknown.events, unknown.pipeline.lost.get('pump')]).toEqual([[], 2]);
  });

  it('count a trade that does not follow from the previous one', () => {
    const harness = createHarness();
    take(harness, pump(curveBuy({ virtualToken: 10n ** 15n, tokenAmount: 10n })));
    take(harness, pump(curveBuy({ virtualToken: 10n ** 15n - 10n, tokenAmount: 10n })));
    expect(harness.pipeline.emitter.counts.discontinuities).toBe(0);
    take(harness, pump(curveBuy({ virtualToken: 10n ** 15n - 30n, tokenAmount: 10n })));
    expect([harness.pipeline.emitter.counts.discontinuities, harness.pipeline.emitter.missed.get('pump')]).toEqual([1, 1]);
  });

  it('label all events of simnet, and only those', () => {
    for (const simulated of [true, false]) {
      const harness = createHarness({ simulated });
      take(harness, pump(curveBuy()));
      expect(harness.events.map((event) => 'simulated' in event)).toEqual([simulated, simulated]);
    }
  });
});

describe('accounts', () => {
  it('publish a price for reserves that no trade showed, once', async () => {
    const harness = createHarness({ solUsd });
    take(harness, pump(curveBuy()), 100);
    const ticks = (): PriceEvent[] =>
      harness.events.filter((event) => event.type === 'price' && event.source === 'account') as PriceEvent[];
    account(harness, curveAddress, pumpProgram, curveAccountBytes(1_038_387_096_774_194n, 31_000_000_000n), 100);
    harness.pipeline.ticks.release(0);
    expect(ticks()).toEqual([]);
    for (let repeat = 0; repeat < 2; repeat++) {
      account(harness, curveAddress, pumpProgram, curveAccountBytes(10n ** 15n, 32_000_000_000n), 101);
      harness.pipeline.ticks.release(0);
    }
    expect(ticks()).toHaveLength(1);
    expect(ticks()[0]).toMatchObject({
      id: `${curveAddress}:101:1000000000000000-32000000000`,
      signature: null,
      blockTime: null,
      slot: 101,
      mint: mintAddress,
      priceSol: 3.2e-8,
      marketCapSol: 30_000_000_000 / 1_073_000_000,
    });
    account(harness, curveAddress, pumpProgram, curveAccountBytes(9n * 10n ** 14n, 36_000_000_000n), 100);
    harness.pipeline.ticks.release(0);
    expect(ticks()).toHaveLength(1);
  });

  it('wait for the trade to publish its price if the account arrives first', () => {
    const harness = createHarness();
    take(harness, pump(curveBuy()), 100);
    account(harness, curveAddress, pumpProgram, curveAccountBytes(10n ** 15n, 32_000_000_000n), 101);
    harness.pipeline.ticks.release();
    take(harness, pump(curveBuy({ virtualToken: 10n ** 15n, virtualSol: 32_000_000_000n })), 101);
    harness.pipeline.ticks.release(0);
    expect(harness.events.filter((event) => event.type === 'price').map((event) => event.source)).toEqual(['trade', 'trade']);
  });

  it('give no price for a curve with an unknown coin, but their supply is remembered', () => {
    const harness = createHarness();
    account(harness, curveAddress, pumpProgram, curveAccountBytes());
    harness.pipeline.ticks.release();
    expect(harness.events).toEqual([]);
    take(harness, pump(curveBuy()));
    expect((harness.events[0] as TradeEvent).marketCapSol).not.toBeNull();
    expect(harness.calls).toEqual([]);
  });

  it('give no price of a trade that is older than the last price', () => {
    const harness = createHarness();
    take(harness, pump(curveBuy()), 100);
    take(harness, pump(curveBuy()), 99);
    expect(kinds(harness.events)).toEqual(['trade', 'price', 'trade']);
  });

  it('are counted and reported if they cannot be decoded', () => {
    const harness = createHarness();
    account(harness, addressOf('x'), pumpProgram, Buffer.from('00112233445566778899', 'hex'));
    account(harness, addressOf('x'), pumpProgram, curveAccountBytes().subarray(0, 20));
    expect(harness.faults.map(({ kind, where }) => [kind, where])).toEqual([
      ['unknown', addressOf('x')],
      ['malformed', addressOf('x')],
    ]);
    expect(harness.pipeline.decoder.accountCounts.get('pump')).toMatchObject({ unknown: 1, malformed: 1 });
  });
});

describe('pools', () => {
  const coin = keyOf('amm coin');
  const coinAddress = addressOf('amm coin');
  const known = new Map([
    [poolAddress, accountJson(ammProgram, poolAccountBytes(coin, addressBytes(wrappedSolMint)))],
    [coinAddress, accountJson(token2022Program, mintAccountBytes(5, 10n ** 14n))],
  ]);

  it('are requested once if unknown, while their events wait in order and others pass', async () => {
    const harness = createHarness({ accounts: known, solUsd });
    const signatures = [1n, 2n, 3n].map((n) => take(harness, amm(ammBuy({ baseAmount: n }))));
    const between = take(harness, pump(curveBuy()));
    expect(harness.events.map((event) => (event as TradeEvent).signature)).toEqual([between, between]);
    await until('the pool is known', () => harness.events.length === 8);
    const trades = harness.events.filter((event) => event.type === 'trade').slice(1);
    expect(trades.map((event) => event.signature)).toEqual(signatures);
    expect(trades[0]).toMatchObject({
      mint: coinAddress,
      quoteMint: wrappedSolMint,
      pool: 'pump-amm',
      poolAddress,
      baseDecimals: 5,
      tokenAmount: 0.00001,
    });
    expect(trades[0]!.marketCapSol).toBeCloseTo(trades[0]!.priceQuoteBefore! * 1e9, 6);
    const asked = harness.calls.map(({ params }) => (params[0] as string[]).filter((address) => address !== curveAddress));
    const main = expect.arrayContaining([bondingCurveAddress(coinAddress)]) as unknown;
    expect(asked.filter((addresses) => addresses.length > 0)).toEqual([[poolAddress], [coinAddress], main]);
    take(harness, amm(ammBuy()));
    expect(harness.events).toHaveLength(10);
  });

  /** PumpSwap with prices that also depend on a number of an account: of the pool, or of a config that the pool's account names. */
  function stepped(config: string | null): Venue {
    const stepOf = (data: Uint8Array | null): DecodedConstants =>
      data === null ? { kind: 'more', addresses: [config!] } : { kind: 'decoded', constants: { step: BigInt(data.at(-1)!) } };
    return {
      ...pumpAmm,
      decode: (context, emit) =>
        pumpAmm.decode(context, (event) => {
          if (event.type !== 'trade') return emit(event);
          emit({ ...event, before: null, needs: { account: event.pool, facts: [] } });
        }),
      completeTrade: (trade, { step }) => ({ ...trade, priceQuote: step!, priceBase: 1n, reserves: null }),
      decodeAccount: (data, read) => {
        const outcome = pumpAmm.decodeAccount(data);
        return config !== null && read?.(config) == null ? { kind: 'more', addresses: [config] } : outcome;
      },
      constantsOf: (data, read) => stepOf(config === null ? data : read(config)),
    };
  }

  const pricesOf = ({ events }: Harness): readonly (number | null)[] =>
    events.flatMap((event) => (event.type === 'trade' && event.pool === 'pump-amm' ? [event.priceQuote] : []));

  it.each([
    ['of the pool itself', null],
    ['of a config that the pool names', addressOf('a config')],
  ])('show the numbers %s that a price needs, read once', async (_where, config) => {
    const shown = accountJson(ammProgram, Uint8Array.of(...poolAccountBytes(coin, addressBytes(wrappedSolMint)), 3));
    const accounts = new Map([...known, [poolAddress, config === null ? shown : known.get(poolAddress)!]]);
    if (config !== null) accounts.set(config, accountJson(ammProgram, Uint8Array.of(3)));
    const harness = createHarness({ accounts, venues: [stepped(config)] });
    take(harness, amm(ammBuy(), ammBuy()));
    await until('published', () => harness.events.length === 4);
    take(harness, amm(ammBuy()));
    // 3 raw SOL for one raw token of 5 decimals.
    expect(pricesOf(harness).map((price) => price!.toFixed(6))).toEqual(['0.000300', '0.000300', '0.000300']);
    const asked = (address: string): number =>
      harness.calls.filter(({ params }) => (params[0] as readonly string[]).includes(address)).length;
    expect([asked(poolAddress), asked(config ?? poolAddress)]).toEqual([1, 1]);
  });

  it('of which one lacks its config delay no other pool', async () => {
    const config = addressOf('a missing config');
    const harness = createHarness({ accounts: known, venues: [stepped(config), pumpVenue], solUsd });
    take(harness, amm(ammBuy()));
    const other = take(harness, pump(curveBuy()));
    expect(harness.events.map((event) => (event as TradeEvent).signature)).toEqual([other, other]);
    await until('the loss', () => harness.pipeline.counts.lostEvents === 1);
    expect(harness.losses).toEqual([expect.objectContaining({ reason: 'an account that the pool names does not exist', events: 1 })]);
  });

  it('publish the reserves after the trade, with the virtual part', async () => {
    const harness = createHarness({ accounts: known });
    take(harness, amm(ammBuy({ virtualQuote: 500n })));
    await until('published', () => harness.events.length === 2);
    expect((harness.events[0] as TradeEvent).reserves).toEqual({
      virtualBase: '999000000',
      virtualQuote: '2002004500',
      realBase: '999000000',
      realQuote: '2002004000',
    });
  });

  it('are reversed if their base is SOL', async () => {
    const accounts = new Map([
      [poolAddress, accountJson(ammProgram, poolAccountBytes(addressBytes(wrappedSolMint), coin))],
      [coinAddress, accountJson(tokenProgram, mintAccountBytes(5, 10n ** 14n))],
    ]);
    const harness = createHarness({ accounts, solUsd });
    take(harness, amm(ammBuy({ baseAmount: 1_000_000_000n, quoteAmount: 50_000_000n, baseBefore: 11_000_000_000n, supply: 123n })));
    await until('published', () => harness.events.length === 2);
    const [trade, price] = harness.events as [TradeEvent, PriceEvent];
    expect(trade).toMatchObject({
      side: 'sell',
      mint: coinAddress,
      quoteMint: wrappedSolMint,
      baseAmount: '50000000',
      baseDecimals: 5,
      tokenAmount: 500,
      quoteAmount: '1000000000',
      quoteDecimals: 9,
      solAmount: 1,
      // Charged in the token; the total is 25 basis points of the trade, in SOL at its own rate.
      fees: [
        { kind: 'protocol', amount: '25000', bps: 5, mint: coinAddress },
        { kind: 'lp', amount: '100000', bps: 20, mint: coinAddress },
      ],
      feeTotal: '2500000',
      reserves: { virtualBase: '2050100000', virtualQuote: '10000000000', realBase: '2050100000', realQuote: '10000000000' },
    });
    expect(trade.priceSol).toBeCloseTo(10 / 20_501, 12);
    expect(trade.marketCapSol).toBeCloseTo(trade.priceQuoteBefore! * 1e9, 3);
    expect(price.reserves).toEqual(trade.reserves);
  });

  it('against USDC have values in dollars, and in SOL by the SOL/USD price', async () => {
    const accounts = new Map([
      [poolAddress, accountJson(ammProgram, poolAccountBytes(coin, addressBytes(usdcMint)))],
      [coinAddress, accountJson(tokenProgram, mintAccountBytes(6, 10n ** 15n))],
    ]);
    const harness = createHarness({ accounts, solUsd });
    take(harness, amm(ammBuy()));
    await until('published', () => harness.events.length === 2);
    const trade = harness.events[0] as TradeEvent;
    expect(trade).toMatchObject({ solAmount: null, quoteUiAmount: 2, quoteDecimals: 6 });
    expect(trade.priceUsd).toBe(trade.priceQuote);
    expect(trade.priceSol).toBeCloseTo(trade.priceQuote! / 150, 12);
    expect(trade.marketCapUsd).toBeCloseTo(trade.priceQuoteBefore! * 1e9, 3);
  });

  it('with any other quote coin have no values in SOL and USD', async () => {
    const accounts = new Map([
      [poolAddress, accountJson(ammProgram, poolAccountBytes(coin, keyOf('another quote')))],
      [coinAddress, accountJson(tokenProgram, mintAccountBytes(6, 10n ** 15n))],
      [addressOf('another quote'), accountJson(tokenProgram, mintAccountBytes(3, 1n))],
    ]);
    const harness = createHarness({ accounts, solUsd });
    take(harness, amm(ammBuy()));
    await until('published', () => harness.events.length === 2);
    expect(harness.events[0]).toMatchObject({ quoteUiAmount: 2_000, priceSol: null, priceUsd: null, marketCapSol: null, solAmount: null });
  });

  it.each([
    ['does not exist', new Map<string, unknown>(), 'the pool does not exist'],
    [
      'is of another program',
      new Map([[poolAddress, accountJson(tokenProgram, new Uint8Array(200))]]),
      'the pool is not owned by its program',
    ],
    ['is not a pool', new Map([[poolAddress, accountJson(ammProgram, new Uint8Array(300))]]), 'the account is not a pool'],
    [
      'has a mint that is not one',
      new Map([...known, [coinAddress, accountJson(tokenProgram, new Uint8Array(165))]]),
      'the account is not a mint',
    ],
  ])('counts and reports the events of a pool that %s', async (_case, accounts, reason) => {
    const harness = createHarness({ accounts });
    take(harness, amm(ammBuy(), ammBuy({ baseAmount: 7n })));
    await until('given up', () => harness.pipeline.counts.lostEvents === 2);
    expect(harness.events).toEqual([]);
    expect(harness.losses).toEqual([
      { kind: 'events', reason, events: 2, signature: expect.any(String) as string, slot: 100, pool: poolAddress },
    ]);
    expect(harness.pipeline.decoder.accountCounts.get('pump-amm')!.unknown).toBe(reason === 'the account is not a pool' ? 1 : 0);
    const asked = harness.calls.length;
    take(harness, amm(ammBuy()));
    expect(harness.pipeline.counts.lostEvents).toBe(3);
    expect(harness.calls).toHaveLength(asked);
  });

  it('wait until an endpoint is available again', async () => {
    let failures = 2;
    const harness = createHarness({
      accounts: known,
      answer: () => {
        if (failures-- > 0) throw new Error('down');
        return undefined;
      },
    });
    take(harness, amm(ammBuy()));
    await until('published', () => harness.events.length === 2);
    expect(harness.pipeline.counts.lostEvents).toBe(0);
  });

  it('of a migration are known with their supply, without a request', () => {
    const harness = createHarness({ solUsd });
    const curve = addressBytes(curveAddress);
    account(harness, curveAddress, pumpProgram, curveAccountBytes());
    const migrated = migrationEventBytes({
      mint,
      curve,
      pool,
      baseAmount: 206_900_000_000_000n,
      quoteAmount: 84_990_359_057n,
      fee: 15_000_001n,
      timestamp: 42,
    });
    const signature = take(harness, pump(migrated));
    take(harness, amm(ammBuy({ baseBefore: 206_900_000_000_000n, quoteBefore: 84_990_359_057n })));
    expect(kinds(harness.events)).toEqual(['migration', 'trade', 'price']);
    const migration = harness.events[0] as MigrationEvent;
    expect(migration).toMatchObject({
      id: `${signature}:0`,
      mint: mintAddress,
      pool: 'pump-amm',
      poolAddress,
      from: { pool: 'pump', poolAddress: curveAddress },
      baseAmount: '206900000000000',
      baseDecimals: 6,
      quoteAmount: '84990359057',
      quoteDecimals: 9,
      solAmount: 84.990359057,
      migrationFee: '15000001',
      blockTime: 42,
    });
    expect(migration.priceSol).toBeCloseTo(84.990359057 / 206_900_000, 15);
    expect(migration.marketCapSol).toBeCloseTo(migration.priceSol! * 1e9, 6);
    expect(harness.events[1]).toMatchObject({ mint: mintAddress, baseDecimals: 6, poolAddress });
    expect(harness.calls).toEqual([]);
  });

  it('charge no fee of a migration in coins that are not SOL', () => {
    const amounts = { baseAmount: 206_900_000_000_000n, quoteAmount: 12_000_000_000n, fee: 15_000_001n };
    const bytes = migrationEventBytes({
      mint,
      curve: addressBytes(curveAddress),
      pool,
      ...amounts,
      timestamp: 42,
      quoteMint: addressBytes(usdcMint),
    });
    expect(decodeEvent(pumpVenue, bytes)).toMatchObject({
      event: { type: 'migrated', quoteMint: usdcMint, quoteAmount: 12_000_000_000n, fee: 0n },
    });
  });
});

describe('look-alikes and faults', () => {
  it('an event that another program logged is ignored', () => {
    const harness = createHarness();
    take(harness, invoked(addressOf('an impostor'), 1, [dataLine(curveBuy())]));
    take(harness, invoked(pumpProgram, 1, invoked(addressOf('an impostor'), 2, [dataLine(curveBuy())])));
    expect(harness.events).toEqual([]);
  });

  it('undecodable data is counted by venue and kind', () => {
    const harness = createHarness();
    take(harness, pump(Buffer.from('0011223344556677', 'hex'), curveBuy().subarray(0, 60), curveBuy()));
    expect(harness.pipeline.decoder.counts.get('pump')).toEqual({ decoded: 1, ignored: 0, unknown: 1, malformed: 1 });
    expect(harness.faults.map(({ kind }) => kind)).toEqual(['unknown', 'malformed']);
    expect(kinds(harness.events)).toEqual(['trade', 'price']);
  });
});

describe('cut logs', () => {
  const first = curveBuy({ solAmount: 1n });
  const second = curveBuy({ solAmount: 2n });
  const third = curveBuy({ solAmount: 3n });
  const cut = [...pump(first), 'Program log: much text', 'Log truncated'];

  it('the part before the cut is published at once, the rest from the transaction, each event once', async () => {
    let asked = 0;
    const harness = createHarness({
      answer: (method, params) => {
        if (method !== 'getTransaction') return undefined;
        expect(params[1]).toEqual({ encoding: 'json', commitment: 'confirmed', maxSupportedTransactionVersion: 1 });
        return asked++ === 0 ? null : wholeTransaction(String(params[0]), [first, second, third]);
      },
    });
    const signature = take(harness, cut);
    expect(harness.events.map((event) => event.id)).toEqual([`${signature}:0`, `${signature}:0.price`]);
    await until('completed', () => harness.pipeline.counts.completed === 1);
    expect(harness.events.map((event) => event.id)).toEqual(
      ['0', '0.price', '1', '1.price', '2', '2.price'].map((path) => `${signature}:${path}`),
    );
    expect(harness.events[2]).toMatchObject({
      feePayer: addressOf('payer'),
      blockTime: 1_791_485_999,
      quoteAmount: '2',
      commitment: 'confirmed',
    });
    expect(harness.pipeline.counts).toMatchObject({ incomplete: 1, completed: 1, lostTransactions: 0 });
  });

  it('a lost transaction is reported with its signature', async () => {
    const harness = createHarness({ giveUpAfterMs: 50 });
    const signature = take(harness, cut);
    await until('given up', () => harness.pipeline.counts.lostTransactions === 1);
    expect(harness.losses).toEqual([{ kind: 'transaction', reason: 'cut logs; not found', events: 0, signature, slot: 100, pool: null }]);
  });

  it('the transaction is read if the logs contradict each other', async () => {
    const harness = createHarness({
      answer: (method, params) => (method === 'getTransaction' ? wholeTransaction(String(params[0]), [first]) : undefined),
    });
    take(harness, [`Program ${pumpProgram} invoke [2]`, dataLine(first)]);
    await until('completed', () => harness.pipeline.counts.completed === 1);
    expect(kinds(harness.events)).toEqual(['trade', 'price']);
  });

  it('a creation waits if the cut may hide its first buy', async () => {
    const creation = createEventBytes({
      mint,
      curve: addressBytes(curveAddress),
      trader,
      name: 'a',
      symbol: 'b',
      uri: 'c',
      timestamp: 5,
      tokenProgram: addressBytes(token2022Program),
    });
    const harness = createHarness({
      answer: (method, params) => (method === 'getTransaction' ? wholeTransaction(String(params[0]), [creation, curveBuy()]) : undefined),
    });
    take(harness, [...pump(creation), 'Log truncated']);
    expect(harness.events).toEqual([]);
    await until('completed', () => harness.events.length === 3);
    expect((harness.events[0] as NewTokenEvent).initialBuy).not.toBeNull();
  });
});

/** A pool of SOL and USDC on Raydium CLMM, with only what its price needs. */
function clmmBytes(usdPerSol: number): Buffer {
  const data = Buffer.alloc(1_544);
  data.set(clmmAccounts.pool);
  data.set(addressBytes(wrappedSolMint), 73);
  data.set(addressBytes(usdcMint), 105);
  data.writeBigUInt64LE(1_000_000n, 237);
  data.writeBigUInt64LE(BigInt(Math.round(Math.sqrt(usdPerSol / 1000) * 2 ** 32)) << 32n, 253);
  return data;
}

describe('SOL/USD', () => {
  const solUsdOf = (of: Parameters<typeof coinPriceOf>[0]): number | null => coinPriceOf(of)?.price ?? null;
  const state = { address: solPricePool.address, owner: whirlpoolProgram, slot: 1, receivedUs: nowMs * 1000 };

  it('is read from the pool of SOL and USDC, and from nothing else', () => {
    expect(solUsdOf({ ...state, data: whirlpoolBytes(187.5) })).toBeCloseTo(187.5, 3);
    expect(solUsdOf({ ...state, data: whirlpoolBytes(187.5, 0n) })).toBeNull();
    expect(solUsdOf({ ...state, owner: pumpProgram, data: whirlpoolBytes(187.5) })).toBeNull();
    const otherPair = whirlpoolBytes(187.5);
    otherPair.set(keyOf('another mint'), 101);
    expect(solUsdOf({ ...state, data: otherPair })).toBeNull();
    expect(solUsdOf({ ...state, data: new Uint8Array(10) })).toBeNull();
  });

  it('is the median of the pools that agree, and of nothing less than more than half of them', () => {
    const at = (price: number, agoMs = 0) => ({ price, slot: 1, atMs: nowMs - agoMs });
    const agreed = (...pools: readonly ReturnType<typeof at>[]) => agreedPrice(pools)?.price ?? null;
    expect(agreed(at(150), at(151), at(149))).toBe(150);
    // One that somebody moved, or that lies, changes nothing.
    expect(agreed(at(150), at(1e9), at(149))).toBe(150);
    expect(agreed(at(150), at(0.001), at(149))).toBe(149);
    // They contradict each other.
    expect(agreed(at(150), at(200), at(100))).toBeNull();
    expect(agreed(at(150), at(200))).toBeNull();
    // An old price has no vote.
    expect(agreed(at(150), at(151), at(10, 60_001))).toBe(150);
    expect(agreed(at(150), at(100, 60_001), at(100, 60_001))).toBeNull();
    expect([agreed(at(150)), agreed()]).toEqual([150, null]);
  });

  it('comes from pools of two venues, and is null while they contradict each other', async () => {
    const [orca, ...raydium] = pricePools.slice(0, 3);
    const call = () => Promise.resolve({ context: { slot: 5 }, value: pricePools.map(() => null) });
    const feed = new SolUsdFeed({ call }, pricePools, silentLog, new AbortController().signal);
    const report = (address: string, price: number): void => {
      const isOrca = address === orca;
      const [owner, data] = isOrca ? [whirlpoolProgram, whirlpoolBytes(price)] : [clmmProgram, clmmBytes(price)];
      feed.take({ address, owner, data, slot: 9, receivedUs: nowMs * 1_000 });
    };
    await feed.ask();
    expect([feed.current, feed.refused]).toEqual([null, 0]);
    // The simulated chain has only one of them.
    report(orca!, 150);
    expect(feed.current?.price).toBeCloseTo(150, 3);
    report(raydium[0]!, 300);
    expect(feed.current).toBeNull();
    report(raydium[1]!, 301);
    expect(feed.current?.price).toBeCloseTo(300, 3);
    report(orca!, 302);
    expect([feed.current?.price, feed.pools.length]).toEqual([expect.closeTo(301, 3), 3]);
    feed.take({ address: raydium[0]!, owner: pumpProgram, data: whirlpoolBytes(1), slot: 9, receivedUs: nowMs * 1_000 });
    expect([feed.refused, feed.current?.price]).toEqual([1, expect.closeTo(301, 3)]);
  });

  it('is not used after a minute', () => {
    const harness = createHarness({ solUsd: { price: 150, slot: 9, atMs: nowMs - 60_001 } });
    take(harness, pump(curveBuy()));
    expect(harness.events[0]).toMatchObject({ priceUsd: null, priceSol: expect.any(Number) as number });
    expect(harness.events[1]).toMatchObject({ solUsd: null });
  });

  it('is that of the newest slot', () => {
    const { solUsd: feed } = createHarness();
    feed.take({ ...state, slot: 5, data: whirlpoolBytes(100) });
    feed.take({ ...state, slot: 4, data: whirlpoolBytes(200) });
    expect(feed.current).toMatchObject({ slot: 5 });
    feed.take({ ...state, slot: 6, data: Buffer.from('junk') });
    expect(feed.refused).toBe(1);
  });
});
