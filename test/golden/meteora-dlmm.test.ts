import { gunzipSync } from 'node:zlib';
import { findProgramAddress } from '@sluice/shared/solana/addresses/pda.ts';
import { readTransaction, type TransactionView } from '@sluice/shared/solana/transaction/inner-events.ts';
import { usdcMint, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { feesIn } from '@sluice/venues/seam/fee.ts';
import type { VenueEvent, VenueTrade } from '@sluice/venues/seam/venue.ts';
import { describe, expect, it } from 'vitest';
import { Decoder } from '../../ingest/src/pipeline/decode.ts';
import { meteoraDlmm } from '../../venues/src/meteora/dlmm/index.ts';
import { binArrayAddress, eventAuthority, programId } from '../../venues/src/meteora/dlmm/program.ts';
import { createHarness } from '../ingest/harness.ts';
import { completed } from '../support/events/decoded.ts';
import { until } from '../support/until.ts';
import { wholeSighting } from '../ingest/sightings.ts';
import { fixtureBytes, fixtureJson, fixturesNote, fixturesPresent } from './fixtures.ts';

interface Swap {
  readonly venue: string;
  readonly signature?: string;
  readonly pool: string;
  readonly trader: string;
  readonly inMint: string;
  readonly outMint: string;
  readonly amountIn: string;
  readonly amountOut: string;
  readonly executed?: boolean;
}

function eventsIn(answer: unknown): readonly VenueEvent[] {
  const transaction = readTransaction(answer);
  if (transaction.kind === 'malformed') throw new Error(transaction.reason);
  return eventsOf(transaction);
}

function eventsOf(transaction: TransactionView): readonly VenueEvent[] {
  const decoder = new Decoder([meteoraDlmm], (fault) => expect.fail(`${fault.kind}: ${fault.detail}`));
  const origin = { kind: 'whole', source: 'recording', slot: 1, commitment: 'confirmed', receivedUs: 1, late: false } as const;
  const reading = decoder.read({ ...origin, signature: transaction.signature, transaction });
  return reading.kind === 'read' ? reading.transaction.events.map(({ event }) => event) : [];
}

const recorded = (file: string): readonly VenueEvent[] => eventsIn((fixtureJson(`venues/${file}`) as { readonly result: unknown }).result);
const tradesOf = (events: readonly VenueEvent[]): VenueTrade[] => events.flatMap((event) => (event.type === 'trade' ? [event] : []));

/** Pool, trader, coins, and what the trader paid and was sent. */
function shown({ pool, trader, side, pair, baseAmount, quoteAmount, fees }: VenueTrade): readonly string[] {
  const { baseMint, quoteMint } = pair!;
  const [base, quote] = [feesIn('base', fees), feesIn('quote', fees)];
  return side === 'sell'
    ? [pool, trader, baseMint, quoteMint, String(baseAmount + base), String(quoteAmount - quote)]
    : [pool, trader, quoteMint, baseMint, String(quoteAmount + quote), String(baseAmount - base)];
}
const expectedOf = ({ pool, trader, inMint, outMint, amountIn, amountOut }: Swap): readonly string[] => [
  pool,
  trader,
  inMint,
  outMint,
  amountIn,
  amountOut,
];

const pairs = [
  'EtAdVRLFH22rjWh3mcUasKFF27WtHhsaCvK27tPFFWig',
  '9t3EyC9FweyL7PBWvKz3mrXg8B9fwFc9SK3QxM4ENqhd',
  'B5Eia4cE71tKuEDaqPHucJLG2fxySKyKzLMewd2nUvoc',
];

describe.skipIf(!fixturesPresent)(`recorded swaps on DLMM (${fixturesNote})`, () => {
  const files = fixturesPresent ? (fixtureJson('venues/expected.json') as readonly { file: string; swaps: readonly Swap[] }[]) : [];
  const withTrades = files.filter(({ swaps }) => swaps.some(({ venue }) => venue === 'meteora-dlmm'));

  it.each(withTrades.map(({ file, swaps }) => [file, swaps] as const))('%s', (file, swaps) => {
    const expected = swaps.filter(({ venue, executed }) => venue === 'meteora-dlmm' && executed === true);
    expect(tradesOf(recorded(file)).map(shown)).toEqual(expected.map(expectedOf));
  });

  it.each([
    ['285000037', 3],
    ['332254908', 8],
  ])('every swap of the whole block %s', (slot, count) => {
    const { result } = JSON.parse(gunzipSync(fixtureBytes(`blocks/${slot}.json.gz`)).toString()) as { result: { transactions: unknown[] } };
    const lines = fixtureBytes(`blocks/${slot}.swaps.jsonl`).toString().trim().split('\n');
    const expected = lines.map((line) => JSON.parse(line) as Swap).filter(({ venue }) => venue === 'meteora-dlmm');
    expect(expected).toHaveLength(count);
    const lined = (rows: readonly (readonly string[])[]): readonly string[] => rows.map((row) => row.join(' ')).toSorted();
    expect(lined(result.transactions.flatMap((answer) => tradesOf(eventsIn(answer)).map(shown)))).toEqual(lined(expected.map(expectedOf)));
  });

  it('every field of a sale, with its price and the price before', () => {
    const [trade] = tradesOf(recorded('meteora-dlmm/swap2_via_router_3izFs7kd8SNU.json'));
    expect(trade).toEqual({
      type: 'trade',
      pool: '2D4tPW3GVMwCiS5BFpabh9tDzbkZRxgWnk7yjWCf9zyD',
      pair: { baseMint: '4df1wZoygsynEZ6XmpcoabrVwv7nBgjHLyCns5xApump', quoteMint: wrappedSolMint },
      side: 'sell',
      trader: 'ARu4n5mFdZogZAravu7CcizaojWnS6oqka37gdLT5SZn',
      baseAmount: 2_891_663_535n,
      quoteAmount: 89_740_463n,
      before: null,
      priceQuote: 0n,
      priceBase: 0n,
      reserves: null,
      depth: null,
      fees: [
        { kind: 'lp', amount: 53_434_142n, bps: 181, coin: 'base' },
        { kind: 'protocol', amount: 2_812_323n, bps: 10, coin: 'base' },
      ],
      feeTotal: 0n,
      supply: null,
      timestamp: null,
      needs: { account: '2D4tPW3GVMwCiS5BFpabh9tDzbkZRxgWnk7yjWCf9zyD', facts: [-349n, -349n, 6_206_635_520_046n, 952_101_680_835n] },
    });
  });

  it('liquidity that was added', () => {
    expect(recorded('meteora-dlmm/add_liquidity_2LZBWdD5N9xb.json')).toEqual([
      {
        type: 'liquidityAdded',
        pool: '5rCf1DM8LjKTw4YqhnoLcngyZYeNnQqztScTogYHAS6',
        pair: { baseMint: wrappedSolMint, quoteMint: usdcMint },
        provider: '7dQDhdizfNgN2qQzhhCJAvLpfw96v6nyXyfH7MKaT4Jz',
        baseAmount: 2_499_999_995n,
        quoteAmount: 344_901_992n,
        lpAmount: null,
        // What both vaults hold.
        left: { base: 41_120_839_339_754n, quote: 865_678_956_324n },
        state: null,
        timestamp: null,
      },
    ]);
  });

  it('liquidity in a pair without a known price is published with the price of its account, or without one', async () => {
    const answer = (fixtureJson('venues/meteora-dlmm/add_liquidity_2LZBWdD5N9xb.json') as { readonly result: unknown }).result;
    const data = [fixtureBytes(`accounts/meteora-dlmm/${pairs[0]}/lb_pair.bin`).toString('base64'), 'base64'];
    const account = { owner: programId, lamports: 1, executable: false, rentEpoch: 0, data };
    const seen = async (accounts: ReadonlyMap<string, unknown>): Promise<readonly unknown[]> => {
      const harness = createHarness({ accounts });
      harness.pipeline.takeNew(wholeSighting(answer));
      await until('published', () => harness.events.length > 0);
      return harness.events;
    };
    const left = { type: 'liquidityAdded', baseLeft: '41120839339754', quoteLeft: '865678956324' };
    const known = await seen(new Map([['5rCf1DM8LjKTw4YqhnoLcngyZYeNnQqztScTogYHAS6', account]]));
    const priceQuote = expect.closeTo(1_448.298_166, 5) as number;
    expect(known).toMatchObject([
      { ...left, priceQuote },
      { type: 'price', priceQuote },
    ]);
    expect(await seen(new Map())).toMatchObject([{ ...left, priceQuote: null }]);
  });

  it.each(pairs)('the pair %s has the price of its active bin', (address) => {
    const data = fixtureBytes(`accounts/meteora-dlmm/${address}/lb_pair.bin`);
    const outcome = meteoraDlmm.decodeAccount(data);
    if (outcome.kind !== 'decoded' || outcome.account.type !== 'pool') throw new Error(JSON.stringify(outcome));
    const { priceQuote, priceBase } = outcome.account.price!;
    const [id, step] = [data.readInt32LE(76), data.readUInt16LE(80)];
    expect(Number(priceQuote) / Number(priceBase) / (1 + step / 10_000) ** id).toBeCloseTo(1, 9);
  });

  it('a trade is priced by the step of its pair, near the ratio of its amounts', () => {
    const [trade] = tradesOf(recorded('meteora-dlmm/swap2_via_router_3izFs7kd8SNU.json'));
    const data = fixtureBytes(`accounts/meteora-dlmm/${pairs[0]}/lb_pair.bin`);
    const ratio = Number(trade!.quoteAmount) / Number(trade!.baseAmount);
    const fits = [1, 2, 4, 5, 8, 10, 15, 16, 20, 25, 50, 80, 100, 125, 150, 160, 200, 250, 400].filter((step) => {
      data.writeUInt16LE(step, 80);
      const { priceQuote, priceBase, before } = completed(meteoraDlmm, trade!, data);
      expect(before).toMatchObject({ priceQuote, priceBase });
      return Math.abs(Number(priceQuote) / Number(priceBase) / ratio - 1) < 1e-6;
    });
    expect(fits).toEqual([100]);
  });
});

it('the addresses of the program', () => {
  expect(findProgramAddress([Buffer.from('__event_authority')], programId).address).toBe(eventAuthority);
  expect([-1, 0].map((index) => binArrayAddress(pairs[1]!, index))).toEqual([
    '338HBraHxVupeftangX6jySecbND4osxcJjjMSW7qmMs',
    '28BX6QycwTKx3CqswpJQs7hJCmoUs469Qt4maKMdhgmQ',
  ]);
});

it('knows no depth once the price is more than 5 % from where it was read', () => {
  const depthAt = (bin: bigint): bigint | null | undefined =>
    meteoraDlmm.completeTrade!({ needs: { account: '', facts: [100n, bin, 5n, 7n] } } as unknown as VenueTrade, {
      binStep: 25n,
      depth: 3n,
      depthBin: 100n,
      isReversed: 0n,
    }).depth;
  expect([100n, 120n, 121n, 80n, 79n].map(depthAt)).toEqual([3n, 3n, null, 3n, null]);
});
