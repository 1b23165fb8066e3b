import { describe, expect, it } from 'vitest';
import { slippageLimits } from '@sluice/shared/wire/rest/trading/quote.ts';
import { amountFor, isSlippage } from '@sluice/site/web/trading/ticket/amounts.ts';

describe('the order ticket', () => {
  it('accepts the same slippage as the server', () => {
    const { min, max } = slippageLimits;
    expect([min, max, slippageLimits.default].map((percent) => isSlippage(String(percent)))).toEqual([true, true, true]);
    expect([min - 0.01, max + 0.01].map((percent) => isSlippage(percent.toFixed(2)))).toEqual([false, false]);
    for (const text of ['', 'x', '-1', '1e1', '1 2']) expect(isSlippage(text)).toBe(false);
  });

  it('reads amounts, and percentages only for a sale', () => {
    expect([amountFor('buy', ' 0.5 '), amountFor('sell', '12'), amountFor('sell', '50%')]).toEqual([0.5, 12, '50%']);
    for (const text of ['', '0', '-1', '1e3', 'x', '50%', '9007199254740993']) expect(amountFor('buy', text)).toBeNull();
    for (const text of ['%', '1000%', '50 %']) expect(amountFor('sell', text)).toBeNull();
  });
});
