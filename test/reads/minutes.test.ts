import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Minutes } from '../../gateway/src/reads/pages/minutes.ts';

const spans = { '5m': 5, '1h': 60, '24h': 1440 } as const;
const beginS = 1_795_248_000;

describe('windows of minutes', () => {
  it('equal a naive sum, for any order and times of trades', () => {
    const trade = fc.record({ agoS: fc.integer({ min: 0, max: 100_000 }), buy: fc.boolean(), sol: fc.integer({ min: 0, max: 1_000 }) });
    const stored = fc.uniqueArray(fc.integer({ min: 0, max: 1500 }), { maxLength: 20 });
    fc.assert(
      fc.property(fc.array(trade, { maxLength: 60 }), stored, fc.integer({ min: 0, max: 59 }), (trades, storedMinutes, secondS) => {
        const nowS = beginS + secondS;
        const before = storedMinutes
          .toSorted((a, b) => b - a)
          .map((ago) => ({ startS: beginS - ago * 60, buys: 1, sells: 2, volumeSol: 3, volumeUsd: 4 }));
        const minutes = new Minutes(before);
        for (const { agoS, buy, sol } of trades) {
          minutes.add(nowS - agoS, { buys: buy ? 1 : 0, sells: buy ? 0 : 1, volumeSol: sol, volumeUsd: 2 * sol }, nowS);
        }
        const sums = minutes.sums(nowS);
        for (const [name, length] of Object.entries(spans)) {
          const fromS = beginS - (length - 1) * 60;
          const inside = trades.filter(({ agoS }) => nowS - agoS >= fromS);
          const held = before.filter(({ startS }) => startS >= fromS).length;
          expect(sums[name as keyof typeof sums]).toEqual({
            buys: inside.filter(({ buy }) => buy).length + held,
            sells: inside.filter(({ buy }) => !buy).length + 2 * held,
            volumeSol: inside.reduce((sum, { sol }) => sum + sol, 0) + 3 * held,
            volumeUsd: inside.reduce((sum, { sol }) => sum + 2 * sol, 0) + 4 * held,
          });
        }
      }),
    );
  });

  it('drop what is older than a day, and count trades of a clock that is ahead as now', () => {
    const minutes = new Minutes([]);
    const one = { buys: 1, sells: 0, volumeSol: 1, volumeUsd: 1 };
    for (let minute = 0; minute < 5_000; minute++) minutes.add(beginS + minute * 60, one, beginS + minute * 60);
    expect(minutes.size).toBeLessThanOrEqual(1_442);
    const nowS = beginS + 4_999 * 60;
    expect(minutes.sums(nowS)['24h'].buys).toBe(1_440);
    minutes.add(nowS + 1_000_000, one, nowS);
    expect(minutes.sums(nowS)['5m'].buys).toBe(6);
    minutes.add(nowS - 200_000, one, nowS);
    expect(minutes.sums(nowS)['24h'].buys).toBe(1_441);
  });
});
