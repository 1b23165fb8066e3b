import { addressAllowed, readIpRanges } from '@sluice/gateway/auth/ip-ranges.ts';
import { maxIpRanges } from '@sluice/shared/wire/values/values.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

const rangesOf = (...texts: readonly string[]): readonly string[] => {
  const outcome = readIpRanges(texts);
  if (!outcome.ok) throw new Error(outcome.fault);
  return outcome.ranges;
};

describe('ranges of addresses', () => {
  it('are parsed in all usual forms, without duplicates', () => {
    expect(rangesOf(' 10.0.0.0/8', '192.0.2.7', '2001:DB8::/32', '::1', '10.0.0.0/8', '0.0.0.0/0')).toEqual([
      '10.0.0.0/8',
      '192.0.2.7/32',
      '2001:db8::/32',
      '::1/128',
      '0.0.0.0/0',
    ]);
    expect(rangesOf()).toEqual([]);
  });

  it.each([
    '',
    'localhost',
    '10.0.0',
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/8/8',
    '10.0.0.0/',
    '::/129',
    'fe80::1%eth0',
    '010.0.0.1',
    `${'0'.repeat(60)}::1`,
  ])('are refused if one is %j, and the text is not repeated', (text) => {
    const outcome = readIpRanges(['10.0.0.1', text]);
    expect(outcome).toEqual({ ok: false, fault: 'must list addresses or ranges such as 10.0.0.0/8; number 2 of 2 is neither' });
  });

  it('are limited in number', () => {
    const many = Array.from({ length: maxIpRanges + 1 }, (_, index) => `10.0.0.${index}`);
    expect(readIpRanges(many.slice(1)).ok).toBe(true);
    expect(readIpRanges(many).ok).toBe(false);
  });
});

describe('an address', () => {
  it.each([
    [[], '203.0.113.1', true],
    [['10.0.0.0/8'], '10.255.1.2', true],
    [['10.0.0.0/8'], '11.0.0.1', false],
    [['10.0.0.7/8'], '10.1.1.1', true],
    [['192.0.2.7'], '192.0.2.7', true],
    [['192.0.2.7'], '192.0.2.8', false],
    [['10.0.0.0/8', '192.0.2.7'], '192.0.2.7', true],
    // IPv4 in IPv6, as a listener on both reports it, in the short and the full form.
    [['10.0.0.0/8'], '::ffff:10.1.2.3', true],
    [['10.0.0.0/8'], '0000:0000:0000:0000:0000:ffff:0a01:0203', true],
    [['10.0.0.0/8'], '::ffff:11.1.2.3', false],
    [['::ffff:10.0.0.0/104'], '10.1.2.3', true],
    [['2001:db8::/32'], '2001:0db8:ffff::1', true],
    [['2001:db8::/32'], '2001:db9::1', false],
    [['::1'], '0000:0000:0000:0000:0000:0000:0000:0001', true],
    [['10.0.0.0/8'], '', false],
    [['10.0.0.0/8'], 'unknown', false],
    [['0.0.0.0/0'], '203.0.113.1', true],
    [['0.0.0.0/0'], '2001:db8::1', false],
  ] as const)('in %j is %j: %j', (texts, address, allowed) => {
    const ranges = rangesOf(...texts);
    // The second check finds what the first has compiled.
    for (let round = 0; round < 2; round++) expect(addressAllowed(ranges, address)).toBe(allowed);
  });

  it('is in a range if its first bits equal those of the range', () => {
    const bitsOf = (parts: readonly number[], width: number): string => parts.map((part) => part.toString(2).padStart(width, '0')).join('');
    const v4 = fc.tuple(...Array.from({ length: 4 }, () => fc.nat(255)));
    fc.assert(
      fc.property(v4, v4, fc.nat(32), fc.nat(32), (range, other, prefix, shared) => {
        // Half the addresses begin as the range does, or they would hardly ever be in it.
        const address = bitsOf(range, 8).slice(0, shared) + bitsOf(other, 8).slice(shared);
        const text = [0, 8, 16, 24].map((at) => Number.parseInt(address.slice(at, at + 8), 2)).join('.');
        const expected = address.slice(0, prefix) === bitsOf(range, 8).slice(0, prefix);
        const ranges = rangesOf(`${range.join('.')}/${prefix}`);
        expect(addressAllowed(ranges, text)).toBe(expected);
        expect(addressAllowed(ranges, `::ffff:${text}`)).toBe(expected);
      }),
      { numRuns: 300 },
    );
    const v6 = fc.tuple(...Array.from({ length: 8 }, () => fc.integer({ min: 1, max: 65_535 })));
    fc.assert(
      fc.property(v6, v6, fc.nat(128), fc.nat(128), (range, other, prefix, shared) => {
        const address = bitsOf(range, 16).slice(0, shared) + bitsOf(other, 16).slice(shared);
        const text = Array.from({ length: 8 }, (_, part) => Number.parseInt(address.slice(part * 16, part * 16 + 16), 2).toString(16)).join(
          ':',
        );
        const written = range.map((part) => part.toString(16)).join(':');
        expect(addressAllowed(rangesOf(`${written}/${prefix}`), text)).toBe(
          address.slice(0, prefix) === bitsOf(range, 16).slice(0, prefix),
        );
      }),
      { numRuns: 300 },
    );
  });
});
