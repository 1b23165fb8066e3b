import { token2022Program, tokenProgram, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { readTransaction } from '@sluice/shared/solana/transaction/inner-events.ts';
import { decodeData } from '../support/events/decode-data.ts';
import type { DecodeContext, VenueEvent } from '@sluice/venues/seam/venue.ts';
import { launchLab } from '../../venues/src/raydium/launchlab/index.ts';
import { migrationForms, poolOf, programId, tradeDiscriminators } from '../../venues/src/raydium/launchlab/program.ts';
import { ownTradesIn } from '../../trading/src/nodes/own-trades.ts';
import { createHarness } from '../ingest/harness.ts';
import { wholeSighting } from '../ingest/sightings.ts';
import { describe, expect, it } from 'vitest';
import taxedSale from './recordings/launchlab-sale-with-transfer-fee.json' with { type: 'json' };
import { fixtureJson, fixturesNote, fixturesPresent } from './fixtures.ts';

const launchFile = 'initialize_and_buy_mqSGNwKK8GZW';
const buyOutFile = 'buy_exact_out_3USu3YAsg2qB';
const sellFile = 'sell_exact_in_via_jupiter_3s8VMVAguPxA';

function answerOf(file: string): object {
  return (fixtureJson(`venues/launchlab/${file}.json`) as { readonly result: object }).result;
}

/** The events with their paths, as ingest reads them from the whole transaction; any fault fails the test. */
function eventsIn(answer: object): readonly (readonly [path: string, event: VenueEvent])[] {
  const { pipeline, faults } = createHarness();
  const reading = pipeline.decoder.read(wholeSighting(answer));
  if (reading.kind !== 'read' || faults.length > 0) throw new Error(JSON.stringify([reading.kind, faults]));
  return reading.transaction.events.map(({ path, event }) => [path, event]);
}

const launch = {
  mint: 'AqFe2tk1BRx6czUuRPGUZ8mtvcBGDZYsG6oPvELwzray',
  pool: '7SUXJsAtzPEY7Aq7e8tRjPJR7VrxUkZ6erKGuprnitNa',
  trader: 'FeGbW3kbwQnV42hxUAFfbupVzDU5sKhcHswvtRbrYpn5',
  platform: '4Bu96XjU84XjPDSpveTVf6LYGCkfW5FK7SNkREWcEfV4',
};
const rest = { type: 'trade', depth: null, supply: null, timestamp: null };

describe.skipIf(!fixturesPresent)(`recorded transactions of LaunchLab (${fixturesNote})`, () => {
  it('a launch and its first purchase, field by field', () => {
    const uri = 'https://ipfs.io/ipfs/bafkreic5ycsovdyioagcsgawljbz3yy3s6f6oxivjtqd6y4acrsr6f6tsa';
    const { mint, pool, trader, platform } = launch;
    const opening = { virtualBase: 1_066_666_666_666_666n, virtualQuote: 10_000_000_000n, realBase: 800_000_000_000_000n, realQuote: 0n };
    expect(eventsIn(answerOf(launchFile))).toEqual([
      [
        '2',
        {
          type: 'created',
          mint,
          quoteMint: wrappedSolMint,
          pool,
          name: 'PenguX',
          symbol: 'PEX',
          uri,
          creator: trader,
          platform,
          trader,
          tokenProgram,
          supply: 1_000_000_000_000_000n,
          decimals: 6,
          reserves: opening,
          traits: [],
          supplyByMint: false,
          creatorFeeBps: 0,
          timestamp: null,
        },
      ],
      [
        '6',
        {
          ...rest,
          pool,
          pair: { baseMint: mint, quoteMint: wrappedSolMint },
          side: 'buy',
          trader,
          baseAmount: 96_087_352_138_307n,
          quoteAmount: 990_000_000n,
          before: { priceQuote: 10_000_000_000n, priceBase: 1_066_666_666_666_666n },
          priceQuote: 10_990_000_000n,
          priceBase: 970_579_314_528_359n,
          reserves: {
            virtualBase: 970_579_314_528_359n,
            virtualQuote: 10_990_000_000n,
            realBase: 703_912_647_861_693n,
            realQuote: 990_000_000n,
          },
          fees: [
            { kind: 'protocol', amount: 2_500_000n, bps: 25, coin: 'quote' },
            { kind: 'platform', amount: 7_500_000n, bps: 75, coin: 'quote' },
          ],
          feeTotal: 10_000_000n,
        },
      ],
    ]);
  });

  it('a purchase of an exact amount, and a sale through a router in the newer layout', () => {
    expect(eventsIn(answerOf(buyOutFile))).toEqual([
      [
        '6',
        {
          ...rest,
          pool: 'D5y6T2Ep483fEup9mRC3LJSK7cd4Larxz46aE6YoGQsG',
          pair: { baseMint: '4HhNdqkmMsMV9Z3d85sPYDw1MR3DpXRrxknRTLYXN22h', quoteMint: wrappedSolMint },
          side: 'buy',
          trader: '5yJ6hdVHDVax48F5Z9K2kLNzXzqsyqbbsmATMTi5Vyju',
          baseAmount: 16_967_820_845_269n,
          quoteAmount: 646_765_289n,
          before: { priceQuote: 34_707_466_632n, priceBase: 927_514_639_663_282n },
          priceQuote: 35_354_231_921n,
          priceBase: 910_546_818_818_013n,
          reserves: {
            virtualBase: 910_546_818_818_013n,
            virtualQuote: 35_354_231_921n,
            realBase: 630_621_213_221_631n,
            realQuote: 5_353_378_970n,
          },
          fees: [
            { kind: 'protocol', amount: 1_637_381n, bps: 25, coin: 'quote' },
            { kind: 'platform', amount: 6_549_522n, bps: 100, coin: 'quote' },
          ],
          feeTotal: 8_186_903n,
        },
      ],
    ]);
    // The event is logged too, but counts once.
    expect(eventsIn(answerOf(sellFile))).toEqual([
      [
        '3.0',
        {
          ...rest,
          pool: '4sNV7i2BNHYbhenTJyXNxMdfVxhvESs8sWNGyfbeNev7',
          pair: { baseMint: '9hagXq16LZMT3DmCf16S7npUaxESZpsHdKkWUQab3ray', quoteMint: wrappedSolMint },
          side: 'sell',
          trader: '6r1P4fWTGsK71xvaYG1PK5Kfcj2buP4MW2vFgkTXKA9M',
          baseAmount: 20_261_126_631n,
          quoteAmount: 3_800_958n,
          before: { priceQuote: 12_635_402_673n, priceBase: 67_333_134_054_915n },
          priceQuote: 12_631_601_715n,
          priceBase: 67_353_395_181_546n,
          reserves: {
            virtualBase: 67_353_395_181_546n,
            virtualQuote: 12_631_601_715n,
            realBase: 46_728_395_181_546n,
            realQuote: 1_381_601_715n,
          },
          fees: [
            { kind: 'protocol', amount: 9_504n, bps: 25, coin: 'quote' },
            { kind: 'platform', amount: 28_507n, bps: 75, coin: 'quote' },
            { kind: 'creator', amount: 1_900n, bps: 5, coin: 'quote' },
          ],
          feeTotal: 39_911n,
        },
      ],
    ]);
  });

  it('the published launch names its platform, and logs alone are not enough', () => {
    const { pipeline, events } = createHarness();
    pipeline.takeNew(wholeSighting(answerOf(launchFile)));
    expect(events.find(({ type }) => type === 'newToken')).toMatchObject({
      pool: 'launchlab',
      bondingCurve: launch.pool,
      platform: launch.platform,
      initialBuy: { trader: launch.trader, quoteAmount: '990000000' },
      reserves: { virtualBase: '970579314528359' },
    });
    const view = readTransaction(answerOf(sellFile));
    if (view.kind === 'malformed') throw new Error(view.reason);
    const logs = { kind: 'logs', source: 'recording', slot: 1, commitment: 'processed', receivedUs: 1 } as const;
    const reading = pipeline.decoder.read({ ...logs, signature: view.signature, logs: view.logs });
    expect([reading.fault, reading.transaction.events]).toEqual(['a program does not log its trades', []]);
  });
});

it('a sale of a coin with a transfer fee: the event counts what arrived, and the transfer shows what was paid', () => {
  expect(eventsIn(taxedSale)).toEqual([
    [
      '1.0',
      {
        ...rest,
        pool: 'HcB1nwuqh1csZRJaHPJbpByJ8v5CQcbfi2uVbZcXP5Kx',
        pair: { baseMint: 'KUCxmmJJYmnzTbKWiXhauwxoa81Z38tC7FJtqti6Bhz', quoteMint: 'pSo1f9nQXWgXibFtKf7NWYxb5enAM4qfP6UJSiXRQfL' },
        side: 'sell',
        trader: 'HjZDoz5NbpZd94ZqqrqdpnVUaNPshUCqHVtaAoShYevW',
        // What the vault received; 1 % of the 17,024,145.555948 coins that the trader gave was withheld.
        baseAmount: 16_853_904_100_388n,
        quoteAmount: 921_558_070n,
        before: { priceQuote: 40_542_133_061n, priceBase: 724_600_426_852_060n },
        priceQuote: 39_620_574_991n,
        priceBase: 741_454_330_952_448n,
        reserves: {
          virtualBase: 741_454_330_952_448n,
          virtualQuote: 39_620_574_991n,
          realBase: 461_528_725_354_906n,
          realQuote: 12_242_992_613n,
        },
        fees: [
          { kind: 'protocol', amount: 2_303_896n, bps: 25, coin: 'quote' },
          { kind: 'platform', amount: 9_215_580n, bps: 100, coin: 'quote' },
          { kind: 'transfer', amount: 170_241_455_560n, bps: 100, coin: 'base' },
        ],
        feeTotal: 11_519_476n,
      },
    ],
  ]);
});

it('an order to sell such a coin is known by what was paid', () => {
  const read = readTransaction(taxedSale);
  if (read.kind === 'malformed') throw new Error(read.reason);
  // The recording has no log lines; the program logs what it sends to itself.
  const [sent] = [...read.inner!.values()].flat().filter(({ programId: id, data }) => id === programId && data.length > 140);
  const [outer, router] = read.instructions.map((one) => one.programId);
  const logged = `Program data: ${Buffer.from(sent!.data.subarray(8)).toString('base64')}`;
  const within = [
    `Program ${router} invoke [1]`,
    `Program ${programId} invoke [2]`,
    logged,
    `Program ${programId} success`,
    `Program ${router} success`,
  ];
  const view = { ...read, logs: [`Program ${outer} invoke [1]`, `Program ${outer} success`, ...within] };
  const { side, trader, pool: poolAddress, pair } = eventsIn(taxedSale).flatMap(([, event]) => (event.type === 'trade' ? [event] : []))[0]!;
  const own = ownTradesIn(view, { side, trader, mint: pair!.baseMint, poolAddress });
  // 1 % more than what arrived.
  expect(own).toMatchObject({ baseAmount: 17_024_145_555_948n, quoteAmount: 921_558_070n, fees: 11_519_476n });
  // So simulations must ask for the inner instructions.
  expect(launchLab.needsTransaction).toBe(true);
});

/** Logged on mainnet, 147 bytes. */
const loggedTrade = Buffer.from(
  'vdt/007mYe57J0nr1ttuiFgOVMjM0EfMt3+fGYuNhZt8W2Z3HE3ggQB4xftR0QIA3nQOPunPAwDXrzD8BgAAAKblBzi8IwIAeHeB7wgAAAAwcQ7noS8CAJgb/WMJAAAAAGcEdgAAAACKiwav5QsAAPCHSwAAAAAAwB8uAQAAAAAwGw8AAAAAAAAAAAAAAAAAAAAB',
  'base64',
);
const accounts = Array.from({ length: 40 }, (_, at) => `account ${at}`);

function decodeIn(context: Partial<DecodeContext>, emitting: { accounts: readonly string[]; data: Uint8Array }): readonly VenueEvent[] {
  const events: VenueEvent[] = [];
  const instruction = () => ({ programId, inner: [], at: -1, ...emitting });
  const shown = { record: 'event', data: loggedTrade, text: null, feePayer: null, tokenBalances: null, instruction, ...context } as const;
  expect(launchLab.decode(shown, (event) => events.push(event))).toEqual({ kind: 'decoded' });
  return events;
}

it('what a coin withheld from a purchase follows from the balance, if it is exactly a fee', () => {
  const on = Object.assign([...accounts], { 4: '9HjtrQriVJaxaTxszNsnxKM5yH55mpRVpD7dL2Sw58cx', 11: token2022Program });
  const emitting = { accounts: on, data: tradeDiscriminators.buyExactIn };
  const withheldWith = (after: bigint): unknown => {
    const tokenBalances = [{ account: 'account 5', mint: 'account 9', decimals: 6, owner: null, before: 7n, after }];
    const [trade] = decodeIn({ tokenBalances }, emitting);
    return trade?.type === 'trade' && trade.fees.find(({ kind }) => kind === 'transfer');
  };
  // 3 % of 13,081,111.858058, rounded up.
  expect(withheldWith(7n + 12_688_678_502_316n)).toEqual({ kind: 'transfer', amount: 392_433_355_742n, bps: 300, coin: 'base' });
  for (const after of [12_688_678_502_317n, 13_081_111_858_058n, 1_000n]) expect(withheldWith(7n + after)).toBeUndefined();
});

it('the purchase of the last tokens completes the curve', () => {
  const on = Object.assign([...accounts], { 4: '9HjtrQriVJaxaTxszNsnxKM5yH55mpRVpD7dL2Sw58cx' });
  const emitting = { accounts: on, data: tradeDiscriminators.buyExactIn };
  const data = Buffer.from(loggedTrade);
  expect(decodeIn({ data }, emitting).map(({ type }) => type)).toEqual(['trade']);
  // As if the curve sold just what has been bought.
  data.copyWithin(40, 80, 88);
  expect(decodeIn({ data }, emitting)).toEqual([
    expect.objectContaining({ type: 'trade', side: 'buy', reserves: expect.objectContaining({ realBase: 0n }) as unknown }),
    { type: 'completed', mint: 'account 9', quoteMint: 'account 10', pool: on[4], timestamp: null },
  ]);
});

/** Accounts of a migration that a node of the network simulated in 2026-10. It moved 206,900,000 coins and 85.000000002 SOL. */
const simulated = {
  1: '5MXJJGTeizcFBEsh18FSjGNAMNmnLenj81bBsnDESTNK',
  2: wrappedSolMint,
  3: '4E876qZTE9FJMrBzgVtBrSrzz2TLivB5Y5QXPjB4gZL7',
  4: 'CPMMoo8L3F4NbTegBCKVNunggL7H1ZpdTHKxQB5qKP1C',
  5: '8ezeiuLcojAyCmemKwt2wokjwPRxJFknp8rnuarMsWRT',
  8: 'DBodrLikipVWk2uwMbYMt4tXLzBUV1cAy2x2BG8zgWVa',
  9: '2dGvQdfViqdKXkhLVXJKRzCDNv1YQX5UZZWmdgZ4YS8P',
  17: '6b9LRWdzAEpiVZm2WmAJSTkpXwJ6uu9zWtHfupN3iStS',
};

it.each([0, 1, 2])('migration %i names the pool that follows, and what its vaults received', (index) => {
  const form = migrationForms[index]!;
  const on = Object.assign([...accounts], { [form.programAt]: form.toProgram }, index === 0 ? simulated : {});
  const balance = (at: number, after: bigint) => ({ account: on[at]!, mint: '', decimals: 6, owner: null, before: 5n, after });
  const tokenBalances = [balance(form.toVaults[1], 85n), balance(form.toVaults[0], 206n), balance(form.fromPool, 9n)];
  const events = decodeIn({ record: 'instruction', data: form.discriminator, tokenBalances }, { accounts: on, data: form.discriminator });
  const [mint, quoteMint, fromPool, toPool] = [on[1], on[2], on[form.fromPool], on[form.toPool]];
  if (index === 0) expect(poolOf(mint!, quoteMint!)).toBe(fromPool);
  const pools = { mint, quoteMint, fromPool, toVenue: form.toVenue, toPool };
  expect(events).toEqual([{ type: 'migrated', ...pools, baseAmount: 201n, quoteAmount: 80n, fee: 0n, timestamp: null }]);
});

it('the account of a curve whose quote coin is not SOL, field by field', () => {
  const data = Buffer.from(
    '9+3j9dfD3kYJBAAAAAAAAPoABgYBAIDGpH6NAwAAeMX7UdECAOCXDj7pzwMAZRRmIAAAAABPXws/eAIAAAELFQAAAAAAaznLWwAAAAC5ExEAAA' +
      'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAATi2Hz3YuI6AI4Wg5uPQTvvOcOPEr4trV' +
      'yob4rmZuUDUv76UoyW8/kSO/XTQhGtcPshtjskAzEmFgU9mvfUhN3IrTpwrpmtosWGv+ZBQevg1Giu3nB0Ejn4vyLTmq7xSNBn9ys8G6eb1WVz' +
      'sHzEgsWU9IFj4lqa4mCNEtJe/O7CUXS6SZVjbxvx4Qae8gfpQODTVHaPwu9H7ywIkVaACWgV1nRITOGDlpMf31x6ETR6ILG+3pFn/x4TRd/GI3' +
      'EE35DHHBizbjdg6nquwWDF7fZDmiYP2vSctZ5/IIk1RCGwwDAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' +
      'AAAAAAAAAAAAAAAAAAAAAA',
    'base64',
  );
  expect(data.length).toBe(429);
  const [baseMint, quoteMint] = ['ALvT2usBGUC8C21dDiXpwAGVwA3x1GBKtut3VFWQcX8x', 'SNAPcESrvnH8yUdgeMF6xm1hym9b6hW6s8YeqeHdZFz'] as const;
  expect(launchLab.decodeAccount(data)).toEqual({
    kind: 'decoded',
    account: {
      type: 'curve',
      baseMint,
      quoteMint,
      reserves: {
        virtualBase: 1_070_310_128_564_369n,
        virtualQuote: 544_939_878n,
        realBase: 790_384_522_959_025n,
        realQuote: 1_379_073n,
      },
      supply: 1_000_000_000_000_000n,
      complete: false,
      goal: { reserve: 'realBase', from: 793_100_000_000_000n, to: 0n },
      creator: 'qaVvuapBm4RvJVZ1dESSCM5KFBPps6bL56r8nGtXweK',
      globalConfig: '6GB4wD9359bGzbj44nGVsGDLou3Gg1fhQGoEMyMfKNaQ',
      platformConfig: '4E876qZTE9FJMrBzgVtBrSrzz2TLivB5Y5QXPjB4gZL7',
      baseVault: '2ZwH1hZr6jMY1n4ytrVRD6ySEcvSMHFD7sGQYoZQtdzY',
      quoteVault: '7HcFHeCsR1ntYQ88zeXSQUzSeT6Tkq2zWL7YfwsF99JY',
      traits: [],
      supplyByMint: false,
      creatorFeeBps: 0,
    },
  });
  expect(poolOf(baseMint, quoteMint)).toBe('7L2sWFH3rjHCBbjye28oHXDW1H9Vkt2WNeMJcW4B1hUK');
});

it('an event without its instruction is incomplete', () => {
  expect(decodeData(launchLab, loggedTrade)).toEqual({ outcome: { kind: 'incomplete' }, events: [] });
});
