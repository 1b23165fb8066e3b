import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { addressBytes } from '@sluice/shared/solana/addresses/pda.ts';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { generateKeypair } from '@sluice/shared/solana/addresses/keypair.ts';
import { readLogs } from '@sluice/shared/solana/transaction/logs.ts';
import { decodeTokenAccount } from '@sluice/shared/solana/tokens/token-account.ts';
import type { TransferFees } from '@sluice/shared/solana/tokens/token-extensions.ts';
import { token2022Program, tokenProgram, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { reservesOfVaults } from '@sluice/venues/kit/constant-product.ts';
import type { Quote, QuotedMint, QuotedPool, QuotedTrade } from '@sluice/venues/seam/quoting.ts';
import { raydiumCpmm } from '../../venues/src/raydium/cpmm/index.ts';
import { config as configAt, pool as poolAt } from '../../venues/src/raydium/cpmm/layout.ts';
import {
  authority,
  liquidityEvent,
  liquidityInstructions,
  programId,
  swapEvent,
  swapInstructions,
} from '../../venues/src/raydium/cpmm/program.ts';
import type { VenueEvent, VenueTrade } from '@sluice/venues/seam/venue.ts';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { fixtureAccount, fixturesPresent } from '../golden/fixtures.ts';
import { mintData, tokenAccountData } from '../simnet/layout/token-state.ts';
import { RealMachine } from '../simnet/support/real-machine.ts';
import { completed } from '../support/events/decoded.ts';
import { fuzzCases, mutated } from '../support/fuzz.ts';

/** The real program runs random swaps on random pools. Quote, event and accounts must agree with it, to the unit. */
const binary = join(process.env['PROGRAMS_DIR'] ?? '', `${programId}.so`);
const isPresent = fixturesPresent && process.env['PROGRAMS_DIR'] !== undefined && existsSync(binary);
const folder = 'raydium-cpmm-sol-usdc';

const poolAddress = '7JuwJuNU88gurFnyWeiyGKbFmExMWcmRZntn9imEzdny';
const configAddress = 'D4FPEruKEHrG5TenZ2mpDGEfu1iUvTiqBxvpU8HLBvC2';
const observationAddress = '4MYrPgjgFceyhtwhG1ZX8UVb4wn1aQB5wzMimtFqg7U8';
const vaults = ['7VLUXrnSSDo9BfCa4NWaQs68g7ddDY1sdXBKW6Xswj9Y', '3rzbbW5Q8MA7sCaowf28hNgACNPecdS2zceWy7Ptzua9'] as const;
const trader = generateKeypair(new Uint8Array(32).fill(7));
const [own0, own1, coin] = [11, 12, 200].map((fill) => encodeBase58(new Uint8Array(32).fill(fill)));
const traderAccounts = [own0!, own1!] as const;
/** The pool's second coin takes a fee from each transfer. */
const mints = [wrappedSolMint, coin!] as const;
const programs = [tokenProgram, token2022Program] as const;
const rich = 10n ** 18n;
const at = { slot: 1_000, unixTimeS: 1_791_000_000 };

function mintWithFee(transferFee: TransferFees): Buffer {
  const data = Buffer.alloc(165 + 1 + 4 + 108);
  data.writeBigUInt64LE(rich, 36);
  data.set([6, 1], 44);
  data.set([1, 1, 0, 108, 0], 165);
  for (const [setting, from] of [
    [transferFee.older, 170 + 72],
    [transferFee.newer, 170 + 90],
  ] as const) {
    data.writeBigUInt64LE(setting.epoch, from);
    data.writeBigUInt64LE(setting.maxFee, from + 8);
    data.writeUInt16LE(setting.bps, from + 16);
  }
  return data;
}

function tokenAccount(index: 0 | 1, owner: string, amount: bigint): { lamports: bigint; owner: string; data: Buffer } {
  const data = Buffer.alloc(index === 0 ? 165 : 165 + 1 + 4 + 8);
  data.set(addressBytes(mints[index]), 0);
  data.set(addressBytes(owner), 32);
  data.writeBigUInt64LE(amount, 64);
  data[108] = 1;
  if (index === 1) data.set([2, 2, 0, 8, 0], 165);
  return { lamports: 10n ** 9n, owner: programs[index], data };
}

interface Setup {
  readonly held: readonly [bigint, bigint];
  readonly waiting: readonly bigint[];
  readonly rates: readonly bigint[];
  readonly creatorFeeOn: number;
  readonly hasCreatorFee: boolean;
  readonly transferBps: number;
  readonly maxFee: bigint;
}

const amount = (from: number, to: number): fc.Arbitrary<bigint> =>
  fc.integer({ min: from, max: to }).chain((bits) => fc.bigInt({ min: 1n << BigInt(bits - 1), max: (1n << BigInt(bits)) - 1n }));
const setups: fc.Arbitrary<Setup> = fc.record({
  held: fc.tuple(amount(20, 58), amount(20, 58)),
  waiting: fc.array(fc.bigInt({ min: 0n, max: 100_000n }), { minLength: 6, maxLength: 6 }),
  rates: fc.tuple(
    fc.bigInt({ min: 1n, max: 50_000n }),
    fc.bigInt({ min: 0n, max: 500_000n }),
    fc.bigInt({ min: 0n, max: 500_000n }),
    fc.bigInt({ min: 0n, max: 20_000n }),
  ),
  creatorFeeOn: fc.nat(2),
  hasCreatorFee: fc.boolean(),
  transferBps: fc.constantFrom(0, 1, 300, 1_000),
  maxFee: fc.constantFrom(rich, 5_000n),
});
/** A share of what the pool holds, in millionths. */
const trades = fc.record({
  exact: fc.constantFrom('quoteIn', 'baseIn', 'baseOut'),
  share: fc.integer({ min: 1, max: 1_050_000 }),
  tokenIs0: fc.boolean(),
});

class World {
  readonly machine = new RealMachine([trader], 10n ** 12n);
  readonly transferFee: TransferFees;

  constructor(setup: Setup) {
    const { machine } = this;
    machine.addProgram(programId, readFileSync(binary));
    machine.setTime(BigInt(at.unixTimeS));
    const setting = { epoch: 0n, maxFee: setup.maxFee, bps: setup.transferBps };
    this.transferFee = { configAuthority: null, withdrawAuthority: null, older: setting, newer: setting };
    const [pool, config, observation] = ['sol_usdc_pool_state', 'amm_config', 'sol_usdc_observation_state'].map((name) =>
      Buffer.from(fixtureAccount(`${folder}/${name}`).data),
    ) as [Buffer, Buffer, Buffer];
    pool.set(addressBytes(mints[1]), poolAt.mint1);
    pool.set(addressBytes(programs[1]), 264);
    pool.set([setup.creatorFeeOn, Number(setup.hasCreatorFee)], poolAt.creatorFeeOn);
    const { protocolFees0, protocolFees1, fundFees0, fundFees1, creatorFees0, creatorFees1 } = poolAt;
    for (const [index, from] of [protocolFees0, protocolFees1, fundFees0, fundFees1, creatorFees0, creatorFees1].entries())
      pool.writeBigUInt64LE(setup.waiting[index]!, from);
    const { tradeFeeRate, protocolFeeRate, fundFeeRate, creatorFeeRate } = configAt;
    for (const [index, from] of [tradeFeeRate, protocolFeeRate, fundFeeRate, creatorFeeRate].entries())
      config.writeBigUInt64LE(setup.rates[index]!, from);
    const owned = { lamports: 10n ** 9n, owner: programId };
    machine.put(poolAddress, { ...owned, data: pool });
    machine.put(configAddress, { ...owned, data: config });
    machine.put(observationAddress, { ...owned, data: observation });
    machine.put(mints[1], { lamports: 10n ** 9n, owner: token2022Program, data: mintWithFee(this.transferFee) });
    for (const index of [0, 1] as const) {
      machine.put(vaults[index], tokenAccount(index, authority, setup.held[index] + 600_000n));
      machine.put(traderAccounts[index], tokenAccount(index, trader.publicKey, rich));
    }
  }

  balance(address: string): bigint {
    const { owner, data } = this.machine.account(address)!;
    return decodeTokenAccount(owner, data)!.amount;
  }

  open(tokenIs0: boolean): QuotedPool {
    const mintOf = (address: string): QuotedMint => ({
      address,
      decimals: 6,
      supply: rich,
      transferFee: address === mints[1] ? this.transferFee : null,
    });
    const read = (addresses: readonly [string, ...string[]]): ReturnType<NonNullable<typeof raydiumCpmm.quoting>['open']> =>
      raydiumCpmm.quoting!.open(mintOf(mints[tokenIs0 ? 0 : 1]), addresses, (address) => this.machine.account(address), mintOf);
    const first = read([poolAddress]);
    if (first.kind !== 'more') throw new Error(`The pool asks for no further accounts, but is ${first.kind}.`);
    const opened = read([poolAddress, ...first.addresses]);
    if (opened.kind !== 'open') throw new Error(JSON.stringify(opened));
    return opened.pool;
  }

  /** Runs the swap of a quoted trade. Null if the program refuses it. */
  swap(trade: QuotedTrade, tokenIs0: boolean): { readonly event: VenueTrade; readonly paid: bigint; readonly received: bigint } | null {
    const given = (trade.exact === 'baseIn') === tokenIs0 ? 0 : 1;
    const gotten = given === 0 ? 1 : 0;
    const before = [this.balance(traderAccounts[given]), this.balance(traderAccounts[gotten])];
    const data = Buffer.alloc(24);
    const exactOut = trade.exact === 'baseOut';
    data.set(swapInstructions[exactOut ? 1 : 0]!);
    data.writeBigUInt64LE(exactOut ? rich : trade.amount, 8);
    data.writeBigUInt64LE(exactOut ? trade.amount : 0n, 16);
    const writable = (address: string): { address: string; signer: boolean; writable: boolean } => ({
      address,
      signer: false,
      writable: true,
    });
    const fixed = (address: string): { address: string; signer: boolean; writable: boolean } => ({ ...writable(address), writable: false });
    const accounts = [
      { ...fixed(trader.publicKey), signer: true },
      ...[authority, configAddress].map(fixed),
      ...[poolAddress, traderAccounts[given], traderAccounts[gotten], vaults[given], vaults[gotten]].map(writable),
      ...[programs[given], programs[gotten], mints[given], mints[gotten]].map(fixed),
      writable(observationAddress),
    ];
    const result = this.machine.run([{ programId, accounts, data }], [trader]);
    if (result.failed) return null;
    const events: VenueEvent[] = [];
    const emitting = { programId, accounts: accounts.map(({ address }) => address), data, inner: [], at: -1 };
    readLogs(
      result.logs,
      (_program, _path, bytes) => {
        const outcome = raydiumCpmm.decode(
          {
            record: 'event',
            data: typeof bytes === 'string' ? Buffer.alloc(0) : bytes,
            text: null,
            instruction: () => emitting,
            feePayer: null,
            tokenBalances: null,
          },
          (event) => events.push(event),
        );
        if (outcome.kind !== 'decoded') throw new Error(JSON.stringify(outcome));
      },
      (program) => program === programId,
    );
    const [event] = events;
    if (event?.type !== 'trade' || events.length !== 1) throw new Error('A swap emits one trade.');
    const complete = event.needs === undefined ? event : completed(raydiumCpmm, event, this.machine.account(event.needs.account)!.data);
    const [paid, received] = [before[0]! - this.balance(traderAccounts[given]), this.balance(traderAccounts[gotten]) - before[1]!];
    return { event: complete, paid, received };
  }
}

/** What the trader paid and received, by the rule for all events. */
function moved({ side, baseAmount, quoteAmount, fees }: VenueTrade): readonly [bigint, bigint] {
  const charged = (of: 'base' | 'quote'): bigint => fees.reduce((sum, fee) => (fee.coin === of ? sum + fee.amount : sum), 0n);
  return side === 'sell'
    ? [baseAmount + charged('base'), quoteAmount - charged('quote')]
    : [quoteAmount + charged('quote'), baseAmount - charged('base')];
}

const sums = (fees: Quote['fees']): Record<string, bigint> =>
  Object.fromEntries(fees.map(({ kind, coin: of, amount: sum }) => [`${kind} ${of}`, sum]));

it.skipIf(!isPresent)(
  `the real program trades as quoted, and its event and accounts say the same (${isPresent ? 'PROGRAMS_DIR' : 'SKIPPED: no program or no recordings'})`,
  () => {
    const seen = { traded: 0, refused: 0, exactOut: 0, withCreatorOut: 0 };
    fc.assert(
      fc.property(setups, fc.array(trades, { minLength: 1, maxLength: 4 }), (setup, list) => {
        const world = new World(setup);
        for (const { exact, share, tokenIs0 } of list) {
          const pool = world.open(tokenIs0);
          const { virtualBase, virtualQuote } = pool.reserves!;
          const trade = { exact, amount: ((exact === 'quoteIn' ? virtualQuote : virtualBase) * BigInt(share)) / 1_000_000n } as const;
          const outcome = pool.quote(trade, at);
          // More than the trader has.
          if (trade.amount === 0n || (outcome.ok && outcome.quote.traderQuote > rich)) continue;
          const swapped = world.swap(trade, tokenIs0);
          if (!outcome.ok || swapped === null) {
            expect([outcome.ok, swapped]).toEqual([false, null]);
            seen.refused++;
            continue;
          }
          const { quote } = outcome;
          const isBuy = quote.side === 'buy';
          const { event, paid, received } = swapped;
          expect(isBuy ? [quote.traderQuote, quote.baseAmount] : [quote.baseAmount, quote.traderQuote]).toEqual([paid, received]);
          expect(moved(event)).toEqual([paid, received]);
          expect(event.trader).toBe(trader.publicKey);
          expect([event.pair?.baseMint, event.pair?.quoteMint]).toEqual([...mints]);
          // The event's base is coin 0, whichever coin the quote calls the token.
          const swap = (of: string): string => (tokenIs0 ? of : of.replace(/base|quote/, (name) => (name === 'base' ? 'quote' : 'base')));
          expect(sums(event.fees)).toEqual(Object.fromEntries(Object.entries(sums(quote.fees)).map(([name, sum]) => [swap(name), sum])));
          expect(tokenIs0 ? event.quoteAmount : event.baseAmount).toBe(quote.quoteAmount);
          const account = raydiumCpmm.decodeAccount(world.machine.account(poolAddress)!.data);
          if (account.kind !== 'decoded' || account.account.type !== 'pool') throw new Error(account.kind);
          const { virtualBase: base, virtualQuote: other } = reservesOfVaults(
            account.account,
            world.balance(vaults[0]),
            world.balance(vaults[1]),
          );
          expect([event.priceBase, event.priceQuote]).toEqual([base, other]);
          const after = quote.after!;
          expect(tokenIs0 ? [after.virtualBase, after.virtualQuote] : [after.virtualQuote, after.virtualBase]).toEqual([base, other]);
          seen.traded++;
          if (exact === 'baseOut') seen.exactOut++;
          if (sums(quote.fees)[isBuy ? 'creator base' : 'creator quote'] !== undefined) seen.withCreatorOut++;
        }
      }),
      { seed: 20261127, numRuns: fuzzCases(3_000) },
    );
    for (const [name, number] of Object.entries(seen)) expect(number, name).toBeGreaterThan(3);
  },
  120_000,
);

const lpSupply = 10n ** 12n;
const ownLp = encodeBase58(new Uint8Array(32).fill(13));
const memoProgram = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr';

it.skipIf(!isPresent)(
  `the real program takes and returns liquidity as its events say (${isPresent ? 'PROGRAMS_DIR' : 'SKIPPED: no program or no recordings'})`,
  () => {
    const seen = { liquidityAdded: 0, liquidityRemoved: 0 };
    const change = fc.record({ isDeposit: fc.boolean(), share: fc.integer({ min: 1, max: 400_000 }) });
    fc.assert(
      fc.property(setups, fc.array(change, { minLength: 1, maxLength: 4 }), (setup, list) => {
        const world = new World(setup);
        const pool = Buffer.from(world.machine.account(poolAddress)!.data);
        const lpMint = encodeBase58(pool, 136, 32);
        pool.writeBigUInt64LE(lpSupply, 333);
        world.machine.put(poolAddress, { lamports: 10n ** 9n, owner: programId, data: pool });
        world.machine.put(lpMint, { lamports: 10n ** 9n, owner: tokenProgram, data: mintData(9, lpSupply, authority) });
        const lp = tokenAccountData(lpMint, trader.publicKey, lpSupply / 2n);
        world.machine.put(ownLp, { lamports: 10n ** 9n, owner: tokenProgram, data: lp });
        for (const { isDeposit, share } of list) {
          const balances = (): bigint[] => [...vaults, ownLp].map((address) => world.balance(address));
          const before = balances();
          const data = Buffer.alloc(32);
          data.set(liquidityInstructions[isDeposit ? 0 : 1]);
          data.writeBigUInt64LE((before[2]! * BigInt(share)) / 1_000_000n, 8);
          if (isDeposit) for (const from of [16, 24]) data.writeBigUInt64LE(rich, from);
          const writable = [poolAddress, ownLp, ...traderAccounts, ...vaults];
          const addresses = [trader.publicKey, authority, ...writable, tokenProgram, token2022Program, ...mints, lpMint];
          const accounts = [...addresses, ...(isDeposit ? [] : [memoProgram])].map((address) => ({
            address,
            signer: address === trader.publicKey,
            writable: address === lpMint || writable.includes(address),
          }));
          const result = world.machine.run([{ programId, accounts, data }], [trader]);
          if (result.failed) continue;
          const emitting = { programId, accounts: accounts.map(({ address }) => address), data, inner: [], at: -1 };
          const events: VenueEvent[] = [];
          const context = { record: 'event', text: null, feePayer: null, tokenBalances: null } as const;
          const take = (_program: string, _path: string, bytes: Uint8Array): void => {
            raydiumCpmm.decode({ ...context, data: bytes, instruction: () => emitting }, (event) => events.push(event));
          };
          readLogs(result.logs, take, (program) => program === programId);
          const after = balances();
          const changes = after.map((balance, index) => (isDeposit ? balance - before[index]! : before[index]! - balance));
          const [event] = events;
          expect(event).toMatchObject({
            type: isDeposit ? 'liquidityAdded' : 'liquidityRemoved',
            pool: poolAddress,
            provider: trader.publicKey,
            pair: { baseMint: mints[0], quoteMint: mints[1] },
            baseAmount: changes[0],
            quoteAmount: changes[1],
            lpAmount: changes[2],
          });
          if (event?.type !== 'liquidityAdded' && event?.type !== 'liquidityRemoved') throw new Error('no event');
          const account = raydiumCpmm.decodeAccount(world.machine.account(poolAddress)!.data);
          if (account.kind !== 'decoded' || account.account.type !== 'pool') throw new Error(account.kind);
          const { virtualBase: base, virtualQuote: quote } = reservesOfVaults(account.account, after[0]!, after[1]!);
          expect(event.left).toEqual({ base, quote });
          seen[event.type]++;
        }
      }),
      { seed: 20261128, numRuns: fuzzCases(300) },
    );
    for (const [name, number] of Object.entries(seen)) expect(number, name).toBeGreaterThan(5);
  },
  120_000,
);

it('any bytes of an event of liquidity give a sound one, or a verdict', () => {
  const sample = Buffer.alloc(97);
  sample.set(liquidityEvent);
  sample.set(addressBytes(poolAddress), 8);
  for (const [index, value] of [10n ** 9n, 20_000n, 30_000n, 500n, 900n, 3n, 4n].entries()) sample.writeBigUInt64LE(value, 40 + index * 8);
  const accounts = Array.from({ length: 14 }, (_, index) => encodeBase58(new Uint8Array(32).fill(index + 1)));
  accounts[2] = poolAddress;
  let decoded = 0;
  fc.assert(
    fc.property(fc.oneof(mutated(sample), fc.uint8Array()), fc.nat(14), fc.nat(1), (data, length, kind) => {
      const emitting = {
        programId,
        accounts: accounts.slice(0, length),
        data: Buffer.concat([liquidityInstructions[kind]!, Buffer.alloc(8)]),
      };
      const context = { record: 'event', data, text: null, feePayer: null, tokenBalances: null } as const;
      raydiumCpmm.decode({ ...context, instruction: () => ({ ...emitting, inner: [], at: -1 }) }, (event) => {
        if (event.type !== 'liquidityAdded' && event.type !== 'liquidityRemoved') throw new Error(event.type);
        expect([event.baseAmount, event.quoteAmount, event.left!.base, event.left!.quote].every((sum) => sum >= 0n)).toBe(true);
        decoded++;
      });
    }),
    { seed: 1, numRuns: fuzzCases(20_000) },
  );
  expect(decoded).toBeGreaterThan(5);
});

function sampleEvent(length: number): Buffer {
  const data = Buffer.alloc(length);
  data.set(swapEvent);
  data.set(addressBytes(poolAddress), 8);
  for (const [index, value] of [10_000n, 20_000n, 500n, 900n, 3n, 4n].entries()) data.writeBigUInt64LE(value, 40 + index * 8);
  if (length > 160) data.writeBigUInt64LE(2n, 153);
  return data;
}

it('any bytes of an event give a sound trade, or a verdict', () => {
  const accounts = Array.from({ length: 13 }, (_, index) => encodeBase58(new Uint8Array(32).fill(index + 1)));
  accounts[3] = poolAddress;
  let decodedTrades = 0;
  fc.assert(
    fc.property(fc.oneof(mutated(sampleEvent(89)), mutated(sampleEvent(170)), fc.uint8Array()), fc.nat(13), (data, length) => {
      const emitting = { programId, accounts: accounts.slice(0, length), data: swapInstructions[0]!, inner: [], at: -1 };
      for (const instruction of [(): null => null, (): typeof emitting => emitting, (): typeof emitting => ({ ...emitting, accounts })]) {
        const context = { record: 'event', data, text: null, instruction, feePayer: null, tokenBalances: null } as const;
        raydiumCpmm.decode(context, (event) => {
          if (event.type !== 'trade') throw new Error(event.type);
          decodedTrades++;
          const { baseAmount, quoteAmount, priceBase, priceQuote, fees } = event;
          expect([baseAmount, quoteAmount, ...moved(event), ...fees.map((fee) => fee.amount)].every((sum) => sum >= 0n)).toBe(true);
          expect(priceBase > 0n && priceQuote > 0n).toBe(true);
        });
        raydiumCpmm.decode({ ...context, record: 'instruction' }, () => undefined);
      }
    }),
    { seed: 1, numRuns: fuzzCases(20_000) },
  );
  expect(decodedTrades).toBeGreaterThan(100);
});

it.skipIf(!fixturesPresent)('any bytes of the accounts give a pool, or a verdict', () => {
  const [pool, tier, vault0, vault1] = ['sol_usdc_pool_state', 'amm_config', 'sol_vault', 'usdc_vault'].map((name) =>
    fixtureAccount(`${folder}/${name}`),
  );
  const bytes = (of: { readonly data: Uint8Array } | undefined): fc.Arbitrary<Uint8Array> =>
    fc.oneof({ weight: 3, arbitrary: fc.constant(of!.data) }, mutated(of!.data));
  const mint: QuotedMint = { address: wrappedSolMint, decimals: 9, supply: 0n, transferFee: null };
  const seen = { open: 0, malformed: 0, absent: 0, quoted: 0 };
  fc.assert(
    fc.property(
      bytes(pool),
      bytes(tier),
      bytes(vault0),
      bytes(vault1),
      trades,
      (...[poolBytes, tierBytes, bytes0, bytes1, { exact, share }]) => {
        raydiumCpmm.decodeAccount(poolBytes);
        const found = new Map([
          [poolAddress, { owner: programId, data: poolBytes }],
          [configAddress, { owner: programId, data: tierBytes }],
          [vaults[0], { owner: tokenProgram, data: bytes0 }],
          [vaults[1], { owner: tokenProgram, data: bytes1 }],
        ]);
        const lookup = (address: string): { owner: string; data: Uint8Array; lamports: bigint } | null => {
          const account = found.get(address);
          return account === undefined ? null : { ...account, lamports: 1n };
        };
        let opened = raydiumCpmm.quoting!.open(mint, [poolAddress], lookup, () => mint);
        if (opened.kind === 'more') opened = raydiumCpmm.quoting!.open(mint, [poolAddress, ...opened.addresses], lookup, () => mint);
        if (opened.kind === 'more') throw new Error('The pool asks again.');
        seen[opened.kind]++;
        if (opened.kind === 'open' && opened.pool.quote({ exact, amount: BigInt(share) }, at).ok) seen.quoted++;
      },
    ),
    { seed: 2, numRuns: fuzzCases(20_000) },
  );
  for (const [kind, number] of Object.entries(seen)) expect(number, kind).toBeGreaterThan(10);
});
