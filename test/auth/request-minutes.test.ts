import { RequestMinutes } from '@sluice/gateway/ratelimit/request-minutes.ts';
import fc from 'fast-check';
import { expect, it } from 'vitest';

const minuteMs = 60_000;
const beginMs = 1_800_000_000_000;

it('counts the requests of each key by minute, for an hour', () => {
  const request = fc.record({ key: fc.constantFrom('a', 'b'), admitted: fc.boolean(), afterMs: fc.nat({ max: 20 * minuteMs }) });
  fc.assert(
    fc.property(fc.array(request, { maxLength: 60 }), fc.nat({ max: 90 * minuteMs }), (requests, laterMs) => {
      const minutes = new RequestMinutes();
      let nowMs = beginMs;
      const all = requests.map(({ afterMs, ...of }) => ({ ...of, atMs: (nowMs += afterMs) }));
      for (const { key, admitted, atMs } of all) minutes.note(key, admitted, atMs);
      nowMs += laterMs;
      const startMs = (Math.floor(nowMs / minuteMs) - 59) * minuteMs;
      const expected = (key: string, admitted: boolean): number[] =>
        Array.from({ length: 60 }, (_, minute) => {
          const fromMs = startMs + minute * minuteMs;
          return all.filter((of) => of.key === key && of.admitted === admitted && of.atMs >= fromMs && of.atMs < fromMs + minuteMs).length;
        });
      for (const key of ['a', 'b', 'c']) {
        expect(minutes.of(key, nowMs)).toEqual({ startMs, accepted: expected(key, true), refused: expected(key, false) });
      }
    }),
  );
});

it('a clock that is set back counts in the newest minute', () => {
  const minutes = new RequestMinutes();
  minutes.note('a', true, beginMs);
  minutes.note('a', true, beginMs - 5 * minuteMs);
  expect(minutes.of('a', beginMs - 5 * minuteMs).accepted.at(-1)).toBe(2);
});

it('forgets the keys that were used least recently', () => {
  const minutes = new RequestMinutes(4);
  for (let count = 0; count < 100; count++) minutes.note(`k${count}`, true, beginMs);
  const known = Array.from({ length: 100 }, (_, at) => minutes.of(`k${at}`, beginMs).accepted.at(-1));
  expect(known.filter((count) => count === 1).length).toBeLessThanOrEqual(4);
  expect(known.at(-1)).toBe(1);
});
