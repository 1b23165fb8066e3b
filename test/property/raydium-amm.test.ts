import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { generateKeypair } from '@sluice/shared/solana/addresses/keypair.ts';
import { addressBytes, findProgramAddress } from '@sluice/shared/solana/addresses/pda.ts';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { decodeTokenAccount } from '@sluice/shared/solana/tokens/token-account.ts';
import { readLogs } from '@sluice/shared/solana/transaction/logs.ts';
import { tokenProgram, usdcMint, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { reservesOfVaults } from '@sluice/venues/kit/constant-product.ts';
import type { QuotedMint, QuotedPool, QuotedTrade } from '@sluice/venues/seam/quoting.ts';
import type { LiquidityChanged, VenueEvent, VenueTrade } from '@sluice/venues/seam/venue.ts';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { raydiumAmm } from '../../venues/src/raydium/amm/index.ts';
import { pool as poolFields, poolLength } from '../../venues/src/raydium/amm/layout.ts';
import { authority, logPrefix, programId } from '../../venues/src/raydium/amm/program.ts';
import { RealMachine } from '../simnet/support/real-machine.ts';
import { mintData, tokenAccountData } from '../simnet/layout/token-state.ts';
import { completed } from '../support/events/decoded.ts';
import { fuzzCases, mutated } from '../support/fuzz.ts';

/** The real program runs random swaps, deposits and withdrawals on random pools. Quote, event and accounts must agree with it, to the unit. */
const binary = join(process.env['PROGRAMS_DIR'] ?? '', `${programId}.so`);
const isPresent = process.env['PROGRAMS_DIR'] !== undefined && existsSync(binary);

const keyOf = (fill: number): string => encodeBase58(new Uint8Array(32).fill(fill));
const [poolAddress, targets, lpMint, ownLp] = [keyOf(1), keyOf(2), keyOf(3), keyOf(4)];
const [coinVault, pcVault, ownCoin, ownPc] = [keyOf(5), keyOf(6), keyOf(7), keyOf(8)];
const [mints, vaults, owned] = [
  [wrappedSolMint, usdcMint],
  [coinVault, pcVault],
  [ownCoin, ownPc],
] as const;
const trader = generateKeypair(new Uint8Array(32).fill(7));
const rich = 10n ** 18n;
const lpSupply = 10n ** 12n;
const at = { slot: 1_000, unixTimeS: 1_791_000_000 };

interface Setup {
  readonly held: readonly [bigint, bigint];
  readonly profit: readonly [bigint, bigint];
  readonly fee: readonly [bigint, bigint];
  readonly status: bigint;
}

function poolBytes({ profit, fee, status }: Setup): Buffer {
  const data = Buffer.alloc(poolLength);
  const { address, bump } = findProgramAddress([Buffer.from('amm authority')], programId);
  expect(address).toBe(authority);
  const numbers = [
    [poolFields.status, status],
    [8, BigInt(bump)],
    [32, 9n],
    [40, 6n],
    [120, 10n ** 9n],
    [160, 12n],
    [168, 100n],
    [poolFields.swapFeeNumerator, fee[0]],
    [poolFields.swapFeeDenominator, fee[1]],
    [poolFields.coinProfit, profit[0]],
    [poolFields.pcProfit, profit[1]],
    [poolFields.openTime, BigInt(at.unixTimeS) - 5n],
    [720, lpSupply],
  ] as const;
  for (const [from, value] of numbers) data.writeBigUInt64LE(value, from);
  const keys = [
    [poolFields.coinVault, coinVault],
    [poolFields.pcVault, pcVault],
    [poolFields.coinMint, mints[0]],
    [poolFields.pcMint, mints[1]],
    [464, lpMint],
    [592, targets],
  ] as const;
  for (const [from, key] of keys) data.set(addressBytes(key), from);
  return data;
}

const amount = (from: number, to: number): fc.Arbitrary<bigint> =>
  fc.integer({ min: from, max: to }).chain((bits) => fc.bigInt({ min: 1n << BigInt(bits - 1), max: (1n << BigInt(bits)) - 1n }));
const setups: fc.Arbitrary<Setup> = fc.record({
  held: fc.tuple(amount(20, 55), amount(20, 55)),
  profit: fc.tuple(fc.bigInt({ min: 0n, max: 100_000n }), fc.bigInt({ min: 0n, max: 100_000n })),
  fee: fc.constantFrom([25n, 10_000n] as const, [25n, 10_000n] as const, [3n, 1_000n] as const, [100n, 10_000n] as const),
  status: fc.constantFrom(6n, 6n, 7n, 4n),
});
/** A share of what the pool holds, in millionths. */
const trades = fc.record({
  exact: fc.constantFrom('quoteIn', 'baseIn', 'baseOut'),
  share: fc.integer({ min: 1, max: 1_050_000 }),
  tokenIsCoin: fc.boolean(),
});

const tokenAccount = (mint: string, owner: string, held: bigint): { lamports: bigint; owner: string; data: Uint8Array } => ({
  lamports: 10n ** 9n + (mint === wrappedSolMint ? held : 0n),
  owner: tokenProgram,
  data: tokenAccountData(mint, owner, held),
});

class World {
  readonly machine = new RealMachine([trader], 10n ** 12n);

  constructor(setup: Setup) {
    const { machine } = this;
    machine.addProgram(programId, readFileSync(binary));
    machine.setTime(BigInt(at.unixTimeS));
    machine.put(poolAddress, { lamports: 10n ** 9n, owner: programId, data: poolBytes(setup) });
    const target = Buffer.alloc(2208);
    target.set(addressBytes(poolAddress));
    machine.put(targets, { lamports: 10n ** 9n, owner: programId, data: target });
    machine.put(lpMint, { lamports: 10n ** 9n, owner: tokenProgram, data: mintData(9, lpSupply, authority) });
    machine.put(usdcMint, { lamports: 10n ** 9n, owner: tokenProgram, data: mintData(6, 10n ** 19n, null) });
    machine.put(ownLp, tokenAccount(lpMint, trader.publicKey, lpSupply / 2n));
    for (const side of [0, 1] as const) {
      machine.put(vaults[side], tokenAccount(mints[side], authority, setup.held[side] + 200_000n));
      machine.put(owned[side], tokenAccount(mints[side], trader.publicKey, rich));
    }
  }

  balance(address: string): bigint {
    const { owner, data } = this.machine.account(address)!;
    return decodeTokenAccount(owner, data)!.amount;
  }

  get balances(): readonly bigint[] {
    return [...owned, ...vaults, ownLp].map((address) => this.balance(address));
  }

  open(tokenIsCoin: boolean): QuotedPool {
    const mintOf = (address: string): QuotedMint => ({ address, decimals: 6, supply: rich, transferFee: null });
    const read = (addresses: readonly [string, ...string[]]): ReturnType<NonNullable<typeof raydiumAmm.quoting>['open']> =>
      raydiumAmm.quoting!.open(mintOf(mints[tokenIsCoin ? 0 : 1]), addresses, (address) => this.machine.account(address), mintOf);
    const first = read([poolAddress]);
    if (first.kind !== 'more') throw new Error(first.kind);
    const opened = read([poolAddress, ...first.addresses]);
    if (opened.kind !== 'open') throw new Error(JSON.stringify(opened));
    return opened.pool;
  }

  /** Runs an instruction; null if the program refuses it. */
  run(data: Buffer, accounts: readonly string[]): VenueEvent | null {
    const metas = accounts.map((address) => ({ address, signer: address === trader.publicKey, writable: address !== tokenProgram }));
    const result = this.machine.run([{ programId, accounts: metas, data }], [trader]);
    if (result.failed) return null;
    const events: VenueEvent[] = [];
    const emitting = { programId, accounts, data, inner: [], at: -1 };
    const tokenBalances = [0, 1].map((side) => ({
      account: vaults[side]!,
      mint: mints[side]!,
      decimals: 6,
      owner: authority,
      before: 0n,
      after: 0n,
    }));
    const onText = (_program: string, _path: string, text: string): void => {
      const shown = { record: 'text', data: new Uint8Array(0), text, feePayer: null, tokenBalances } as const;
      expect(raydiumAmm.decode({ ...shown, instruction: () => null }, () => undefined).kind).toBe('incomplete');
      expect(raydiumAmm.decode({ ...shown, instruction: () => emitting }, (event) => events.push(event)).kind).toBe('decoded');
    };
    readLogs(
      result.logs,
      () => undefined,
      () => false,
      { onText, textPrefix: () => logPrefix },
    );
    expect(events).toHaveLength(1);
    return events[0]!;
  }

  swap(trade: QuotedTrade, tokenIsCoin: boolean): VenueTrade | null {
    const given = (trade.exact === 'baseIn') === tokenIsCoin ? 0 : 1;
    const data = Buffer.alloc(17);
    const exactOut = trade.exact === 'baseOut';
    data[0] = exactOut ? 17 : 16;
    data.writeBigUInt64LE(exactOut ? rich : trade.amount, 1);
    data.writeBigUInt64LE(exactOut ? trade.amount : 0n, 9);
    const event = this.run(data, [
      tokenProgram,
      poolAddress,
      authority,
      ...vaults,
      owned[given],
      owned[given === 0 ? 1 : 0],
      trader.publicKey,
    ]);
    if (event !== null && event.type !== 'trade') throw new Error(event.type);
    return event?.needs === undefined ? event : completed(raydiumAmm, event, this.machine.account(poolAddress)!.data);
  }

  /** The pool's reserves, from its account and its vaults. */
  get reserves(): readonly [bigint, bigint] {
    const decoded = raydiumAmm.decodeAccount(this.machine.account(poolAddress)!.data);
    if (decoded.kind !== 'decoded' || decoded.account.type !== 'pool') throw new Error(decoded.kind);
    const { virtualBase, virtualQuote } = reservesOfVaults(decoded.account, this.balance(coinVault), this.balance(pcVault));
    return [virtualBase, virtualQuote];
  }
}

/** What the trader paid and received, by the rule for all events. */
function moved({ side, baseAmount, quoteAmount, fees }: VenueTrade): readonly [bigint, bigint] {
  const fee = fees.reduce((sum, one) => sum + one.amount, 0n);
  return side === 'sell' ? [baseAmount + fee, quoteAmount] : [quoteAmount + fee, baseAmount];
}

const title = isPresent ? 'PROGRAMS_DIR' : 'SKIPPED: no program';

it.skipIf(!isPresent)(
  `the real program trades as quoted, and its event and accounts say the same (${title})`,
  () => {
    const seen = { traded: 0, refused: 0, exactOut: 0, otherFee: 0 };
    fc.assert(
      fc.property(setups, fc.array(trades, { minLength: 1, maxLength: 4 }), (setup, list) => {
        const world = new World(setup);
        for (const { exact, share, tokenIsCoin } of list) {
          const pool = world.open(tokenIsCoin);
          const { virtualBase, virtualQuote } = pool.reserves!;
          const trade = { exact, amount: ((exact === 'quoteIn' ? virtualQuote : virtualBase) * BigInt(share)) / 1_000_000n } as const;
          const outcome = pool.quote(trade, at);
          if (trade.amount === 0n || (outcome.ok && outcome.quote.traderQuote > rich)) continue;
          const [coinBefore, pcBefore] = world.balances;
          const event = world.swap(trade, tokenIsCoin);
          if (!outcome.ok || event === null) {
            expect([outcome.ok, event]).toEqual([false, null]);
            seen.refused++;
            continue;
          }
          const { quote } = outcome;
          const isBuy = quote.side === 'buy';
          const [coin, pc] = [world.balance(ownCoin) - coinBefore!, world.balance(ownPc) - pcBefore!];
          const [base, money] = tokenIsCoin ? [coin, pc] : [pc, coin];
          expect(isBuy ? [-money, base] : [-base, money]).toEqual(
            isBuy ? [quote.traderQuote, quote.baseAmount] : [quote.baseAmount, quote.traderQuote],
          );
          expect(moved(event)).toEqual(event.side === 'sell' ? [-coin, pc] : [-pc, coin]);
          expect(event).toMatchObject({ trader: trader.publicKey, pair: { baseMint: mints[0], quoteMint: mints[1] } });
          expect([event.priceBase, event.priceQuote]).toEqual(world.reserves);
          const { after, fees } = quote;
          expect(tokenIsCoin ? [after!.virtualBase, after!.virtualQuote] : [after!.virtualQuote, after!.virtualBase]).toEqual(
            world.reserves,
          );
          expect(fees.map((fee) => fee.amount)).toEqual(event.fees.map((fee) => fee.amount));
          seen.traded++;
          if (exact === 'baseOut') seen.exactOut++;
          if (setup.fee[0] * 10_000n !== setup.fee[1] * 25n) seen.otherFee++;
        }
      }),
      { seed: 20261128, numRuns: fuzzCases(1_000) },
    );
    for (const [name, number] of Object.entries(seen)) expect(number, name).toBeGreaterThan(3);
  },
  120_000,
);

it.skipIf(!isPresent)(
  `the real program takes and returns liquidity as its events say (${title})`,
  () => {
    let [added, removed] = [0, 0];
    const change = fc.record({ isDeposit: fc.boolean(), share: fc.integer({ min: 1, max: 400_000 }) });
    fc.assert(
      fc.property(setups, fc.array(change, { minLength: 1, maxLength: 4 }), (setup, list) => {
        const world = new World({ ...setup, status: 6n });
        for (const { isDeposit, share } of list) {
          const before = world.balances;
          const data = Buffer.alloc(isDeposit ? 25 : 9);
          data[0] = isDeposit ? 3 : 4;
          data.writeBigUInt64LE(((isDeposit ? before[2]! : before[4]!) * BigInt(share)) / 1_000_000n, 1);
          if (isDeposit) data.writeBigUInt64LE(rich, 9);
          // With accounts of an order book, which a pool without one does not read.
          const none = keyOf(99);
          const shared = [tokenProgram, poolAddress, authority, none, targets, lpMint, ...vaults];
          const accounts = isDeposit
            ? [...shared, none, ...owned, ownLp, trader.publicKey, none]
            : [...shared, ...Array.from({ length: 5 }, () => none), ownLp, ...owned, trader.publicKey, none, none, none];
          const event = world.run(data, accounts) as LiquidityChanged | null;
          if (event === null) continue;
          const after = world.balances;
          const sign = isDeposit ? 1n : -1n;
          expect(event).toMatchObject({
            type: isDeposit ? 'liquidityAdded' : 'liquidityRemoved',
            pool: poolAddress,
            provider: trader.publicKey,
            baseAmount: sign * (after[2]! - before[2]!),
            quoteAmount: sign * (after[3]! - before[3]!),
            lpAmount: sign * (after[4]! - before[4]!),
          });
          expect([event.left!.base, event.left!.quote]).toEqual(world.reserves);
          if (isDeposit) added++;
          else removed++;
        }
      }),
      { seed: 20261128, numRuns: fuzzCases(300) },
    );
    expect([added > 10, removed > 10]).toEqual([true, true]);
  },
  120_000,
);

it('any text of an event gives a sound event, or a verdict', () => {
  const samples = ([0, 1, 2, 3, 4] as const).map((kind) => {
    const data = Buffer.alloc([75, 105, 89, 57, 57][kind]!);
    for (let from = 1; from + 8 <= data.length; from += 8) data.writeBigUInt64LE(BigInt(1_000 + from), from);
    data[0] = kind;
    if (kind > 2) data.writeBigUInt64LE(2n, 17);
    return data;
  });
  const tags = [16, 17, 9, 11, 3, 4, 1, 200];
  const kinds = { decoded: 0, malformed: 0, unknown: 0, incomplete: 0, ignored: 0 };
  fc.assert(
    fc.property(
      fc.oneof(...samples.map(mutated), fc.uint8Array()),
      fc.nat(24),
      fc.constantFrom(...tags),
      fc.boolean(),
      (data, length, tag, isWhole) => {
        const accounts = Array.from({ length: tag > 15 ? 8 : length }, (_, index) => keyOf(index + 1));
        const emitting = { programId, accounts, data: Uint8Array.of(tag), inner: [], at: -1 };
        const text = `${logPrefix}${isWhole ? Buffer.from(data).toString('base64') : String.fromCharCode(...data)}`;
        for (const instruction of [(): null => null, (): typeof emitting => emitting]) {
          const context = { record: 'text', data: new Uint8Array(0), text, instruction, feePayer: null, tokenBalances: null } as const;
          const outcome = raydiumAmm.decode(context, (event) => {
            if (event.type === 'trade') expect([...moved(event), event.priceBase, event.priceQuote].every((sum) => sum >= 0n)).toBe(true);
          });
          kinds[outcome.kind]++;
        }
      },
    ),
    { seed: 1, numRuns: fuzzCases(20_000) },
  );
  for (const kind of ['decoded', 'malformed', 'unknown', 'incomplete'] as const) expect(kinds[kind], kind).toBeGreaterThan(10);
});

it('any bytes of a pool give its account, or a verdict', () => {
  const sample = poolBytes({ held: [1n, 1n], profit: [5n, 6n], fee: [25n, 10_000n], status: 6n });
  expect(raydiumAmm.decodeAccount(Buffer.concat([sample, Buffer.alloc(8)]))).toEqual(raydiumAmm.decodeAccount(sample));
  const kinds: Record<string, number> = {};
  fc.assert(
    fc.property(fc.oneof(mutated(sample), fc.uint8Array()), (data) => {
      const { kind } = raydiumAmm.decodeAccount(data);
      raydiumAmm.constantsOf!(data, () => null, '');
      kinds[kind] = (kinds[kind] ?? 0) + 1;
    }),
    { seed: 1, numRuns: fuzzCases(20_000) },
  );
  expect([kinds['decoded']! > 100, kinds['malformed']! > 100]).toEqual([true, true]);
  for (const length of [2208, 544]) expect(raydiumAmm.decodeAccount(new Uint8Array(length)).kind).toBe('ignored');
});
