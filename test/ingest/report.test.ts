import { describe, expect, it } from 'vitest';
import type { DecodeFault } from '@sluice/ingest/pipeline/decode.ts';
import { Report } from '@sluice/ingest/report.ts';
import { recordingLog, type LogLine } from './harness.ts';

const unknown = (detail: string, where = 'a', venue = 'pump'): DecodeFault => ({ venue, kind: 'unknown', detail, where, sampleBase64: '' });

describe('the report of faults', () => {
  it('distinguishes unknown discriminators, each with its newest sample', () => {
    const lines: LogLine[] = [];
    const report = new Report(recordingLog(lines));
    report.note(unknown('0102030405060708', 'first'));
    for (const where of ['second', 'third']) report.note(unknown('1112131415161718', where));
    report.note({ ...unknown('TradeEvent too short'), kind: 'malformed' });
    expect(report.faults).toMatchObject([
      { kind: 'unknown', detail: '0102030405060708', where: 'first', total: 1 },
      { kind: 'unknown', detail: '1112131415161718', where: 'third', total: 2 },
      { kind: 'malformed', detail: 'TradeEvent too short', total: 1 },
    ]);
  });

  it('counts every fault beyond its bound, by venue and kind', () => {
    const report = new Report(recordingLog([]));
    for (let n = 0; n < 10_000; n++) report.note(unknown(`discriminator ${n}`, 'a', n % 2 === 0 ? 'pump' : 'pump-amm'));
    const { faults } = report;
    expect(faults).toHaveLength(66);
    expect(faults.reduce((sum, { total }) => sum + total, 0)).toBe(10_000);
    expect(faults.slice(64)).toMatchObject([
      { venue: 'pump', detail: 'discriminator 9998' },
      { venue: 'pump-amm', detail: 'discriminator 9999' },
    ]);
  });
});
