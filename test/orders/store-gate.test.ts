import { StoreGate } from '../../trading/src/place/store-gate.ts';
import type { StoredOrder } from '@sluice/gateway/store/order-model/order.ts';
import type { InsertOutcome } from '@sluice/gateway/store/sql/tables/orders/orders.ts';
import { StoreUnavailableError } from '@sluice/gateway/store/store-unavailable.ts';
import { setImmediate as turn } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { recordingLog, type LogLine } from '../ingest/harness.ts';
import { manualClock, type ManualClock } from '../support/clocks.ts';

const full = new StoreUnavailableError(new Error('database or disk is full'));
const taken: InsertOutcome = { kind: 'stored', order: {} as StoredOrder };

/** A store that accepts, refuses or does not answer. */
type Mood = 'accepts' | 'refuses' | 'is silent';
let clock: ManualClock;
let gate: StoreGate;
let lines: LogLine[];
let ofProbes: Mood;
let probes: number;

const answer = (mood: Mood): Promise<void> =>
  mood === 'accepts' ? Promise.resolve() : mood === 'refuses' ? Promise.reject(full) : new Promise(() => undefined);
beforeEach(() => {
  [clock, lines, ofProbes, probes] = [manualClock(), [], 'accepts', 0];
  const probe = (): Promise<void> => {
    probes++;
    return answer(ofProbes);
  };
  gate = new StoreGate({ probe, clock, log: recordingLog(lines) });
});

const store = (mood: Mood): Promise<string> =>
  gate
    .store(async () => answer(mood).then(() => taken))
    .then(
      ({ kind }) => kind,
      () => 'refused',
    );
/** Signs as many orders as it may, at once, and stores them. Returns how many it signed. */
async function orders(count: number, mood: Mood): Promise<number> {
  const granted = await Promise.all(Array.from({ length: count }, async () => gate.mayStore()));
  const signed = granted.filter(Boolean).length;
  await Promise.all(Array.from({ length: signed }, () => store(mood)));
  return signed;
}
const names = (): readonly string[] => lines.map(({ name }) => name);

describe('orders', () => {
  it('are signed after a probe, and while others are stored, without another probe', async () => {
    gate.prepare();
    await turn();
    for (let i = 0; i < 100; i++) {
      expect(gate.mayStore()).toBe(true);
      expect(await store('accepts')).toBe('stored');
      await clock.pass(900);
    }
    expect(probes).toBe(1);
    await clock.pass(200);
    expect(await orders(5, 'accepts')).toBe(5);
    expect(probes).toBe(2);
  });

  it('are not signed if the store refuses the probe', async () => {
    ofProbes = 'refuses';
    expect(await orders(20, 'accepts')).toBe(0);
    expect(probes).toBe(1);
    // Soon after, the store is not asked again.
    expect(gate.prepare()).toBeUndefined();
    expect(await orders(20, 'accepts')).toBe(0);
    expect(probes).toBe(1);
    await clock.pass(250);
    ofProbes = 'accepts';
    expect(await orders(20, 'accepts')).toBe(20);
  });

  it('are not signed if the store does not answer the probe, which stays alone', async () => {
    ofProbes = 'is silent';
    for (let i = 0; i < 5; i++) {
      const asked = orders(3, 'accepts');
      await clock.pass(1_000);
      expect(await asked).toBe(0);
    }
    expect(probes).toBe(1);
  });

  it('are not signed after a refusal, except one at a time, ever more seldom, until one is stored', async () => {
    expect(await orders(20, 'refuses')).toBe(20);
    const signed: number[] = [];
    for (let ms = 0; ms < 60_000; ms += 50) {
      const count = await orders(20, 'refuses');
      if (count > 0) signed.push(count);
      await clock.pass(50);
    }
    // Pauses of 0.25, 0.5, 1, 2, 4, 8 and then 10 seconds, although each probe is stored.
    expect(signed).toEqual(Array.from({ length: signed.length }, () => 1));
    expect(signed.length).toBeGreaterThan(6);
    expect(signed.length).toBeLessThan(13);
    await clock.pass(10_000);
    expect(await orders(20, 'accepts')).toBe(1);
    expect(await orders(20, 'accepts')).toBe(20);
    expect(names()).toEqual(['store_refuses_orders', 'store_accepts_orders']);
  });

  it('are not signed because of an order or a probe that began before the refusal', async () => {
    let give: (outcome: InsertOutcome) => void;
    await orders(1, 'accepts');
    const slow = gate.store(() => new Promise<InsertOutcome>((resolve) => (give = resolve)));
    await clock.pass(10);
    expect(await orders(1, 'refuses')).toBe(1);
    give!(taken);
    await slow;
    expect(await orders(5, 'accepts')).toBe(0);
    await clock.pass(250);
    ofProbes = 'refuses';
    expect(await orders(5, 'accepts')).toBe(0);
  });

  it('are tried alone until the store has answered, or the one on trial has not come to it', async () => {
    await orders(1, 'refuses');
    await clock.pass(250);
    expect(await gate.mayStore()).toBe(true);
    expect(await gate.mayStore()).toBe(false);
    await clock.pass(1_900);
    expect(await gate.mayStore()).toBe(false);
    await clock.pass(200);
    expect(await gate.mayStore()).toBe(true);
    let give: (outcome: InsertOutcome) => void;
    const slow = gate.store(() => new Promise<InsertOutcome>((resolve) => (give = resolve)));
    await clock.pass(60_000);
    expect(await gate.mayStore()).toBe(false);
    give!(taken);
    await slow;
    expect(await orders(5, 'accepts')).toBe(5);
  });
});
