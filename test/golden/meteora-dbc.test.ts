import { decodeBase58, encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { hasPrefix, u128At, viewOf } from '@sluice/shared/solana/encoding/bytes.ts';
import { readTransaction, type TransactionView } from '@sluice/shared/solana/transaction/inner-events.ts';
import { wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { venues } from '@sluice/venues/registry.ts';
import type { VenueTrade } from '@sluice/venues/seam/venue.ts';
import { describe, expect, it } from 'vitest';
import { Decoder } from '../../ingest/src/pipeline/decode.ts';
import type { WholeSighting } from '../../ingest/src/sources/sighting.ts';
import { meteoraDbc } from '../../venues/src/meteora/dbc/index.ts';
import { fixtureBytes, fixtureJson, fixturesNote, fixturesPresent } from './fixtures.ts';

const folder = 'venues/meteora-dbc';

interface Answer {
  readonly meta: { readonly innerInstructions: { instructions: { readonly data?: string }[] }[] };
}

function readAnswer(answer: unknown): TransactionView {
  const view = readTransaction(answer);
  if (view.kind === 'malformed') throw new Error(view.reason);
  return view;
}

function tradesOf(file: string): readonly VenueTrade[] {
  return tradesIn(readAnswer((fixtureJson(`${folder}/${file}`) as { readonly result: unknown }).result));
}

function tradesIn(transaction: TransactionView): readonly VenueTrade[] {
  const decoder = new Decoder(venues, (fault) => {
    if (fault.venue === 'meteora-dbc') throw new Error(`${fault.kind}: ${fault.detail}`);
  });
  const origin = { source: 'recording', slot: 1, commitment: 'confirmed', receivedUs: 1 } as const;
  const sighting: WholeSighting = { kind: 'whole', ...origin, signature: transaction.signature, transaction, late: false };
  const reading = decoder.read(sighting);
  if (reading.kind !== 'read') return [];
  return reading.transaction.events.flatMap(({ venue, event }) => (venue === 'meteora-dbc' && event.type === 'trade' ? [event] : []));
}

const accountBytes = (name: string): Buffer => fixtureBytes(`accounts/meteora-dbc/${name}.bin`);

describe.skipIf(!fixturesPresent)(`recorded swaps on Meteora DBC (${fixturesNote})`, () => {
  const rest = { type: 'trade', before: null, reserves: null, depth: null, supply: null, priceBase: 1n << 128n };

  it('every field of a buy of 2026-09, whose two events are one trade', () => {
    expect(tradesOf('swap_2026_09_via_dflow_Ud4ww399gUfh.json')).toEqual([
      {
        ...rest,
        pool: '6t9iWa9NoSJQdYEY24jmS7PvSeHgjiRUpTQQ62eyV7pE',
        pair: { baseMint: '5jWGJESXtvxxa59GjZ1v7fLzn1o9ekzHKJWTkp9iax7', quoteMint: wrappedSolMint },
        side: 'buy',
        trader: 'EC2f5DnHzuNRit1ExqghSifDbp1wgrzktsRRZCtU92MJ',
        // The trader paid 8,566,797,300 and received all of this.
        baseAmount: 18_002_931_206_802n,
        quoteAmount: 8_395_358_021n,
        priceQuote: 162_080_918_299_104_848_199_215_521_250_827_801n,
        fees: [
          { kind: 'partner', amount: 137_151_424n, bps: 160, coin: 'quote' },
          { kind: 'protocol', amount: 34_287_855n, bps: 40, coin: 'quote' },
        ],
        feeTotal: 171_439_279n,
        timestamp: 1_790_063_513,
        needs: { account: '4qPV7yiEKhGdywcr11kH2y5xwPR3wuyoVAb6hhxdYuNn', facts: [402_592_744_965_808_901n, 161_321_649_714n] },
      },
    ]);
  });

  it('every field of a sale of dust', () => {
    expect(tradesOf('swap_via_router_4wqy6ETLLwP9.json')).toEqual([
      {
        ...rest,
        pool: 'FAcaaTLLgrQpdD8cCEf5yXzA6fGRvfe6x4ii1ZEXFkPS',
        pair: { baseMint: 'E1stSPsUfj8PhFFa2dp5cPKBWQ7ZqgtxMfg6d2nk8USA', quoteMint: 'USD1ttGY1N17NEEHLmELoaybftRBUSErhqYiQzvEmuB' },
        side: 'sell',
        trader: 'ykDH8YDTyqLaoQu9Betsb9tjHMM1HZQXdRyjnSM3szF',
        baseAmount: 2_431_999n,
        // The trader received 2 of them.
        quoteAmount: 9n,
        priceQuote: 1_399_187_475_943_146_991_155_324_692_852_089n,
        fees: [
          { kind: 'partner', amount: 6n, bps: 6_667, coin: 'quote' },
          { kind: 'protocol', amount: 1n, bps: 1_111, coin: 'quote' },
        ],
        feeTotal: 7n,
        timestamp: 1_777_373_327,
        needs: { account: 'Hu8aUS79JT3GSeKKnCHUDaBZh1sBpTiHpt6Emh9SMEyQ', facts: [37_405_714_482_457_717n, 11n] },
      },
    ]);
  });

  it('the older event alone is a trade too, with the same amounts', () => {
    const answer = structuredClone(fixtureJson(`${folder}/swap_2026_09_via_dflow_Ud4ww399gUfh.json`)) as { result: Answer };
    const [newer] = tradesOf('swap_2026_09_via_dflow_Ud4ww399gUfh.json');
    const tag = Buffer.from('e445a52e51cb9a1dbd4233a826507599', 'hex');
    for (const list of answer.result.meta.innerInstructions)
      list.instructions = list.instructions.filter(({ data }) => !hasPrefix(decodeBase58(data ?? '') ?? new Uint8Array(0), tag));
    expect(tradesIn(readAnswer(answer.result))).toEqual([{ ...newer, needs: { ...newer!.needs, facts: [newer!.needs!.facts[0], -1n] } }]);
  });

  it.each([
    {
      name: 'fee_in_both',
      baseMint: 'QS4QLW6vZWMmQE3j3LAnGfCZbXWbVfDuVDeVfgT2dzM',
      creator: '29zm7bwWhveMx5q3aZuyZBhDPfJfWE5RxYEk8q4ydVjz',
      to: 100_000_000_000n,
      real: [522_427_183_602_537n, 11_725_382_491n],
      virtual: [789_093_851_425_592n, 45_058_716_145n],
    },
    {
      name: 'fee_in_quote',
      baseMint: '2nxV4TpLb4zBdHfGoL32R8SdnRpoPyCVpu6CTrgzDh42',
      creator: 'GD32KhxLkqoG7YtPN9CweUgq5Ws2RhdhHS8MYJbh78Dy',
      to: 87_945_796_097n,
      real: [591_359_547_046_237n, 7_018_473_489n],
      virtual: [839_585_354_512_421n, 33_969_604_737n],
    },
  ])('the accounts of a pool, field by field: $name', ({ name, baseMint, creator, to, real, virtual }) => {
    const [pool, config] = [accountBytes(`${name}_pool`), accountBytes(`${name}_config`)];
    const address = encodeBase58(pool, 72, 32);
    expect(meteoraDbc.decodeAccount(pool)).toEqual({ kind: 'more', addresses: [address] });
    expect(meteoraDbc.decodeAccount(config)).toEqual({ kind: 'ignored', name: 'PoolConfig' });
    const [[realBase, realQuote], [virtualBase, virtualQuote]] = [real, virtual];
    expect(meteoraDbc.decodeAccount(pool, (other) => (other === address ? config : null))).toEqual({
      kind: 'decoded',
      account: {
        type: 'curve',
        baseMint,
        quoteMint: wrappedSolMint,
        reserves: { virtualBase, virtualQuote, realBase, realQuote },
        supply: null,
        complete: false,
        goal: { reserve: 'realQuote', from: 0n, to },
        creator,
        traits: [],
        supplyByMint: true,
        creatorFeeBps: 0,
      },
    });
    // From the first price on, the buyers paid what is in the reserve.
    const [start, price] = [Number(u128At(viewOf(config), 392)), Number(u128At(viewOf(pool), 280))];
    expect((Number(virtualQuote) * (price - start)) / price / Number(realQuote)).toBeCloseTo(1, 6);
  });
});
