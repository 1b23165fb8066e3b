import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { tokenAddress } from '@sluice/shared/solana/addresses/derived.ts';
import { generateKeypair } from '@sluice/shared/solana/addresses/keypair.ts';
import { addressBytes, findProgramAddress } from '@sluice/shared/solana/addresses/pda.ts';
import { decodeTokenAccount } from '@sluice/shared/solana/tokens/token-account.ts';
import {
  associatedTokenProgram,
  metadataProgram,
  rentSysvar,
  systemProgram,
  token2022Program,
  tokenProgram,
} from '@sluice/shared/solana/well-known.ts';
import { readTransaction, type TransactionView } from '@sluice/shared/solana/transaction/inner-events.ts';
import type { QuotedMint, QuotedTrade } from '@sluice/venues/seam/quoting.ts';
import { raydiumClmm } from '../../venues/src/raydium/clmm/index.ts';
import { config as configAt, pool as poolAt, poolLength, tickArray, tickArrayLength } from '../../venues/src/raydium/clmm/layout.ts';
import {
  accountDiscriminators,
  eventDiscriminators,
  programId,
  swapInstructions,
  tickArrayAddress,
} from '../../venues/src/raydium/clmm/program.ts';
import { sqrtPriceOfTick } from '../../venues/src/raydium/clmm/tick-math.ts';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { Decoder } from '../../ingest/src/pipeline/decode.ts';
import { wholeSighting } from '../ingest/sightings.ts';
import { RealMachine } from '../simnet/support/real-machine.ts';
import { feesIn } from '@sluice/venues/seam/fee.ts';
import { fuzzCases, mutated } from '../support/fuzz.ts';

/** The real program swaps on random pools, through ticks and tick arrays. Quotes must agree with it, to the unit. */
const binary = join(process.env['PROGRAMS_DIR'] ?? '', `${programId}.so`);
const isPresent = process.env['PROGRAMS_DIR'] !== undefined && existsSync(binary);

const key = (fill: number): string => encodeBase58(new Uint8Array(32).fill(fill));
const trader = generateKeypair(new Uint8Array(32).fill(7));
const [mints, vaults, own] = [
  [key(20), key(21)],
  [key(22), key(23)],
  [key(24), key(25)],
] as const;
const [configAddress, observationAddress] = [key(26), key(27)];
const { address: poolAddress, bump } = findProgramAddress(
  [Buffer.from('pool'), addressBytes(configAddress), ...mints.map((mint) => addressBytes(mint))],
  programId,
);
const memoProgram = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr';
const rich = 10n ** 18n;
const spacing = 10;
const span = 60 * spacing;
const at = { slot: 1_000, unixTimeS: 1_791_000_000 };
const owned = { lamports: 10n ** 10n, owner: programId };

function tokenAccount(mint: string, owner: string): { lamports: bigint; owner: string; data: Buffer } {
  const data = Buffer.alloc(165);
  data.set(addressBytes(mint), 0);
  data.set(addressBytes(owner), 32);
  data.writeBigUInt64LE(rich, 64);
  data[108] = 1;
  return { lamports: 10n ** 9n, owner: tokenProgram, data };
}

function u128(data: Buffer, value: bigint, from: number): void {
  data.writeBigUInt64LE(value & ((1n << 64n) - 1n), from);
  data.writeBigUInt64LE(value >> 64n, from + 8);
}

interface Setup {
  readonly tick: number;
  readonly liquidity: bigint;
  readonly rates: readonly [trade: number, protocol: number, fund: number];
  /** Positions around the price: how far they reach, in spacings, and their liquidity. */
  readonly positions: readonly { readonly down: number; readonly up: number; readonly liquidity: bigint }[];
}

const setups: fc.Arbitrary<Setup> = fc.record({
  tick: fc.integer({ min: -40_000, max: 40_000 }),
  liquidity: fc.bigInt({ min: 1_000_000n, max: 10n ** 15n }),
  rates: fc.tuple(fc.integer({ min: 1, max: 20_000 }), fc.integer({ min: 0, max: 500_000 }), fc.integer({ min: 0, max: 500_000 })),
  positions: fc.array(
    fc.record({
      down: fc.integer({ min: 1, max: 150 }),
      up: fc.integer({ min: 1, max: 150 }),
      liquidity: fc.bigInt({ min: 1n, max: 10n ** 15n }),
    }),
    { minLength: 1, maxLength: 5 },
  ),
});

type Accounts = Map<string, { readonly lamports: bigint; readonly owner: string; readonly data: Buffer }>;

function accountsOf({ tick, liquidity, rates, positions }: Setup): { readonly accounts: Accounts; readonly arrays: readonly string[] } {
  const accounts: Accounts = new Map();
  const center = Math.floor(tick / spacing) * spacing;
  const nets = new Map<number, { net: bigint; gross: bigint }>();
  const add = (where: number, net: bigint): void => {
    const { net: before, gross } = nets.get(where) ?? { net: 0n, gross: 0n };
    nets.set(where, { net: before + net, gross: gross + (net < 0n ? -net : net) });
  };
  // The base liquidity reaches far in both directions.
  for (const position of [{ down: 170, up: 170, liquidity }, ...positions]) {
    add(center - position.down * spacing, position.liquidity);
    add(center + position.up * spacing, -position.liquidity);
  }
  const total = positions.reduce((sum, position) => sum + position.liquidity, liquidity);
  const pool = Buffer.alloc(poolLength);
  pool.set(accountDiscriminators.pool);
  pool[8] = bump;
  const addresses = [configAddress, key(28), ...mints, ...vaults, observationAddress];
  for (const [index, address] of addresses.entries()) pool.set(addressBytes(address), 9 + 32 * index);
  pool.set([6, 6], 233);
  pool.writeUInt16LE(spacing, poolAt.tickSpacing);
  u128(pool, total, poolAt.liquidity);
  u128(pool, sqrtPriceOfTick(tick) + 1n, poolAt.sqrtPrice);
  pool.writeInt32LE(tick, poolAt.tick);
  const starts = [...new Set([...nets.keys()].map((where) => Math.floor(where / span) * span))];
  const arrays = starts.map((start) => {
    const bit = start / span + 512;
    pool[poolAt.bitmap + (bit >> 3)]! |= 1 << (bit & 7);
    const data = Buffer.alloc(tickArrayLength);
    data.set(accountDiscriminators.tickArray);
    data.set(addressBytes(poolAddress), tickArray.pool);
    data.writeInt32LE(start, tickArray.start);
    let count = 0;
    for (const [where, { net, gross }] of nets) {
      if (Math.floor(where / span) * span !== start) continue;
      const from = tickArray.ticks + ((where - start) / spacing) * tickArray.tickLength;
      data.writeInt32LE(where, from);
      u128(data, net & ((1n << 128n) - 1n), from + tickArray.net);
      u128(data, gross, from + tickArray.gross);
      count++;
    }
    data[tickArray.ticks + 60 * tickArray.tickLength] = count;
    const address = tickArrayAddress(poolAddress, start);
    accounts.set(address, { ...owned, data });
    return address;
  });
  const config = Buffer.alloc(117);
  config.set(accountDiscriminators.config);
  for (const [index, from] of [configAt.tradeFeeRate, configAt.protocolFeeRate, configAt.fundFeeRate].entries())
    config.writeUInt32LE(rates[index]!, from);
  config.writeUInt16LE(spacing, 51);
  const observation = Buffer.alloc(8 + 1 + 8 + 2 + 32 + 44 * 100 + 32);
  observation.set([0x7a, 0xae, 0xc5, 0x35, 0x81, 0x09, 0xa5, 0x84, 1]);
  observation.set(addressBytes(poolAddress), 19);
  accounts.set(poolAddress, { ...owned, data: pool });
  accounts.set(configAddress, { ...owned, data: config });
  accounts.set(observationAddress, { ...owned, data: observation });
  for (const index of [0, 1] as const) {
    const mint = Buffer.alloc(82);
    mint.writeBigUInt64LE(rich * 4n, 36);
    mint.set([6, 1], 44);
    accounts.set(mints[index], { lamports: 10n ** 9n, owner: tokenProgram, data: mint });
    accounts.set(vaults[index], tokenAccount(mints[index], poolAddress));
    accounts.set(own[index], tokenAccount(mints[index], trader.publicKey));
  }
  accounts.set(memoProgram, { lamports: 1n, owner: tokenProgram, data: Buffer.alloc(0) });
  return { accounts, arrays };
}

function worldOf(setup: Setup): { readonly machine: RealMachine; readonly arrays: readonly string[] } {
  const machine = new RealMachine([trader], 10n ** 12n);
  machine.addProgram(programId, readFileSync(binary));
  machine.setTime(BigInt(at.unixTimeS));
  const { accounts, arrays } = accountsOf(setup);
  for (const [address, account] of accounts) machine.put(address, account);
  return { machine, arrays };
}

const trades = fc.record({
  exact: fc.constantFrom('quoteIn', 'baseIn', 'baseOut'),
  bits: fc.integer({ min: 4, max: 50 }),
  tokenIs0: fc.boolean(),
});

it.skipIf(!isPresent)(
  `the real program swaps as quoted (${isPresent ? 'PROGRAMS_DIR' : 'SKIPPED: no program'})`,
  () => {
    const seen = { traded: 0, exactOut: 0, crossed: 0 };
    fc.assert(
      fc.property(setups, trades, (setup, { exact, bits, tokenIs0 }) => {
        const { machine, arrays } = worldOf(setup);
        const mintOf = (address: string): QuotedMint => ({ address, decimals: 6, supply: rich, transferFee: null });
        const lookup = (address: string): ReturnType<RealMachine['account']> => machine.account(address);
        const first = raydiumClmm.quoting!.open(mintOf(mints[tokenIs0 ? 0 : 1]), [poolAddress], lookup, mintOf);
        if (first.kind !== 'more') throw new Error(JSON.stringify(first));
        const opened = raydiumClmm.quoting!.open(mintOf(mints[tokenIs0 ? 0 : 1]), [poolAddress, ...first.addresses], lookup, mintOf);
        if (opened.kind !== 'open') throw new Error(JSON.stringify(opened));
        const trade: QuotedTrade = { exact, amount: 1n << BigInt(bits) };
        const outcome = opened.pool.quote(trade, at);
        if (!outcome.ok) return;
        const { quote } = outcome;
        const [given, gotten] = (exact === 'baseIn') === tokenIs0 ? ([0, 1] as const) : ([1, 0] as const);
        const data = Buffer.alloc(41);
        data.set(swapInstructions[1]!);
        data.writeBigUInt64LE(trade.amount, 8);
        data.writeBigUInt64LE(exact === 'baseOut' ? rich : 0n, 16);
        data[40] = exact === 'baseOut' ? 0 : 1;
        const account = (address: string, writable: boolean): { address: string; signer: boolean; writable: boolean } => ({
          address,
          signer: false,
          writable,
        });
        const ordered = given === 0 ? startsOf(arrays, machine).toReversed() : startsOf(arrays, machine);
        const accounts = [
          { ...account(trader.publicKey, false), signer: true },
          account(configAddress, false),
          ...[poolAddress, own[given], own[gotten], vaults[given], vaults[gotten], observationAddress].map((address) =>
            account(address, true),
          ),
          ...[tokenProgram, token2022Program, memoProgram, mints[given], mints[gotten]].map((address) => account(address, false)),
          ...ordered.map((address) => account(address, true)),
        ];
        const balance = (address: string): bigint => decodeTokenAccount(tokenProgram, machine.account(address)!.data)!.amount;
        const before = machine.account(poolAddress)!.data.readInt32LE(poolAt.tick);
        const result = machine.run([{ programId, accounts, data }], [trader]);
        if (result.failed) throw new Error(`${result.error}\n${result.logs.join('\n')}`);
        const moved = [rich - balance(own[given]), balance(own[gotten]) - rich];
        expect(quote.side === 'buy' ? [quote.traderQuote, quote.baseAmount] : [quote.baseAmount, quote.traderQuote]).toEqual(moved);
        const after = machine.account(poolAddress)!.data;
        const fees = Object.fromEntries(quote.fees.map(({ kind, amount }) => [kind, amount]));
        expect([fees['protocol'] ?? 0n, fees['fund'] ?? 0n]).toEqual([
          after.readBigUInt64LE(309 + 8 * given),
          after.readBigUInt64LE(1_064 + 8 * given),
        ]);
        seen.traded++;
        if (exact === 'baseOut') seen.exactOut++;
        if (Math.abs(after.readInt32LE(poolAt.tick) - before) > 600) seen.crossed++;
      }),
      { seed: 20261127, numRuns: fuzzCases(3_000) },
    );
    for (const [name, number] of Object.entries(seen)) expect(number, name).toBeGreaterThan(3);
  },
  240_000,
);

/** The tick arrays in the order of their ticks. */
function startsOf(arrays: readonly string[], machine: RealMachine): readonly string[] {
  const startOf = (address: string): number => machine.account(address)!.data.readInt32LE(tickArray.start);
  return arrays.toSorted((one, other) => startOf(one) - startOf(other));
}

/** A swap of coin 0 with a transfer fee; the longer one also has a trade fee. */
function sampleSwap(length: number): Buffer {
  const data = Buffer.alloc(length);
  data.set(eventDiscriminators.swap);
  data.set(addressBytes(poolAddress), 8);
  for (const [index, value] of [10_000n, 20n, 9_000n, 30n].entries()) data.writeBigUInt64LE(value, 136 + index * 8);
  data[168] = 1;
  u128(data, 1n << 64n, 169);
  u128(data, 10n ** 9n, 185);
  if (length > 205) data.writeBigUInt64LE(25n, 205);
  return data;
}

it('any bytes of an event give a sound trade, or a verdict', () => {
  const accounts = Array.from({ length: 13 }, (_, index) => key(index + 1));
  accounts[2] = poolAddress;
  const balance = { decimals: 6, owner: poolAddress, before: 500n };
  const tokenBalances = [5, 6].map((position, index) => ({
    ...balance,
    account: accounts[position]!,
    mint: mints[index]!,
    after: index === 0 ? 900n : 100n,
  }));
  const created = Buffer.concat([eventDiscriminators.poolCreated, Buffer.alloc(182, 7)]);
  const { opened, increased, decreased } = eventDiscriminators;
  const changed = [opened, increased, decreased].map((discriminator) => Buffer.concat([discriminator, Buffer.alloc(160, 7)]));
  let decodedTrades = 0;
  fc.assert(
    fc.property(
      fc.oneof(...[sampleSwap(205), sampleSwap(221), created, ...changed].map(mutated), fc.uint8Array()),
      fc.nat(13),
      fc.boolean(),
      (data, length, isDirect) => {
        const swap = isDirect ? swapInstructions[0]! : new Uint8Array(8);
        const emitting = { programId, accounts: accounts.slice(0, length), data: swap, inner: [], at: -1 };
        for (const instruction of [(): null => null, (): typeof emitting => emitting, (): typeof emitting => ({ ...emitting, accounts })]) {
          const context = { record: 'event', data, text: null, instruction, feePayer: null, tokenBalances } as const;
          raydiumClmm.decode(context, (event) => {
            if (event.type !== 'trade') return;
            decodedTrades++;
            const rates = { trade: 2_500n, protocol: 120_000n, fund: 40_000n };
            for (const trade of [event, raydiumClmm.completeTrade!(event, rates)]) {
              const { baseAmount, quoteAmount, priceBase, priceQuote, fees, depth } = trade;
              expect([baseAmount, quoteAmount, depth ?? 0n, ...fees.map((fee) => fee.amount)].every((sum) => sum >= 0n)).toBe(true);
              expect(priceBase > 0n && priceQuote > 0n).toBe(true);
              // The parts of a fee are the whole fee.
              expect([feesIn('base', fees), feesIn('quote', fees)]).toEqual([feesIn('base', event.fees), feesIn('quote', event.fees)]);
            }
          });
        }
      },
    ),
    { seed: 1, numRuns: fuzzCases(20_000) },
  );
  expect(decodedTrades).toBeGreaterThan(100);
});

it('any bytes of the accounts give a pool, rates, a quote or a verdict', () => {
  const positions = [{ down: 20, up: 90, liquidity: 10n ** 9n }];
  const { accounts } = accountsOf({ tick: 125, liquidity: 10n ** 12n, rates: [2_500, 120_000, 40_000], positions });
  const sampleOf = (address: string): Buffer => accounts.get(address)!.data;
  const changing = (address: string): fc.Arbitrary<readonly [string, Uint8Array]> =>
    fc.oneof({ weight: 3, arbitrary: fc.constant(sampleOf(address)) }, mutated(sampleOf(address))).map((data) => [address, data]);
  const mintOf = (address: string): QuotedMint => ({ address, decimals: 6, supply: 0n, transferFee: null });
  const arrays = [...accounts.keys()].filter((address) => sampleOf(address).length === tickArrayLength);
  const seen = { open: 0, malformed: 0, absent: 0, quoted: 0, rates: 0 };
  fc.assert(
    fc.property(fc.tuple(...[poolAddress, configAddress, ...arrays].map(changing)), trades, (changed, { exact, bits }) => {
      const bytes = new Map(changed);
      const pool = bytes.get(poolAddress)!;
      raydiumClmm.decodeAccount(pool);
      for (const other of [bytes.get(configAddress)!, null]) {
        if (raydiumClmm.constantsOf!(pool, () => other, '').kind === 'decoded') seen.rates++;
        if (other !== null) raydiumClmm.constantsOf!(other, () => null, '');
      }
      const lookup = (address: string): { owner: string; data: Uint8Array; lamports: bigint } | null => {
        const data = bytes.get(address);
        return data === undefined ? null : { ...owned, data };
      };
      let opened = raydiumClmm.quoting!.open(mintOf(mints[0]), [poolAddress], lookup, mintOf);
      if (opened.kind === 'more') opened = raydiumClmm.quoting!.open(mintOf(mints[0]), [poolAddress, ...opened.addresses], lookup, mintOf);
      if (opened.kind === 'more') throw new Error('The pool asks again.');
      seen[opened.kind]++;
      if (opened.kind === 'open' && opened.pool.quote({ exact, amount: 1n << BigInt(bits) }, at).ok) seen.quoted++;
    }),
    { seed: 2, numRuns: fuzzCases(3_000) },
  );
  for (const [name, number] of Object.entries(seen)) expect(number, name).toBeGreaterThan(3);
});

it.skipIf(!isPresent)('liquidity of a position comes and goes in the real program as its events say', () => {
  const setup = {
    tick: 125,
    liquidity: 10n ** 12n,
    rates: [2_500, 120_000, 40_000] as const,
    positions: [{ down: 20, up: 90, liquidity: 10n ** 9n }],
  };
  const { machine, arrays } = worldOf(setup);
  // The instruction names it, and does not call it.
  machine.addProgram(metadataProgram, readFileSync(binary));
  const nft = generateKeypair(new Uint8Array(32).fill(9));
  const [lower, upper] = [-200, 400];
  const int = (value: number, isBig = false): Buffer => {
    const bytes = Buffer.alloc(4);
    if (isBig) bytes.writeInt32BE(value);
    else bytes.writeInt32LE(value);
    return bytes;
  };
  const seed = Buffer.from('position');
  const pda = (...seeds: Uint8Array[]): string => findProgramAddress([seed, ...seeds], programId).address;
  const protocol = pda(addressBytes(poolAddress), int(lower, true), int(upper, true));
  const personal = pda(nft.publicKeyBytes);
  const holder = tokenAddress(trader.publicKey, nft.publicKey, tokenProgram);
  const [low, high] = [lower, upper].map((tick) => tickArrayAddress(poolAddress, Math.floor(tick / span) * span));
  const amounts = Buffer.alloc(32);
  u128(amounts, 10n ** 10n, 0);
  amounts.writeBigUInt64LE(rich, 16);
  amounts.writeBigUInt64LE(rich, 24);
  const least = Buffer.alloc(32);
  u128(least, 4n * 10n ** 9n, 0);
  const starts = [lower, upper].map((tick) => int(Math.floor(tick / span) * span));
  const instruction = (hex: string, args: Uint8Array[], addresses: readonly string[]) => ({
    programId,
    accounts: addresses.map((address) => ({
      address,
      signer: address === trader.publicKey || address === nft.publicKey,
      writable: address !== programId && !fixed.includes(address),
    })),
    data: Buffer.concat([Buffer.from(hex, 'hex'), ...args]),
  });
  const fixed: readonly string[] = [
    tokenProgram,
    token2022Program,
    memoProgram,
    systemProgram,
    associatedTokenProgram,
    metadataProgram,
    rentSysvar,
    ...mints,
  ];
  const balances = (): bigint[] => vaults.map((vault) => decodeTokenAccount(tokenProgram, machine.account(vault)!.data)!.amount);
  const decoder = new Decoder([raydiumClmm], ({ kind, detail }) => expect.fail(`${kind}: ${detail}`));
  const changes = [
    instruction(
      '4db84ad67056f1c7',
      [int(lower), int(upper), ...starts, amounts, Buffer.from([0, 0])],
      [
        trader.publicKey,
        trader.publicKey,
        nft.publicKey,
        holder,
        key(30),
        poolAddress,
        protocol,
        low!,
        high!,
        personal,
        ...own,
        ...vaults,
        rentSysvar,
        systemProgram,
        tokenProgram,
        associatedTokenProgram,
        metadataProgram,
        token2022Program,
        ...mints,
      ],
    ),
    instruction(
      '851d59df45eeb00a',
      [amounts, Buffer.from([0])],
      [trader.publicKey, holder, poolAddress, protocol, personal, low!, high!, ...own, ...vaults, tokenProgram, token2022Program, ...mints],
    ),
    instruction(
      '3a7fbc3e4f52c460',
      [least],
      [
        trader.publicKey,
        holder,
        personal,
        poolAddress,
        protocol,
        ...vaults,
        low!,
        high!,
        ...own,
        tokenProgram,
        token2022Program,
        memoProgram,
        ...mints,
      ],
    ),
  ];
  expect(arrays).toContain(low);
  const kinds = changes.map((change) => {
    const before = balances();
    const result = machine.run([change], change === changes[0] ? [trader, nft] : [trader]);
    if (result.failed) throw new Error(`${result.error}\n${result.logs.join('\n')}`);
    const after = balances();
    const moved = after.map((amount, coin) => amount - before[coin]!);
    const { accountKeys } = readTransaction(result.answer) as TransactionView;
    const postTokenBalances = vaults.map((vault, coin) => ({
      accountIndex: accountKeys.indexOf(vault),
      mint: mints[coin],
      owner: poolAddress,
      uiTokenAmount: { amount: String(after[coin]), decimals: 6 },
    }));
    const { answer } = result as { readonly answer: { readonly meta: object } };
    const reading = decoder.read(wholeSighting({ ...answer, meta: { ...answer.meta, preTokenBalances: [], postTokenBalances } }));
    const events = reading.kind === 'read' ? reading.transaction.events.map(({ event }) => event) : [];
    expect(events).toHaveLength(1);
    const [event] = events;
    if (event?.type !== 'liquidityAdded' && event?.type !== 'liquidityRemoved') throw new Error('Liquidity did not change.');
    const { pool, provider, baseAmount, quoteAmount } = event;
    const sign = event.type === 'liquidityAdded' ? 1n : -1n;
    expect([pool, provider, baseAmount * sign, quoteAmount * sign]).toEqual([poolAddress, trader.publicKey, ...moved]);
    expect(event.left).toEqual({ base: after[0], quote: after[1] });
    return event.type;
  });
  expect(kinds).toEqual(['liquidityAdded', 'liquidityAdded', 'liquidityRemoved']);
});
