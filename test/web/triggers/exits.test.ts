import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exitsOf, hasExits, maxSteps, noExits, withSteps, type Exit } from '@sluice/site/web/trading/triggers/exits.ts';
import { equalParts, partText, readPart, restOf } from '@sluice/site/web/trading/triggers/ladder.ts';

const fields = (parts: Partial<typeof noExits>) => ({ ...noExits, ...parts });
const exits = (parts: Partial<typeof noExits>): readonly Exit[] => {
  const read = exitsOf(fields(parts), 'g');
  if (typeof read === 'string') throw new Error(read);
  return read;
};
const profit = (value: number) => ({ position: 'profitPct', op: value < 0 ? '<=' : '>=', value });

describe('the parts of a ladder', () => {
  it('are integers that add up to the whole', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 60 }), (count) => {
        const parts = equalParts(count);
        expect([parts.length, restOf(parts), parts.every((part) => Number.isInteger(part) && part > 0)]).toEqual([count, 0, true]);
      }),
    );
    expect(equalParts(3).map(partText)).toEqual(['33.33%', '33.33%', '33.34%']);
  });

  it('are read as they are written', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10_000 }), (part) => {
        expect(readPart(partText(part))).toBe(part);
      }),
    );
    expect([readPart(' 25 % '), readPart('0.5')]).toEqual([2_500, 50]);
    for (const text of ['', '0', '0.00', '100.01', '-1', '33.333', '1e1', 'x', '1000']) expect(readPart(text)).toBeNull();
  });
});

describe('exits of a buy', () => {
  it('are one group for each part: its profit, its stop and its trailing stop', () => {
    expect(exits({ steps: [{ part: '100', profit: '50' }], stopLoss: '45', trailing: '20' })).toEqual([
      { amount: '100%', when: profit(50), ocoGroup: 'g-1' },
      { amount: '100%', when: profit(-45), ocoGroup: 'g-1' },
      { amount: '100%', when: { trailing: { metric: 'priceSol', percent: 20 } }, ocoGroup: 'g-1' },
    ]);
    expect(
      exits({
        steps: [
          { part: '50', profit: '50' },
          { part: '25', profit: '100' },
        ],
        stopLoss: '45',
      }),
    ).toEqual([
      { amount: '50%', when: profit(50), ocoGroup: 'g-1' },
      { amount: '50%', when: profit(-45), ocoGroup: 'g-1' },
      { amount: '25%', when: profit(100), ocoGroup: 'g-2' },
      { amount: '25%', when: profit(-45), ocoGroup: 'g-2' },
      { amount: '25%', when: profit(-45), ocoGroup: 'g-3' },
    ]);
    expect(exits({ stopLoss: '45' })).toEqual([{ amount: '100%', when: profit(-45), ocoGroup: 'g-1' }]);
    expect([exits({}), hasExits(noExits), hasExits(fields({ trailing: '1' }))]).toEqual([[], false, true]);
  });

  it('sell each unit at most once, and with a stop all of them, whichever of each group fires', () => {
    const part = fc.integer({ min: 1, max: 10_000 });
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: maxSteps }), fc.boolean(), (sizes, hasStop) => {
        const steps = sizes.map((size, at) => ({ part: partText(size).slice(0, -1), profit: String(10 * (at + 1)) }));
        const read = exitsOf({ steps, stopLoss: hasStop ? '45' : '', trailing: '' }, 'g');
        if (typeof read === 'string') {
          const isTooMany = sizes.length === maxSteps && hasStop;
          expect(read).toMatch(restOf(sizes) < 0 ? /more than 100 %/ : isTooMany ? /^These are 11 exits/ : /^$/);
          return;
        }
        const groups = new Map(read.map(({ ocoGroup, amount }) => [ocoGroup, readPart(amount)!]));
        for (const { ocoGroup, amount } of read) expect(readPart(amount)).toBe(groups.get(ocoGroup));
        expect(restOf([...groups.values()])).toBe(hasStop ? 0 : restOf(sizes));
      }),
    );
  });

  it('are refused with what is wrong, and where', () => {
    const refused = (parts: Partial<typeof noExits>) => exitsOf(fields(parts), 'g');
    for (const text of ['0', 'x', '-1', '101', '1e1', '1.234']) {
      expect(refused({ stopLoss: text })).toBe('Stop loss: a percentage of the cost up to 100, for example 45.');
      expect(refused({ trailing: text })).toBe('Trailing stop: a percentage up to 95, for example 20.');
    }
    expect(refused({ steps: [{ part: '100', profit: 'x' }] })).toBe('Take profit: a percentage of the cost, for example 50.');
    const second = (part: string) => [
      { part: '60', profit: '10' },
      { part, profit: '20' },
    ];
    expect(refused({ steps: second('0') })).toBe('Step 2. Part: a percentage of what was bought, up to 100.');
    expect(refused({ steps: second('50') })).toBe('The steps sell more than 100 %.');
  });

  it('keep their profits when the number of steps changes', () => {
    const three = withSteps(fields({ steps: [{ part: '100', profit: '50' }], stopLoss: '1' }), 3);
    expect(three).toEqual({
      steps: [
        { part: '33.33', profit: '50' },
        { part: '33.33', profit: '' },
        { part: '33.34', profit: '' },
      ],
      stopLoss: '1',
      trailing: '',
    });
  });
});
