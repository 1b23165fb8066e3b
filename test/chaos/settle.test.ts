import { describe, expect, it } from 'vitest';
import { settle } from './settle.ts';

const times = { quietMs: 60, giveUpMs: 400, atMostMs: 2_000, lookEveryMs: 5 };

describe('the end of a run', () => {
  it('is not judged while frames still arrive, even if all clients have everything', async () => {
    let checks = 0;
    const frames = (): number => Math.min(checks, 20);
    await settle({ isSettled: async () => ++checks > 0, frames }, times);
    expect(checks).toBeGreaterThan(20);
  });

  it('is judged if some client never gets everything', async () => {
    const startedAtMs = performance.now();
    await settle({ isSettled: async () => false, frames: () => 7 }, times);
    expect(performance.now() - startedAtMs).toBeGreaterThanOrEqual(times.giveUpMs);
  });

  it('is judged if frames never end', async () => {
    let frames = 0;
    await settle({ isSettled: async () => true, frames: () => ++frames }, { ...times, atMostMs: 200 });
    expect(frames).toBeGreaterThan(10);
  });
});
