import { describe, expect, it } from 'vitest';
import { growthOf, type Sample } from './growth.ts';

const bound = { name: 'MiB', amount: 8, share: 0.05 };
/** Half an hour, with a sample every ten seconds. */
const samplesOf = (value: (second: number) => number): Sample[] =>
  Array.from({ length: 181 }, (_, i) => ({ atMs: i * 10_000, value: value(i * 10) }));
/** The same peaks each time. */
const noise = (second: number): number => 6 * Math.sin(second * 1.7) + (second % 170 === 0 ? 40 : 0);

describe('growth of a measure', () => {
  it.each<[string, (second: number) => number]>([
    ['does not change', () => 100],
    ['has peaks', (second) => 100 + noise(second)],
    ['reaches its size in the first third', (second) => Math.min(100, 20 + second / 5)],
    ['makes one late step, and returns', (second) => (second > 1_000 && second < 1_200 ? 200 : 100)],
    ['grows by less than its bound', (second) => 100 + second / 200],
    ['shrinks', (second) => 100 - second / 100],
  ])('passes what %s', (_, value) => {
    expect(growthOf(samplesOf(value), bound)).toMatchObject({ isGrowing: false });
  });

  it.each<[string, (second: number) => number]>([
    ['a leak', (second) => 100 + second / 60],
    ['a leak under peaks', (second) => 100 + second / 60 + noise(second)],
    ['a leak of which half is collected', (second) => 100 + second / 60 - (second % 300) / 120],
  ])('finds %s', (_, value) => {
    const growth = growthOf(samplesOf(value), bound);
    expect(growth).toMatchObject({ isGrowing: true, allowed: 8 });
    expect(growth!.grown).toBeGreaterThan(9);
  });

  it('allows a share of a large measure', () => {
    expect(
      growthOf(
        samplesOf((second) => 1_000 + second / 60),
        bound,
      ),
    ).toMatchObject({ isGrowing: false });
  });

  it('decides nothing with too few samples', () => {
    expect(growthOf([], bound)).toBeNull();
    expect(growthOf(samplesOf(() => 1).slice(0, 2), bound)).toBeNull();
  });
});
