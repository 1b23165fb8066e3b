import * as fc from 'fast-check';
import { Unpackr } from 'msgpackr';
import { describe, expect, it } from 'vitest';
import { encodeEvent } from '@sluice/shared/wire/codec.ts';
import type { StreamEvent } from '@sluice/shared/wire/events.ts';
import { addressOf, signatureOf } from './pump-frames.ts';
import { packValue } from '@sluice/shared/wire/msgpack.ts';
import { unpack } from '../support/msgpack.ts';
import { candleEvent, newTokenEvent, tradeEvent } from '../support/stream-events.ts';

const raw = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(String);
const number = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true, min: 0 }),
  fc.integer({ min: 0, max: 2 ** 32 }),
  fc.constantFrom(0, 127, 128, 255, 256, 65_535, 65_536, 2 ** 32 - 1, 2 ** 32, 1e-12),
);
const nullable = fc.option(number, { nil: null });
const address = fc.nat(50).map((n) => addressOf(`address ${n}`));
const fee = fc.record({ amount: raw, bps: fc.nat(20_000) });
const valuation = { priceQuote: nullable, priceSol: nullable, priceUsd: nullable, marketCapSol: nullable, marketCapUsd: nullable };
const reserves = fc.record({ virtualBase: raw, virtualQuote: raw, realBase: raw, realQuote: raw });
const simulated = fc.constantFrom({}, { simulated: true as const });
const micros = fc.integer({ min: 0, max: 2 ** 51 });

const common = {
  id: fc.nat(1000).map((n) => `${signatureOf(`signature ${n}`)}:3.${n}`),
  mint: address,
  quoteMint: address,
  pool: fc.constantFrom('pump' as const, 'pump-amm' as const),
  poolAddress: address,
  signature: fc.option(
    fc.nat(1000).map((n) => signatureOf(`signature ${n}`)),
    { nil: null },
  ),
  slot: fc.nat(2 ** 31),
  blockTime: fc.option(fc.integer(), { nil: null }),
  commitment: fc.constantFrom('processed' as const, 'confirmed' as const),
  ts: fc.record({ received: micros, published: micros }),
};

const trade = fc
  .tuple(
    fc.record({
      type: fc.constant('trade' as const),
      ...common,
      side: fc.constantFrom('buy' as const, 'sell' as const),
      trader: address,
      feePayer: fc.option(address, { nil: null }),
      baseAmount: raw,
      baseDecimals: fc.nat(18),
      quoteAmount: raw,
      quoteDecimals: fc.nat(18),
      tokenAmount: number,
      solAmount: nullable,
      quoteUiAmount: number,
      ...valuation,
      fees: fc.record({ protocol: fee, creator: fee, lp: fee, cashback: fee, holderRewards: fee, total: raw }),
      reserves,
    }),
    simulated,
    fc.constantFrom({}, { curveCompleted: true as const }),
  )
  .map(([event, ...extras]) => Object.assign(event, ...extras) as StreamEvent);

const price = fc
  .tuple(
    fc.record({
      type: fc.constant('price' as const),
      ...common,
      source: fc.constantFrom('trade' as const, 'account' as const),
      ...valuation,
      priceQuote: number,
      solUsd: fc.option(fc.record({ price: number, slot: fc.nat(), ageMs: fc.nat() }), { nil: null }),
      reserves,
    }),
    simulated,
  )
  .map(([event, extra]) => Object.assign(event, extra) as StreamEvent);

function expectBothForms(event: StreamEvent): void {
  const { json, msgpack } = encodeEvent(event);
  const expected: unknown = JSON.parse(JSON.stringify(event));
  expect(JSON.parse(Buffer.from(json).toString())).toStrictEqual(expected);
  expect(unpack(msgpack)).toStrictEqual(expected);
}

describe('encodeEvent', () => {
  it('gives JSON and MessagePack of the event, whatever was encoded before', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(trade, price), { minLength: 1, maxLength: 8 }), (events) => events.forEach(expectBothForms)),
      {
        numRuns: 500,
      },
    );
  });

  it('encodes an event anew after any of its fields changed', () => {
    fc.assert(
      fc.property(trade, trade, (first, second) => {
        encodeEvent(first);
        for (const key of Object.keys(second) as (keyof StreamEvent)[]) {
          Object.assign(first, { [key]: second[key] });
          expectBothForms(first);
        }
      }),
      { numRuns: 100 },
    );
  });

  it('keeps texts of any script in a creation', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'binary' }), (name, uri) => {
        const event = {
          type: 'newToken',
          id: 'x:0',
          name: Buffer.from(name).toString(),
          symbol: '"\\',
          uri: Buffer.from(uri).toString(),
        } as unknown as StreamEvent;
        expectBothForms(event);
      }),
    );
  });

  it('does not overwrite bytes that it gave out before', () => {
    const event = fc.sample(trade, { numRuns: 1, seed: 7 })[0]!;
    const first = encodeEvent(event);
    const before = Buffer.from(first.json).toString();
    for (const other of fc.sample(trade, { numRuns: 400, seed: 8 })) encodeEvent(other);
    expect(Buffer.from(first.json).toString()).toBe(before);
    expect(unpack(first.msgpack)).toStrictEqual(JSON.parse(before));
  });
});

describe('integers in MessagePack', () => {
  /** Tells an integer of 64 bits (a bigint) from a float. */
  const strict = new Unpackr({ useRecords: false, int64AsType: 'bigint' });
  const wholeOf = (event: StreamEvent): unknown => (strict.unpack(encodeEvent(event).msgpack) as { ts: unknown }).ts;
  const ts = { received: 1_795_000_000_123_456, published: 1_795_000_000_123_457 };

  it('are integers beyond 32 bits too, in every event', () => {
    const mint = addressOf('mint');
    const events = [tradeEvent(mint), candleEvent(mint), newTokenEvent(mint)].map((event) => ({ ...event, ts }));
    for (const event of [...events, ...fc.sample(price, 1).map((one) => ({ ...one, ts }))]) {
      expect(wholeOf(event)).toEqual({ received: 1_795_000_000_123_456n, published: 1_795_000_000_123_457n });
    }
  });

  it('and all that JSON carries are read as they were', () => {
    const integers = fc.oneof(
      fc.maxSafeInteger(),
      fc.integer(),
      fc.constantFrom(-1, -32, -33, -128, -129, -32_768, -32_769, -(2 ** 31), -(2 ** 31) - 1),
    );
    const leaf = fc.oneof(
      integers,
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.string({ unit: 'grapheme', maxLength: 300 }),
      fc.boolean(),
      fc.constant(null),
    );
    const value = fc.oneof(
      leaf,
      fc.array(leaf, { maxLength: 40 }),
      fc.dictionary(
        fc.string({ minLength: 1 }).filter((name) => name !== '__proto__'),
        leaf,
        { maxKeys: 40, noNullPrototype: true },
      ),
    );
    fc.assert(
      fc.property(fc.record({ value }, { noNullPrototype: true }), (one) => {
        expect(unpack(Buffer.from(packValue(one), 'latin1'))).toStrictEqual(one);
      }),
    );
    expect(packValue({ a: undefined, b: 'x'.repeat(70_000) }).slice(0, 8)).toBe('\x81\xa1b\xdb\x00\x01\x11\x70');
    expect(() => packValue({ a: 1n })).toThrow(TypeError);
  });
});
