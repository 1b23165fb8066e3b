import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { TransientMap } from '@sluice/shared/runtime/collections/transient-map.ts';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';

const key = fc.integer({ min: 0, max: 6 });
const step = fc.oneof(
  fc.record({ op: fc.constant('set' as const), key, value: fc.integer() }),
  fc.record({ op: fc.constantFrom('delete' as const, 'take' as const), key }),
  fc.record({ op: fc.constant('clear' as const) }),
);

test('behaves like a Map, in the order of insertion', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const [map, plain] = [new TransientMap<number, number>(), new Map<number, number>()];
      for (const one of steps) {
        if (one.op === 'clear') {
          map.clear();
          plain.clear();
        } else if (one.op === 'set') {
          map.set(one.key, one.value);
          plain.set(one.key, one.value);
        } else if (one.op === 'delete') expect(map.delete(one.key)).toBe(plain.delete(one.key));
        else {
          expect(map.take(one.key)).toBe(plain.get(one.key));
          plain.delete(one.key);
        }
        expect([...map.entries()]).toEqual([...plain]);
        expect([...map.values()]).toEqual([...plain.values()]);
        expect(map.size).toBe(plain.size);
      }
      for (let i = 0; i <= 6; i++) expect([map.has(i), map.get(i)]).toEqual([plain.has(i), plain.get(i)]);
    }),
    { seed: 20261122, numRuns: 300 },
  );
});

test('an iteration skips entries that are deleted meanwhile, and visits those that are added', () => {
  const map = new TransientMap<number, string>();
  for (let i = 0; i < 3; i++) map.set(i, `${i}`);
  const met: string[] = [];
  for (const [at, value] of map.entries()) {
    met.push(value);
    if (at === 0) map.delete(1);
    if (at === 2) map.set(3, 'new');
  }
  expect(met).toEqual(['0', '2', 'new']);
});

test('values that were removed are freed by the collections of young objects', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (options: { readonly type: 'minor' | 'major' }) => void;
  const map = new TransientMap<number, readonly number[]>();
  const words = 5_000;
  const pass = (from: number, count: number): void => {
    for (let i = from; i < from + count; i++) {
      map.set(i, Array.from<number>({ length: words }).fill(i));
      map.delete(i - 8);
    }
  };
  pass(0, 64);
  // It is among the old objects now.
  collect({ type: 'major' });
  collect({ type: 'major' });
  const before = process.memoryUsage().heapUsed;
  pass(64, 2_000);
  collect({ type: 'minor' });
  collect({ type: 'minor' });
  // 80 MB have passed; a Map would still hold some 20 of them.
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(10e6);
});
