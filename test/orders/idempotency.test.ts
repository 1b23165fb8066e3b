import { fingerprintOf, readIdempotency } from '@sluice/trading/api/endpoints/idempotency.ts';
import { newOrderId } from '../../trading/src/model/order-id.ts';
import { endpoints } from '@sluice/shared/wire/rest/endpoints.ts';
import { orderIdPattern } from '@sluice/shared/wire/values/values.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

const hex = (body: unknown): string => Buffer.from(fingerprintOf(body)).toString('hex');

describe('an Idempotency-Key', () => {
  it('is optional, and the same with and without quotes', () => {
    expect(readIdempotency(null, 'tradeBuy', {})).toEqual({ ok: true, use: null });
    const bare = readIdempotency('8e03978e-40d5-43dd-bc93-6894a57f9324', 'tradeBuy', { a: 1 });
    expect(bare).toMatchObject({ ok: true, use: { key: '8e03978e-40d5-43dd-bc93-6894a57f9324' } });
    expect(readIdempotency('"8e03978e-40d5-43dd-bc93-6894a57f9324"', 'tradeBuy', { a: 1 })).toEqual(bare);
    expect(readIdempotency('x'.repeat(255), 'tradeBuy', {})).toMatchObject({ ok: true });
    expect(readIdempotency('8e03978e-40d5-43dd-bc93-6894a57f9324', 'tradeSell', { a: 1 })).not.toEqual(bare);
  });

  it.each([[''], ['""'], ['a b'], ['a\tb'], ['schl\u00fcssel'], ['x'.repeat(256)], ['a\u0000']])('cannot be %j', (header) => {
    expect(readIdempotency(header, 'tradeBuy', {})).toMatchObject({ ok: false });
  });
});

describe('the fingerprint of a body', () => {
  it('is the same for any order of its fields', () => {
    const shuffled = (value: unknown): unknown =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? Object.fromEntries(
            Object.entries(value)
              .map(([name, field]) => [name, shuffled(field)] as const)
              .toReversed(),
          )
        : Array.isArray(value)
          ? value.map(shuffled)
          : value;
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const same = JSON.parse(JSON.stringify(value)) as unknown;
        expect(hex(shuffled(same))).toBe(hex(same));
      }),
    );
  });

  it('is that of version 0.1.0, whose orders must be found after an upgrade; so are the names of the endpoints', () => {
    const body = { publicKey: '9xQe', mint: '7xKX', amount: 0.1, slippage: 1.5, orders: [{ sellAll: true }, null] };
    expect(hex(body)).toBe('f58b0212ba8e03c8db56026263ca4ef06ba8444566c7287ef82d2308b7d39f80');
    const withKeys = endpoints.filter(({ idempotent }) => idempotent === true).map(({ id }) => id);
    expect(withKeys).toEqual(expect.arrayContaining(['tradeBuy', 'tradeSell', 'transactionSend', 'pumpPortalTrade']));
  });

  it('differs for different bodies', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
        const [a, b] = [one, other].map((value) => JSON.parse(JSON.stringify(value)) as unknown);
        let isSame = true;
        try {
          expect(a).toStrictEqual(b);
        } catch {
          isSame = false;
        }
        expect(hex(a) === hex(b)).toBe(isSame);
      }),
    );
    expect(hex({ a: 1, b: 2 })).not.toBe(hex({ a: 1 }));
    expect(hex({ a: '1' })).not.toBe(hex({ a: 1 }));
    expect(hex(['a', 'b'])).not.toBe(hex(['b', 'a']));
    expect(hex({ a: undefined })).toBe(hex({}));
  });
});

describe('the id of an order', () => {
  it('is unique, and sorts by time', () => {
    const ids = Array.from({ length: 2_000 }, (_, i) => newOrderId(1_800_000_000_000 + i));
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.toSorted()).toEqual(ids);
    for (const id of ids) expect(id).toMatch(new RegExp(orderIdPattern));
    expect(new Set(Array.from({ length: 2_000 }, () => newOrderId(0))).size).toBe(2_000);
    expect(newOrderId(2 ** 48 - 1)).toMatch(/^ord_7ZZZZZZZZZ/);
  });
});
