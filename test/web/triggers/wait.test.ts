import { describe, expect, it } from 'vitest';
import { conditionOf, waits, type Known, type Wait } from '@sluice/site/web/trading/ticket/wait.ts';

const prices = { priceSol: 2e-8, priceUsd: 4e-6, priceQuote: 2e-8, marketCapSol: 20, marketCapUsd: 4_000, supplyUi: 1e9 };
const known: Known = { prices, curvePercent: 40, profitPercent: 30 };
const read = (wait: Wait, value: string, parts: Partial<Known> = {}) => conditionOf({ wait, value }, { ...known, ...parts });

describe('the condition of the ticket', () => {
  it('is reached from the side on which the price is now', () => {
    expect(read('priceUsd', '0.000005')).toEqual({ metric: 'priceUsd', op: '>=', value: 5e-6 });
    expect(read('priceUsd', ' 0.000003 ')).toEqual({ metric: 'priceUsd', op: '<=', value: 3e-6 });
    expect(read('marketCapSol', '20')).toEqual({ metric: 'marketCapSol', op: '<=', value: 20 });
    expect(read('curveProgress', '90')).toEqual({ metric: 'curveProgress', op: '>=', value: 90 });
    expect(read('profit', '50')).toEqual({ position: 'profitPct', op: '>=', value: 50 });
    expect(read('profit', '20')).toEqual({ position: 'profitPct', op: '<=', value: 20 });
    expect(read('profit', '−45')).toEqual({ position: 'profitPct', op: '<=', value: -45 });
    // Without a position.
    expect(read('profit', '20', { profitPercent: null })).toMatchObject({ op: '>=' });
    expect(read('profit', '-20', { profitPercent: null })).toMatchObject({ op: '<=' });
    expect(read('trailing', '15')).toEqual({ trailing: { metric: 'priceSol', percent: 15 } });
    expect(read('migration', '')).toEqual({ event: 'migration' });
  });

  it('is refused if it is no number, out of range, or cannot be compared with now', () => {
    const refused = /^[A-Z][^.]+: .+\.$/;
    for (const [wait] of waits.filter(([name]) => name !== 'migration'))
      for (const text of ['', 'x', '1e3', '1,5', '--1', '9'.repeat(400)]) expect(read(wait, text), `${wait} ${text}`).toMatch(refused);
    for (const [wait, text] of [
      ['priceUsd', '0'],
      ['priceSol', '-1'],
      ['trailing', '0.05'],
      ['trailing', '96'],
      ['curveProgress', '101'],
      ['profit', '-100'],
    ] as const)
      expect(read(wait, text)).toMatch(refused);
    const unknown = { prices: { ...prices, priceUsd: null }, curvePercent: null };
    for (const wait of ['priceUsd', 'curveProgress'] as const) expect(read(wait, '1', unknown)).toMatch(/not known now/);
  });
});
