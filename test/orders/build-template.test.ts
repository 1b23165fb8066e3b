import {
  createMessageBuilder,
  maxMessageBytes,
  maxTemplates,
  type BuildRequest,
  type BuiltMessage,
} from '../../trading/src/prepare/message-builder.ts';
import { priceIndex, surround } from '../../trading/src/prepare/surround.ts';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { associatedTokenAddress } from '@sluice/shared/solana/addresses/pda.ts';
import { computeUnitPrice } from '@sluice/shared/solana/transaction/instructions.ts';
import { temporarySol } from '@sluice/shared/solana/transaction/temporary-sol.ts';
import { assembleTransaction, compileMessage, decodeTransaction } from '@sluice/shared/solana/transaction/transaction.ts';
import { tokenProgram, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import type { QuotedPool } from '@sluice/venues/seam/quoting.ts';
import { VersionedMessage } from '@solana/web3.js';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { coin, openCurve, openPool, orderOf, type Coin } from './coins.ts';

const seed = 20261121;
const text = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => encodeBase58(bytes));
const u64 = fc.bigInt({ min: 0n, max: (1n << 64n) - 1n });

/** What differs between orders besides the coin. */
const around = fc.record({
  isCurve: fc.boolean(),
  baseAccountExists: fc.constantFrom(true, false, null),
  wrappingRent: fc.bigInt({ min: 1_000_000n, max: 3_000_000n }),
  computeUnitLimit: fc.option(fc.integer({ min: 1, max: 1_400_000 })),
  microLamportsPerUnit: u64,
  requestedTips: fc.array(fc.record({ accounts: fc.tuple(text), lamports: u64 }), { maxLength: 1 }),
  wrappedSolExists: fc.constantFrom(true, false, null),
  blockhash: text,
  amount: fc.bigInt({ min: 1_000_000n, max: 400_000_000n }),
});
type Around = typeof around extends fc.Arbitrary<infer T> ? T : never;

function requestOf(one: Coin, { isCurve, amount, ...parts }: Around): BuildRequest {
  const { pool } = isCurve ? openCurve(one) : openPool(one);
  return { pool, order: orderOf(one, pool, { exact: one.exact, amount }), ...parts };
}

const solSeed = 'abcd';
const builderOf = () => createMessageBuilder(0, () => solSeed);

/** The built message without a template. */
function plainMessage(request: BuildRequest, { tips, trade }: BuiltMessage, recipient: number): Uint8Array {
  const { pool, order, blockhash, microLamportsPerUnit } = request;
  const associated = associatedTokenAddress(order.user, wrappedSolMint, tokenProgram);
  const wrapping = trade.quoteAccount === associated ? 'associated' : () => temporarySol(order.user, solSeed);
  const wrappedSol = (): string => (wrapping === 'associated' ? associated : wrapping().address);
  const { instructions } = surround(order, pool.build({ ...order, recipient, wrappedSol }), { ...request, wrapping, tips });
  instructions[priceIndex] = computeUnitPrice(microLamportsPerUnit as bigint);
  return compileMessage({ version: 0, feePayer: order.user, recentBlockhash: blockhash, instructions });
}

test(
  'filled and compiled messages are the same, byte for byte, for all combinations of parts that change between orders',
  { timeout: 60_000 },
  () => {
    const builder = builderOf();
    let recipient = 0;
    let largest = 0;
    fc.assert(
      // The same coin with a few different orders, and again after its creator and flags have changed.
      fc.property(
        fc.array(coin, { minLength: 1, maxLength: 2 }),
        coin,
        fc.array(around, { minLength: 1, maxLength: 4 }),
        (coins, changed, all) => {
          const { creator, mayhem, cashback } = changed;
          for (const one of [...coins, ...coins.map((same) => ({ ...same, creator, mayhem, cashback }))]) {
            for (const parts of [...all, ...all.map((again) => ({ ...again, amount: again.amount + 1n, blockhash: changed.mint }))]) {
              for (let turn = 0; turn < 9; turn++) {
                const request = requestOf(one, parts);
                const built = builder.build(request);
                expect(Buffer.from(built.message).equals(plainMessage(request, built, recipient++))).toBe(true);
                largest = Math.max(largest, built.message.length);
              }
            }
          }
        },
      ),
      { seed, numRuns: 15 },
    );
    expect(builder.counters.filled).toBeGreaterThan(500);
    expect(builder.counters.compiled).toBeGreaterThan(30);
    expect(largest).toBeGreaterThan(1_000);
  },
);

function sample(): { readonly one: Coin; readonly parts: Around } {
  const [one] = fc.sample(coin, { seed, numRuns: 1 });
  const [parts] = fc.sample(around, { seed, numRuns: 1 });
  return { one: { ...one!, quoteMint: wrappedSolMint, exact: 'quoteIn' }, parts: { ...parts!, isCurve: true } };
}

test('a message is v0 with one signer, and the fee is requested for the accounts that it locks', () => {
  const { one, parts } = sample();
  const requestedTips = [{ accounts: [one.mint] as [string], lamports: 5n }];
  const asked: unknown[] = [];
  const built = createMessageBuilder().build({
    ...requestOf(one, { ...parts, requestedTips, computeUnitLimit: null }),
    microLamportsPerUnit: (known) => {
      asked.push(known);
      return 777n;
    },
  });
  expect(asked).toEqual([{ computeUnitLimit: built.computeUnitLimit, writableAccounts: built.writableAccounts }]);
  expect(built.microLamportsPerUnit).toBe(777n);
  const decoded = decodeTransaction(assembleTransaction(built.message, [new Uint8Array(64)]));
  if (decoded.kind === 'malformed') throw new Error(decoded.reason);
  expect(decoded).toMatchObject({ version: 0, header: { requiredSignatures: 1, readonlySigned: 0 }, recentBlockhash: parts.blockhash });
  expect(decoded.accountKeys[0]).toBe(one.user);
  const theirs = VersionedMessage.deserialize(built.message);
  const written = theirs.staticAccountKeys.filter((_, i) => theirs.isAccountWritable(i)).map(String);
  expect([...built.writableAccounts].toSorted()).toEqual(written.toSorted());
  const price = decoded.instructions[1]!.data;
  expect(Buffer.from(price).readBigUInt64LE(1)).toBe(777n);
});

test('the largest of all forms fits a transaction, and a larger one is refused', () => {
  const { one, parts } = sample();
  const whole = { ...parts, baseAccountExists: null, requestedTips: [] };
  let largest = 0;
  for (const quoteMint of [wrappedSolMint, one.mint]) {
    for (const exact of ['quoteIn', 'baseOut', 'baseIn'] as const) {
      for (const isCurve of [true, false]) {
        const kind: Coin = { ...one, quoteMint, exact, cashback: true, creator: one.mint, poolBytes: 261 };
        const built = createMessageBuilder().build(requestOf(kind, { ...whole, isCurve }));
        largest = Math.max(largest, built.message.length);
      }
    }
  }
  expect(largest).toBeLessThanOrEqual(maxMessageBytes);
  const request = requestOf(one, parts);
  const huge: QuotedPool = {
    ...request.pool,
    build: (order) => {
      const trade = request.pool.build(order);
      return { ...trade, instruction: { ...trade.instruction, data: new Uint8Array(400) } };
    },
  };
  expect(() => createMessageBuilder().build({ ...request, pool: huge })).toThrow(RangeError);
  expect(() => createMessageBuilder().build({ ...request, order: { ...request.order, user: 'nobody' } })).toThrow(TypeError);
  expect(() => createMessageBuilder().build({ ...request, microLamportsPerUnit: 1n << 64n })).toThrow(RangeError);
});

test('templates are bounded: the least recently used one is compiled again', () => {
  const { one, parts } = sample();
  const builder = createMessageBuilder();
  const { pool, ...request } = requestOf(one, parts);
  const buildAt = (address: string): unknown => builder.build({ ...request, pool: { ...pool, address } });
  for (let i = 0; i < maxTemplates; i++) buildAt(`pool ${i}`);
  expect(builder.counters).toEqual({ filled: 0, compiled: maxTemplates });
  buildAt('pool 0');
  expect(builder.counters).toEqual({ filled: 1, compiled: maxTemplates });
  buildAt('one more');
  buildAt('pool 0');
  expect(builder.counters).toEqual({ filled: 2, compiled: maxTemplates + 1 });
  buildAt('pool 1');
  expect(builder.counters).toEqual({ filled: 2, compiled: maxTemplates + 2 });
});

test('one template serves all fee recipients and tip accounts, unless keys coincide in another way', () => {
  const builder = builderOf();
  const { one, parts } = sample();
  const tips = Array.from({ length: 3 }, (_, i) => encodeBase58(new Uint8Array(32).fill(7 + i)));
  const request = requestOf(one, parts);
  const build = (to: string): void => {
    const asked = { ...request, requestedTips: [{ accounts: [to], lamports: 5n }] };
    const number = builder.counters.filled + builder.counters.compiled;
    const built = builder.build(asked);
    expect(Buffer.from(built.message).equals(plainMessage(asked, built, number))).toBe(true);
  };
  for (let turn = 0; turn < 24; turn++) build(tips[turn % tips.length]!);
  expect(builder.counters).toEqual({ filled: 23, compiled: 1 });
  // First a tip account that the message already contains, then another one.
  build(one.mint);
  expect(builder.counters).toEqual({ filled: 23, compiled: 2 });
  build(tips[0]!);
  expect(builder.counters).toEqual({ filled: 23, compiled: 3 });
  // The fee payer is never replaced.
  build(one.user);
  expect(builder.counters).toEqual({ filled: 23, compiled: 4 });
});
