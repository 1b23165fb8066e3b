import { beforeEach, describe, expect, it } from 'vitest';
import { startVirtualTime } from '../support/virtual-time.ts';
import { catchUp, settle } from './settle.ts';

beforeEach(startVirtualTime);

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
    expect(performance.now() - startedAtMs).toBe(times.giveUpMs);
  });

  it('is judged if frames never end', async () => {
    const startedAtMs = performance.now();
    let frames = 0;
    await settle({ isSettled: async () => true, frames: () => ++frames }, times);
    expect(performance.now() - startedAtMs).toBe(times.atMostMs);
  });
});

describe('the wait for clients that are behind', () => {
  const patience = { restAfterMs: 300, atMostMs: 2_000, lookEveryMs: 10 };

  /** A market, and clients that have everything after a time. */
  async function waited(hasAllAtMs: number, happenedMsAgo: number): Promise<{ tookMs: number; restedMs: number; isResting: boolean }> {
    const beganAtMs = performance.now();
    let restsSinceMs: number | null = null;
    let restedMs = 0;
    const rest = (): (() => void) => {
      expect(restsSinceMs).toBeNull();
      const sinceMs = (restsSinceMs = performance.now());
      return () => {
        restedMs += performance.now() - sinceMs;
        restsSinceMs = null;
      };
    };
    const untilMs = beganAtMs - happenedMsAgo;
    const hasAll = (ms: number): boolean => ms === untilMs && performance.now() - beganAtMs >= hasAllAtMs;
    await catchUp({ hasAll, rest }, untilMs, patience);
    return { tookMs: performance.now() - beganAtMs, restedMs, isResting: restsSinceMs !== null };
  }

  it('neither waits nor stops the market if they have everything', async () => {
    expect(await waited(0, 1_000)).toEqual({ tookMs: 0, restedMs: 0, isResting: false });
  });

  it('stops the market at once for what happened long ago, until they have it', async () => {
    expect(await waited(100, 300)).toEqual({ tookMs: 100, restedMs: 100, isResting: false });
  });

  it('stops the market for what happened just now only after a time', async () => {
    expect(await waited(500, 0)).toEqual({ tookMs: 500, restedMs: 200, isResting: false });
  });

  it('ends if they never have it, and lets the market continue', async () => {
    expect(await waited(Infinity, 0)).toEqual({ tookMs: 2_000, restedMs: 1_700, isResting: false });
  });
});
