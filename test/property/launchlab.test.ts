import { tokenAddress } from '@sluice/shared/solana/addresses/derived.ts';
import { tokenAccountBytes } from '@sluice/shared/solana/tokens/token-account.ts';
import { tokenProgram, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { slippageBounds, type Quote, type QuotedMint, type QuotedPool, type QuotedTrade } from '@sluice/venues/seam/quoting.ts';
import { readTrade } from '@sluice/trading/signer/checks/trade-instruction.ts';
import { launchLab } from '../../venues/src/raydium/launchlab/index.ts';
import { openingNumbers } from '../../venues/src/raydium/launchlab/curve.ts';
import * as program from '../../venues/src/raydium/launchlab/program.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fixturesNote, fixturesPresent } from '../golden/fixtures.ts';
import { bonk, curveAccounts, launch, routed, swapIn, type Curve } from '../support/chain/launchlab-curves.ts';
import { fuzzCases, mutated } from '../support/fuzz.ts';

const at = { slot: 1_000, unixTimeS: 1_791_000_000 };

function opened(curve: Curve, change: Partial<QuotedMint> = {}): QuotedPool {
  const address = program.poolOf(curve.mint, wrappedSolMint);
  const bytes = curveAccounts(curve);
  const read = (one: string) => ({ owner: program.programId, lamports: 1n, data: bytes.get(one)! });
  const mint = { address: curve.mint, decimals: 6, supply: 10n ** 15n, transferFee: null, ...change };
  expect(launchLab.quoting!.accountsOf(curve.mint, wrappedSolMint)).toEqual([address]);
  const first = launchLab.quoting!.open(mint, [address], read, () => null);
  if (first.kind !== 'more') throw new Error(first.kind);
  const second = launchLab.quoting!.open(mint, [address, ...first.addresses], read, () => null);
  if (second.kind !== 'open') throw new Error(JSON.stringify(second));
  return second.pool;
}

function given(pool: QuotedPool, trade: QuotedTrade): Quote {
  const outcome = pool.quote(trade, at);
  if (!outcome.ok) throw new Error(outcome.fault);
  return outcome.quote;
}

const recorded = [
  [
    'initialize_and_buy_mqSGNwKK8GZW',
    launch,
    { exact: 'quoteIn', amount: 1_000_000_000n },
    [96_087_352_138_307n, 1_000_000_000n],
    [2_500_000n, 7_500_000n],
  ],
  [
    'buy_exact_out_3USu3YAsg2qB',
    bonk,
    { exact: 'baseOut', amount: 16_967_820_845_269n },
    [16_967_820_845_269n, 654_952_192n],
    [1_637_381n, 6_549_522n],
  ],
  [
    'sell_exact_in_via_jupiter_3s8VMVAguPxA',
    routed,
    { exact: 'baseIn', amount: 20_261_126_631n },
    [20_261_126_631n, 3_761_047n],
    [9_504n, 28_507n, 1_900n],
  ],
] as const;

describe('quotes of LaunchLab', () => {
  it.each(recorded)('%s: the quote is the recorded trade, to the unit', (_file, curve, trade, [base, traderQuote], fees) => {
    const quote = given(opened(curve), trade);
    expect([quote.baseAmount, quote.traderQuote, quote.fees.map(({ amount }) => amount)]).toEqual([base, traderQuote, fees]);
  });

  it('a launch opens with the recorded numbers', () => {
    const supply = 10n ** 15n;
    const openingOf = (totalBaseSell: bigint, goal: bigint, locked: bigint, of = supply): unknown =>
      openingNumbers({ supply: of, totalBaseSell, goal, locked });
    const numbers = (virtualBase: bigint, virtualQuote: bigint) => expect.objectContaining({ virtualBase, virtualQuote }) as unknown;
    expect(openingOf(793_100_000_000_000n, 85_000_000_000n, 0n)).toEqual(numbers(1_073_025_605_596_382n, 30_000_852_951n));
    expect(openingOf(800_000_000_000_000n, 30_000_000_000n, 0n)).toEqual(numbers(1_066_666_666_666_666n, 10_000_000_000n));
    expect(openingOf(55_000_000_000_000n, 30_000_000_000n, 30_000_000_000_000n, supply / 10n)).toEqual(
      numbers(75_625_000_000_000n, 11_250_000_000n),
    );
    // The account whose quote coin is not SOL.
    expect(openingOf(793_100_000_000_000n, 1_540_045_163n, 0n)).toEqual(numbers(1_073_025_605_605_344n, 543_560_805n));
    for (const impossible of [openingOf(supply, 1n, 0n), openingOf(1n, 10n ** 9n, 0n)]) expect(impossible).toBeNull();
  });

  it('a purchase, logged on mainnet, with a fee of the creator', () => {
    const curve = {
      ...bonk,
      numbers: [...bonk.numbers.slice(0, 3), 602_241_254_286_758n, 38_377_977_720n],
      fees: [2_500n, 10_000n, 500n],
    } as const;
    const quote = given(opened(curve), { exact: 'quoteIn', amount: 1_980_000_000n });
    expect(quote).toMatchObject({ baseAmount: 13_081_111_858_058n, quoteAmount: 1_954_260_000n, feeTotal: 25_740_000n, cut: false });
    expect(quote.after).toMatchObject({ virtualQuote: 70_333_090_671n, virtualBase: 457_703_239_451_566n });
  });

  it('a sale of a coin with a transfer fee: only what arrives counts', () => {
    const fee = { epoch: 0n, maxFee: 10n ** 15n, bps: 100 };
    const numbers = [793_100_000_000_000n, 1_073_025_605_597_542n, 27_377_582_378n, 348_425_178_745_482n, 13_164_550_683n];
    const taxed = opened({ ...bonk, numbers }, { transferFee: { older: fee, newer: fee, configAuthority: null, withdrawAuthority: null } });
    const quote = given(taxed, { exact: 'baseIn', amount: 17_024_145_555_948n });
    expect([quote.traderQuote, quote.fees.map(({ amount }) => amount)]).toEqual([910_038_594n, [2_303_896n, 9_215_580n, 170_241_455_560n]]);
  });

  it('a purchase of more than is left gets the rest, and completes the curve', () => {
    const pool = opened(bonk);
    const left = 793_100_000_000_000n - 145_510_965_933_100n;
    const rest = given(pool, { exact: 'baseOut', amount: left });
    const quote = given(pool, { exact: 'quoteIn', amount: 10n ** 12n });
    expect(quote).toEqual({ ...rest, cut: true });
    expect(quote).toMatchObject({ baseAmount: left, completes: true, cut: true, after: { realBase: 0n } });
    // The goal is 85 SOL. Rounding adds two lamports, as in the simulated migration of such a curve.
    expect(quote.after!.realQuote).toBe(85_000_000_002n);
  });

  it('refuses what the program refuses, and an exact amount of a coin with a transfer fee', () => {
    const sold = launch.numbers[3]!;
    expect(opened(launch).quote({ exact: 'baseIn', amount: sold + 1n }, at)).toEqual({ ok: false, fault: 'too_large' });
    expect(opened(bonk).quote({ exact: 'quoteIn', amount: 1n }, at)).toEqual({ ok: false, fault: 'too_small' });
    const fee = { epoch: 0n, maxFee: 10n ** 15n, bps: 300 };
    const taxed = opened(bonk, { transferFee: { older: fee, newer: fee, configAuthority: null, withdrawAuthority: null } });
    expect(taxed.quote({ exact: 'baseOut', amount: 1_000_000n }, at)).toEqual({ ok: false, fault: 'unknown_fee' });
    const quote = given(taxed, { exact: 'quoteIn', amount: 654_952_192n });
    expect(quote.fees.find(({ kind }) => kind === 'transfer')).toMatchObject({ coin: 'base', bps: 300 });
  });
});

describe.skipIf(!fixturesPresent)(`orders on LaunchLab (${fixturesNote})`, () => {
  it.each(recorded)('%s: the instruction is the recorded one', (file, curve, trade) => {
    const { accounts, data } = swapIn(file);
    const pool = opened(curve);
    const quote = given(pool, trade);
    const built = pool.build({
      user: accounts[0]!,
      trade,
      quote,
      ...slippageBounds(trade, quote, 100n),
      baseTokenProgram: tokenProgram,
      quoteTokenProgram: tokenProgram,
      baseAccountBytes: tokenAccountBytes,
      quoteAccountBytes: tokenAccountBytes,
      wrappedSol: () => accounts[6]!,
      recipient: 0,
    });
    const addresses = built.instruction.accounts.map(({ address }) => address);
    // The older program took no accounts for fees, and nothing recorded shows who the creators are.
    expect(addresses.slice(0, Math.min(accounts.length, 17))).toEqual(accounts.slice(0, 17));
    expect(addresses).toHaveLength(18);
    const wrapped = new Map([
      [
        { programId: '', accounts: [], data: new Uint8Array(0) },
        { address: accounts[6]!, lamports: 1n },
      ],
    ]);
    expect(built.baseAccount).toBe(tokenAddress(accounts[0]!, curve.mint, tokenProgram));
    expect(Buffer.from(built.instruction.data.subarray(0, 16))).toEqual(Buffer.from(data.subarray(0, 16)));
    expect(built.instruction.data).toHaveLength(data.length);
    const signed = { ...built.instruction, accounts: addresses };
    expect(readTrade(signed, { wallet: accounts[0]!, opened: wrapped, poolAccount: null })).toMatchObject({
      side: quote.side,
      pool: accounts[4],
      baseMint: curve.mint,
      quoteMint: wrappedSolMint,
      maxIn: slippageBounds(trade, quote, 100n).maxIn,
    });
  });
});

it('no mutation makes a decoder throw', () => {
  const emitting = (accounts: readonly string[], data: Uint8Array) => ({ programId: program.programId, accounts, data, inner: [], at: -1 });
  const names = Array.from({ length: 40 }, (_, index) => `account ${index}`);
  const trade = Buffer.from(
    'bddb7fd34ee661ee397a64e509e7d3b2b2a768a06acf3aa2ba2e6b39e6dfb0a330aef3e128f6d894007076af0532000000da42d1c744000080608d9e02000000fd63b9998a0700003191935200000000162211e285070000b391595200000000e741a8b704000000976339000000000020250000000000005b6f0000000000006c070000000000000000000000000000010001',
    'hex',
  );
  const launched = Buffer.from(
    '97d7e20976a173ae5facc2fa6e605ff92f5c60637838a6ca95d6240e8245d7294df7953d1b53c9a7d98fbd73d04160fc1cf535e38db14cce12c46f5593f0d8a203b6942b9c93d47a571a8e01c8df7820f9d66b3c7365b8d1e4afa81b7854cc2ef75cef58bd08867e060600000050656e677558030000005045580000000001000080c6a47e8d03000000d28398d7020000ac23fc0600000001000000000000000000000000000000000000000000000000',
    'hex',
  );
  const samples = [
    ['event', trade, program.tradeDiscriminators.sellExactIn],
    ['event', launched, program.launchForms[0]!.discriminator],
    ['instruction', Buffer.concat([program.migrations.toCpswap, Buffer.alloc(8)]), program.migrations.toCpswap],
  ] as const;
  for (const [record, sample, discriminator] of samples) {
    fc.assert(
      fc.property(mutated(sample), fc.nat(40), fc.boolean(), (data, accounts, isKnown) => {
        const on = Object.assign(names.slice(0, accounts), isKnown ? { 4: 'CPMMoo8L3F4NbTegBCKVNunggL7H1ZpdTHKxQB5qKP1C' } : {});
        const instruction = () => emitting(on, discriminator);
        launchLab.decode({ record, data, text: null, instruction, feePayer: null, tokenBalances: [] }, () => {});
        launchLab.decode({ record, data, text: null, instruction: () => null, feePayer: null, tokenBalances: null }, () => {});
      }),
      { seed: 1, numRuns: fuzzCases(20_000) },
    );
  }
  const accounts = curveAccounts(bonk);
  const bytes = [...accounts.values()] as unknown as readonly [Buffer, Buffer, Buffer];
  const [pool, ...others] = [...accounts.keys()] as [string, string, string];
  fc.assert(
    fc.property(
      ...(bytes.map(mutated) as [fc.Arbitrary<Uint8Array>, fc.Arbitrary<Uint8Array>, fc.Arbitrary<Uint8Array>]),
      fc.nat(2),
      (...args) => {
        const [changed, which] = [args.slice(0, 3) as Uint8Array[], args[3]];
        launchLab.decodeAccount(changed[0]!);
        const data = new Map([pool, ...others].map((address, index) => [address, index === which ? changed[index]! : bytes[index]!]));
        const read = (one: string) => (data.has(one) ? { owner: program.programId, lamports: 1n, data: data.get(one)! } : null);
        const mint = { address: bonk.mint, decimals: 6, supply: 10n ** 15n, transferFee: null };
        const market = launchLab.quoting!.open(mint, [pool, ...others], read, () => null);
        if (market.kind === 'open')
          for (const exact of ['quoteIn', 'baseOut', 'baseIn'] as const) market.pool.quote({ exact, amount: 10n ** 9n }, at);
      },
    ),
    { seed: 1, numRuns: fuzzCases(20_000) },
  );
});
