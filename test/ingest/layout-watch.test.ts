import { expect, it } from 'vitest';
import { LayoutWatch } from '../../ingest/src/pipeline/layout-watch.ts';
import { ingestParts } from '../../ingest/src/metrics.ts';

const counts = (decoded: number, malformed: number) => ({ events: { decoded, ignored: 0, unknown: 0, malformed } });

it('names a venue while more than a twentieth of its events cannot be decoded', () => {
  const watch = new LayoutWatch();
  watch.take({ pump: counts(1_000, 0), 'meteora-dlmm': counts(0, 0) }, 0);
  expect(watch.changed).toEqual([]);
  watch.take({ pump: counts(1_100, 5), 'meteora-dlmm': counts(10, 5) }, 1_000);
  expect(watch.changed).toEqual([]);
  watch.take({ pump: counts(1_100, 5), 'meteora-dlmm': counts(15, 7) }, 2_000);
  expect(watch.changed).toEqual(['meteora-dlmm']);
  // It stays until a whole window shows that the events are read again.
  for (const [atMs, decoded, expected] of [
    [301_000, 15, ['meteora-dlmm']],
    [400_000, 1_000, ['meteora-dlmm']],
    [602_000, 1_000, []],
  ] as const) {
    watch.take({ pump: counts(1_100, 5), 'meteora-dlmm': counts(decoded, 7) }, atMs);
    expect(watch.changed).toEqual(expected);
  }
});

it('is a part of readiness, which names the venues', () => {
  const stats = { endpoints: [], endpointsUp: 1, slotAgeMs: 1, busAnswers: true, continuity: null } as const;
  const partsOf = (changedVenues: readonly string[]) =>
    ingestParts({ ...stats, changedVenues } as unknown as Parameters<typeof ingestParts>[0]);
  expect(partsOf([])).toMatchObject({ layouts: null });
  expect(partsOf(['meteora-dlmm'])['layouts']).toMatch(/meteora-dlmm/);
});
