import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  createDbcProgram,
  swapQuoteExactIn,
  swapQuoteExactOut,
  swapQuotePartialFill,
  type PoolConfig,
  type VirtualPool,
} from '@meteora-ag/dynamic-bonding-curve-sdk';
import { addressBytes } from '@sluice/shared/solana/addresses/pda.ts';
import { generateKeypair } from '@sluice/shared/solana/addresses/keypair.ts';
import { tokenAddress } from '@sluice/shared/solana/addresses/derived.ts';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { decodeTokenAccount } from '@sluice/shared/solana/tokens/token-account.ts';
import { tokenProgram } from '@sluice/shared/solana/well-known.ts';
import { slippageBounds, type Quote, type QuotedMint, type QuotedPool, type QuotedTrade } from '@sluice/venues/seam/quoting.ts';
import type { CurveAccount, PoolReserves, VenueEvent } from '@sluice/venues/seam/venue.ts';
import { Connection } from '@solana/web3.js';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { Decoder } from '../../ingest/src/pipeline/decode.ts';
import { meteoraDbc } from '../../venues/src/meteora/dbc/index.ts';
import { config as configAt, pool as poolAt } from '../../venues/src/meteora/dbc/layout.ts';
import { poolAuthority, poolOf, programId } from '../../venues/src/meteora/dbc/program.ts';
import { fixtureBytes, fixturesPresent } from '../golden/fixtures.ts';
import { wholeSighting } from '../ingest/sightings.ts';
import { RealMachine } from '../simnet/support/real-machine.ts';
import { BN } from '../support/chain/bn.ts';
import { completed } from '../support/events/decoded.ts';
import { fuzzCases } from '../support/fuzz.ts';

/** The real program runs our trades on random curves. Quote, event and accounts must agree with it, and the SDK too, to the unit. */
const binary = join(process.env['PROGRAMS_DIR'] ?? '', `${programId}.so`);
const isPresent = fixturesPresent && process.env['PROGRAMS_DIR'] !== undefined && existsSync(binary);

const trader = generateKeypair(new Uint8Array(32).fill(7));
const [configAddress, coin, money, baseVault, quoteVault] = [21, 22, 23, 24, 25].map((fill) =>
  encodeBase58(new Uint8Array(32).fill(fill)),
) as [string, string, string, string, string];
const poolAddress = poolOf(configAddress, coin, money);
const owned = { coin: tokenAddress(trader.publicKey, coin, tokenProgram), money: tokenAddress(trader.publicKey, money, tokenProgram) };
const rich = 10n ** 18n;
const now = { slot: 1_000, unixTimeS: 1_791_000_000 };

const big = (min: bigint, max: bigint): fc.Arbitrary<bigint> => fc.bigInt({ min, max });
const fees = fc.oneof(
  fc.record({ mode: fc.constant(0), first: fc.nat(200), second: big(0n, 20n), third: big(0n, 12_000n) }),
  fc.record({ mode: fc.constant(1), first: fc.nat(200), second: big(0n, 20n), third: big(1n, 2_000n) }),
  fc.record({ mode: fc.constant(2), first: fc.integer({ min: 1, max: 2_000 }), second: big(1n, 900n), third: big(10n ** 6n, 10n ** 10n) }),
);
const setups = fc.record({
  start: big(1n << 54n, 1n << 60n),
  /** How far each price is above the one before, in thousandths of it, and the liquidity up to there. */
  pieces: fc.array(fc.tuple(big(1n, 4_000n), big(1n << 98n, 1n << 110n)), { minLength: 1, maxLength: 16 }),
  /** Where the curve ends within its last piece, and where its price is, in thousandths. */
  ends: big(1n, 1_000n),
  place: big(0n, 999n),
  cliff: big(2_500_000n, 900_000_000n),
  fees,
  dynamic: fc.record({ on: fc.nat(1), control: fc.nat(100_000), binStep: fc.constant(1), volatility: big(0n, 14_460_000n) }),
  collectFeeMode: fc.nat(1),
  creatorShare: fc.nat(100),
  bySlot: fc.boolean(),
  passed: fc.nat(999),
});
type Setup = typeof setups extends fc.Arbitrary<infer T> ? T : never;
const trades = fc.record({
  exact: fc.constantFrom('quoteIn', 'baseIn', 'baseOut'),
  /** Millionths of what the curve still takes or has. */
  share: fc.integer({ min: 1, max: 1_300_000 }),
});

function writeU128(data: Buffer, value: bigint, offset: number): void {
  data.writeBigUInt64LE(value & ((1n << 64n) - 1n), offset);
  data.writeBigUInt64LE(value >> 64n, offset + 8);
}

class World {
  readonly machine = new RealMachine([trader], 10n ** 12n);

  constructor(setup: Setup) {
    const { machine } = this;
    machine.addProgram(programId, readFileSync(binary));
    machine.setTime(BigInt(now.unixTimeS));
    const [config, pool] = ['fee_in_quote_config', 'fee_in_quote_pool'].map((name) => fixtureBytes(`accounts/meteora-dbc/${name}.bin`)) as [
      Buffer,
      Buffer,
    ];
    this.#curve(config, pool, setup);
    const { cliff, fees: fee, dynamic, collectFeeMode, creatorShare, bySlot, passed } = setup;
    config.set(addressBytes(money), configAt.quoteMint);
    config.writeBigUInt64LE(cliff, configAt.cliff);
    config.writeBigUInt64LE(fee.second, configAt.secondFactor);
    config.writeBigUInt64LE(fee.third, configAt.thirdFactor);
    config.writeUInt16LE(fee.first, configAt.firstFactor);
    config[configAt.baseFeeMode] = fee.mode;
    config[configAt.hasDynamicFee] = dynamic.on;
    config.writeUInt32LE(14_460_000, 144);
    config.writeUInt32LE(dynamic.control, configAt.variableFeeControl);
    config.writeUInt16LE(dynamic.binStep, configAt.binStep);
    config.set([10, 0, 120, 0, 136, 19], 154);
    writeU128(config, 1_844_674_407_370_955n, 168);
    config[configAt.collectFeeMode] = fee.mode === 2 ? 0 : collectFeeMode;
    config[configAt.activationType] = bySlot ? 0 : 1;
    config[configAt.creatorShare] = creatorShare;
    pool.set(addressBytes(configAddress), poolAt.config);
    for (const [address, offset] of [
      [coin, poolAt.baseMint],
      [baseVault, poolAt.baseVault],
      [quoteVault, poolAt.quoteVault],
    ] as const)
      pool.set(addressBytes(address), offset);
    pool.writeBigUInt64LE(BigInt((bySlot ? now.slot : now.unixTimeS) - passed), poolAt.activationPoint);
    writeU128(pool, dynamic.volatility, poolAt.volatilityAccumulator);
    machine.put(configAddress, { lamports: 10n ** 9n, owner: programId, data: config });
    machine.put(poolAddress, { lamports: 10n ** 9n, owner: programId, data: pool });
    for (const [mint, vault, account] of [
      [coin, baseVault, owned.coin],
      [money, quoteVault, owned.money],
    ] as const) {
      const data = Buffer.alloc(82);
      data.writeBigUInt64LE(4n * rich, 36);
      data.set([6, 1], 44);
      machine.put(mint, { lamports: 10n ** 9n, owner: tokenProgram, data });
      machine.put(vault, this.#tokens(mint, poolAuthority));
      machine.put(account, this.#tokens(mint, trader.publicKey));
    }
  }

  #curve(config: Buffer, pool: Buffer, { start, pieces, ends, place }: Setup): void {
    config.fill(0, configAt.curve);
    writeU128(config, start, configAt.startPrice);
    const prices = [start];
    for (const [index, [rise, liquidity]] of pieces.entries()) {
      prices.push(prices[index]! + (prices[index]! * rise) / 1_000n + 1n);
      writeU128(config, prices[index + 1]!, configAt.curve + 32 * index);
      writeU128(config, liquidity, configAt.curve + 32 * index + 16);
    }
    const [last, top] = prices.slice(-2) as [bigint, bigint];
    const end = last + ((top - last) * ends + 999n) / 1_000n;
    const price = start + ((end - start) * place) / 1_000n;
    const quoteTo = (to: bigint): bigint =>
      pieces.reduce((sum, [, liquidity], index) => {
        const upper = to < prices[index + 1]! ? to : prices[index + 1]!;
        return upper <= prices[index]! ? sum : sum + ((liquidity * (upper - prices[index]!)) >> 128n);
      }, 0n);
    writeU128(config, end, configAt.migrationPrice);
    config.writeBigUInt64LE(quoteTo(end) || 1n, configAt.threshold);
    writeU128(pool, price, poolAt.sqrtPrice);
    pool.writeBigUInt64LE(rich, 232);
    pool.writeBigUInt64LE(quoteTo(price), poolAt.quoteReserve);
  }

  #tokens(mint: string, owner: string): { lamports: bigint; owner: string; data: Buffer } {
    const data = Buffer.alloc(165);
    data.set(addressBytes(mint), 0);
    data.set(addressBytes(owner), 32);
    data.writeBigUInt64LE(rich, 64);
    data[108] = 1;
    return { lamports: 10n ** 9n, owner: tokenProgram, data };
  }

  balance(address: string): bigint {
    const { owner, data } = this.machine.account(address)!;
    return decodeTokenAccount(owner, data)!.amount;
  }

  open(): QuotedPool {
    const mint: QuotedMint = { address: coin, decimals: 6, supply: rich, transferFee: null };
    const opened = meteoraDbc.quoting!.open(
      mint,
      [poolAddress, configAddress],
      (address) => this.machine.account(address),
      () => null,
    );
    if (opened.kind !== 'open') throw new Error(JSON.stringify(opened));
    return opened.pool;
  }

  account(): CurveAccount {
    const decoded = meteoraDbc.decodeAccount(this.machine.account(poolAddress)!.data, () => this.machine.account(configAddress)!.data);
    if (decoded.kind !== 'decoded' || decoded.account.type !== 'curve') throw new Error(JSON.stringify(decoded));
    return decoded.account;
  }

  /** Runs our order for a quoted trade. Null if the program refuses it. */
  trade(pool: QuotedPool, trade: QuotedTrade, quote: Quote) {
    const before = [this.balance(owned.money), this.balance(owned.coin)] as const;
    const accounts = { baseTokenProgram: tokenProgram, quoteTokenProgram: tokenProgram, baseAccountBytes: 165, quoteAccountBytes: 165 };
    const order = { user: trader.publicKey, trade, quote, ...slippageBounds(trade, quote, 0n), ...accounts, recipient: 0 };
    const built = pool.build({ ...order, wrappedSol: () => '' });
    const result = this.machine.run([built.instruction], [trader]);
    if (result.failed) return { error: result.error };
    const decoder = new Decoder([meteoraDbc], (fault) => {
      throw new Error(`${fault.kind}: ${fault.detail}`);
    });
    const reading = decoder.read(wholeSighting(result.answer));
    if (reading.kind !== 'read') throw new Error(reading.kind);
    const events: readonly VenueEvent[] = reading.transaction.events.map(({ event }) => event);
    const spent = [before[0] - this.balance(owned.money), before[1] - this.balance(owned.coin)] as const;
    return { events, spent, units: result.units, allowed: built.computeUnits };
  }
}

const { coder } = createDbcProgram(new Connection('http://127.0.0.1:1')).program;

/** The quote of the SDK: what the trader pays and receives; null if it throws. */
function sdkQuote(world: World, { exact, amount }: QuotedTrade, { bySlot }: Setup): readonly [bigint, bigint] | null {
  const pool = coder.accounts.decode<VirtualPool>('virtualPool', world.machine.account(poolAddress)!.data);
  const config = coder.accounts.decode<PoolConfig>('poolConfig', world.machine.account(configAddress)!.data);
  const quote = exact === 'quoteIn' ? swapQuotePartialFill : exact === 'baseIn' ? swapQuoteExactIn : swapQuoteExactOut;
  const point = new BN(bySlot ? now.slot : now.unixTimeS);
  try {
    const amounts: unknown = quote(pool, config, exact === 'baseIn', new BN(`${amount}`), 0, false, point, false);
    const { includedFeeInputAmount, outputAmount } = amounts as Readonly<Record<string, InstanceType<typeof BN>>>;
    return [BigInt(includedFeeInputAmount!.toString()), BigInt(outputAmount!.toString())];
  } catch (error) {
    if (!/Liquidity|liquidity|completed|zero/.test(String(error))) throw error;
    return null;
  }
}

const sums = (list: Quote['fees']): Record<string, bigint> =>
  Object.fromEntries(list.map(({ kind, coin: of, amount }) => [`${kind} ${of}`, amount]));

it.skipIf(!isPresent)(
  `our orders fill as quoted by the real program, and its event and accounts say the same (${isPresent ? 'PROGRAMS_DIR' : 'SKIPPED: no program or no recordings'})`,
  () => {
    const seen = { traded: 0, refused: 0, exactOut: 0, cut: 0, completed: 0, limited: 0, onOutput: 0, crossed: 0 };
    fc.assert(
      fc.property(setups, fc.array(trades, { minLength: 1, maxLength: 4 }), (setup, list) => {
        const world = new World(setup);
        for (const { exact, share } of list) {
          const pool = world.open();
          const { realBase, realQuote } = pool.reserves!;
          const { goal } = world.account();
          const whole = exact === 'quoteIn' ? goal.to - realQuote : exact === 'baseOut' ? realBase : (realQuote << 128n) / (1n << 128n);
          const trade: QuotedTrade = { exact, amount: (whole * BigInt(share)) / 1_000_000n };
          if (trade.amount <= 0n) continue;
          const outcome = pool.quote(trade, now);
          const sdk = sdkQuote(world, trade, setup);
          if (!outcome.ok) {
            expect([outcome.fault, sdk === null || sdk[0] > rich || sdk.includes(0n) || pool.complete]).toEqual([outcome.fault, true]);
            seen.refused++;
            continue;
          }
          const { quote } = outcome;
          const isBuy = quote.side === 'buy';
          const [paid, received] = isBuy ? [quote.traderQuote, quote.baseAmount] : [quote.baseAmount, quote.traderQuote];
          if (paid > rich) continue;
          expect(sdk).toEqual([paid, received]);
          const run = world.trade(pool, trade, quote);
          if (run.error !== undefined) throw new Error(run.error);
          expect(run.units).toBeLessThan(run.allowed);
          expect(run.spent).toEqual(isBuy ? [paid, -received] : [-received, paid]);
          const [event, then] = run.events;
          if (event?.type !== 'trade') throw new Error('A swap emits one trade.');
          expect([then?.type, run.events.length]).toEqual(quote.completes ? ['completed', 2] : [undefined, 1]);
          const done = completed(meteoraDbc, event, world.machine.account(configAddress)!.data);
          expect([done.trader, done.pool, done.side, done.pair]).toEqual([
            trader.publicKey,
            poolAddress,
            quote.side,
            { baseMint: coin, quoteMint: money },
          ]);
          expect(sums(done.fees)).toEqual(sums(quote.fees));
          expect([done.quoteAmount, done.feeTotal]).toEqual([quote.quoteAmount, quote.feeTotal]);
          const account = world.account();
          expect(done.reserves).toEqual(account.reserves);
          expect(quote.after).toEqual(account.reserves);
          const again = world.open();
          expect(again.complete).toBe(quote.completes);
          seen.traded++;
          if (exact === 'baseOut') seen.exactOut++;
          if (quote.cut) seen.cut++;
          if (quote.completes) seen.completed++;
          if (setup.fees.mode === 2 && isBuy) seen.limited++;
          if (isBuy && quote.fees.some(({ coin: of }) => of === 'base')) seen.onOutput++;
          // The liquidity is another one afterwards.
          const liquidity = ({ virtualBase, virtualQuote }: PoolReserves): number => Number(virtualBase) * Number(virtualQuote);
          if (Math.abs(liquidity(quote.before!) / liquidity(quote.after!) - 1) > 0.01) seen.crossed++;
          if (quote.completes) break;
        }
      }),
      { seed: 20261128, numRuns: fuzzCases(1_200) },
    );
    for (const [name, number] of Object.entries(seen)) expect(number, name).toBeGreaterThan(3);
  },
  120_000,
);
