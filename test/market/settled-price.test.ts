import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countSlots, noteSlot, type Price, type SlotPrice } from '@sluice/shared/market/pools/slot-prices.ts';
import { SettledPrice } from '@sluice/shared/market/pools/settled-price.ts';

describe('the price that counts while a slot goes on', () => {
  it('is the one that candles count, at every moment of a random history', () => {
    const step = fc.record({ passed: fc.integer({ min: 0, max: 4 }), quote: fc.integer({ min: 1, max: 50 }) });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 50 }), fc.array(step, { maxLength: 40 }), (first, steps) => {
        const settled = new SettledPrice(100, first, first);
        let [slot, slots, newest]: [number, readonly SlotPrice[], number] = [100, [], first];
        const take = (quote: number): void => {
          const price: Price = { quote, usd: null };
          const before = { quote: newest, usd: null };
          const seen = { ...price, slot, atS: slot, receivedUs: slot, isOwn: true, before, counted: null };
          slots = countSlots(noteSlot(slots, seen), Number.NEGATIVE_INFINITY, () => undefined);
        };
        take(first);
        for (const { passed, quote } of steps) {
          slot += passed;
          take(quote);
          settled.note(slot, quote);
          newest = quote;
          const counted = slots.findLast((one) => one.counted !== null)?.counted?.quote ?? first;
          expect(settled.at(slot)).toBe(counted);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('is the spot price in the first slot of a token, and then that of its end', () => {
    const settled = new SettledPrice(7, 1, null);
    settled.note(7, 2);
    expect(settled.at(7)).toBe(2);
    settled.note(8, 9);
    expect(settled.at(8)).toBe(2);
    expect(settled.at(9)).toBe(2);
    expect(settled.at(10)).toBe(9);
  });

  it('is not changed by what is seen late, or by a fork that died', () => {
    const settled = new SettledPrice(7, 1, 1);
    settled.note(9, 5);
    settled.note(8, 100);
    settled.forget();
    expect([9, 10, 11, 12].map((slot) => settled.at(slot))).toEqual([1, 1, 1, 1]);
    settled.note(13, 3);
    expect([13, 14, 15].map((slot) => settled.at(slot))).toEqual([1, 1, 3]);
  });

  it('is not held by a slot that a node invented, in this pool or in another one', () => {
    const settled = new SettledPrice(100, 1, 1);
    expect(settled.at(1_500)).toBe(1);
    settled.note(101, 10);
    expect([101, 102, 103].map((slot) => settled.at(slot))).toEqual([1, 1, 10]);
    settled.note(1_500, 50);
    settled.note(110, 20);
    expect([110, 111, 112].map((slot) => settled.at(slot))).toEqual([10, 10, 20]);
  });
});
