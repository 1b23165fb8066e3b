import { describe, expect, it } from 'vitest';
import { growthOf, type Sample } from './growth.ts';

const bound = { name: 'MiB', amount: 8, share: 0.05 };
/** Half an hour, a sample each ten seconds. */
const samplesOf = (value: (second: number) => number): Sample[] =>
  Array.from({ length: 181 }, (_, i) => ({ atMs: i * 10_000, value: value(i * 10) }));
/** Peaks of the same kind each time. */
const noise = (second: number): number => 6 * Math.sin(second * 1.7) + (second % 170 === 0 ? 40 : 0);

describe('growth of a measure', () => {
  it.each<[string, (second: number) => number]>([
    ['stays where it is', () => 100],
    ['has peaks', (second) => 100 + noise(second)],
    ['comes to its size in the first third', (second) => Math.min(100, 20 + second / 5)],
    ['makes one step late, and takes it back', (second) => (second > 1_000 && second < 1_200 ? 200 : 100)],
    ['grows by less than its bound', (second) => 100 + second / 200],
    ['shrinks', (second) => 100 - second / 100],
  ])('passes what %s', (_, value) => {
    expect(growthOf(samplesOf(value), bound)).toMatchObject({ isGrowing: false });
  });

  it.each<[string, (second: number) => number]>([
    ['a leak', (second) => 100 + second / 60],
    ['a leak under peaks', (second) => 100 + second / 60 + noise(second)],
    ['a leak that is collected half', (second) => 100 + second / 60 - (second % 300) / 120],
  ])('finds %s', (_, value) => {
    const growth = growthOf(samplesOf(value), bound);
    expect(growth).toMatchObject({ isGrowing: true, allowed: 8 });
    expect(growth!.grown).toBeGreaterThan(9);
  });

  it('allows a part of what is large', () => {
    expect(
      growthOf(
        samplesOf((second) => 1_000 + second / 60),
        bound,
      ),
    ).toMatchObject({ isGrowing: false });
  });

  it('says nothing of too few samples', () => {
    expect(growthOf([], bound)).toBeNull();
    expect(growthOf(samplesOf(() => 1).slice(0, 2), bound)).toBeNull();
  });
});
