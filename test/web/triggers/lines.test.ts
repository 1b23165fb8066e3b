import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { conditionAt, firesAtOnce, isMovable, linesOf, lineText, unitNow } from '@sluice/site/web/token/lines.ts';
import type { PricesNow } from '@sluice/site/web/trading/triggers/prices.ts';
import type { Trigger } from '@sluice/site/web/trading/triggers/trigger.ts';
import { aTrigger } from './a-trigger.ts';

const now: PricesNow = { priceSol: 2e-8, priceUsd: 4e-6, priceQuote: 2e-8, marketCapSol: 20, marketCapUsd: 4_000, supplyUi: 1e9 };
const wallet = 'Wa11et';
const costs = new Map([[wallet, 1e-8]]);
const trigger = (parts: Partial<Trigger>): Trigger =>
  aTrigger({ publicKey: wallet, when: { metric: 'priceSol', op: '>=', value: 4e-8 }, ...parts });
const priceOf = (parts: Partial<Trigger>, unit: 'usd' | 'quote' | 'cap' = 'usd') => linesOf([trigger(parts)], unit, now, costs)[0]?.price;

describe('the lines of triggers', () => {
  it('are at the same distance from the price in every unit and metric', () => {
    for (const unit of ['usd', 'quote', 'cap'] as const) {
      const twice = 2 * unitNow(unit, now)!;
      for (const [metric, value] of [
        ['priceSol', 4e-8],
        ['priceUsd', 8e-6],
        ['marketCapSol', 40],
        ['marketCapUsd', 8_000],
      ] as const) {
        expect(priceOf({ when: { metric, op: '>=', value } }, unit)! / twice).toBeCloseTo(1, 9);
      }
      // The cost is half of the price.
      expect(priceOf({ when: { position: 'profitPct', op: '>=', value: 300 } }, unit)! / twice).toBeCloseTo(1, 9);
      // 20 % below the highest price, or above the lowest one.
      const trailing = { trailing: { metric: 'priceSol', percent: 20 } } as const;
      expect(priceOf({ when: trailing, watermark: 5e-8 }, unit)! / twice).toBeCloseTo(1, 9);
      expect(priceOf({ when: trailing, watermark: 4e-8 / 1.2, side: 'buy' }, unit)! / twice).toBeCloseTo(1, 9);
    }
  });

  it('are drawn only of triggers that can fire at a known price', () => {
    const level = { metric: 'priceUsd', op: '<=', value: 1e-6 } as const;
    const drawn = (parts: Partial<Trigger>, prices = now) => linesOf([trigger(parts)], 'quote', prices, costs).length;
    for (const status of ['waiting', 'fired', 'cancelled', 'expired', 'failed'] as const) expect(drawn({ status })).toBe(0);
    expect(drawn({ status: 'firing' })).toBe(1);
    expect(drawn({ when: level }, { ...now, priceUsd: null })).toBe(0);
    expect(drawn({ when: level }, { ...now, priceQuote: 0 })).toBe(0);
    expect(drawn({ when: { position: 'profitPct', op: '<=', value: -45 }, publicKey: 'another' })).toBe(0);
    expect(drawn({ when: { trailing: { metric: 'priceSol', percent: 20 } }, watermark: null })).toBe(0);
    for (const when of [
      { metric: 'curveProgress', op: '>=', value: 90 },
      { at: 1 },
      { every: '60s', times: 2 },
      { event: 'migration' },
      { filled: 'ord_1' },
      { account: 'Leader', side: 'sell' },
    ] as const)
      expect(drawn({ when })).toBe(0);
  });

  it('join what fires at once: the same stop of three parts is one line, in the order of the chart', () => {
    const stop = { position: 'profitPct', op: '<=', value: -45 } as const;
    const lines = linesOf(
      [trigger({ when: stop }), trigger({ when: stop }), trigger({}), trigger({ when: stop, side: 'buy' }), trigger({ when: stop })],
      'usd',
      now,
      costs,
    );
    expect(lines.map((one) => lineText(one, 6))).toEqual(['Sell 100 %', 'Sell 3 parts at −45 %', 'Buy 100 % at −45 %']);
  });

  it('give back the condition at the price to which they are moved', () => {
    const values = fc.double({ min: 1e-4, max: 1e4, noNaN: true });
    fc.assert(
      fc.property(
        values,
        fc.constantFrom('priceSol', 'priceUsd', 'marketCapSol', 'marketCapUsd'),
        fc.constantFrom('usd', 'quote', 'cap'),
        fc.constantFrom('>=', '<='),
        (factor, metric, unit, op) => {
          const moved = trigger({ when: { metric, op, value: 1 } });
          const target = unitNow(unit, now)! * factor;
          const when = conditionAt(moved, target, unit, now, costs)!;
          expect(when).toMatchObject({ metric, op });
          expect(Math.abs(priceOf({ when }, unit)! / target - 1)).toBeLessThan(1e-4);
        },
      ),
    );
    const profit = trigger({ when: { position: 'profitPct', op: '>=', value: 50 } });
    expect(conditionAt(profit, 6e-6, 'usd', now, costs)).toEqual({ position: 'profitPct', op: '>=', value: 200 });
    expect(conditionAt(profit, 6e-6, 'usd', now, new Map())).toBeNull();
    expect(conditionAt(trigger({ when: { trailing: { metric: 'priceSol', percent: 5 } } }), 1, 'usd', now, costs)).toBeNull();
    expect(conditionAt(trigger({}), 1, 'usd', { ...now, priceSol: null }, costs)).toBeNull();
  });

  it('do not move if that would change more than the price, and say when they would fire at once', () => {
    const [trailing] = linesOf([trigger({ when: { trailing: { metric: 'priceSol', percent: 5 } }, watermark: 1 })], 'usd', now, costs);
    const [firing] = linesOf([trigger({ status: 'firing' })], 'usd', now, costs);
    const [parent] = linesOf([trigger({ children: ['trg_child'] })], 'usd', now, costs);
    const [level] = linesOf([trigger({})], 'usd', now, costs);
    expect([trailing, firing, parent, level].map((line) => isMovable(line!))).toEqual([false, false, false, true]);
    expect([firesAtOnce('>=', 2, 1), firesAtOnce('>=', 1, 1), firesAtOnce('<=', 2, 1), firesAtOnce('<=', 0.5, 1)]).toEqual([
      false,
      true,
      true,
      false,
    ]);
    expect(firesAtOnce('<=', 2, null)).toBe(false);
  });
});
