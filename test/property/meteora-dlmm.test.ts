import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { generateKeypair } from '@sluice/shared/solana/addresses/keypair.ts';
import { addressBytes } from '@sluice/shared/solana/addresses/pda.ts';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { decodeTokenAccount } from '@sluice/shared/solana/tokens/token-account.ts';
import type { TransferFees } from '@sluice/shared/solana/tokens/token-extensions.ts';
import { readTransaction, type TransactionView } from '@sluice/shared/solana/transaction/inner-events.ts';
import { token2022Program, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { feesIn } from '@sluice/venues/seam/fee.ts';
import type { QuotedMint, QuotedTrade } from '@sluice/venues/seam/quoting.ts';
import type { Fee, VenueEvent } from '@sluice/venues/seam/venue.ts';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { Decoder } from '../../ingest/src/pipeline/decode.ts';
import { arrayOf } from '../../venues/src/meteora/dlmm/bin-arrays.ts';
import { priceOfBin } from '../../venues/src/meteora/dlmm/bin-price.ts';
import { meteoraDlmm } from '../../venues/src/meteora/dlmm/index.ts';
import { bin as binAt, binArray, binArrayLength, pair as at } from '../../venues/src/meteora/dlmm/layout.ts';
import { accountDiscriminators, binArrayAddress, eventAuthority, programId } from '../../venues/src/meteora/dlmm/program.ts';
import { fixtureBytes, fixturesPresent } from '../golden/fixtures.ts';
import { wholeSighting } from '../ingest/sightings.ts';
import { RealMachine } from '../simnet/support/real-machine.ts';
import { completed } from '../support/events/decoded.ts';
import { fuzzCases, mutated } from '../support/fuzz.ts';

/** The real program swaps on random pairs, through bins and arrays. Quote and event must agree with it, to the unit. */
const binary = join(process.env['PROGRAMS_DIR'] ?? '', `${programId}.so`);
const isPresent = fixturesPresent && process.env['PROGRAMS_DIR'] !== undefined && existsSync(binary);

/** A recorded pair whose settings and bins the test changes. */
const address = '9t3EyC9FweyL7PBWvKz3mrXg8B9fwFc9SK3QxM4ENqhd';
const recorded = (name: string): Buffer => fixtureBytes(`accounts/meteora-dlmm/${address}/${name}.bin`);
const trader = generateKeypair(new Uint8Array(32).fill(7));
const [owned, host, hostOwner] = [[24, 25].map(keyOf), [26, 27].map(keyOf), keyOf(28)];
const memoProgram = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr';
const rich = 10n ** 18n;
const now = { slot: 1_000, unixTimeS: 1_791_000_000 };

function keyOf(fill: number): string {
  return encodeBase58(new Uint8Array(32).fill(fill));
}

const amounts = fc.oneof(
  fc.constant(0n),
  fc.integer({ min: 1, max: 40 }).map((bits) => (1n << BigInt(bits)) - 1n),
);
const setups = fc.record({
  step: fc.constantFrom(1, 10, 80, 400),
  active: fc.integer({ min: -300, max: 300 }),
  /** Bins near the active one, or up to two arrays from it. */
  bins: fc.array(
    fc.record({
      offset: fc.oneof(fc.integer({ min: -5, max: 5 }), fc.integer({ min: -150, max: 150 })),
      amount: amounts,
      other: amounts,
      open: fc.oneof({ weight: 5, arbitrary: fc.constant(0n) }, amounts),
      processed: fc.oneof({ weight: 5, arbitrary: fc.constant(0n) }, amounts),
      asks: fc.boolean(),
    }),
    { minLength: 1, maxLength: 14 },
  ),
  baseFactor: fc.integer({ min: 1, max: 20_000 }),
  variable: fc.integer({ min: 0, max: 200_000 }),
  accumulator: fc.integer({ min: 0, max: 350_000 }),
  moved: fc.integer({ min: -20, max: 20 }),
  /** Seconds since the last swap. The filter period is 30, the decay period 600. */
  idle: fc.constantFrom(3, 29, 30, 200, 600, 5_000),
  share: fc.integer({ min: 0, max: 2_500 }),
  use: fc.integer({ min: 0, max: 2 }),
  mode: fc.integer({ min: 0, max: 1 }),
  transferBps: fc.tuple(fc.constantFrom(0, 0, 1, 300), fc.constantFrom(0, 0, 1_000)),
  hasHost: fc.boolean(),
});
type Setup = typeof setups extends fc.Arbitrary<infer T> ? T : never;
const trades = fc.record({
  exact: fc.constantFrom('quoteIn', 'baseIn', 'baseOut'),
  bits: fc.integer({ min: 1, max: 44 }),
  tokenIsX: fc.boolean(),
});

function feesOf(bps: number): TransferFees {
  const setting = { epoch: 0n, bps, maxFee: rich };
  return { configAuthority: null, withdrawAuthority: null, older: setting, newer: setting };
}

function mintOf(fees: TransferFees): Buffer {
  const data = Buffer.alloc(165 + 1 + 4 + 108);
  data.writeBigUInt64LE(8n * rich, 36);
  data.set([6, 1], 44);
  data.set([1, 1, 0, 108, 0], 165);
  for (const from of [170 + 72, 170 + 90]) {
    data.writeBigUInt64LE(fees.newer.maxFee, from + 8);
    data.writeUInt16LE(fees.newer.bps, from + 16);
  }
  return data;
}

function tokens(mint: string, owner: string): { lamports: bigint; owner: string; data: Buffer } {
  const data = Buffer.alloc(165 + 1 + 4 + 8);
  data.set(addressBytes(mint), 0);
  data.set(addressBytes(owner), 32);
  data.writeBigUInt64LE(rich, 64);
  data[108] = 1;
  data.set([2, 2, 0, 8, 0], 165);
  return { lamports: 10n ** 9n, owner: token2022Program, data };
}

const key = (data: Uint8Array, from: number): string => encodeBase58(data, from, 32);

/** The pair's account, and its bin arrays by number. */
function pairOf(setup: Setup): { readonly data: Buffer; readonly arrays: ReadonlyMap<number, Buffer> } {
  const { step, active, bins } = setup;
  const data = recorded('lb_pair');
  data.writeUInt16LE(setup.baseFactor, at.baseFactor);
  data.writeUInt16LE(30, at.filterPeriod);
  data.writeUInt16LE(600, at.decayPeriod);
  data.writeUInt32LE(setup.variable, at.variableFeeControl);
  data.writeUInt32LE(350_000, at.maxVolatility);
  data.writeUInt16LE(setup.share, at.protocolShare);
  data.set([0, setup.use, setup.mode], at.baseFeePower);
  data.writeUInt32LE(setup.accumulator, at.volatility);
  data.writeUInt32LE(Math.floor(setup.accumulator / 2), at.volatilityReference);
  data.writeInt32LE(active + setup.moved, at.indexReference);
  data.writeBigInt64LE(BigInt(now.unixTimeS - setup.idle), at.updatedAt);
  data.writeInt32LE(active, at.activeId);
  data.writeUInt16LE(step, at.binStep);
  data.writeBigUInt64LE(0n, at.activationPoint);
  data.fill(0, at.bitmap, at.bitmap + 128);
  data.set([1, 1], 880);
  const arrays = new Map<number, Buffer>();
  for (const { offset, amount, other, open, processed, asks } of bins) {
    const id = active + offset;
    const index = arrayOf(id);
    let array = arrays.get(index);
    if (array === undefined) {
      arrays.set(index, (array = Buffer.alloc(binArrayLength)));
      array.set(accountDiscriminators.binArray);
      array.writeBigInt64LE(BigInt(index), binArray.index);
      array[16] = 2;
      array.set(addressBytes(address), binArray.pair);
      data[at.bitmap + ((index + 512) >> 3)]! |= 1 << ((index + 512) & 7);
    }
    const from = binArray.bins + (id - index * 70) * binArray.binLength;
    array.writeBigUInt64LE(offset >= 0 ? amount : 0n, from + binAt.amountX);
    array.writeBigUInt64LE(offset < 0 ? amount : offset === 0 ? other : 0n, from + binAt.amountY);
    const price = priceOfBin(step, id)!;
    array.writeBigUInt64LE(price & ((1n << 64n) - 1n), from + binAt.price);
    array.writeBigUInt64LE(price >> 64n, from + binAt.price + 8);
    array.writeBigUInt64LE(1n << 60n, from + 32);
    array.writeBigUInt64LE(open, from + binAt.openOrders);
    array.writeBigUInt64LE(processed * 2n, from + 120);
    array.writeBigUInt64LE(processed, from + binAt.processedOrders);
    array.writeUInt32LE(5, from + 136);
    array[from + binAt.asks] = offset > 0 || (offset === 0 && asks) ? 1 : 0;
  }
  return { data, arrays };
}

class World {
  readonly machine = new RealMachine([trader], 10n ** 12n);
  readonly mints: readonly [string, string];
  readonly vaults: readonly [string, string];
  readonly arrays: readonly number[];
  readonly #setup: Setup;

  constructor(setup: Setup) {
    this.#setup = setup;
    this.machine.addProgram(programId, readFileSync(binary));
    this.machine.setTime(BigInt(now.unixTimeS));
    const { data, arrays } = pairOf(setup);
    const account = { lamports: 10n ** 11n, owner: programId };
    this.mints = [key(data, at.mintX), key(data, at.mintY)];
    this.vaults = [key(data, at.reserveX), key(data, at.reserveY)];
    this.arrays = [...arrays.keys()].toSorted((one, other) => one - other);
    this.machine.put(address, { ...account, data });
    this.machine.put(key(data, 552), { ...account, data: recorded('oracle') });
    for (const [index, array] of arrays) this.machine.put(binArrayAddress(address, index), { ...account, data: array });
    for (const coin of [0, 1] as const) {
      const mint = this.mints[coin];
      this.machine.put(mint, { ...account, owner: token2022Program, data: mintOf(feesOf(setup.transferBps[coin])) });
      this.machine.put(this.vaults[coin], tokens(mint, address));
      this.machine.put(owned[coin]!, tokens(mint, trader.publicKey));
      this.machine.put(host[coin]!, tokens(mint, hostOwner));
    }
  }

  mint = (mint: string): QuotedMint => {
    const bps = this.#setup.transferBps[this.mints.indexOf(mint)]!;
    return { address: mint, decimals: 6, supply: rich, transferFee: bps === 0 ? null : feesOf(bps) };
  };

  balance(account: string): bigint {
    return decodeTokenAccount(token2022Program, this.machine.account(account)!.data)!.amount;
  }

  /** The swap, and the events of its transaction. */
  swap(given: 0 | 1, amount: bigint, exactIn: boolean): readonly VenueEvent[] {
    const feeCoin = given === 0 && this.#setup.mode === 1 ? 1 : given;
    const data = Buffer.alloc(28);
    data.set(Buffer.from(exactIn ? '414b3f4ceb5b5b88' : '2bd7f784893cf351', 'hex'));
    data.writeBigUInt64LE(exactIn ? amount : rich, 8);
    data.writeBigUInt64LE(exactIn ? 0n : amount, 16);
    const account = (of: string, writable = true): { address: string; signer: boolean; writable: boolean } => ({
      address: of,
      signer: false,
      writable,
    });
    const arrays = given === 0 ? this.arrays.toReversed() : this.arrays;
    const active = arrayOf(this.machine.account(address)!.data.readInt32LE(at.activeId));
    const accounts = [
      account(address),
      account(programId, false),
      ...[...this.vaults, owned[given]!, owned[1 - given]!].map((of) => account(of)),
      ...this.mints.map((of) => account(of, false)),
      account(key(this.machine.account(address)!.data, 552)),
      this.#setup.hasHost ? account(host[feeCoin]!) : account(programId, false),
      { ...account(trader.publicKey, false), signer: true },
      ...[token2022Program, token2022Program, memoProgram, eventAuthority, programId].map((of) => account(of, false)),
      ...arrays
        .filter((index) => (given === 0 ? index <= active : index >= active))
        .map((index) => account(binArrayAddress(address, index))),
    ];
    const held = [...this.vaults, ...owned];
    const balancesNow = (): bigint[] => held.map((of) => this.balance(of));
    const before = balancesNow();
    const result = this.machine.run([{ programId, accounts, data }], [trader]);
    if (result.failed) throw new Error(`${result.error}\n${result.logs.join('\n')}`);
    return eventsOf(result.answer as Answer, held, [...this.mints, ...this.mints], before, balancesNow());
  }
}

interface Answer {
  readonly meta: object;
}

function eventsOf(
  answer: Answer,
  vaults: readonly string[],
  mints: readonly string[],
  before: readonly bigint[],
  after: readonly bigint[],
): readonly VenueEvent[] {
  const keys = (readTransaction(answer) as TransactionView).accountKeys;
  const shown = (held: readonly bigint[]): unknown =>
    vaults.map((vault, coin) => ({
      accountIndex: keys.indexOf(vault),
      mint: mints[coin],
      owner: address,
      uiTokenAmount: { amount: String(held[coin]), decimals: 6 },
    }));
  const meta = { ...answer.meta, preTokenBalances: shown(before), postTokenBalances: shown(after) };
  const decoder = new Decoder([meteoraDlmm], ({ kind, detail }) => expect.fail(`${kind}: ${detail}`));
  const reading = decoder.read(wholeSighting({ ...answer, meta }));
  return reading.kind === 'read' ? reading.transaction.events.map(({ event }) => event) : [];
}

it.skipIf(!isPresent)(
  `the real program swaps as quoted (${isPresent ? 'PROGRAMS_DIR' : 'SKIPPED: no program'})`,
  () => {
    const seen = { traded: 0, exactOut: 0, crossed: 0, arrays: 0, onOutput: 0, hosts: 0, transferFees: 0 };
    fc.assert(
      fc.property(setups, trades, (setup, { exact, bits, tokenIsX }) => {
        const world = new World(setup);
        const lookup = (of: string): ReturnType<RealMachine['account']> => world.machine.account(of);
        const mint = world.mint(world.mints[tokenIsX ? 0 : 1]);
        let opened = meteoraDlmm.quoting!.open(mint, [address], lookup, world.mint);
        if (opened.kind === 'more') opened = meteoraDlmm.quoting!.open(mint, [address, ...opened.addresses], lookup, world.mint);
        if (opened.kind !== 'open') throw new Error(JSON.stringify(opened));
        const trade: QuotedTrade = { exact, amount: (1n << BigInt(bits)) - 1n };
        const outcome = opened.pool.quote(trade, now);
        if (!outcome.ok) return;
        const { quote } = outcome;
        const [given, gotten] = (exact === 'baseIn') === tokenIsX ? ([0, 1] as const) : ([1, 0] as const);
        const before = world.machine.account(address)!.data;
        const [event] = world.swap(given, trade.amount, exact !== 'baseOut');
        if (event?.type !== 'trade') throw new Error('There is no trade.');
        const moved = [rich - world.balance(owned[given]!), world.balance(owned[gotten]!) - rich];
        expect(quote.side === 'buy' ? [quote.traderQuote, quote.baseAmount] : [quote.baseAmount, quote.traderQuote]).toEqual(moved);
        const after = world.machine.account(address)!.data;
        // The event: the same amounts and fees, with what the coins withhold.
        const { fees, pair, trader: user, side } = event;
        const coinIn = side === 'sell' ? 'base' : 'quote';
        const sum = (of: readonly Fee[], kinds: string, coin?: string): bigint =>
          of.reduce((total, fee) => (kinds.includes(fee.kind) && coin !== fee.coin ? total + fee.amount : total), 0n);
        expect([pair, user, side]).toEqual([
          { baseMint: world.mints[0], quoteMint: world.mints[1] },
          trader.publicKey,
          given === 0 ? 'sell' : 'buy',
        ]);
        const [paid, sent] =
          side === 'sell'
            ? [event.baseAmount + feesIn('base', fees), event.quoteAmount - feesIn('quote', fees)]
            : [event.quoteAmount + feesIn('quote', fees), event.baseAmount - feesIn('base', fees)];
        expect([paid, sent]).toEqual(moved);
        expect([sum(fees, 'lp'), sum(fees, 'protocol host'), sum(fees, 'transfer')]).toEqual([
          sum(quote.fees, 'lp'),
          sum(quote.fees, 'protocol'),
          sum(quote.fees, 'transfer'),
        ]);
        // The pair owes the protocol what the event says, and its active bin has the price.
        const owes = (data: Buffer): bigint => data.readBigUInt64LE(216) + data.readBigUInt64LE(224);
        expect(owes(after) - owes(before)).toBe(sum(fees, 'protocol'));
        const full = completed(meteoraDlmm, event, after);
        expect(full.priceQuote).toBe(priceOfBin(setup.step, after.readInt32LE(at.activeId)));
        expect(full.before!.priceQuote).toBe(priceOfBin(setup.step, setup.active));
        if (exact === 'baseOut') seen.exactOut++;
        if (after.readInt32LE(at.activeId) !== setup.active) seen.crossed++;
        if (arrayOf(after.readInt32LE(at.activeId)) !== arrayOf(setup.active)) seen.arrays++;
        if (sum(fees, 'lp', coinIn) > 0n) seen.onOutput++;
        if (sum(fees, 'host') > 0n) seen.hosts++;
        if (sum(fees, 'transfer') > 0n) seen.transferFees++;
        seen.traded++;
      }),
      { seed: 20261128, numRuns: fuzzCases(3_000) },
    );
    for (const [name, number] of Object.entries(seen)) expect(number, name).toBeGreaterThan(3);
  },
  240_000,
);

it.skipIf(!isPresent)(
  'the depth is what the real program pays until the price has fallen by 1 %',
  () => {
    const seen = { paid: 0, reversed: 0, arrays: 0, beyond: 0 };
    fc.assert(
      fc.property(setups, fc.boolean(), (random, isReversed) => {
        const bins = random.bins.map((bin) => ({ ...bin, open: 0n, processed: 0n }));
        // The money is X or Y. In bin 0 both are worth the same.
        const active = isReversed ? 0 : random.active;
        const world = new World({ ...random, active, bins, mode: 0, hasHost: false, transferBps: [0, 0] });
        const data = Buffer.from(world.machine.account(address)!.data);
        const coins = isReversed ? [wrappedSolMint, keyOf(30)] : [keyOf(30), wrappedSolMint];
        for (const [index, coin] of coins.entries()) data.set(addressBytes(coin), [at.mintX, at.mintY][index]);
        const numbers = meteoraDlmm.constantsOf!(data, (of) => world.machine.account(of)?.data ?? null, address);
        if (numbers.kind !== 'decoded') throw new Error(numbers.kind);
        const depth = numbers.constants['depth']!;
        const given = isReversed ? 1 : 0;
        const activeNow = (): number => world.machine.account(address)!.data.readInt32LE(at.activeId);
        const isWithin = (): boolean => {
          const [price, here] = [active, activeNow()].map((id) => priceOfBin(random.step, id)!) as [bigint, bigint];
          return isReversed ? here * 99n < price * 100n : here * 100n > price * 99n;
        };
        if (depth > 0n) {
          world.swap(given, depth, false);
          expect(isWithin()).toBe(true);
          seen.paid++;
          if (isReversed) seen.reversed++;
          if (arrayOf(activeNow()) !== arrayOf(active)) seen.arrays++;
        }
        try {
          world.swap(given, 1n, false);
        } catch {
          return; // nothing is left
        }
        expect(isWithin()).toBe(false);
        seen.beyond++;
      }),
      { seed: 20261128, numRuns: fuzzCases(1_000) },
    );
    for (const [name, number] of Object.entries(seen)) expect(number, name).toBeGreaterThan(3);
  },
  240_000,
);

/** An event with the pair and the trader, and then these bytes. */
function sample(discriminator: string, rest: string): Buffer {
  return Buffer.concat([
    Buffer.from(discriminator, 'hex'),
    addressBytes(address),
    addressBytes(trader.publicKey),
    Buffer.from(rest, 'hex'),
  ]);
}

it('any bytes of an event give a sound event, or a verdict', () => {
  const u64 = (value: number): string => Buffer.from(BigUint64Array.of(BigInt(value)).buffer).toString('hex');
  const bins = '0500000007000000';
  const swap = sample('516ce3becdd00ac4', `${bins}${[10_000, 9_000].map(u64).join('')}01${[50, 5, 0, 0, 1].map(u64).join('')}`);
  const swap2 = sample('2e7452d7941b544d', `${bins}01${[0, 0, 10_000, 0, 9_000, 40, 5, 4, 1].map(u64).join('')}0101`);
  const liquidity = ['1f5e7d5ae3343dba', '74f461e8671f983a', '006d75b33d5bc7c8', 'b94afc7d1bd7bc6f'].map((discriminator) =>
    sample(discriminator, `${'07'.repeat(36)}${[1_000, 2_000, 3_000, 4_000].map(u64).join('')}`),
  );
  const accounts = Array.from({ length: 16 }, (_, index) => keyOf(index + 1));
  accounts[0] = address;
  accounts[1] = address;
  const tokenBalances = [6, 7, 8].map((index) => ({
    account: accounts[index]!,
    mint: accounts[index]!,
    owner: address,
    decimals: 6,
    before: 0n,
    after: 9n,
  }));
  const seen: Record<string, number> = {};
  fc.assert(
    fc.property(fc.oneof(...[swap, swap2, ...liquidity].map(mutated), fc.uint8Array()), fc.nat(16), (data, length) => {
      const emitting = { programId, accounts: accounts.slice(0, length), data: new Uint8Array(8), inner: [], at: -1 };
      for (const instruction of [(): null => null, (): typeof emitting => emitting]) {
        meteoraDlmm.decode({ record: 'event', data, text: null, instruction, feePayer: null, tokenBalances }, (event) => {
          seen[event.type] = (seen[event.type] ?? 0) + 1;
          if (event.type !== 'trade') return;
          const { baseAmount, quoteAmount, fees } = meteoraDlmm.completeTrade!(event, { binStep: 10n });
          expect([baseAmount, quoteAmount, ...fees.map(({ amount }) => amount)].every((sum) => sum >= 0n)).toBe(true);
        });
      }
    }),
    { seed: 1, numRuns: fuzzCases(20_000) },
  );
  expect(Object.keys(seen).toSorted()).toEqual(['liquidityAdded', 'liquidityRemoved', 'poolCreated', 'trade']);
});

it.skipIf(!fixturesPresent)('any bytes of the accounts give a pair, a quote or a verdict', () => {
  const bins = [-3, 0, 4].map((offset) => ({ offset, amount: 10n ** 9n, other: 10n ** 9n, open: 0n, processed: 0n, asks: false }));
  const settings = { baseFactor: 100, variable: 100, accumulator: 9, moved: 1, share: 500, use: 2, mode: 0, hasHost: false };
  const setup: Setup = { ...settings, step: 10, idle: 3, active: 5, bins, transferBps: [0, 0] };
  const { data, arrays } = pairOf(setup);
  const mints = [at.mintX, at.mintY].map((from) => key(data, from));
  const mint = (of: string): QuotedMint => ({ address: of, decimals: 6, supply: 0n, transferFee: null });
  const changing = (sampled: Buffer): fc.Arbitrary<Uint8Array> =>
    fc.oneof({ weight: 2, arbitrary: fc.constant(sampled) }, mutated(sampled));
  const seen = { open: 0, malformed: 0, absent: 0, quoted: 0 };
  fc.assert(
    fc.property(changing(data), changing(arrays.get(0)!), trades, (pair, array, { exact, bits }) => {
      meteoraDlmm.decodeAccount(pair);
      meteoraDlmm.constantsOf!(pair, () => null, address);
      const lookup = (of: string): { owner: string; data: Uint8Array; lamports: bigint } | null =>
        of === address ? { owner: programId, data: pair, lamports: 1n } : { owner: programId, data: array, lamports: 1n };
      let opened = meteoraDlmm.quoting!.open(mint(mints[0]!), [address], lookup, mint);
      if (opened.kind === 'more') opened = meteoraDlmm.quoting!.open(mint(mints[0]!), [address, ...opened.addresses], lookup, mint);
      if (opened.kind === 'more') throw new Error('The pair asks again.');
      seen[opened.kind]++;
      if (opened.kind === 'open' && opened.pool.quote({ exact, amount: 1n << BigInt(bits) }, now).ok) seen.quoted++;
    }),
    { seed: 2, numRuns: fuzzCases(3_000) },
  );
  for (const [name, number] of Object.entries(seen)) expect(number, name).toBeGreaterThan(3);
});
