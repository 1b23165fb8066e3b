import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Program } from '@coral-xyz/anchor';
import {
  CollectFeeMode,
  CpAmmIdl,
  getFeeMode,
  getSwapResultFromExactInput,
  getSwapResultFromExactOutput,
  type PoolState,
  TradeDirection,
} from '@meteora-ag/cp-amm-sdk';
import { tokenAddress } from '@sluice/shared/solana/addresses/derived.ts';
import { generateKeypair } from '@sluice/shared/solana/addresses/keypair.ts';
import { addressBytes } from '@sluice/shared/solana/addresses/pda.ts';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { decodeTokenAccount } from '@sluice/shared/solana/tokens/token-account.ts';
import type { TransferFees } from '@sluice/shared/solana/tokens/token-extensions.ts';
import type { Instruction } from '@sluice/shared/solana/transaction/transaction.ts';
import { token2022Program } from '@sluice/shared/solana/well-known.ts';
import { feesIn } from '@sluice/venues/seam/fee.ts';
import { slippageBounds, type Quote, type QuotedMint, type QuotedPool, type QuotedTrade } from '@sluice/venues/seam/quoting.ts';
import type { BuiltTrade } from '@sluice/venues/seam/trading.ts';
import type { PoolAccount, VenueTrade } from '@sluice/venues/seam/venue.ts';
import { Connection } from '@solana/web3.js';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { Decoder } from '../../ingest/src/pipeline/decode.ts';
import { meteoraDammV2 } from '../../venues/src/meteora/damm-v2/index.ts';
import { dynamicFee, pool as poolAt } from '../../venues/src/meteora/damm-v2/layout.ts';
import { decodePool, type DammPool } from '../../venues/src/meteora/damm-v2/pool.ts';
import { poolAuthority, programId } from '../../venues/src/meteora/damm-v2/program.ts';
import { fixtureBytes, fixturesPresent } from '../golden/fixtures.ts';
import { wholeSighting } from '../ingest/sightings.ts';
import { RealMachine } from '../simnet/support/real-machine.ts';
import { BN } from '../support/chain/bn.ts';
import { fuzzCases } from '../support/fuzz.ts';

/** The real program runs our orders on random pools. Quote, event and accounts must agree with it, and the SDK too, to the unit. */
const binary = join(process.env['PROGRAMS_DIR'] ?? '', `${programId}.so`);
const isPresent = fixturesPresent && process.env['PROGRAMS_DIR'] !== undefined && existsSync(binary);

const trader = generateKeypair(new Uint8Array(32).fill(7));
const [poolAddress, coinA, coinB, vaultA, vaultB, referral] = [31, 32, 33, 34, 35, 36].map((fill) =>
  encodeBase58(new Uint8Array(32).fill(fill)),
) as [string, string, string, string, string, string];
/** Each coin belongs to the newer program, and may take a fee from each transfer. */
const coins = [coinA, coinB] as const;
const vaults = [vaultA, vaultB] as const;
const owned = coins.map((coin) => tokenAddress(trader.publicKey, coin, token2022Program)) as [string, string];
const rich = 10n ** 18n;
const now = { slot: 1_000, unixTimeS: 1_791_000_000 };
const [lowest, highest] = [4_295_048_016n, 79_226_673_521_066_979_257_578_248_091n];

const big = (min: bigint, max: bigint): fc.Arbitrary<bigint> => fc.bigInt({ min, max });
const bits = (from: number, to: number): fc.Arbitrary<bigint> =>
  fc.integer({ min: from, max: to }).chain((count) => big(1n << BigInt(count - 1), (1n << BigInt(count)) - 1n));
/** `first` u16, `second` u64 or two u32, `fourth` u64. */
const baseFees = fc.oneof(
  fc.record({ mode: fc.constant(0), first: fc.integer({ min: 1, max: 100 }), second: big(1n, 50n), fourth: big(1n, 400_000n) }),
  fc.record({ mode: fc.constant(1), first: fc.integer({ min: 1, max: 100 }), second: big(0n, 50n), fourth: big(1n, 900n) }),
  fc.record({
    mode: fc.constant(2),
    first: fc.integer({ min: 1, max: 3_000 }),
    second: fc.tuple(big(1n, 1_500n), big(9_000n, 9_900n)).map(([duration, max]) => duration | (max << 32n)),
    fourth: bits(16, 40),
  }),
  fc.record({ mode: fc.constant(2), first: fc.constant(0), second: fc.constant(0n), fourth: fc.constant(0n) }),
  fc.record({
    mode: fc.constantFrom(3, 4),
    first: fc.integer({ min: 1, max: 100 }),
    second: fc.tuple(big(1n, 400n), big(1n, 1_500n)).map(([step, duration]) => step | (duration << 32n)),
    fourth: big(1n, 900n),
  }),
);
const setups = fc.record({
  mode: fc.nat(2),
  sqrtPrice: bits(50, 78),
  liquidity: bits(90, 108),
  /** The ends of the range, in thousandths below and above the price; null for the full range. */
  range: fc.option(fc.tuple(big(0n, 900n), big(0n, 3_000n))),
  cliff: big(100_000n, 500_000_000n),
  baseFee: baseFees,
  initShare: big(200n, 1_200n),
  dynamic: fc.record({ on: fc.nat(1), control: fc.nat(100_000), accumulator: big(0n, 14_460_000n), idle: fc.constantFrom(3, 60, 900) }),
  version: fc.record({ fee: fc.nat(1), layout: fc.nat(1) }),
  protocol: fc.nat(50),
  compounding: fc.nat(10_000),
  bySlot: fc.boolean(),
  passed: fc.integer({ min: -5, max: 900 }),
  transferBps: fc.tuple(fc.constantFrom(0, 0, 1, 300), fc.constantFrom(0, 0, 1_000)),
  maxFee: fc.constantFrom(rich, 5_000n),
});
type Setup = typeof setups extends fc.Arbitrary<infer T> ? T : never;
const trades = fc.record({
  exact: fc.constantFrom('quoteIn', 'baseIn', 'baseOut'),
  /** Millionths of what the pool has; dust is a trade too. */
  share: fc.oneof(fc.integer({ min: 1, max: 1_050_000 }), fc.integer({ min: 1, max: 1_000 }), fc.constant(0)),
  tokenIsA: fc.boolean(),
  /** The swap of somebody else: it takes what the range has room for, and pays a referral fee. */
  isForeign: fc.boolean(),
});

function writeU128(data: Buffer, value: bigint, offset: number): void {
  data.writeBigUInt64LE(value & ((1n << 64n) - 1n), offset);
  data.writeBigUInt64LE(value >> 64n, offset + 8);
}

function mintWithFee(fees: TransferFees): Buffer {
  const data = Buffer.alloc(165 + 1 + 4 + 108);
  data.writeBigUInt64LE(4n * rich, 36);
  data.set([6, 1], 44);
  data.set([1, 1, 0, 108, 0], 165);
  for (const [setting, from] of [
    [fees.older, 170 + 72],
    [fees.newer, 170 + 90],
  ] as const) {
    data.writeBigUInt64LE(setting.epoch, from);
    data.writeBigUInt64LE(setting.maxFee, from + 8);
    data.writeUInt16LE(setting.bps, from + 16);
  }
  return data;
}

function tokens(mint: string, owner: string, amount: bigint): { lamports: bigint; owner: string; data: Buffer } {
  const data = Buffer.alloc(165 + 1 + 4 + 8);
  data.set(addressBytes(mint), 0);
  data.set(addressBytes(owner), 32);
  data.writeBigUInt64LE(amount, 64);
  data[108] = 1;
  data.set([2, 2, 0, 8, 0], 165);
  return { lamports: 10n ** 9n, owner: token2022Program, data };
}

const dividedUp = (numerator: bigint, denominator: bigint): bigint => (numerator + denominator - 1n) / denominator;

/** What the pool has, and its bytes. Null if an amount exceeds what a vault can hold. */
function poolOf(setup: Setup): { readonly data: Buffer; readonly held: readonly [bigint, bigint] } | null {
  const { mode, sqrtPrice: price, liquidity, range, baseFee, dynamic, version } = setup;
  const [low, high] = range === null ? [lowest, highest] : [price - (price * range[0]) / 1_000n, price + (price * range[1]) / 1_000n];
  const isProduct = mode === 2;
  const a = isProduct ? dividedUp(liquidity, price) : dividedUp(liquidity * (high - price), high * price);
  const b = isProduct ? dividedUp(liquidity * price, 1n << 128n) : dividedUp(liquidity * (price - low), 1n << 128n);
  if (a > rich || b > rich) return null;
  const data = Buffer.from(fixtureBytes('accounts/meteora-damm-v2/pool_account.bin'));
  data.writeBigUInt64LE(setup.cliff, poolAt.cliff);
  data[poolAt.baseFeeMode] = baseFee.mode;
  data.writeUInt16LE(baseFee.first, poolAt.baseFeeFirst);
  data.writeBigUInt64LE(baseFee.second, poolAt.baseFeeSecond);
  data.writeBigUInt64LE(baseFee.fourth, poolAt.baseFeeFourth);
  data[poolAt.protocolPercent] = setup.protocol;
  data[50] = 20;
  data.writeUInt16LE(isProduct ? setup.compounding : 0, 54);
  const at = poolAt.dynamicFee;
  data[at + dynamicFee.isEnabled] = dynamic.on;
  data.writeUInt32LE(14_460_000, at + 8);
  data.writeUInt32LE(dynamic.control, at + dynamicFee.control);
  for (const [index, value] of [1, 10, 120, 5_000].entries()) data.writeUInt16LE(value, at + dynamicFee.binStep + 2 * index);
  data.writeBigUInt64LE(BigInt(now.unixTimeS - dynamic.idle), at + 24);
  writeU128(data, 1_844_674_407_370_955n, at + 32);
  writeU128(data, price, at + 48);
  writeU128(data, dynamic.accumulator, at + dynamicFee.accumulator);
  writeU128(data, 0n, at + 80);
  writeU128(data, (price * setup.initShare) / 1_000n, poolAt.initSqrtPrice);
  for (const [address, offset] of [
    [coinA, poolAt.mintA],
    [coinB, poolAt.mintB],
    [vaultA, poolAt.vaultA],
    [vaultB, poolAt.vaultB],
  ] as const)
    data.set(addressBytes(address), offset);
  writeU128(data, liquidity, poolAt.liquidity);
  writeU128(data, isProduct ? 0n : low, poolAt.sqrtMinPrice);
  writeU128(data, isProduct ? (1n << 128n) - 1n : high, poolAt.sqrtMaxPrice);
  writeU128(data, price, poolAt.sqrtPrice);
  data.writeBigUInt64LE(BigInt((setup.bySlot ? now.slot : now.unixTimeS) - setup.passed), poolAt.activationPoint);
  data[poolAt.activationType] = setup.bySlot ? 0 : 1;
  data[poolAt.status] = 0;
  data[poolAt.collectFeeMode] = mode;
  data[poolAt.feeVersion] = version.fee;
  const isOld = version.layout === 0 && !isProduct;
  data[poolAt.layoutVersion] = isOld ? 0 : 1;
  data.writeBigUInt64LE(isOld ? 0n : a, poolAt.amountA);
  data.writeBigUInt64LE(isOld ? 0n : b, poolAt.amountB);
  return { data, held: [a, b] };
}

class World {
  readonly machine = new RealMachine([trader], 10n ** 12n);
  readonly transferFees: readonly [TransferFees, TransferFees];

  constructor({ transferBps, maxFee }: Setup, { data, held }: NonNullable<ReturnType<typeof poolOf>>) {
    const { machine } = this;
    machine.addProgram(programId, readFileSync(binary));
    machine.setTime(BigInt(now.unixTimeS));
    machine.put(poolAddress, { lamports: 10n ** 9n, owner: programId, data });
    const feesOf = (bps: number): TransferFees => {
      const setting = { epoch: 0n, maxFee, bps };
      return { configAuthority: null, withdrawAuthority: null, older: setting, newer: setting };
    };
    this.transferFees = [feesOf(transferBps[0]), feesOf(transferBps[1])];
    for (const index of [0, 1] as const) {
      machine.put(coins[index], { lamports: 10n ** 9n, owner: token2022Program, data: mintWithFee(this.transferFees[index]) });
      // A part of a vault is fees that nobody has claimed.
      machine.put(vaults[index], tokens(coins[index], poolAuthority, held[index] + 1_000n));
      machine.put(owned[index], tokens(coins[index], trader.publicKey, rich));
    }
  }

  balance(address: string): bigint {
    const { owner, data } = this.machine.account(address)!;
    return decodeTokenAccount(owner, data)!.amount;
  }

  account(): PoolAccount {
    const decoded = meteoraDammV2.decodeAccount(this.machine.account(poolAddress)!.data);
    if (decoded.kind !== 'decoded' || decoded.account.type !== 'pool') throw new Error(JSON.stringify(decoded));
    return decoded.account;
  }

  open(tokenIsA: boolean): QuotedPool {
    const mintOf = (address: string): QuotedMint => ({
      address,
      decimals: 6,
      supply: rich,
      transferFee: this.transferFees[address === coinA ? 0 : 1],
    });
    const mint = mintOf(coins[tokenIsA ? 0 : 1]);
    const opened = meteoraDammV2.quoting!.open(mint, [poolAddress], (address) => this.machine.account(address), mintOf);
    if (opened.kind !== 'open') throw new Error(JSON.stringify(opened));
    return opened.pool;
  }

  /** Runs an instruction. The text says why the program refuses it. */
  run(instruction: Instruction, paysA: boolean) {
    const [given, gotten] = paysA ? ([0, 1] as const) : ([1, 0] as const);
    const before = [this.balance(owned[given]), this.balance(owned[gotten])] as const;
    const result = this.machine.run([instruction], [trader]);
    if (result.failed) return result.error;
    const decoder = new Decoder([meteoraDammV2], ({ kind, detail }) => expect.fail(`${kind}: ${detail}`));
    const reading = decoder.read(wholeSighting(result.answer));
    const [trade, ...others] = reading.kind === 'read' ? reading.transaction.events.map(({ event }) => event) : [];
    if (trade?.type !== 'trade' || others.length > 0) throw new Error('A swap gives one trade.');
    return { trade, paid: before[0] - this.balance(owned[given]), received: this.balance(owned[gotten]) - before[1], units: result.units };
  }
}

/** Our order for a quoted trade, at exactly what is quoted. */
function orderOf(pool: QuotedPool, trade: QuotedTrade, quote: Quote): BuiltTrade {
  const accounts = {
    baseTokenProgram: token2022Program,
    quoteTokenProgram: token2022Program,
    baseAccountBytes: 178,
    quoteAccountBytes: 178,
  };
  const order = { user: trader.publicKey, trade, quote, ...slippageBounds(trade, quote, 0n), ...accounts, recipient: 0 };
  return pool.build({ ...order, wrappedSol: () => '' });
}

/** The same with a referral. An exact input takes what the range has room for. */
function foreign({ accounts, data, ...rest }: Instruction): Instruction {
  const changed = Uint8Array.from(data);
  if (changed[24] === 0) changed[24] = 1;
  return {
    ...rest,
    accounts: accounts.map((meta, index) => (index === 11 ? { ...meta, address: referral, writable: true } : meta)),
    data: changed,
  };
}

const { coder } = new Program(CpAmmIdl, { connection: new Connection('http://127.0.0.1:1') });
const collectFeeModes = [CollectFeeMode.BothToken, CollectFeeMode.OnlyB, CollectFeeMode.Compounding] as const;

/** What the vault receives and sends by the SDK. `amount` is one of them. */
function sdkQuote(world: World, amount: bigint, exactIn: boolean, paysA: boolean, { mode, bySlot }: Setup): readonly bigint[] {
  const pool = coder.accounts.decode<PoolState>('pool', world.machine.account(poolAddress)!.data);
  const direction = paysA ? TradeDirection.AtoB : TradeDirection.BtoA;
  const quote = exactIn ? getSwapResultFromExactInput : getSwapResultFromExactOutput;
  const point = new BN(bySlot ? now.slot : now.unixTimeS);
  const { includedFeeInputAmount, outputAmount } = quote(
    pool,
    new BN(`${amount}`),
    getFeeMode(collectFeeModes[mode]!, direction, false),
    direction,
    point,
  );
  return [includedFeeInputAmount, outputAmount].map((sum) => BigInt(sum.toString()));
}

/** What the trader paid and received, by the rule for all events. */
function moved({ side, baseAmount, quoteAmount, fees }: VenueTrade): readonly [bigint, bigint] {
  return side === 'sell'
    ? [baseAmount + feesIn('base', fees), quoteAmount - feesIn('quote', fees)]
    : [quoteAmount + feesIn('quote', fees), baseAmount - feesIn('base', fees)];
}

const sums = (fees: Quote['fees'], flips: boolean): Record<string, bigint> =>
  Object.fromEntries(fees.map(({ kind, coin, amount }) => [`${kind} ${(coin === 'base') === flips ? 'B' : 'A'}`, amount]));

/** The price before the event's trade, compared with the account before it: exact if reserves show it, and otherwise as exact as the amounts. */
function checkPrices(event: VenueTrade, before: PoolAccount, after: PoolAccount, held: DammPool, { mode, range }: Setup): void {
  expect([event.priceQuote, event.priceBase, event.reserves]).toEqual([
    after.price!.priceQuote,
    after.price!.priceBase,
    after.price!.reserves,
  ]);
  const [shown, was] = [event.before, before.price!];
  if (mode === 2) {
    expect([shown!.priceQuote, shown!.priceBase]).toEqual([was.priceQuote, was.priceBase]);
    return;
  }
  if (shown !== null) {
    const ratio = (Number(shown.priceQuote) / Number(was.priceQuote)) * (Number(was.priceBase) / Number(shown.priceBase));
    worst = Math.max(worst, Math.abs(ratio - 1) * Math.sqrt(Math.min(Number(event.baseAmount), Number(event.quoteAmount))));
  }
  // Never more than the account shows, and the same for the full range, apart from the rounding of what the pool has.
  const [depth, exact] = [Number(event.depth), Number(after.price!.depth)];
  const rounding = exact * (4 / Math.min(Number(held.amountA), Number(held.amountB))) + 2;
  expect(depth).toBeLessThanOrEqual(exact + rounding);
  if (range === null) expect(depth).toBeGreaterThanOrEqual(exact * (1 - 1e-6) - rounding);
}
let worst = 0;

it.skipIf(!isPresent)(
  `our orders fill as quoted by the real program, and its event and accounts say the same (${isPresent ? 'PROGRAMS_DIR' : 'SKIPPED: no program or no recordings'})`,
  () => {
    const seen = {
      traded: 0,
      refused: 0,
      exactOut: 0,
      limited: 0,
      compounded: 0,
      withheld: 0,
      foreign: 0,
      partial: 0,
      onOutput: 0,
      early: 0,
    };
    fc.assert(
      fc.property(setups, fc.array(trades, { minLength: 1, maxLength: 4 }), (drawn, list) => {
        // Only pools that collect in B alone may have a limiter.
        const setup = drawn.baseFee.mode === 2 ? { ...drawn, mode: 1 } : drawn;
        const made = poolOf(setup);
        if (made === null) return;
        const world = new World(setup, made);
        for (const { exact, share, tokenIsA, isForeign } of list) {
          const pool = world.open(tokenIsA);
          const paysA = (exact === 'baseIn') === tokenIsA;
          const before = world.account();
          const vault = vaults[(exact === 'quoteIn') === tokenIsA ? 1 : 0];
          const trade: QuotedTrade = { exact, amount: (world.balance(vault) * BigInt(share)) / 1_000_000n || 1n };
          const outcome = pool.quote(trade, now);
          if (setup.passed < 0) {
            expect(outcome).toEqual({ ok: false, fault: 'disabled' });
            seen.early++;
          }
          const anyQuote = {
            side: exact === 'baseIn' ? 'sell' : 'buy',
            baseAmount: trade.amount,
            traderQuote: exact === 'baseOut' ? rich : 0n,
          } as Quote;
          const built = orderOf(pool, trade, outcome.ok ? outcome.quote : anyQuote);
          const swapped = (isOurs: boolean) => world.run(isOurs ? built.instruction : foreign(built.instruction), paysA);
          if (isForeign) world.machine.put(referral, tokens(coins[setup.mode === 0 && !paysA ? 0 : 1], trader.publicKey, 0n));
          if (!outcome.ok) {
            const run = swapped(!isForeign);
            seen.refused++;
            if (typeof run === 'string') continue;
            // The program takes a part of what is too much, and trades for nothing.
            const isPart = isForeign && exact !== 'baseOut' && run.paid < trade.amount;
            if (isPart) seen.partial++;
            const isNothing = [run.paid, run.received, run.trade.baseAmount, run.trade.quoteAmount].includes(0n);
            expect([outcome.fault, isPart || isNothing]).toEqual([isPart ? 'too_large' : 'too_small', true]);
            expect(moved(run.trade)).toEqual([run.paid, run.received]);
            continue;
          }
          const { quote } = outcome;
          const [paid, received] = quote.side === 'buy' ? [quote.traderQuote, quote.baseAmount] : [quote.baseAmount, quote.traderQuote];
          if (paid > rich) continue;
          const transfer = (of: string): bigint => sums(quote.fees, !tokenIsA)[`transfer ${of}`] ?? 0n;
          const inVault = [paid - transfer(paysA ? 'A' : 'B'), received + transfer(paysA ? 'B' : 'A')] as const;
          expect(sdkQuote(world, inVault[exact === 'baseOut' ? 1 : 0], exact !== 'baseOut', paysA, setup)).toEqual(inVault);
          const run = swapped(!isForeign);
          if (typeof run === 'string') throw new Error(run);
          const { trade: event } = run;
          expect(moved(event)).toEqual([run.paid, run.received]);
          expect([paid, received]).toEqual([run.paid, run.received]);
          expect([event.trader, event.pool, event.pair]).toEqual([trader.publicKey, poolAddress, { baseMint: coinA, quoteMint: coinB }]);
          const theirs = sums(event.fees, false);
          const { 'referral A': ofA = 0n, 'referral B': ofB = 0n, ...fees } = theirs;
          const ours = sums(quote.fees, !tokenIsA);
          for (const [coin, referred] of [
            ['A', ofA],
            ['B', ofB],
          ] as const)
            if (referred > 0n) fees[`protocol ${coin}`] = (fees[`protocol ${coin}`] ?? 0n) + referred;
          expect(fees).toEqual(ours);
          expect(tokenIsA ? event.quoteAmount : event.baseAmount).toBe(quote.quoteAmount);
          checkPrices(event, before, world.account(), decodePool(world.machine.account(poolAddress)!.data)!, setup);
          expect(run.units).toBeLessThan(isForeign ? 1_000_000 : built.computeUnits);
          seen.traded++;
          if (exact === 'baseOut') seen.exactOut++;
          if (setup.baseFee.mode === 2 && setup.baseFee.first > 0 && !paysA) seen.limited++;
          if (setup.mode === 2 && setup.compounding > 0) seen.compounded++;
          if (Object.keys(ours).some((kind) => kind.startsWith('transfer'))) seen.withheld++;
          if (ofA + ofB > 0n) seen.foreign++;
          if (ours['lp A'] !== undefined) seen.onOutput++;
        }
      }),
      { seed: 20261128, numRuns: fuzzCases(3_000) },
    );
    expect(worst).toBeLessThan(0.1);
    for (const [name, number] of Object.entries(seen)) expect(number, name).toBeGreaterThan(2);
  },
  240_000,
);
