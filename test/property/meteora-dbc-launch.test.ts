import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DynamicBondingCurveIdl } from '@meteora-ag/dynamic-bonding-curve-sdk';
import { tokenAddress } from '@sluice/shared/solana/addresses/derived.ts';
import { generateKeypair } from '@sluice/shared/solana/addresses/keypair.ts';
import { addressBytes, findProgramAddress } from '@sluice/shared/solana/addresses/pda.ts';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import {
  computeUnitLimit,
  createTokenAccount,
  readonlyAccount,
  signerAccount,
  writableAccount,
} from '@sluice/shared/solana/transaction/instructions.ts';
import { readTransaction, type TransactionView } from '@sluice/shared/solana/transaction/inner-events.ts';
import type { Instruction } from '@sluice/shared/solana/transaction/transaction.ts';
import { decodeTokenAccount } from '@sluice/shared/solana/tokens/token-account.ts';
import { metadataProgram, systemProgram, token2022Program, tokenProgram, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import type { QuotedMint, QuotedTrade } from '@sluice/venues/seam/quoting.ts';
import { wireReserves } from '@sluice/venues/seam/price.ts';
import type { DecodeContext, EmittingInstruction } from '@sluice/venues/seam/venue.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Decoder } from '../../ingest/src/pipeline/decode.ts';
import { venues } from '@sluice/venues/registry.ts';
import { meteoraDbc } from '../../venues/src/meteora/dbc/index.ts';
import * as program from '../../venues/src/meteora/dbc/program.ts';
import { fixtureBytes, fixturesPresent } from '../golden/fixtures.ts';
import { createHarness } from '../ingest/harness.ts';
import { wholeSighting } from '../ingest/sightings.ts';
import { ownTradesIn } from '../../trading/src/nodes/own-trades.ts';
import { readTrade } from '@sluice/trading/signer/checks/trade-instruction.ts';
import { RealMachine, type MachineResult } from '../simnet/support/real-machine.ts';
import { dbcLaunch, dbcConfig, dbcVaultOf } from '../support/chain/venue-pools.ts';
import { fuzzCases, mutated } from '../support/fuzz.ts';
import { until } from '../support/until.ts';

const { programId, eventAuthority, poolAuthority } = program;
const binary = join(process.env['PROGRAMS_DIR'] ?? '', `${programId}.so`);
const isPresent = fixturesPresent && process.env['PROGRAMS_DIR'] !== undefined && existsSync(binary);
const dammProgram = 'cpamdpZCGKUy5JxQXB4dcpGPiikHawvSWAd6mEn1sGG';
const dammBinary = join(process.env['PROGRAMS_DIR'] ?? '', `${dammProgram}.so`);
const note = isPresent ? 'PROGRAMS_DIR' : 'SKIPPED: no program or no recordings';

interface Named {
  readonly name: string;
  readonly discriminator: readonly number[];
}
const idl = DynamicBondingCurveIdl as unknown as {
  readonly instructions: readonly (Named & { readonly accounts: readonly { readonly name: string }[] })[];
  readonly events: readonly Named[];
  readonly accounts: readonly Named[];
  readonly errors: readonly { readonly name: string; readonly code: number }[];
};
const hex = (bytes: Uint8Array | readonly number[]): string => Buffer.from(bytes).toString('hex');

/** The instruction with this discriminator, and the places of its accounts. */
function instructionOf(discriminator: Uint8Array) {
  const found = idl.instructions.find((one) => hex(one.discriminator) === hex(discriminator))!;
  const at = Object.fromEntries(found.accounts.map(({ name }, index) => [name, index]));
  return { name: found.name, at, count: found.accounts.length };
}

it('a migration to DAMM v1 names its pool, with the amounts of its vaults', () => {
  const accounts = Array.from({ length: 31 }, (_, index) => encodeBase58(new Uint8Array(32).fill(index + 1)));
  const { discriminator } = program.migrations[1];
  const emitting = { programId, accounts, data: discriminator, inner: [], at: -1 };
  const held = { decimals: 6, owner: null, before: 5n };
  const tokenBalances = [
    { ...held, account: accounts[11]!, mint: accounts[7]!, after: 206n },
    { ...held, account: accounts[12]!, mint: accounts[8]!, after: 85n },
  ];
  const events: unknown[] = [];
  const context = { record: 'instruction', data: discriminator, text: null, feePayer: null, tokenBalances } as const;
  meteoraDbc.decode({ ...context, instruction: () => emitting }, (event) => void events.push(event));
  const moved = { baseAmount: 201n, quoteAmount: 80n, fee: 0n, timestamp: null };
  const [fromPool, toPool, coin, quoteMint] = [0, 4, 7, 8].map((at) => accounts[at]);
  expect(events).toEqual([{ type: 'migrated', mint: coin, quoteMint, fromPool, toVenue: 'meteora-damm-v1', toPool, ...moved }]);
});

it('discriminators, accounts and error codes are those of the IDL', () => {
  const { config, pool, input, output, baseMint, quoteMint, user, count } = program.swapAccounts;
  for (const discriminator of program.swapInstructions) {
    const { name, at, count: listed } = instructionOf(discriminator);
    expect(name).toMatch(/^swap/);
    const named = [
      at['config'],
      at['pool'],
      at['input_token_account'],
      at['output_token_account'],
      at['base_mint'],
      at['quote_mint'],
      at['payer'],
    ];
    expect([...named, listed]).toEqual([config, pool, input, output, baseMint, quoteMint, user, count]);
  }
  for (const { discriminator, payer, tokenProgram: coins } of program.openingInstructions) {
    const { name, at } = instructionOf(discriminator);
    expect(name).toMatch(/^initialize_virtual_pool/);
    const { base_mint, quote_mint, base_vault, pool: opened } = at;
    expect({ baseMint: base_mint, quoteMint: quote_mint, pool: opened, baseVault: base_vault }).toEqual(program.openingAccounts);
    expect([at['payer'], at['token_program']]).toEqual([payer, coins]);
  }
  const names = [
    ['base_mint', 'quote_mint', 'token_a_vault', 'token_b_vault'],
    ['token_a_mint', 'token_b_mint', 'a_token_vault', 'b_token_vault'],
  ];
  for (const [form, coins] of program.migrations.map((one, index) => [one, names[index]!] as const)) {
    const { name, at } = instructionOf(form.discriminator);
    const [base, quote, ofBase, ofQuote] = coins.map((account) => at[account]);
    const accounts = {
      curve: at['virtual_pool'],
      pool: at['pool'],
      baseMint: base,
      quoteMint: quote,
      baseVault: ofBase,
      quoteVault: ofQuote,
    };
    expect([name, accounts]).toEqual([form.name, form.accounts]);
  }
  // Every event and account of the IDL is read, or known by name.
  const read = new Set([...Object.values(program.eventDiscriminators), ...Object.values(program.accountDiscriminators)].flat().map(hexOf));
  const ignored = new Map([...program.ignoredEvents, ...program.ignoredAccounts]);
  for (const { name: known, discriminator } of [...idl.events, ...idl.accounts])
    if (!read.has(hex(discriminator))) expect(ignored.get(hex(discriminator))).toBe(known);
  const codeOf = (error: string): number => idl.errors.find((one) => one.name === error)!.code;
  expect(['ExceededSlippage', 'PoolIsCompleted', 'InsufficientLiquidity'].map((error) => meteoraDbc.tradeFault(codeOf(error)))).toEqual([
    'slippage',
    'complete',
    'complete',
  ]);
});

function hexOf(bytes: Uint8Array | number): string {
  return typeof bytes === 'number' ? '' : hex(bytes);
}

const creator = generateKeypair(new Uint8Array(32).fill(8));
const mintKey = generateKeypair(new Uint8Array(32).fill(9));
const mint = mintKey.publicKey;
const config = encodeBase58(new Uint8Array(32).fill(31));
const dammConfig = encodeBase58(new Uint8Array(32).fill(32));
const pool = program.poolOf(config, mint, wrappedSolMint);
const vaultOf = (coin: string): string => dbcVaultOf(pool, coin);
const metadataBinary = join(process.env['PROGRAMS_DIR'] ?? '', `${metadataProgram}.so`);
const wrapped = tokenAddress(creator.publicKey, wrappedSolMint, tokenProgram);
const at = { slot: 1_000, unixTimeS: 1_791_000_000 };

const launch = (isToken2022 = true): Instruction => dbcLaunch({ config, creator: creator.publicKey, mint }, isToken2022);

class Launched {
  readonly machine = new RealMachine([creator], 10n ** 12n);

  constructor(isToken2022 = true) {
    this.machine.addProgram(programId, readFileSync(binary));
    this.machine.setTime(BigInt(at.unixTimeS));
    this.machine.put(config, { lamports: 10n ** 9n, owner: programId, data: dbcConfig(isToken2022) });
    const money = Buffer.alloc(165);
    money.set(addressBytes(wrappedSolMint), 0);
    money.set(addressBytes(creator.publicKey), 32);
    money.writeBigUInt64LE(10n ** 12n, 64);
    money[108] = 1;
    // It holds wrapped SOL.
    money.writeUInt32LE(1, 109);
    money.writeBigUInt64LE(10n ** 9n, 113);
    this.machine.put(wrapped, { lamports: 10n ** 12n + 10n ** 9n, owner: tokenProgram, data: money });
  }

  /** Our order, by the quote of the account as it is. */
  order(trade: QuotedTrade): Instruction {
    const coin: QuotedMint = { address: mint, decimals: 6, supply: 10n ** 15n, transferFee: null };
    const opened = meteoraDbc.quoting!.open(
      coin,
      [pool, config],
      (address) => this.machine.account(address),
      () => null,
    );
    if (opened.kind !== 'open') throw new Error(opened.kind);
    const outcome = opened.pool.quote(trade, at);
    if (!outcome.ok) throw new Error(outcome.fault);
    const limits =
      trade.exact === 'baseIn'
        ? { minOut: outcome.quote.traderQuote, maxIn: trade.amount }
        : { minOut: outcome.quote.baseAmount, maxIn: trade.amount };
    const accounts = { baseTokenProgram: token2022Program, quoteTokenProgram: tokenProgram, baseAccountBytes: 170, quoteAccountBytes: 165 };
    const order = { user: creator.publicKey, trade, quote: outcome.quote, ...limits, ...accounts, wrappedSol: () => wrapped, recipient: 0 };
    const { instruction } = opened.pool.build(order);
    // The signer reads the same order from its bytes.
    const context = { wallet: creator.publicKey, opened: new Map(), poolAccount: null };
    const read = readTrade({ ...instruction, accounts: instruction.accounts.map(({ address }) => address) }, context, meteoraDbc.signing!);
    const { quoteMint, side } = { quoteMint: wrappedSolMint, side: outcome.quote.side };
    expect(read).toMatchObject({ side, baseMint: mint, quoteMint, quoteAccount: wrapped, pool, maxIn: limits.maxIn });
    return instruction;
  }

  /** Opens the pool of DAMM v2 under a config of 0.3 %. */
  migrate(): { readonly answer: unknown; readonly pool: string; readonly vaults: readonly string[] } {
    this.machine.addProgram(dammProgram, readFileSync(dammBinary));
    const data = fixtureBytes('accounts/meteora-damm-v2/config_account.bin');
    data.fill(0, 8, 104);
    data.set(addressBytes(poolAuthority), 40);
    data.writeBigUInt64LE(3_000_000n, 72);
    data.set([1, 0, 0], 200);
    data.writeBigUInt64LE(4_295_048_016n, 216);
    data.writeBigUInt64LE(79_226_673_521_066_979_257_578_248_091n & ((1n << 64n) - 1n), 232);
    data.writeBigUInt64LE(79_226_673_521_066_979_257_578_248_091n >> 64n, 240);
    this.machine.put(poolAuthority, { lamports: 10n ** 10n, owner: systemProgram, data: new Uint8Array(0) });
    this.machine.put(dammConfig, { lamports: 10n ** 10n, owner: dammProgram, data });
    const derived = (seed: string, ...parts: readonly string[]): string =>
      findProgramAddress([Buffer.from(seed), ...parts.map(addressBytes)], dammProgram).address;
    const coins = [mint, wrappedSolMint].toSorted((one, other) => Buffer.compare(addressBytes(other), addressBytes(one)));
    const opened = derived('pool', dammConfig, ...coins);
    const vaults = [mint, wrappedSolMint].map((coin) => derived('token_vault', coin, opened));
    const nfts = [generateKeypair(new Uint8Array(32).fill(10)), generateKeypair(new Uint8Array(32).fill(11))] as const;
    const positions = nfts.flatMap(({ publicKey }) => [
      signerAccount(publicKey),
      writableAccount(derived('position_nft_account', publicKey)),
      writableAccount(derived('position', publicKey)),
    ]);
    const accounts = [
      writableAccount(pool),
      readonlyAccount(programId),
      readonlyAccount(config),
      writableAccount(poolAuthority),
      writableAccount(opened),
      ...positions,
      readonlyAccount(derived('pool_authority')),
      readonlyAccount(dammProgram),
      ...[mint, wrappedSolMint, ...vaults, vaultOf(mint), vaultOf(wrappedSolMint)].map(writableAccount),
      signerAccount(creator.publicKey),
      ...[token2022Program, tokenProgram, token2022Program, derived('__event_authority'), systemProgram, dammConfig].map(readonlyAccount),
    ];
    const instruction = { programId, accounts, data: program.migrations[0].discriminator };
    return { answer: this.run([computeUnitLimit(1_000_000), instruction], [creator, ...nfts]).answer, pool: opened, vaults };
  }

  run(instructions: readonly Instruction[], signers: Parameters<RealMachine['run']>[1] = [creator]): MachineResult {
    const result = this.machine.run(instructions, signers);
    if (result.failed) throw new Error(`${result.error}\n${result.logs.join('\n')}`);
    return result;
  }
}

function viewOf(answer: unknown): TransactionView {
  const view = readTransaction(answer);
  if (view.kind === 'malformed') throw new Error(view.reason);
  return view;
}

/** The transaction that launches the coin, and in which its creator buys it. */
function launchWithBuy(): { readonly world: Launched; readonly answer: unknown } {
  const before = new Launched();
  before.run([launch()], [creator, mintKey]);
  const buy = before.order({ exact: 'quoteIn', amount: 10n ** 9n });
  const world = new Launched();
  const { answer } = world.run([launch(), createTokenAccount(creator.publicKey, mint, token2022Program), buy], [creator, mintKey]);
  return { world, answer };
}

describe.skipIf(!isPresent)(`a launch by the real program (${note})`, () => {
  it('is published with its curve after the config was read, then its trades and its completion', async () => {
    const { world, answer } = launchWithBuy();
    const held = { owner: programId, lamports: 1, executable: false, rentEpoch: 0 };
    const data = [world.machine.account(config)!.data.toString('base64'), 'base64'];
    const { events, calls, losses, pipeline } = createHarness({ accounts: new Map([[config, { ...held, data }]]) });
    const curve = () => {
      const decoded = meteoraDbc.decodeAccount(world.machine.account(pool)!.data, () => world.machine.account(config)!.data);
      if (decoded.kind !== 'decoded' || decoded.account.type !== 'curve') throw new Error(decoded.kind);
      return decoded.account;
    };
    const take = async (transaction: unknown, count: number): Promise<void> => {
      pipeline.takeNew(wholeSighting(transaction));
      await until('published', () => events.filter(({ type }) => type !== 'price').length === count);
    };
    const published = (): unknown => events.findLast(({ type }) => type !== 'price');
    await take(answer, 2);
    // 1 SOL less 1 % passed through the curve.
    const initialBuy = { trader: creator.publicKey, quoteAmount: '990000000', solAmount: 0.99 };
    expect(events[0]).toMatchObject({
      type: 'newToken',
      pool: 'meteora-dbc',
      mint,
      name: 'Coin',
      symbol: 'COIN',
      uri: 'https://coin.example',
      creator: creator.publicKey,
      trader: creator.publicKey,
      tokenProgram: token2022Program,
      bondingCurve: pool,
      platform: config,
      supply: '1000000000000000',
      decimals: 6,
      quoteSymbol: 'SOL',
      initialBuy,
      reserves: wireReserves(curve().reserves),
    });
    expect(published()).toMatchObject({ type: 'trade', side: 'buy', baseDecimals: 6, reserves: wireReserves(curve().reserves) });
    const sold = world.run([world.order({ exact: 'baseIn', amount: 10n ** 12n })]).answer;
    // What follows orders reads the same amounts, without the config.
    const own = ownTradesIn(viewOf(sold), { trader: creator.publicKey, side: 'sell', mint, poolAddress: pool });
    expect(own).toMatchObject({ baseAmount: 10n ** 12n, quoteAmount: 27_346_853n, fees: 273_469n });
    await take(sold, 3);
    expect(published()).toMatchObject({
      type: 'trade',
      side: 'sell',
      baseAmount: '1000000000000',
      reserves: wireReserves(curve().reserves),
    });
    expect(pipeline.emitter.missed.size).toBe(0);
    world.run([world.order({ exact: 'baseIn', amount: 10n ** 9n })]); // no source reports it
    await take(world.run([world.order({ exact: 'quoteIn', amount: 10n ** 11n })]).answer, 4);
    expect(pipeline.emitter.missed).toEqual(new Map([['meteora-dbc', 1]]));
    const { goal, reserves, complete } = curve();
    expect([complete, reserves.realBase, reserves.realQuote >= goal.to]).toEqual([true, 0n, true]);
    expect(published()).toMatchObject({ type: 'trade', side: 'buy', curveCompleted: true, reserves: wireReserves(reserves) });
    expect([losses, calls.filter(({ params }) => JSON.stringify(params).includes(config)).length]).toEqual([[], 1]);
  });

  it.skipIf(!existsSync(metadataBinary))('of a coin of the older token program is the same event', () => {
    const created = [true, false].map((isToken2022) => {
      const world = new Launched(isToken2022);
      world.machine.addProgram(metadataProgram, readFileSync(metadataBinary));
      const { answer } = world.run([computeUnitLimit(1_000_000), launch(isToken2022)], [creator, mintKey]);
      const reading = new Decoder(venues, () => undefined).read(wholeSighting(answer));
      return reading.kind === 'read' ? reading.transaction.events[0]?.event : reading;
    });
    expect(created[1]).toEqual({ ...created[0], tokenProgram });
    expect(created[1]).toMatchObject({
      type: 'created',
      mint,
      name: 'Coin',
      supply: 10n ** 15n,
      platform: config,
      trader: creator.publicKey,
    });
  });

  it.skipIf(!existsSync(dammBinary))('a completed curve migrates to a pool of DAMM v2, with the amounts of its vaults', () => {
    const { world } = launchWithBuy();
    world.run([world.order({ exact: 'quoteIn', amount: 10n ** 11n })]);
    const { answer, pool: opened, vaults } = world.migrate();
    const whole = answer as { readonly meta: { postTokenBalances: unknown[] } };
    const { accountKeys } = viewOf(answer);
    const held = vaults.map((vault) => decodeTokenAccount(world.machine.account(vault)!.owner, world.machine.account(vault)!.data)!);
    whole.meta.postTokenBalances = held.map(({ mint: coin, owner, amount }, index) => ({
      accountIndex: accountKeys.indexOf(vaults[index]!),
      mint: coin,
      owner,
      uiTokenAmount: { amount: `${amount}`, decimals: index === 0 ? 6 : 9 },
    }));
    const decoder = new Decoder(venues, (fault) => {
      throw new Error(`${fault.kind}: ${fault.detail}`);
    });
    const reading = decoder.read(wholeSighting(whole));
    if (reading.kind !== 'read') throw new Error(reading.kind);
    const { events } = reading.transaction;
    expect(events.map(({ venue, event }) => `${venue} ${event.type}`)).toEqual([
      'meteora-dbc migrated',
      'meteora-damm-v2 poolCreated',
      'meteora-damm-v2 liquidityLocked',
      'meteora-damm-v2 liquidityAdded',
      'meteora-damm-v2 liquidityLocked',
    ]);
    const [baseAmount, quoteAmount] = held.map(({ amount }) => amount);
    // Nearly all of the goal of 87.945796097 SOL.
    expect(Number(quoteAmount) / 87_945_796_097).toBeGreaterThan(0.99);
    expect(events.find(({ event }) => event.type === 'migrated')!.event).toEqual({
      type: 'migrated',
      mint,
      quoteMint: wrappedSolMint,
      fromPool: pool,
      toVenue: 'meteora-damm-v2',
      toPool: opened,
      baseAmount,
      quoteAmount,
      fee: 0n,
      timestamp: null,
    });
  });

  it('any bytes of its records give a sound event, or a verdict', () => {
    const transaction = viewOf(launchWithBuy().answer);
    const records: { emitting: EmittingInstruction; data: Uint8Array }[] = [];
    for (const [index, { accounts, data }] of transaction.instructions.entries()) {
      const inner = transaction.inner!.get(index) ?? [];
      const emitting = { programId, accounts, data, inner, at: -1 };
      for (const one of inner) if (one.accounts[0] === eventAuthority) records.push({ emitting, data: one.data.subarray(8) });
    }
    const migrating = {
      ...records[0]!.emitting,
      accounts: Array.from({ length: 25 }, () => pool),
      data: Buffer.concat([program.migrations[0].discriminator, Buffer.alloc(2)]),
    };
    const complete = Buffer.concat([program.eventDiscriminators.curveComplete[0], Buffer.alloc(80)]);
    complete.set(addressBytes(pool), 8);
    records.push({ emitting: records[1]!.emitting, data: complete }, { emitting: migrating, data: migrating.data });
    const seen: Record<string, number> = {};
    const decoded = (context: DecodeContext): void => {
      meteoraDbc.decode(context, (event) => {
        seen[event.type] = (seen[event.type] ?? 0) + 1;
        if (event.type !== 'trade') return;
        const { baseAmount, quoteAmount, priceQuote, fees } = event;
        expect([baseAmount, quoteAmount, ...fees.map((fee) => fee.amount)].every((amount) => amount >= 0n) && priceQuote > 0n).toBe(true);
      });
    };
    for (const { emitting, data } of records) {
      const balances = [pool].map((account) => ({ account, mint, decimals: 6, owner: null, before: 0n, after: 7n }));
      const shown = { text: null, feePayer: null, tokenBalances: balances };
      fc.assert(
        fc.property(
          fc.oneof(mutated(data), fc.constant(data), fc.uint8Array()),
          mutated(emitting.data),
          fc.nat(25),
          (bytes, called, count) => {
            const others = { ...emitting, data: called, accounts: emitting.accounts.slice(0, count) };
            for (const instruction of [(): null => null, () => emitting, () => others]) {
              decoded({ record: 'event', data: bytes, instruction, ...shown });
              decoded({ record: 'instruction', data: bytes, instruction, ...shown });
            }
          },
        ),
        { seed: 1, numRuns: fuzzCases(10_000) },
      );
    }
    for (const type of ['created', 'trade', 'completed', 'migrated']) expect(seen[type], type).toBeGreaterThan(100);
  });
});

it.skipIf(!fixturesPresent)('any bytes of the accounts give a pool, or a verdict', () => {
  const [pools, configs] = ['pool', 'config'].map((name) => fixtureBytes(`accounts/meteora-dbc/fee_in_both_${name}.bin`)) as [
    Buffer,
    Buffer,
  ];
  const bytes = (data: Buffer): fc.Arbitrary<Uint8Array> => fc.oneof(fc.constant(data), mutated(data), fc.uint8Array());
  const coin: QuotedMint = { address: encodeBase58(pools, 136, 32), decimals: 6, supply: 0n, transferFee: null };
  const seen: Record<string, number> = { quoted: 0 };
  fc.assert(
    fc.property(
      bytes(pools),
      bytes(configs),
      fc.constantFrom('quoteIn', 'baseIn', 'baseOut'),
      fc.bigInt({ min: 1n, max: 2n ** 64n }),
      (one, other, exact, amount) => {
        const key = encodeBase58(pools, 72, 32);
        const outcome = meteoraDbc.decodeAccount(one, () => other);
        seen[outcome.kind] = (seen[outcome.kind] ?? 0) + 1;
        meteoraDbc.decodeAccount(other);
        meteoraDbc.constantsOf!(other, () => null, '');
        const lookup = (address: string) => ({ owner: programId, lamports: 1n, data: address === pool ? one : other });
        const opened = meteoraDbc.quoting!.open(coin, [pool, key], lookup, () => null);
        if (opened.kind === 'open' && opened.pool.quote({ exact, amount }, at).ok) seen['quoted']!++;
      },
    ),
    { seed: 2, numRuns: fuzzCases(20_000) },
  );
  for (const kind of ['decoded', 'malformed', 'unknown', 'quoted']) expect(seen[kind], kind).toBeGreaterThan(10);
});
