import { EventView } from '@sluice/shared/codec/event-view.ts';
import * as fc from 'fast-check';
import { Unpackr } from 'msgpackr';
import { describe, expect, it } from 'vitest';
import { encodeEvent, encodeTrade } from '@sluice/shared/codec/encode-event.ts';
import { packValue } from '@sluice/shared/codec/msgpack.ts';
import { eventSchemas, PriceEvent, TradeEvent, type StreamEvent } from '@sluice/shared/wire/events/events.ts';
import { unpack } from '../support/clients/msgpack.ts';
import { ofSchema } from '../support/of-schema.ts';
import { candleEvent, newTokenEvent, tradeEvent } from '../support/events/stream-events.ts';
import { addressOf } from './pump-frames.ts';

const trade = ofSchema(TradeEvent) as fc.Arbitrary<TradeEvent>;
const price = ofSchema(PriceEvent) as fc.Arbitrary<PriceEvent>;

/** `packValue` and `JSON.stringify` write any value. The compiled writers must write the same bytes. */
function expectSameBytes(event: StreamEvent): void {
  const { json, msgpack } = new EventView(encodeEvent(event));
  expect(Buffer.from(json).toString()).toBe(JSON.stringify(event));
  expect(Buffer.compare(msgpack, Buffer.from(packValue(event), 'latin1'))).toBe(0);
}

/** Both forms are read by libraries that are not ours. */
function expectBothForms(event: StreamEvent): void {
  const { json, msgpack } = new EventView(encodeEvent(event));
  const expected: unknown = JSON.parse(JSON.stringify(event));
  expect(JSON.parse(Buffer.from(json).toString())).toStrictEqual(expected);
  expect(unpack(msgpack)).toStrictEqual(expected);
}

/** The same event with its fields in the order of the schema. */
function inOrder<T extends TradeEvent | PriceEvent>(event: T): T {
  const fields = Object.keys(eventSchemas[event.type].properties).flatMap((name) =>
    name in event ? [[name, event[name as keyof T]] as const] : [],
  );
  return Object.fromEntries(fields) as unknown as T;
}

describe('encodeEvent', () => {
  it('writes the same JSON and MessagePack for any event, after any other event', () => {
    const events = fc.array(fc.oneof(trade, price), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(events, (list) => list.forEach(expectSameBytes)),
      { numRuns: 500 },
    );
    fc.assert(
      fc.property(events, (list) => list.forEach(expectBothForms)),
      { numRuns: 100 },
    );
  });

  it('stores a trade and its tick once, and writes both as if they were apart', () => {
    fc.assert(
      fc.property(trade, price, fc.subarray(Object.keys(PriceEvent.properties)), (first, other, own) => {
        const fields = Object.keys(PriceEvent.properties).map((name) => {
          const from = own.includes(name) || !(name in TradeEvent.properties) ? other : first;
          return [name, from[name as keyof typeof from]] as const;
        });
        const present = fields.filter(([, value]) => value !== undefined);
        const tick = { ...Object.fromEntries(present), type: 'price', id: `${first.id}.price` } as PriceEvent;
        const record = encodeTrade(first, tick);
        const isLess = (['late', 'simulated', 'depth'] as const).some((name) => tick[name] === undefined && first[name] !== undefined);
        expect(record === null).toBe(isLess);
        if (record === null) return;
        for (const [view, event] of [first, tick].entries()) {
          const read = new EventView(record, view);
          expect(Buffer.from(read.json).toString()).toBe(JSON.stringify(inOrder(event)));
          expect(Buffer.compare(read.msgpack, Buffer.from(packValue(inOrder(event)), 'latin1'))).toBe(0);
        }
        expect(encodeTrade(first, { ...tick, id: `${first.id}.other` })).toBeNull();
      }),
      { numRuns: 500 },
    );
  });

  it('reads a record of other schemas as far as it goes, and throws on other bytes', () => {
    const event = inOrder(fc.sample(trade, { numRuns: 1, seed: 11 })[0]!);
    const record = Buffer.from(encodeEvent(event));
    record[1]! ^= 0xff;
    expect(Buffer.from(new EventView(record).json).toString()).toBe(JSON.stringify(event));
    fc.assert(
      fc.property(fc.nat(record.length - 1), fc.nat(255), fc.nat(1), (at, value, view) => {
        const changed = Buffer.from(record);
        changed[at] = value;
        for (const bytes of [changed, changed.subarray(0, at)]) expect(() => new EventView(bytes, view).eventOrNull).not.toThrow();
      }),
      { numRuns: 5_000 },
    );
  });

  it('encodes an event again after any of its fields changed', () => {
    fc.assert(
      fc.property(trade, trade, price, (first, second, third) => {
        const event = { ...first };
        expectSameBytes(event);
        for (const [key, value] of Object.entries(second)) {
          Object.assign(event, { [key]: value });
          expectSameBytes(inOrder(event));
          // Some of the parts that it shares with the trade are the same.
          expectSameBytes(inOrder({ ...third, mint: event.mint, slot: event.slot, ts: event.ts, reserves: event.reserves }));
        }
      }),
      { numRuns: 100 },
    );
  });

  it('copies the fields with which it compares the next event', () => {
    const withReserves = trade.filter(({ reserves }) => reserves !== null);
    const [event] = fc.sample(withReserves, { numRuns: 1, seed: 3 }) as [TradeEvent];
    encodeEvent(event);
    Object.assign(event.ts, { received: event.ts.received + 1 });
    Object.assign(event.reserves!, { realQuote: `${event.reserves!.realQuote}1` });
    expectSameBytes(event);
  });

  it('writes texts of any script', () => {
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

  it('does not overwrite bytes that it returned before', () => {
    const event = fc.sample(trade, { numRuns: 1, seed: 7 })[0]!;
    const first = new EventView(encodeEvent(event));
    const before = Buffer.from(first.json).toString();
    for (const other of fc.sample(trade, { numRuns: 400, seed: 8 })) void new EventView(encodeEvent(other)).json;
    expect(Buffer.from(first.json).toString()).toBe(before);
    expect(unpack(first.msgpack)).toStrictEqual(JSON.parse(before));
  });
});

describe('integers in MessagePack', () => {
  /** Reads an integer of 64 bits as a bigint, and so distinguishes it from a float. */
  const strict = new Unpackr({ useRecords: false, int64AsType: 'bigint' });
  const wholeOf = (event: StreamEvent): unknown => (strict.unpack(new EventView(encodeEvent(event)).msgpack) as { ts: unknown }).ts;
  const ts = { received: 1_795_000_000_123_456, published: 1_795_000_000_123_457 };

  it('stay integers beyond 32 bits, in every event', () => {
    const mint = addressOf('mint');
    const events = [tradeEvent(mint), candleEvent(mint), newTokenEvent(mint)].map((event) => ({ ...event, ts }));
    for (const event of [...events, ...fc.sample(price, 1).map((one) => ({ ...one, ts }))]) {
      expect(wholeOf(event)).toEqual({ received: 1_795_000_000_123_456n, published: 1_795_000_000_123_457n });
    }
  });

  it('are read as written, like any JSON value', () => {
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
