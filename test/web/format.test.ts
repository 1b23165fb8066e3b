import { price, short, shortUsd, sol, usd } from '@sluice/site/web/format/price.ts';
import { inQuoteCoin, quoteSymbol } from '@sluice/site/web/format/quote-coin.ts';
import { age, isAddress, shortAddress } from '@sluice/site/web/format/text.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

describe('numbers as people write them', () => {
  it.each([
    [2.923e-8, '0.0₇2923'],
    [4.47e-6, '0.0₅4470'],
    [0.0001234, '0.0001234'],
    [0.00001234, '0.0₄1234'],
    [9.9996e-5, '0.0001000'],
    [0.99999, '1.000'],
    [1.5, '1.500'],
    [150.6, '150.60'],
    [1234.567, '1,234.57'],
    [-2.5e-12, '-0.0₁₁2500'],
    [12_345.6, '12,346'],
    [0, '0'],
    [null, '–'],
    [Number.NaN, '–'],
  ])('the price %s is %s', (value, text) => expect(price(value)).toBe(text));

  it('a price never has an exponent, and has the size of the number', () => {
    fc.assert(
      fc.property(fc.double({ min: 1e-15, max: 1e9, noNaN: true }), (value) => {
        const text = price(value);
        expect(text).not.toMatch(/e/i);
        const [, zeros = ''] = /^0\.0([₀-₉]+)/.exec(text) ?? [];
        const count = Number(zeros.replaceAll(/./gu, (digit) => String('₀₁₂₃₄₅₆₇₈₉'.indexOf(digit))));
        const read = zeros === '' ? Number(text.replaceAll(',', '')) : Number(`0.${'0'.repeat(count)}${text.slice(3 + zeros.length)}`);
        expect(Math.abs(read / value - 1)).toBeLessThan(0.001);
      }),
    );
  });

  it('dollars and amounts', () => {
    expect([usd(4.47e-6), usd(-4.47e-6), usd(0.01), usd(0), usd(1.2), usd(123456.7), usd(null)]).toEqual([
      '<$0.01',
      '>-$0.01',
      '$0.01',
      '$0.00',
      '$1.20',
      '$123,457',
      '–',
    ]);
    expect([shortUsd(3.017e-7), shortUsd(4432), shortUsd(61_900), shortUsd(1.2e9)]).toEqual(['<$0.01', '$4.43K', '$61.9K', '$1.20B']);
    expect([short(3_400_000), short(12.345), short(0.00000001)]).toEqual(['3.40M', '12.35', '0.00000001']);
    expect([sol(0.1), sol(99.89712), sol(5e-6), sol(1e-9), sol(0)]).toEqual([
      '0.1 SOL',
      '99.8971 SOL',
      '0.000005 SOL',
      '0.000000001 SOL',
      '0 SOL',
    ]);
  });
});

it('amounts of the coin in which a token trades', () => {
  const usdc = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
  const amounts = [inQuoteCoin(0.12345, usdc), inQuoteCoin(631.84251, usdc), inQuoteCoin(12.34567, null), inQuoteCoin(null, usdc)];
  expect(amounts).toEqual(['0.1235 USDC', '631.84 USDC', '12.3457 SOL', '–']);
  expect(quoteSymbol('5Q544fKrFoe6tsEbD7S8EmxGTJYAKtTVhAW5Q5pge4j1')).toBe('5Q54…e4j1');
});

describe('texts', () => {
  it('ages in their largest unit', () => {
    expect([-5, 0, 1_000, 61_000, 3_600_000, 90_000_000].map(age)).toEqual(['now', 'now', '1s', '1m', '1h', '1d']);
  });

  it('addresses', () => {
    const address = 'So11111111111111111111111111111111111111112';
    expect([shortAddress(address), isAddress(address), isAddress('0OIl'), isAddress(`${address}x`.repeat(2))]).toEqual([
      'So11…1112',
      true,
      false,
      false,
    ]);
  });
});
