import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formLimits, readForm } from '../../gateway/src/http/body/read-form.ts';

const encode = (text: string): Uint8Array => Buffer.from(text, 'latin1');
const refusedNames = ['__proto__', 'constructor', 'prototype'];
/** The platform's reader removes a leading `?`, so one is added. */
const platform = (text: string): [string, string][] => [...new URLSearchParams(`?${text}`)];

describe('the reader of forms', () => {
  it('reads the same fields that the platform writes', () => {
    const name = fc.oneof(fc.string({ unit: 'grapheme', minLength: 1 }), fc.constantFrom('a', 'b', 'toString', ...refusedNames));
    const fields = fc.array(fc.tuple(name, fc.string({ unit: 'grapheme' })), { minLength: 1, maxLength: formLimits.fields + 4 });
    fc.assert(
      fc.property(fields, (pairs) => {
        const read = readForm(encode(new URLSearchParams(pairs).toString()));
        const names = pairs.map(([one]) => one);
        const isGood =
          names.length <= formLimits.fields &&
          new Set(names).size === names.length &&
          !names.some((one) => refusedNames.includes(one)) &&
          !pairs.flat().some((one) => one.includes('\0'));
        expect(read.ok).toBe(isGood);
        if (read.ok) expect(read.value).toEqual(Object.fromEntries(pairs));
      }),
      { numRuns: 2_000 },
    );
  });

  it('never throws, and accepts only what the platform accepts', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '=', '&', '+', '%', '2', 'f', 'F', 'C', '3', 'é', ' ', '\n', '\0', '?') });
    let taken = 0;
    fc.assert(
      fc.property(text, (body) => {
        const read = readForm(encode(body));
        if (!read.ok) return;
        taken++;
        expect(read.value).toEqual(Object.fromEntries(platform(body)));
      }),
      { numRuns: 5_000 },
    );
    expect(taken).toBeGreaterThan(500);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => void readForm(bytes)),
      { numRuns: 2_000 },
    );
  });

  it.each([
    ['a=1&a=2', 'a', 'appears twice'],
    ['a=1&%61=2', 'a', 'appears twice'],
    ['a=%zz', 'a', 'must be percent-encoded UTF-8'],
    ['a=%c0%af', 'a', 'must be percent-encoded UTF-8'],
    ['%ff=1', '', 'must be percent-encoded UTF-8'],
    ['a=\u00e9', '', 'must be percent-encoded'],
    ['a=b%00', 'a', 'must not contain U+0000'],
    ['a%00=b', '', 'must not contain U+0000'],
    ['__proto__=1', '__proto__', 'is not an allowed name'],
    [Array.from({ length: 65 }, (_, i) => `k${i}`).join('&'), 'k64', 'exceeds the maximum of 64 fields'],
  ])('refuses %j', (text, name, what) => expect(readForm(encode(text))).toEqual({ ok: false, at: name, what }));
});
