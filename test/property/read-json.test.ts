import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonLimits, readJson } from '../../gateway/src/http/body/read-json.ts';

const encode = (text: string): Uint8Array => Buffer.from(text);

/** What the limits of a body require of a value. */
function isWithinBounds(value: unknown): boolean {
  let keys = 0;
  const walk = (one: unknown, depth: number): boolean => {
    if (typeof one === 'string') return !/[\ud800-\udfff]/u.test(one);
    if (typeof one !== 'object' || one === null) return true;
    if (depth === jsonLimits.depth) return false;
    if (Array.isArray(one)) return one.every((item) => walk(item, depth + 1));
    return Object.entries(one).every(([name, item]) => {
      keys++;
      return !['__proto__', 'constructor', 'prototype'].includes(name) && walk(name, 0) && walk(item, depth + 1);
    });
  };
  return walk(value, 0) && keys <= jsonLimits.keys;
}

/** What the platform's own reader returns; `undefined`: it is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Above 53 bits `JSON.stringify` writes the shortest text that reads as the number, which is a different text. */
function withoutLarge(value: unknown): unknown {
  if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)) return 1;
  if (Array.isArray(value)) return value.map(withoutLarge);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withoutLarge(one)]));
}

const json = fc.jsonValue({ maxDepth: 6 }).map(withoutLarge);
const space = fc.constantFrom('', ' ', '\n', '\t', '\r\n  ');

describe('the reader of JSON bodies', () => {
  it('reads what JSON.parse reads, to the same value', () => {
    fc.assert(
      fc.property(json, space, fc.constantFrom(undefined, 2), (value, around, indent) => {
        const text = `${around}${JSON.stringify(value, null, indent)}${around}`;
        const read = readJson(encode(text));
        expect(read.ok).toBe(isWithinBounds(value));
        if (read.ok) expect(read.value).toStrictEqual(JSON.parse(text));
      }),
      { numRuns: 3_000 },
    );
  });

  it('accepts nothing that JSON.parse refuses, for any change of a text', () => {
    const edits = fc.array(
      fc.tuple(
        fc.nat(),
        fc.nat(6),
        fc.constantFrom('"', '\\', '{', '}', '[', ']', ',', ':', '0', '-', '.', 'e', 'u', 't', ' ', '\u0000', 'ä'),
      ),
      {
        minLength: 1,
        maxLength: 4,
      },
    );
    let taken = 0;
    fc.assert(
      fc.property(json, edits, (value, all) => {
        let text = JSON.stringify(value);
        for (const [where, cut, put] of all) {
          const at = where % (text.length + 1);
          text = text.slice(0, at) + put + text.slice(at + cut);
        }
        const read = readJson(encode(text));
        if (!read.ok) return;
        taken++;
        expect(read.value).toStrictEqual(parsed(text));
      }),
      { numRuns: 10_000 },
    );
    expect(taken).toBeGreaterThan(100);
  });

  it('never throws on any bytes, and reports place and reason', () => {
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 200 }), fc.string({ maxLength: 200, unit: 'binary' }).map(encode)), (bytes) => {
        const read = readJson(bytes);
        if (!read.ok) expect(read.what).toMatch(/^(must|is|has) /);
      }),
      { numRuns: 10_000 },
    );
  });

  it('preserves every number as written, or refuses it', () => {
    const digits = fc.stringMatching(/^(0|[1-9]\d{0,24})$/);
    const number = fc
      .tuple(
        fc.constantFrom('', '-'),
        digits,
        fc.constantFrom('', '.', '.0'),
        fc.stringMatching(/^\d{0,24}$/),
        fc.constantFrom('', 'e0', 'E+3', 'e-2', 'e20', 'e-330', 'e400'),
      )
      .map(
        ([sign, whole, point, fraction, exponent]) =>
          `${sign}${whole}${point === '' || fraction === '' ? '' : point + fraction}${exponent}`,
      );
    fc.assert(
      fc.property(number, (text) => {
        const read = readJson(encode(text));
        const value = Number(text);
        const [mantissa = '', exponent = '0'] = text.toLowerCase().split('e');
        const [whole = '', fraction = ''] = mantissa.split('.');
        // The written value times ten to the power of its digits, exactly.
        const scale = fraction.length - Number(exponent);
        const written = BigInt(whole + fraction);
        const isExact =
          Number.isInteger(value) && Number.isFinite(value)
            ? scale >= 0
              ? written === BigInt(value) * 10n ** BigInt(scale)
              : written * 10n ** BigInt(-scale) === BigInt(value)
            : Number.isFinite(value);
        expect([text, read.ok]).toEqual([text, isExact]);
        if (read.ok) expect(read.value).toBe(value);
      }),
      { numRuns: 5_000 },
    );
  });

  it('does not grow a body beyond its bytes', () => {
    const size = 65_536;
    const bodies = [
      '['.repeat(size),
      '{"a":'.repeat(size / 5),
      `"${'\\u0041'.repeat(size / 6 - 1)}"`,
      `[${'1,'.repeat(size / 2 - 2)}1]`,
      `1${'0'.repeat(size - 1)}`,
      `0.${'0'.repeat(size - 3)}1`,
      ' '.repeat(size),
    ];
    for (const body of bodies) {
      const startedMs = performance.now();
      readJson(encode(body));
      expect(performance.now() - startedMs, body.slice(0, 20)).toBeLessThan(2_000);
    }
  });
});
