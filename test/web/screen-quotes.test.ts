import { ScreenQuotes, type QuoteObject } from '@sluice/site/web/trading/ticket/screen-quotes.ts';
import { expect, it } from 'vitest';

const quoted = (inAmount: string, minOut: string) => ({
  quote: { inAmount, minOut } as QuoteObject,
  quoteMint: 'sol',
  readAtMs: 0,
});

it('an order obeys the strictest of the quotes that were on the screen a moment ago', () => {
  const screen = new ScreenQuotes();
  expect(screen.boundsAt(0)).toBeNull();
  screen.show(quoted('10', '100'), 0);
  expect(screen.boundsAt(9_000)).toEqual({ maxIn: '10', minOut: '100' });
  // A tenth of a second before the click the price has moved by half: nobody has read that yet.
  screen.show(quoted('10', '50'), 9_000);
  screen.show(quoted('10', '51'), 9_050);
  expect(screen.boundsAt(9_100)).toEqual({ maxIn: '10', minOut: '100' });
  expect(screen.boundsAt(9_520)).toEqual({ maxIn: '10', minOut: '51' });
  // Another amount, as after a change of the balance, has another bound.
  screen.show(quoted('5', '26'), 9_600);
  expect(screen.boundsAt(9_601)).toEqual({ maxIn: '5', minOut: '26' });
  // After a refusal only the new quote counts, even if a worse price was quoted.
  screen.clear();
  expect(screen.boundsAt(9_602)).toBeNull();
  screen.show(quoted('5', '9'), 9_603);
  expect(screen.boundsAt(9_604)).toEqual({ maxIn: '5', minOut: '9' });
});
