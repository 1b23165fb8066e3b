import { gunzipSync } from 'node:zlib';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import type { StreamEvent } from '@sluice/shared/wire/events/events.ts';
import { createHarness } from '../ingest/harness.ts';
import { wholeSighting } from '../ingest/sightings.ts';
import { completed } from '../support/events/decoded.ts';
import { until } from '../support/until.ts';
import { Decoder } from '../../ingest/src/pipeline/decode.ts';
import type { WholeSighting } from '../../ingest/src/sources/sighting.ts';
import { readTransaction, type TransactionView } from '@sluice/shared/solana/transaction/inner-events.ts';
import { wrappedSolMint, usdcMint } from '@sluice/shared/solana/well-known.ts';
import { poolsAt } from '@sluice/venues/kit/pool-accounts.ts';
import { decodePool } from '../../venues/src/raydium/clmm/pool.ts';
import { raydiumClmm } from '../../venues/src/raydium/clmm/index.ts';
import { decodeTickArray } from '../../venues/src/raydium/clmm/tick-arrays.ts';
import { sqrtPriceOfTick } from '../../venues/src/raydium/clmm/tick-math.ts';
import { decodeConfig } from '../../venues/src/raydium/cpmm/config.ts';
import { raydiumCpmm } from '../../venues/src/raydium/cpmm/index.ts';
import { openingInstructions, programId } from '../../venues/src/raydium/cpmm/program.ts';
import { swapExactIn } from '../../venues/src/raydium/cpmm/swap.ts';
import { venues } from '@sluice/venues/registry.ts';
import type { VenueEvent, VenueTrade } from '@sluice/venues/seam/venue.ts';
import { describe, expect, it } from 'vitest';
import { fixtureAccount, fixtureBytes, fixtureJson, fixturesNote, fixturesPresent } from './fixtures.ts';

interface ExpectedSwap {
  readonly venue: string;
  readonly pool: string;
  readonly trader: string;
  readonly inMint: string;
  readonly outMint: string;
  readonly amountIn: string;
  readonly amountOut: string;
  readonly traderReceived?: string;
  readonly executed: boolean;
}

interface Block {
  readonly transactions: readonly unknown[];
}

interface BlockSwap extends ExpectedSwap {
  readonly signature: string;
}

interface ExpectedFile {
  readonly file: string;
  readonly swaps: readonly ExpectedSwap[];
}

function viewOf(file: string): TransactionView {
  const view = readTransaction((fixtureJson(`venues/${file}`) as { readonly result: unknown }).result);
  if (view.kind === 'malformed') throw new Error(view.reason);
  return view;
}

function tradesIn(file: string, venueName: string): VenueTrade[] {
  return tradesOf(viewOf(file), venueName);
}

function tradesOf(transaction: TransactionView, venueName: string): VenueTrade[] {
  return eventsOf(transaction, venueName).filter((event) => event.type === 'trade');
}

function eventsOf(transaction: TransactionView, venueName: string): VenueEvent[] {
  const reader = new Decoder(venues, (fault) => {
    if (fault.venue === venueName) throw new Error(`${fault.kind}: ${fault.detail}`);
  });
  const origin = { source: 'recording', slot: 1, commitment: 'confirmed', receivedUs: 1 } as const;
  const sighting: WholeSighting = { kind: 'whole', ...origin, signature: transaction.signature, transaction, late: false };
  const reading = reader.read(sighting);
  if (reading.kind !== 'read') return [];
  return reading.transaction.events.flatMap(({ venue, event }) => (venue === venueName ? [event] : []));
}

/** What the trader gave and received, from an event that counts the fees separately. */
function moved({ side, baseAmount, quoteAmount, fees }: VenueTrade): readonly [bigint, bigint] {
  const charged = (of: 'base' | 'quote'): bigint => fees.reduce((sum, { amount, coin }) => (coin === of ? sum + amount : sum), 0n);
  return side === 'sell'
    ? [baseAmount + charged('base'), quoteAmount - charged('quote')]
    : [quoteAmount + charged('quote'), baseAmount - charged('base')];
}

const folder = 'raydium-cpmm-sol-usdc';
const tier0 = (): Uint8Array => fixtureAccount(`${folder}/amm_config`).data;
const reserves = (base: bigint, quote: bigint): unknown => ({ virtualBase: base, virtualQuote: quote, realBase: base, realQuote: quote });

describe.skipIf(!fixturesPresent)(`recorded swaps on Raydium (${fixturesNote})`, () => {
  const files = fixturesPresent ? (fixtureJson('venues/expected.json') as readonly ExpectedFile[]) : [];
  /** The names in the list of expected swaps. */
  const raydium = { 'raydium-cpmm': 'raydium-cpmm', 'raydium-clmm': 'raydium-clmm', 'raydium-amm': 'raydium-amm-v4' } as const;

  for (const [venueName, listed] of Object.entries(raydium)) {
    const withTrades = files.filter(({ swaps }) => swaps.some(({ venue }) => venue === listed));
    it.each(withTrades.map(({ file, swaps }) => [file, swaps] as const))(`%s: the trades on ${venueName}`, (file, swaps) => {
      const expected = swaps.filter(({ venue, executed }) => venue === listed && executed);
      const trades = tradesIn(file, venueName);
      const order = ({ side, pair }: VenueTrade): readonly string[] =>
        side === 'sell' ? [pair!.baseMint, pair!.quoteMint] : [pair!.quoteMint, pair!.baseMint];
      expect(trades.map((trade) => [trade.pool, trade.trader, ...order(trade)])).toEqual(
        expected.map(({ pool, trader, inMint, outMint }) => [pool, trader, inMint, outMint]),
      );
      for (const [index, trade] of trades.entries()) {
        const { amountIn, amountOut } = expected[index]!;
        const [paid, received] = moved(trade);
        const withheld = trade.fees.find(({ kind, coin }) => kind === 'transfer' && coin === (trade.side === 'sell' ? 'quote' : 'base'));
        expect([paid, received + (withheld?.amount ?? 0n)]).toEqual([BigInt(amountIn), BigInt(amountOut)]);
      }
    });
  }

  it('every field of a CLMM trade whose fee and transfer fee are in the output', () => {
    const file = 'meteora-damm-v2/dlmm_clmm_damm_2026_09_transfer_fee_5ZbNgWiJH9Go.json';
    const [trade] = tradesIn(file, 'raydium-clmm');
    expect(trade).toEqual({
      type: 'trade',
      pool: 'CZt61djgJ6ggjA1aCfYskFViBQxcprA9HT3nE7PZdE1X',
      pair: { baseMint: usdcMint, quoteMint: 'HcRLc9VDgjLeK154xDawfb1dmVJ98DoSqcwTHGqiDeJR' },
      side: 'sell',
      trader: 'EC2f5DnHzuNRit1ExqghSifDbp1wgrzktsRRZCtU92MJ',
      baseAmount: 798_485_760n,
      // What the formula gave; 0.4021 % of it, rounded up, is the fee.
      quoteAmount: 5_812_461_877_484n,
      before: null,
      priceQuote: 2_476_149_653_970_930_660_612_889_870_728_492_383_153_161n,
      priceBase: 1n << 128n,
      reserves: null,
      depth: 81_358_315_723_430n,
      fees: [
        { kind: 'lp', amount: 23_371_909_210n, bps: 40, coin: 'quote' },
        { kind: 'transfer', amount: 173_672_699_049n, bps: 300, coin: 'quote' },
      ],
      feeTotal: 197_044_608_259n,
      supply: null,
      timestamp: null,
      needs: { account: 'Y6YhgJbt9FRk3JVjwdZtsioVCJwCKhy1hum8HMDYyB1', facts: [] },
    });
    const tier = (fixtureJson('venues/raydium-clmm/account_amm_config_4.json') as { account: { data: [string] } }).account.data[0];
    expect(completed(raydiumClmm, trade!, Buffer.from(tier, 'base64')).fees).toEqual([
      { kind: 'lp', amount: 19_632_403_737n, bps: 34, coin: 'quote' },
      { kind: 'protocol', amount: 2_804_629_105n, bps: 5, coin: 'quote' },
      { kind: 'fund', amount: 934_876_368n, bps: 2, coin: 'quote' },
      { kind: 'transfer', amount: 173_672_699_049n, bps: 300, coin: 'quote' },
    ]);
  });

  it('every field of a withdrawal from CPMM', () => {
    const left = { base: 21_550_436_301n, quote: 995_279_231_132_066n };
    expect(eventsOf(viewOf('raydium-cpmm/withdraw_burn_4AUyJRZd62Ni.json'), 'raydium-cpmm')).toEqual([
      {
        type: 'liquidityRemoved',
        pool: 'BNzcoiGF7Qj7NFE8cRuwrgbJZsav8qgVNNKb6nZ1ta3k',
        pair: { baseMint: 'pSoL47GE52V2bgUUyQvs9LSdWQZsokarp2yNsWQaLYy', quoteMint: '8tukekVR4QXbCT9PnACCsKv7CGAnNnYkmmxMN4BSUGAR' },
        provider: '3f7GcQFG397GAaEnv51zR6tsTVihYRydnydDD1cXekxH',
        baseAmount: 3_126n,
        quoteAmount: 144_416_299n,
        lpAmount: 669_321n,
        left,
        state: { priceQuote: left.quote, priceBase: left.base, reserves: reserves(left.base, left.quote), depth: null },
        timestamp: null,
      },
    ]);
  });

  it('every field of a swap on AMM v4, of a deposit and of an opening', () => {
    const [given] = tradesIn('raydium-amm-v4/arb_clmm_base_out_base_in_dTLhNajxmKk5.json', 'raydium-amm');
    expect(given).toEqual({
      type: 'trade',
      pool: '4aCaXGpj11wfcckQY8Bz3QiKPKJYstzVtXYB6vvuSk4t',
      pair: { baseMint: wrappedSolMint, quoteMint: 'ts3foLrNUMvwdVeit1oNeLWjYk7e4qsn8PqSsqRpump' },
      side: 'sell',
      trader: 'HuTshmtwcQkWBLzgW3m4uwcmik7Lmz4YFpYcTqMJpXiP',
      baseAmount: 2_563_589n,
      quoteAmount: 581_272_469n,
      before: { priceQuote: 20_487_985_325n, priceBase: 87_794_659n },
      priceQuote: 19_906_712_856n,
      priceBase: 90_364_674n,
      reserves: reserves(90_364_674n, 19_906_712_856n),
      depth: null,
      fees: [{ kind: 'lp', amount: 6_426n, bps: 25, coin: 'base' }],
      feeTotal: 0n,
      supply: null,
      timestamp: null,
    });
    const coins = { baseMint: '9Zw3CR7NPD6hXNk5PZYpYKsvWv9puwr1eEaPxXRapump', quoteMint: wrappedSolMint };
    const [pool, user] = ['43QDFSth4Fu2JFVKto13zASQu8Dc7RL6wkUqksgeYvqq', '5z4giZ7YjS7LMGYfPjCUA8qUUxNSFm3Ru3xGtKCziqb6'];
    const left = { base: 8_965_671_948_664_379n, quote: 41_832_387n };
    expect(eventsOf(viewOf('raydium-amm-v4/deposit_pXPLUDJPBn58.json'), 'raydium-amm')).toEqual([
      {
        type: 'liquidityAdded',
        pool,
        pair: coins,
        provider: user,
        baseAmount: 214_323_699_689_057n,
        quoteAmount: 1_000_000n,
        lpAmount: 14_561_191_343n,
        left,
        state: { priceQuote: left.quote, priceBase: left.base, reserves: reserves(left.base, left.quote), depth: null },
        timestamp: null,
      },
    ]);
    expect(eventsOf(viewOf('raydium-amm-v4/initialize2_4QHnBNA57LWh.json'), 'raydium-amm')).toEqual([
      {
        type: 'poolCreated',
        pool,
        ...coins,
        baseDecimals: 9,
        quoteDecimals: 9,
        reserves: reserves(4_000_000_000_000_000n, 100_000_000n),
        creator: user,
        timestamp: null,
      },
    ]);
  });

  it('the amounts of a CLMM trade match its price', () => {
    let compared = 0;
    for (const { file } of files) {
      for (const { baseAmount, quoteAmount, priceQuote, priceBase, depth } of tradesIn(file, 'raydium-clmm')) {
        const ratio = Number(quoteAmount) / Number(baseAmount) / (Number(priceQuote) / Number(priceBase));
        expect(Math.abs(ratio - 1)).toBeLessThan(0.05);
        expect(depth === null || depth > 0n).toBe(true);
        compared++;
      }
    }
    expect(compared).toBeGreaterThan(8);
  });

  it.each([
    ['285000037', 'raydium-clmm', 4],
    ['332254908', 'raydium-clmm', 40],
    ['285000037', 'raydium-amm', 114],
    ['332254908', 'raydium-amm', 40],
  ] as const)('every trade of the whole block %s on %s', (slot, venueName, count) => {
    const block = JSON.parse(gunzipSync(fixtureBytes(`blocks/${slot}.json.gz`)).toString()) as { result?: Block } & Block;
    const lines = fixtureBytes(`blocks/${slot}.swaps.jsonl`).toString().trim().split('\n');
    const expected = lines.map((line) => JSON.parse(line) as BlockSwap).filter(({ venue }) => venue === raydium[venueName]);
    expect(expected).toHaveLength(count);
    const transactions = (block.result ?? block).transactions;
    const seen = transactions.flatMap((answer) => {
      const view = readTransaction(answer);
      return view.kind === 'malformed' ? [] : tradesOf(view, venueName).map((trade) => ({ trade, signature: view.signature }));
    });
    const key = (signature: string, pool: string, trader: string, amounts: readonly bigint[]): string =>
      [signature, pool, trader, ...amounts].join(' ');
    expect(seen.map(({ trade, signature }) => key(signature, trade.pool, trade.trader, moved(trade))).toSorted()).toEqual(
      expected
        .map(({ signature, pool, trader, amountIn, amountOut }) => key(signature, pool, trader, [BigInt(amountIn), BigInt(amountOut)]))
        .toSorted(),
    );
  });

  it('a CLMM pool’s account, field by field', () => {
    const { data } = fixtureJson('instructions/raydium-clmm/pool_state_account.json') as { data: string };
    const pool = decodePool(Buffer.from(data, 'base64'))!;
    expect(pool.tickSpacing > 0 && pool.openTimeS >= 0n).toBe(true);
    // The tick is the logarithm of the price to 1.0001, rounded down.
    expect(sqrtPriceOfTick(pool.tick) <= pool.sqrtPriceX64 && pool.sqrtPriceX64 < sqrtPriceOfTick(pool.tick + 1)).toBe(true);
    const array = fixtureJson('instructions/raydium-clmm/tick_array_state_account.json') as { data: string };
    const bytes = Buffer.from(array.data, 'base64');
    const ticks = decodeTickArray(bytes, encodeBase58(bytes, 8, 32))!;
    expect(ticks.length).toBe(bytes[44 + 168 * 60]);
  });

  it('every field of a sale and of a purchase of coins that take transfer fees', () => {
    const trades = tradesIn('raydium-cpmm/two_swaps_transfer_fee_5GBS79ciRocT.json', 'raydium-cpmm');
    const trader = 'nikaZhqeJSSxRKMQowzVThPFgLacCL4QVz5sG9VX6k9';
    const rest = { type: 'trade', trader, depth: null, supply: null, timestamp: null };
    expect(trades.map((trade) => completed(raydiumCpmm, trade, tier0()))).toEqual([
      {
        ...rest,
        pool: '5PkVgUAd89BcPE7LCp6p37R3G5mp1JCGoC5VtRc3PBp3',
        pair: { baseMint: 'LiGHtkg3uTa9836RaNkKLLriqTNRcMdRAhqjGWNv777', quoteMint: '9VxExA1iRPbuLLdSJ2rB3nyBxsyLReT4aqzZBMaBaY1p' },
        side: 'sell',
        baseAmount: 581_839_276_277n,
        quoteAmount: 3_851_301_251_378n,
        before: { priceQuote: 81_066_774_192_409n, priceBase: 11_665_406_562_864n },
        priceQuote: 77_215_472_941_031n,
        priceBase: 12_248_470_763_934n,
        reserves: reserves(12_248_470_763_934n, 77_215_472_941_031n),
        fees: [
          { kind: 'lp', amount: 1_224_924_793n, bps: 21, coin: 'base' },
          { kind: 'protocol', amount: 174_989_256n, bps: 3, coin: 'base' },
          { kind: 'fund', amount: 58_329_752n, bps: 1, coin: 'base' },
          { kind: 'transfer', amount: 385_130_125_138n, bps: 1_000, coin: 'quote' },
        ],
        feeTotal: 385_130_125_138n,
      },
      {
        ...rest,
        pool: '8pN9qCiZg3KPg79R5cL4AF9xXVTWoJPxaVWf5ormvCwa',
        pair: { baseMint: wrappedSolMint, quoteMint: '9VxExA1iRPbuLLdSJ2rB3nyBxsyLReT4aqzZBMaBaY1p' },
        side: 'buy',
        baseAmount: 13_714_396n,
        quoteAmount: 3_111_755_128_581n,
        before: { priceQuote: 80_653_093_385_937_062n, priceBase: 355_475_005_897n },
        priceQuote: 80_656_211_692_129_073n,
        priceBase: 355_461_291_501n,
        reserves: reserves(355_461_291_501n, 80_656_211_692_129_073n),
        fees: [
          { kind: 'lp', amount: 6_551_063_430n, bps: 21, coin: 'quote' },
          { kind: 'protocol', amount: 935_866_204n, bps: 3, coin: 'quote' },
          { kind: 'fund', amount: 311_955_401n, bps: 1, coin: 'quote' },
          { kind: 'transfer', amount: 346_617_112_624n, bps: 1_000, coin: 'quote' },
        ],
        feeTotal: 354_415_997_659n,
      },
    ]);
  });

  it('a fee of the creator on the output, and the older event, which shows no fees', () => {
    const [routed] = tradesIn('raydium-cpmm/swap_via_router_5si5yrFvL1Uf.json', 'raydium-cpmm');
    expect(routed).toMatchObject({
      side: 'buy',
      baseAmount: 9_256_857n,
      fees: [
        { kind: 'lp', amount: 150_168_687n, bps: 1, coin: 'quote' },
        { kind: 'creator', amount: 69_427n, bps: 75, coin: 'base' },
      ],
      needs: { account: 'GtdipqAcw8eAYxGcANs3vpN7UaN7UH7u89Kd8wPqLThd' },
    });
    const [old] = tradesIn('raydium-cpmm/swap_and_clmm_old_event_transfer_fee_2bhr1FWqeL28.json', 'raydium-cpmm');
    expect(old).toMatchObject({ side: 'buy', quoteAmount: 344_448n, fees: [{ kind: 'transfer', amount: 14_352n, coin: 'quote' }] });
    expect(old!.needs).toBeUndefined();
  });

  it('the arithmetic of quotes gives the recorded outputs, to the unit', () => {
    const rates = decodeConfig(tier0())!;
    for (const trade of tradesIn('raydium-cpmm/two_swaps_transfer_fee_5GBS79ciRocT.json', 'raydium-cpmm')) {
      const { priceBase, priceQuote } = trade.before!;
      const isSell = trade.side === 'sell';
      const [reserveIn, reserveOut] = isSell ? [priceBase, priceQuote] : [priceQuote, priceBase];
      const [paid] = moved(trade);
      const withheld = trade.fees.find(({ kind, coin }) => kind === 'transfer' && coin === (isSell ? 'base' : 'quote'))?.amount ?? 0n;
      const swapped = swapExactIn({ reserveIn, reserveOut, rates: { ...rates, creator: 0n }, creatorFeeOnInput: true }, paid - withheld);
      expect([swapped?.through, swapped?.amountOut]).toEqual(
        isSell ? [trade.baseAmount, trade.quoteAmount] : [trade.quoteAmount, trade.baseAmount],
      );
    }
  });

  it('the fee tier of a trade is read once, for all pools that have it', async () => {
    const tier = 'D4FPEruKEHrG5TenZ2mpDGEfu1iUvTiqBxvpU8HLBvC2';
    const { account } = fixtureJson(`accounts/${folder}/amm_config.json`) as { readonly account: unknown };
    const harness = createHarness({ accounts: new Map([[tier, account]]) });
    const file = fixtureJson('venues/raydium-cpmm/two_swaps_transfer_fee_5GBS79ciRocT.json') as { readonly result: object };
    const { events, calls, pipeline } = harness;
    const published = (): StreamEvent[] => events.filter((event) => event.type === 'trade' && event.pool === 'raydium-cpmm');
    pipeline.takeNew(wholeSighting(file.result));
    await until('published', () => published().length === 2);
    expect(published()).toEqual([
      expect.objectContaining({ reserves: expect.objectContaining({ virtualBase: '12248470763934' }) }),
      expect.objectContaining({ side: 'sell', baseDecimals: 9, reserves: expect.objectContaining({ virtualBase: '80656211692129073' }) }),
    ]);
    const asked = (): number => calls.filter(({ params }) => (params[0] as readonly string[]).includes(tier)).length;
    const before = asked();
    const again = pipeline.decoder.read(wholeSighting(file.result));
    if (again.kind === 'read') pipeline.take(again.transaction);
    expect([before, asked(), published().length]).toEqual([1, 1, 4]);
  });

  it('the price of a pool is that of its vaults without the fees that wait in them', () => {
    const address = '7JuwJuNU88gurFnyWeiyGKbFmExMWcmRZntn9imEzdny';
    const names = {
      [address]: 'sol_usdc_pool_state',
      '7VLUXrnSSDo9BfCa4NWaQs68g7ddDY1sdXBKW6Xswj9Y': 'sol_vault',
      '3rzbbW5Q8MA7sCaowf28hNgACNPecdS2zceWy7Ptzua9': 'usdc_vault',
    };
    const accounts = new Map(Object.entries(names).map(([key, name]) => [key, fixtureAccount(`${folder}/${name}`)]));
    const { pools } = poolsAt(wrappedSolMint, [{ venue: raydiumCpmm, address, vaults: [], isDerived: false }], accounts);
    expect(pools.map(({ account }) => account)).toEqual([
      expect.objectContaining({ baseMint: wrappedSolMint, quoteMint: usdcMint, virtualBase: -143_502_627n, virtualQuote: -1_283_792n }),
    ]);
    // As those of a trade: the fees are in neither, because they cannot leave the pool by a trade.
    expect(pools[0]!.reserves).toEqual(reserves(416_121_797n, 34_290_700n));
  });
});

it.each([0, 1])('an instruction of form %i that opens a pool names it, its coins and what its vaults received', (index) => {
  const form = openingInstructions[index]!;
  const accounts = Array.from({ length: 21 }, (_, at) => `account ${at}`);
  accounts[form.tokenPrograms[0]] = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
  const data = Buffer.alloc(33);
  data.set(form.discriminator);
  data.writeBigUInt64LE(1_000n, 8);
  data.writeBigUInt64LE(2_000n, 16);
  const [baseMint, quoteMint] = form.mints.map((at) => accounts[at]!);
  const tokenBalances = [
    { account: accounts[form.vaults[0]]!, mint: baseMint!, decimals: 9, owner: null, before: 0n, after: 1_500n },
    { account: accounts[form.vaults[1]]!, mint: quoteMint!, decimals: 6, owner: null, before: 0n, after: 1_900n },
  ];
  const events: VenueEvent[] = [];
  const emitting = { programId, accounts, data, inner: [], at: -1 };
  raydiumCpmm.decode({ record: 'instruction', data, text: null, instruction: () => emitting, feePayer: null, tokenBalances }, (event) =>
    events.push(event),
  );
  expect(events).toEqual([
    {
      type: 'poolCreated',
      pool: accounts[form.pool],
      baseMint,
      quoteMint,
      baseDecimals: 9,
      quoteDecimals: 6,
      reserves: reserves(1_000n, 1_900n),
      creator: accounts[form.creator],
      timestamp: null,
    },
  ]);
});
