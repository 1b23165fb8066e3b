import { describe, expect, it } from 'vitest';
import type { DecodeFault } from '../../ingest/src/pipeline/decode.ts';
import { Report } from '../../ingest/src/report.ts';
import type { IngestStats } from '../../ingest/src/stats.ts';
import { recordingLog, type LogLine } from './harness.ts';

const unknown = (detail: string, where = 'a', venue = 'pump'): DecodeFault => ({ venue, kind: 'unknown', detail, where, sampleBase64: '' });

describe('the report of faults', () => {
  it('distinguishes unknown discriminators, each with its newest sample', () => {
    const lines: LogLine[] = [];
    const report = new Report(recordingLog(lines), []);
    report.note(unknown('0102030405060708', 'first'));
    for (const where of ['second', 'third']) report.note(unknown('1112131415161718', where));
    report.note({ ...unknown('TradeEvent too short'), kind: 'malformed' });
    expect(report.faults).toMatchObject([
      { kind: 'unknown', detail: '0102030405060708', where: 'first', total: 1 },
      { kind: 'unknown', detail: '1112131415161718', where: 'third', total: 2 },
      { kind: 'malformed', detail: 'TradeEvent too short', total: 1 },
    ]);
  });

  it('shows no sample that contains a secret of a node', () => {
    const lines: LogLine[] = [];
    const report = new Report(recordingLog(lines), ['https://rpc.test/v2/PathKey9', 'wss://rpc.test/?x-token=TokenKey9']);
    const samples = ['ray_log: http://rpc.test/v2/PathKey9', 'a TOKENKEY9 of it', 'a harmless text'].map((text) => btoa(text));
    for (const [at, sampleBase64] of samples.entries()) report.note({ ...unknown(`${at}`), sampleBase64 });
    report.write({
      venues: {},
      publisher: { dropped: 0, buffered: 0 },
      notifications: { malformed: 0 },
      endpoints: [],
    } as unknown as IngestStats);
    const shown = ['(hidden)', '(hidden)', samples[2]];
    expect(report.faults.map(({ sampleBase64 }) => sampleBase64)).toEqual(shown);
    expect(lines.map(({ data }) => data['sampleBase64'])).toEqual(shown);
  });

  it('counts every fault beyond its bound, by venue and kind', () => {
    const report = new Report(recordingLog([]), []);
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
