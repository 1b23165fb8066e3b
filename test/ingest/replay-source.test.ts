import { describe, expect, it } from 'vitest';
import { ReplaySource, type PlaybackListener, type RecordedTransaction } from '@sluice/ingest/sources/replay/replay-source.ts';
import type { Sighting } from '../../ingest/src/sources/sighting.ts';
import type { SourceSink } from '../../ingest/src/sources/source.ts';
import { recordingLog, type LogLine } from './harness.ts';
import { pumpProgram, signatureOf } from './pump-frames.ts';
import { dataLine, invoked } from './log-frames.ts';
import { curveBuy } from './some-trades.ts';
import { wholeTransaction } from './whole-transaction.ts';

const buy = curveBuy({ solAmount: 1n });
const logs = invoked(pumpProgram, 1, [dataLine(buy)]);

function recorded(name: string, of: Partial<RecordedTransaction> = {}): RecordedTransaction {
  const signature = signatureOf(name);
  return { signature, hasFailed: false, logs, answer: wholeTransaction(signature, [buy], 7), ...of };
}

describe('a recording as a source', () => {
  it('reports slots and sightings until it is stopped', () => {
    const lines: LogLine[] = [];
    const sightings: Sighting[] = [];
    const slots: (number | null)[][] = [];
    const sink: SourceSink = {
      block: () => undefined,
      failed: () => undefined,
      isRepeat: (_source, signature) => signature === signatureOf('repeated'),
      sighting: (sighting) => void sightings.push(sighting),
      account: () => undefined,
      slot: (slot, parent) => void slots.push([slot, parent]),
      confirmedSlot: (endpoint, slot) => void slots.push([endpoint, slot]),
      resumed: () => undefined,
    };
    let listener: PlaybackListener | null = null;
    let stopped = false;
    const playback = { start: (given: PlaybackListener) => void (listener = given), stop: () => void (stopped = true) };
    const source = new ReplaySource(playback, recordingLog(lines));
    expect(source.health()).toMatchObject({ slot: 0, slotAgeMs: null, endpointsUp: 0 });
    const life = new AbortController();
    source.start(sink, life.signal);
    const transactions = [
      recorded('whole'),
      recorded('logged', { answer: null }),
      recorded('failed', { hasFailed: true }),
      recorded('repeated'),
      recorded('malformed', { answer: wholeTransaction(signatureOf('another'), [buy]) }),
    ];
    listener!.onBlock({ slot: 7, parentSlot: 5, transactions });
    listener!.onConfirmed(7);
    expect(slots).toEqual([
      [7, 5],
      [0, 7],
    ]);
    expect(sightings).toMatchObject([
      { kind: 'whole', source: 'replay', signature: signatureOf('whole'), slot: 7, late: false },
      { kind: 'logs', source: 'replay', signature: signatureOf('logged'), slot: 7, logs },
    ]);
    expect(source.health()).toMatchObject({ slot: 7, endpointsUp: 1, counts: { failed: 1, malformed: 1 } });
    expect(lines.map(({ name }) => name)).toEqual(['recorded_transaction_malformed']);
    life.abort();
    expect(stopped).toBe(true);
  });
});
