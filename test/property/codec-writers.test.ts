import * as fc from 'fast-check';
import { Type, type Static } from 'typebox';
import { describe, expect, it } from 'vitest';
import { beginCompact, beginReading, readCompact } from '@sluice/shared/codec/compact.ts';
import { compileDifference, compileMerge, compileWriters } from '@sluice/shared/codec/compile-writers.ts';
import { packValue } from '@sluice/shared/codec/msgpack.ts';
import type { SchemaShape } from '@sluice/shared/wire/values/values.ts';
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
type Shared = Static<typeof Two>;

const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');

describe('compiled writers', () => {
  it('write the same bytes as JSON.stringify and packValue, and a compact form that is read as the same value', () => {
    const event = fc.oneof(
      ...([One, Two] as const).map((schema) => {
        const write = compileWriters(schema);
        return (ofSchema(schema) as fc.Arbitrary<object>).map((value) => ({ value, write }));
      }),
    );
    fc.assert(
      fc.property(fc.array(event, { minLength: 1, maxLength: 6 }), (events) => {
        for (const { value, write } of events) {
          expect(bytes(write.json(value)).toString()).toBe(JSON.stringify(value));
          expect(Buffer.compare(bytes(write.msgpack(value)), bytes(packValue(value)))).toBe(0);
          beginReading(bytes(beginCompact() + write.compact(value)), 0);
          expect(readCompact()).toStrictEqual(JSON.parse(JSON.stringify(value)));
        }
      }),
      { numRuns: 500 },
    );
  });

  it('write what differs from another event, from which the event is read again', () => {
    const write = compileWriters(One);
    const difference = compileDifference(Two, One, ['type', 'id']);
    const merge = compileMerge(Two, One, ['type', 'id']);
    fc.assert(
      fc.property(ofSchema(One) as fc.Arbitrary<Shared>, ofSchema(Two) as fc.Arbitrary<Shared>, fc.boolean(), (base, other, keeps) => {
        const { code, depth, range, size, flag } = base;
        const event = keeps ? { ...other, code, depth, range, ...(size !== undefined && { size }), ...(flag && { flag }) } : other;
        const text = beginCompact() + write.compact(base);
        const rest = difference(event, base);
        const isLess = (['flag', 'size'] as const).some((name) => event[name] === undefined && base[name] !== undefined);
        expect(rest === null).toBe(isLess);
        if (rest === null) return;
        beginReading(bytes(text + rest), 0);
        const read = [readCompact(), readCompact()] as const;
        expect(merge('two', event.id, ...read)).toStrictEqual(JSON.parse(JSON.stringify(event)));
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ['a union of two values', Type.Object({ a: Type.Union([Type.String(), Type.Number()]) }), /event\.a: .*null/],
    ['any value', Type.Object({ type: Type.Literal('x'), a: Type.Object({ b: Type.Unknown() }) }), /event\.a\.b: .*cannot write/],
  ])('refuse %s', (_what, schema, message) => {
    expect(() => compileWriters(schema as SchemaShape)).toThrow(message);
  });

  it('escape texts unless their pattern allows no character that JSON escapes', () => {
    for (const pattern of ['^[ -~]+$', '^[^"]+$', '^.+$', '^[a-z]+', '^[a-zé]+$']) {
      const event = { a: '"\\\u{1f600}é\n`${' };
      expect(bytes(compileWriters(Type.Object({ a: Type.String({ pattern }) })).json(event)).toString()).toBe(JSON.stringify(event));
    }
  });
});
