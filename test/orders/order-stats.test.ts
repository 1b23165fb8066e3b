import { OrderStats, orderSteps } from '../../trading/src/model/order-stats.ts';
import { expect, it } from 'vitest';

it('each step of an accepted order is counted, in microseconds', () => {
  const stats = new OrderStats();
  for (let i = 0; i < 100; i++) stats.executed({ totalMs: 3, quoteMs: 0.2, buildMs: 0.1, signMs: 0.3, storeMs: 0.4, sendMs: 1 });
  stats.executed({ totalMs: 90, simulateMs: 80, storeMs: 0.4, sendMs: 1 });
  expect(orderSteps.map((step) => stats.stepsUs[step].count)).toEqual([100, 100, 1, 100, 101, 101, 101]);
  for (const [step, us] of [
    ['quote', 200],
    ['store', 400],
    ['total', 3_000],
  ] as const) {
    const median = stats.stepsUs[step].percentile(0.5)!;
    expect(median, step).toBeLessThanOrEqual(us);
    expect(median, step).toBeGreaterThan(us * 0.93);
  }
  expect(stats.stepsUs.total.summary().max).toBe(90_000);
  stats.executed({ totalMs: 3_165.310_629 });
  expect(stats.stepsUs.total.summary().max).toBe(3_165_311);
});

it('each order is counted once at its start and once at its end, also if more is reported later', () => {
  const stats = new OrderStats();
  const report = (id: string, ...states: readonly Parameters<OrderStats['changed']>[0]['state'][]): void =>
    states.forEach((state, i) => stats.changed({ id, state, version: i + 1 }));
  report('one', 'submitted', 'processed', 'confirmed', 'finalized', 'finalized');
  report('two', 'submitted', 'failed');
  report('three', 'submitted', 'unknown', 'expired');
  report('paper', 'finalized');
  report('open', 'submitted');
  expect([stats.stored, stats.ended]).toEqual([5, { finalized: 2, failed: 1, expired: 1 }]);
  // Orders that ended long ago are forgotten, to bound the memory.
  for (let i = 0; i < 20_000; i++) report(`more ${i}`, 'finalized');
  report('one', 'finalized');
  expect([stats.stored, stats.ended.finalized]).toEqual([20_006, 20_003]);
});
