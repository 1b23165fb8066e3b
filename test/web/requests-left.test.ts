import { describe, expect, it } from 'vitest';
import { RequestsLeft } from '@sluice/site/web/state/requests-left.ts';

describe('what is left of the limit of a key', () => {
  it('is unknown, and thus everything, until an answer reports it', () => {
    const left = new RequestsLeft();
    left.spend();
    left.note(0, 0, 1_000);
    expect(left.share(2_000)).toBe(1);
  });

  it('falls with each request, and rises evenly', () => {
    const left = new RequestsLeft();
    left.note(100, 100, 0);
    for (let i = 0; i < 60; i++) left.spend();
    expect(left.share(0)).toBeCloseTo(0.4);
    expect(left.share(6_000)).toBeCloseTo(0.5);
  });

  it('is a share of what can be left, which is less than the requests of a minute if few may arrive at once', () => {
    const left = new RequestsLeft();
    left.note(60_000, 9_999, 0);
    expect(left.share(0)).toBe(1);
    left.note(60_000, 4_000, 10);
    expect(left.share(10)).toBeLessThan(0.5);
  });

  it('begins again with another limit, and recovers from none', () => {
    const left = new RequestsLeft();
    left.note(60_000, 9_999, 0);
    left.note(100, 80, 0);
    expect(left.share(0)).toBe(1);
    const none = new RequestsLeft();
    none.note(100, 0, 0);
    none.note(100, 50, 30_000);
    expect(none.share(30_000)).toBe(1);
  });
});
