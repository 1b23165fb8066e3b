import { LruCache } from '@sluice/shared/metadata/lru.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';

test('retains the entries that were used last, within its bound, for their time', () => {
  const cache = new LruCache<string>(10);
  cache.set('a', 'A', 4, 100);
  cache.set('b', 'B', 4, 100);
  expect(cache.get('a', 0)).toBe('A');
  cache.set('c', 'C', 4, 100);
  expect([cache.get('a', 0), cache.get('b', 0), cache.get('c', 0)]).toEqual(['A', undefined, 'C']);
  expect(cache.get('a', 100)).toBeUndefined();
  expect([cache.size, cache.weight]).toEqual([1, 4]);
  cache.set('c', 'big', 11, 100);
  expect([cache.get('c', 0), cache.size, cache.weight]).toEqual([undefined, 0, 0]);
});

test('never exceeds its bound, for any entries', () => {
  const step = fc.record({ name: fc.constantFrom('a', 'b', 'c', 'd', 'e'), weight: fc.nat(40), until: fc.nat(30), isGet: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const cache = new LruCache<number>(64);
      const last = new Map<string, { weight: number; until: number }>();
      steps.forEach(({ name, weight, until, isGet }, now) => {
        if (isGet) {
          const known = cache.get(name, now);
          if (known !== undefined) expect(last.get(name)!.until).toBeGreaterThan(now);
        } else {
          cache.set(name, now, weight, until);
          last.set(name, { weight, until });
        }
        expect(cache.weight).toBeLessThanOrEqual(64);
        expect(cache.weight).toBeGreaterThanOrEqual(0);
      });
    }),
  );
});
