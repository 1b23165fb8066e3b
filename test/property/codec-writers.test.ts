import * as fc from 'fast-check';
import { Type } from 'typebox';
import { describe, expect, it } from 'vitest';
import { compileWriters } from '@sluice/shared/codec/compile-writers.ts';
import { commitmentIn, idIn, slotIn, tsPublishedIn, typeIn } from '@sluice/shared/codec/json-search.ts';
import { packValue } from '@sluice/shared/codec/msgpack.ts';
import { eventSchemas } from '@sluice/shared/wire/events/events.ts';
import { ofSchema } from '../support/of-schema.ts';

const Name = Type.Enum(['a', 'b']);
const Code = Type.String({ pattern: '^[0-9A-Z]{3,5}$' });
const OrNull = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) => Type.Union([schema, Type.Null()]);

/** Every form that a schema of an event may have, in fields that both events have and in fields of one event. */
const shared = {
  code: OrNull(Code),
  depth: OrNull(Type.Object({ low: Code, high: Type.Optional(Type.Number()) })),
  flag: Type.Optional(Type.Literal(true)),
  range: Type.Object({ from: Type.Integer(), to: OrNull(Type.Integer()) }),
  size: Type.Optional(Type.Number()),
};
const One = Type.Object({
  type: Type.Literal('one'),
  id: Code,
  ...shared,
  fees: Type.Array(Type.Object({ kind: Name, amount: OrNull(Code), mark: Type.Optional(Code) })),
  note: Type.String(),
  traits: Type.Array(Type.String()),
  matrix: OrNull(Type.Array(Type.Array(Type.Integer()))),
  place: Type.Optional(Type.Object({ x: Type.Number(), y: Type.Optional(OrNull(Type.String())) })),
  last: Type.Optional(Type.Literal(true)),
});
const Two = Type.Object({ type: Type.Literal('two'), id: Code, ...shared, mark: Code });
const [anyOne, anyTwo] = [ofSchema(One), ofSchema(Two)] as fc.Arbitrary<object>[];

describe('compiled writers', () => {
  it('write the same bytes as JSON.stringify and packValue', () => {
    const { one, two } = compileWriters({ one: One, two: Two }, [
      ['code', 'flag'],
      ['range', 'size'],
    ]);
    const event = fc.oneof(
      anyOne!.map((value) => ({ value, write: one })),
      anyTwo!.map((value) => ({ value, write: two })),
    );
    fc.assert(
      fc.property(fc.array(event, { minLength: 1, maxLength: 6 }), (events) => {
        for (const { value, write } of events) {
          const { json, msgpack } = write(value);
          expect(Buffer.from(json).toString()).toBe(JSON.stringify(value));
          expect(Buffer.compare(msgpack, Buffer.from(packValue(value), 'latin1'))).toBe(0);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('write a first event in which all values of a part are absent', () => {
    const schema = Type.Object({ id: Code, state: OrNull(Type.Object({ low: Code })), high: Type.Optional(Code) });
    const { one } = compileWriters({ one: schema }, [['state', 'high']]);
    expect(Buffer.from(one({ id: 'ABC', state: null }).json).toString()).toBe('{"id":"ABC","state":null}');
  });

  it.each([
    ['a union of two values', Type.Object({ a: Type.Union([Type.String(), Type.Number()]) }), /event\.a: .*null/],
    ['any value', Type.Object({ type: Type.Literal('x'), a: Type.Object({ b: Type.Unknown() }) }), /event\.a\.b: .*cannot write/],
  ])('refuse %s', (_what, schema, message) => {
    expect(() => compileWriters({ one: schema }, [])).toThrow(message);
  });

  it('escape texts unless their pattern allows no character that JSON escapes', () => {
    for (const pattern of ['^[ -~]+$', '^[^"]+$', '^.+$', '^[a-z]+', '^[a-zé]+$']) {
      const { one } = compileWriters({ one: Type.Object({ a: Type.String({ pattern }) }) }, []);
      const event = { a: '"\\\u{1f600}é\n`${' };
      expect(Buffer.from(one(event).json).toString()).toBe(JSON.stringify(event));
    }
  });
});

describe('a search by name', () => {
  it.each(Object.entries(eventSchemas).filter(([type]) => type !== 'order'))(
    'finds the field of any %s, not one inside another',
    (type, schema) => {
      type Searched = { id: string; slot?: number; commitment?: string; ts?: { published: number } };
      fc.assert(
        fc.property(ofSchema(schema) as fc.Arbitrary<Searched>, (event) => {
          const json = Buffer.from(JSON.stringify({ type, ...event }));
          expect([typeIn(json), idIn(json)]).toEqual([type, event.id]);
          if (event.slot !== undefined && event.slot >= 0) expect(slotIn(json)).toBe(event.slot);
          if (event.commitment !== undefined) expect(commitmentIn(json)).toBe(event.commitment);
          if (event.ts !== undefined && event.ts.published >= 0) expect(tsPublishedIn(json)).toBe(event.ts.published);
        }),
      );
    },
  );

  it('finds nothing in other bytes', () => {
    for (const json of ['{}', '{"id":', '{"id":"a', '{"slot":-']) {
      expect([idIn(Buffer.from(json)), slotIn(Buffer.from(json))]).toEqual([null, null]);
    }
  });
});
