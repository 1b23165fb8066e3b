import { join } from 'node:path';
import { buildSync } from 'esbuild';
import * as fc from 'fast-check';
import { Type } from 'typebox';
import { describe, expect, it } from 'vitest';
import { packValue } from '@sluice/shared/codec/msgpack.ts';
import type { EncodedEvent } from '@sluice/shared/codec/encoded-event.ts';
import { generateReaders } from '../../cli/generate/codec/readers.ts';
import { generateSearches } from '../../cli/generate/codec/searches.ts';
import { generateWriters } from '../../cli/generate/codec/writers.ts';
import { ofSchema } from '../support/of-schema.ts';

const codecFolder = join(import.meta.dirname, '../../shared/src/codec');
const Name = Type.Enum(['a', 'b']);
const Code = Type.String({ pattern: '^[0-9A-Z]{3,5}$' });
const OrNull = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) => Type.Union([schema, Type.Null()]);

/** Every form that a schema of an event may have, in fields that both events have and in fields of one event. */
const shared = {
  code: Code,
  note: Type.String(),
  depth: OrNull(Type.Object({ low: Code, high: Type.Optional(Type.Number()) })),
  flag: Type.Optional(Type.Literal(true)),
  range: Type.Object({ from: Type.Integer(), to: OrNull(Type.Integer()) }),
  size: Type.Optional(Type.Number()),
};
const One = Type.Object({
  type: Type.Literal('one'),
  id: Code,
  ...shared,
  fees: Type.Array(Type.Object({ kind: Name, amount: OrNull(Code), mark: Type.Optional(Type.Boolean()) })),
  traits: Type.Array(Type.String()),
  matrix: OrNull(Type.Array(Type.Array(Type.Integer()))),
  mark: Type.Optional(Code),
  place: Type.Optional(Type.Object({ x: Type.Number(), y: Type.Optional(OrNull(Type.String())) })),
  last: Type.Optional(Type.Literal(true)),
});
const Two = Type.Object({ type: Type.Literal('two'), id: Code, ...shared, code: OrNull(Code), open: OrNull(Type.Boolean()) });
const schemas = { One, Two };

async function load<T>(source: string): Promise<T> {
  const { outputFiles } = buildSync({
    stdin: { contents: source, loader: 'ts', resolveDir: codecFolder },
    bundle: true,
    format: 'esm',
    platform: 'node',
    write: false,
  });
  return (await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0]!.contents).toString('base64')}`)) as T;
}

type Writer = (event: unknown) => EncodedEvent;

describe('the generator of the codec', () => {
  it('creates writers of the same bytes as JSON.stringify and packValue', async () => {
    const { encodeOne, encodeTwo } = await load<{ encodeOne: Writer; encodeTwo: Writer }>(generateWriters(schemas));
    const event = fc.oneof(
      ofSchema(One).map((one) => ({ one, encode: encodeOne })),
      ofSchema(Two).map((one) => ({ one, encode: encodeTwo })),
    );
    fc.assert(
      fc.property(fc.array(event, { minLength: 1, maxLength: 6 }), (events) => {
        for (const { one, encode } of events) {
          const { json, msgpack } = encode(one);
          expect(Buffer.from(json).toString()).toBe(JSON.stringify(one));
          expect(Buffer.compare(msgpack, Buffer.from(packValue(one), 'latin1'))).toBe(0);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('creates writers of a first event in which all values of a part are absent', async () => {
    const part = { state: OrNull(Type.Object({ low: Code })), high: Type.Optional(Code) };
    const forms = { One: Type.Object({ id: Code, ...part, a: Code }), Two: Type.Object({ id: Code, ...part, b: Code }) };
    const { encodeOne } = await load<{ encodeOne: Writer }>(generateWriters(forms));
    const event = { id: 'ABC', state: null, a: 'DEF' };
    expect(Buffer.from(encodeOne(event).json).toString()).toBe(JSON.stringify(event));
  });

  it('creates readers that read some fields and skip all others', async () => {
    const fields = ['id', 'flag', 'range.to', 'mark', 'last'];
    const code = generateReaders(schemas, [{ name: 'Some', event: 'One', purpose: 'Some fields.', fields }]);
    const { readSome } = await load<{ readSome: (msgpack: Uint8Array) => unknown }>(code);
    fc.assert(
      fc.property(ofSchema(One), (event) => {
        const { id, flag, range, mark, last } = event as {
          id: string;
          flag?: true;
          range: { to: number | null };
          mark?: string;
          last?: true;
        };
        fc.pre(range.to === null || range.to >= 0);
        const bytes = Buffer.from(packValue(event), 'latin1');
        expect(readSome(bytes)).toEqual({ id, flag: flag === true, rangeTo: range.to, mark: mark ?? null, last: last === true });
        expect(readSome(Buffer.from(packValue({ ...(event as object), id: 5 }), 'latin1'))).toBeNull();
      }),
      { numRuns: 500 },
    );
  });

  it('creates searches that find a field by its name, after any strings', async () => {
    const code = generateSearches({ One }, schemas, ['id', 'range.from']);
    const { idIn, rangeFromIn } = await load<Record<'idIn' | 'rangeFromIn', (json: Uint8Array) => unknown>>(code);
    const tricky = fc.constantFrom('"from":5', '{"id":"x"}', '\\"from":7,');
    fc.assert(
      fc.property(ofSchema(One), tricky, (event, note) => {
        const one = { ...(event as { id: string; range: { from: number } }), note };
        fc.pre(one.range.from >= 0);
        const json = Buffer.from(JSON.stringify(one));
        expect([idIn(json), rangeFromIn(json)]).toEqual([one.id, one.range.from]);
      }),
    );
    for (const json of ['{}', '{"id":', '{"id":"a', '{"from":-']) {
      expect([idIn(Buffer.from(json)), rangeFromIn(Buffer.from(json))]).toEqual([null, null]);
    }
    const twice = Type.Object({ type: Type.Literal('x'), a: Type.Array(Type.Object({ id: Code })), id: Code });
    expect(() => generateSearches({ One: twice }, schemas, ['id'])).toThrow(/may find a.id/);
    const before = Type.Object({ type: Type.Literal('x'), id: Code, a: OrNull(Type.Object({ id: Code })) });
    expect(() => generateSearches({ One: before }, {}, ['id'])).toThrow(/may find a.id/);
    expect(generateSearches({ One: before }, schemas, ['id'])).toContain('idIn');
  });

  it.each([
    ['a union of two values', Type.Object({ type: Type.Literal('x'), a: Type.Union([Type.String(), Type.Number()]) }), /One\.a: .*null/],
    ['any value', Type.Object({ type: Type.Literal('x'), a: Type.Object({ b: Type.Unknown() }) }), /One\.a\.b: .*cannot encode/],
    ['an optional first field', Type.Object({ a: Type.Optional(Type.Number()) }), /One: the first field/],
    ['a long name', Type.Object({ ['a'.repeat(25)]: Type.Number() }), /1 to 24/],
  ])('refuses %s', (_what, schema, message) => {
    expect(() => generateWriters({ One: schema })).toThrow(message);
  });

  it('refuses a reader of a field that does not exist', () => {
    expect(() => generateReaders(schemas, [{ name: 'Some', event: 'One', purpose: '', fields: ['id', 'ids'] }])).toThrow(/no field ids/);
  });

  it('escapes texts unless their pattern allows no character that JSON escapes', async () => {
    for (const pattern of ['^[ -~]+$', '^[^"]+$', '^.+$', '^[a-z]+', '^[a-zé]+$']) {
      const schema = Type.Object({ type: Type.Literal('one'), a: Type.String({ pattern }) });
      const { encodeOne } = await load<{ encodeOne: Writer }>(generateWriters({ One: schema }));
      const event = { type: 'one', a: '"\\\u{1f600}é\n' };
      expect(Buffer.from(encodeOne(event).json).toString()).toBe(JSON.stringify(event));
    }
  });
});
