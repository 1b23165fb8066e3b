import { readTransaction, type TransactionView } from '@sluice/shared/solana/transaction/inner-events.ts';
import { usdcMint, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { feesIn } from '@sluice/venues/seam/fee.ts';
import type { VenueTrade } from '@sluice/venues/seam/venue.ts';
import { describe, expect, it } from 'vitest';
import { Decoder } from '../../ingest/src/pipeline/decode.ts';
import { meteoraDammV2 } from '../../venues/src/meteora/damm-v2/index.ts';
import { events } from '../../venues/src/meteora/damm-v2/program.ts';
import { fixtureBytes, fixtureJson, fixturesNote, fixturesPresent, fixtureTransaction } from './fixtures.ts';

interface Swap {
  readonly venue: string;
  readonly pool: string;
  readonly trader: string;
  readonly inMint: string;
  readonly outMint: string;
  readonly amountIn: string;
  readonly amountOut: string;
  readonly vaultReceived?: string;
  readonly executed: boolean;
}

function tradesIn(answer: unknown): VenueTrade[] {
  const transaction = readTransaction(answer);
  if (transaction.kind === 'malformed') throw new Error(transaction.reason);
  return tradesOf(transaction);
}

function tradesOf(transaction: TransactionView): VenueTrade[] {
  const decoder = new Decoder([meteoraDammV2], (fault) => expect.fail(`${fault.kind}: ${fault.detail}`));
  const origin = { kind: 'whole', source: 'recording', slot: 1, commitment: 'confirmed', receivedUs: 1, late: false } as const;
  const reading = decoder.read({ ...origin, signature: transaction.signature, transaction });
  if (reading.kind !== 'read') return [];
  return reading.transaction.events.flatMap(({ event }) => (event.type === 'trade' ? [event] : []));
}

const recorded = (file: string): VenueTrade[] => tradesIn((fixtureJson(`venues/${file}`) as { readonly result: unknown }).result);

describe.skipIf(!fixturesPresent)(`recorded swaps on DAMM v2 (${fixturesNote})`, () => {
  const files = fixturesPresent ? (fixtureJson('venues/expected.json') as readonly { file: string; swaps: readonly Swap[] }[]) : [];
  const withTrades = files.filter(({ swaps }) => swaps.some(({ venue }) => venue === 'meteora-damm-v2'));

  it.each(withTrades.map(({ file, swaps }) => [file, swaps] as const))('%s', (file, swaps) => {
    const expected = swaps.filter(({ venue, executed }) => venue === 'meteora-damm-v2' && executed);
    const trades = recorded(file).map(({ pool, trader, side, pair, baseAmount, quoteAmount, fees }) => {
      const [inCoin, outCoin] = side === 'sell' ? (['base', 'quote'] as const) : (['quote', 'base'] as const);
      const [given, gotten] = side === 'sell' ? [baseAmount, quoteAmount] : [quoteAmount, baseAmount];
      const mints = { base: pair!.baseMint, quote: pair!.quoteMint };
      const withheld = (coin: 'base' | 'quote'): bigint =>
        feesIn(
          coin,
          fees.filter(({ kind }) => kind === 'transfer'),
        );
      const paid = given + feesIn(inCoin, fees);
      const sent = gotten - feesIn(outCoin, fees) + withheld(outCoin);
      return [pool, trader, mints[inCoin], mints[outCoin], String(paid), String(sent), String(paid - withheld(inCoin))];
    });
    expect(trades).toEqual(
      expected.map(({ pool, trader, inMint, outMint, amountIn, amountOut, vaultReceived }) => [
        pool,
        trader,
        inMint,
        outMint,
        amountIn,
        amountOut,
        vaultReceived ?? amountIn,
      ]),
    );
  });

  it('every field of a purchase with a fee and a transfer fee in the input', () => {
    const [trade] = recorded('meteora-damm-v2/dlmm_clmm_damm_2026_09_transfer_fee_5ZbNgWiJH9Go.json');
    expect(trade).toEqual({
      type: 'trade',
      pool: '6oQpfRu8GyfyJqenPri7L4izyRHthZEBmJcybLzYZ4yr',
      pair: { baseMint: '6GvqRJHmR9QZtV5hwad8KHYamtJXE1WQmpRnBYAaqC8j', quoteMint: 'HcRLc9VDgjLeK154xDawfb1dmVJ98DoSqcwTHGqiDeJR' },
      side: 'buy',
      trader: 'EC2f5DnHzuNRit1ExqghSifDbp1wgrzktsRRZCtU92MJ',
      baseAmount: 4_676_168_090_653_305n,
      quoteAmount: 6_589_960_958_169n,
      before: { priceQuote: 468_072_379_336_599_060_887_478_356_733_586_401n, priceBase: 1n << 128n, reserves: null, depth: null },
      priceQuote: 491_305_166_111_909_591_629_383_089_604_890_089n,
      priceBase: 1n << 128n,
      reserves: null,
      depth: 1_380_368_290_131n,
      fees: [
        { kind: 'lp', amount: 53_252_209_764n, bps: 80, coin: 'quote' },
        { kind: 'protocol', amount: 13_313_052_440n, bps: 20, coin: 'quote' },
        { kind: 'transfer', amount: 205_871_944_960n, bps: 300, coin: 'quote' },
      ],
      feeTotal: 272_437_207_164n,
      supply: null,
      timestamp: 1_789_721_473,
    });
  });

  it('the price before a swap is the one that the swap before it left, and depth follows from what the pool has', () => {
    const [sale, purchase] = recorded('meteora-damm-v2/two_swaps_both_directions_2drUaXQWXNXe.json');
    const ratio = Number(purchase!.before!.priceQuote) / Number(sale!.priceQuote);
    expect(Math.abs(ratio - 1)).toBeLessThan(1e-9);
    expect([sale!.depth, purchase!.depth]).toEqual([3_358_885_219_691n, 3_412_980_539_958n]);
  });

  it('one trade of a swap that sends both events, with its fee in the output', () => {
    const transaction = fixtureTransaction('meteora_damm_v2_swap_2025-10-25');
    expect(tradesIn(transaction)).toEqual([
      expect.objectContaining({
        side: 'buy',
        pool: 'yJLejZTJeMnETVDuUcbucL3FhEydMBsFLWtqnY9NABf',
        baseAmount: 10_059_502_383n,
        quoteAmount: 3_853_747n,
        fees: [
          { kind: 'lp', amount: 8_047_603n, bps: 8, coin: 'base' },
          { kind: 'protocol', amount: 2_011_900n, bps: 2, coin: 'base' },
        ],
      }),
    ]);
  });

  it('the older event alone, as the program sent it until 2025-10', () => {
    const view = readTransaction(fixtureTransaction('meteora_damm_v2_swap_2025-10-25'));
    if (view.kind === 'malformed') throw new Error(view.reason);
    const isNewer = (data: Uint8Array): boolean => Buffer.from(data).subarray(8, 16).equals(Buffer.from(events.swap2));
    const inner = new Map([...view.inner!].map(([index, list]) => [index, list.filter(({ data }) => !isNewer(data))]));
    const [newer, older] = [tradesOf(view)[0]!, tradesOf({ ...view, inner })[0]!];
    const { pool, trader, pair, side, priceQuote, timestamp, fees } = newer;
    expect(older).toMatchObject({ pool, trader, pair, side, priceQuote, timestamp, depth: null, before: null, needs: { account: pool } });
    // The pool says in which coin the purchase paid its fee.
    const completed = (collectFeeMode: bigint): VenueTrade => meteoraDammV2.completeTrade!(older, { collectFeeMode });
    expect(completed(0n)).toMatchObject({ baseAmount: newer.baseAmount, quoteAmount: newer.quoteAmount, fees, feeTotal: 0n });
    const charged = { quoteAmount: 3_853_747n - 3_000n, baseAmount: 10_049_442_880n - 0n };
    const withFees = {
      ...older,
      baseAmount: charged.baseAmount + 3_000n,
      fees: [{ kind: 'lp', amount: 3_000n, bps: 0, coin: 'base' }],
    } as const;
    expect(meteoraDammV2.completeTrade!(withFees, { collectFeeMode: 1n })).toMatchObject({
      ...charged,
      fees: [{ kind: 'lp', amount: 3_000n, bps: 8, coin: 'quote' }],
      feeTotal: 3_000n,
    });
  });

  it.each([
    ['3u2BK3ykdjv1hAeGQwAkZMxjb4otV5yvW7g72uviCaZZ', usdcMint, 14_941_827_977_131_086_437_898_066_668_584_516n, 77_207_864n],
    ['CGPxT5d1uf9a8cKVJuZaJAU76t2EfLGbTmRbfvLLZp5j', usdcMint, 59_596_948_834_482_956_986_522_964_793_482_041_600n, 2_482_525_849n],
    ['pool_account', wrappedSolMint, 212_076_626_236_183_540_708_140_325_283_889_601n, 974_372n],
  ])('the account %s', (name, quoteMint, priceQuote, depth) => {
    expect(meteoraDammV2.decodeAccount(fixtureBytes(`accounts/meteora-damm-v2/${name}.bin`))).toMatchObject({
      kind: 'decoded',
      account: { type: 'pool', quoteMint, price: { priceQuote, priceBase: 1n << 128n, reserves: null, depth } },
    });
  });

  it('the account of a config is known', () => {
    const data = fixtureBytes('accounts/meteora-damm-v2/config_account.bin');
    expect(meteoraDammV2.decodeAccount(data)).toEqual({ kind: 'ignored', name: 'Config' });
  });
});
