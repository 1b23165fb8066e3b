import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { venues } from '@sluice/venues/registry.ts';
import { eventCpiTag } from '@sluice/venues/pump/curve/program.ts';
import type { Venue } from '@sluice/venues/seam/venue.ts';
import { expect, it } from 'vitest';
import { LayoutWatch } from '../../ingest/src/pipeline/layout-watch.ts';
import { ingestParts, venueMetrics } from '../../ingest/src/metrics.ts';
import { readWholeSighting } from '../../ingest/src/sources/rpc/whole-sighting.ts';
import { createHarness, type Harness } from './harness.ts';
import { dataLine, invoked } from './log-frames.ts';
import { addressOf } from './pump-frames.ts';

const counts = (decoded: number, malformed: number) => ({ decoded, ignored: 0, unknown: 0, malformed });
const quiet = counts(0, 0);

it('names a venue while more than a twentieth of its events or accounts cannot be decoded', () => {
  const watch = new LayoutWatch();
  const take = (pump: object, dlmm: object, atMs: number): readonly string[] => {
    watch.take({ pump: { events: quiet, accounts: quiet, ...pump }, 'meteora-dlmm': { events: quiet, accounts: quiet, ...dlmm } }, atMs);
    return watch.changed;
  };
  expect(take({ events: counts(1_000, 0) }, {}, 0)).toEqual([]);
  expect(take({ events: counts(1_100, 5) }, { events: counts(10, 5) }, 1_000)).toEqual([]);
  expect(take({ events: counts(1_100, 5) }, { events: counts(15, 7) }, 2_000)).toEqual(['meteora-dlmm']);
  // It stays until a whole window shows that the events are read again.
  for (const [atMs, decoded, expected] of [
    [301_000, 15, ['meteora-dlmm']],
    [400_000, 1_000, ['meteora-dlmm']],
    [602_000, 1_000, []],
  ] as const) {
    expect(take({ events: counts(1_100, 5) }, { events: counts(decoded, 7) }, atMs)).toEqual(expected);
  }
  // Accounts count by themselves.
  expect(take({ events: counts(9_000, 5), accounts: counts(18, 2) }, { events: counts(1_000, 7) }, 603_000)).toEqual(['pump']);
});

/** A transaction in which the program of the venue emits one record, in the way in which the venue emits its records. */
function transactionWith({ programId, records }: Venue, record: Uint8Array, signature: string) {
  const { eventAuthority, textPrefix } = records;
  const text = `Program log: ${textPrefix}${Buffer.from(record).toString('base64')}`;
  const data = encodeBase58(Buffer.concat([eventCpiTag, record]));
  return {
    slot: 100,
    blockTime: 1_791_485_999,
    version: 'legacy',
    transaction: {
      signatures: [signature],
      message: {
        accountKeys: [addressOf('payer'), programId, eventAuthority ?? addressOf('none')],
        header: { numRequiredSignatures: 1, numReadonlySignedAccounts: 0, numReadonlyUnsignedAccounts: 2 },
        recentBlockhash: addressOf('blockhash'),
        instructions: [{ programIdIndex: 1, accounts: [0], data: '' }],
      },
    },
    meta: {
      err: null,
      logMessages: invoked(programId, 1, [textPrefix === null ? dataLine(record) : text]),
      innerInstructions: [
        { index: 0, instructions: eventAuthority === null ? [] : [{ programIdIndex: 1, accounts: [2], data, stackHeight: 2 }] },
      ],
    },
  };
}

function show({ pipeline }: Harness, answer: ReturnType<typeof transactionWith>): void {
  const [signature] = answer.transaction.signatures;
  const of = { signature: signature!, slot: 100, commitment: 'processed', receivedUs: 1, source: 'grpc', late: false } as const;
  const sighting = readWholeSighting(answer, of);
  if (sighting.kind === 'whole') pipeline.takeNew(sighting);
  else expect.fail(sighting.reason);
}

it.each(venues.map((venue) => [venue.name, venue] as const))('of %s are counted, and named by metrics and readiness', (name, venue) => {
  const harness = createHarness();
  const statsOf = (changedVenues: readonly string[]) => {
    const { counts: ofEvents, accountCounts } = harness.pipeline.decoder;
    const parts = { endpoints: [], endpointsUp: 1, slotAgeMs: 1, busAnswers: true, continuity: null, changedVenues };
    return { ...parts, venues: { [name]: { events: ofEvents.get(name)!, accounts: accountCounts.get(name)!, lost: 0, missed: 0 } } };
  };
  const unknown = Uint8Array.of(250, 251, 252, 253, 254, 255, 1, 2, 3);
  for (let at = 0; at < 20; at++) show(harness, transactionWith(venue, unknown, encodeBase58(Buffer.alloc(64, at + 1))));
  const { unknown: unknowns, malformed } = harness.pipeline.decoder.counts.get(name)!;
  expect(unknowns + malformed).toBe(20);
  expect(harness.faults).toHaveLength(20);
  expect(harness.faults[0]).toMatchObject({ venue: name, sampleBase64: expect.any(String) });
  const watch = new LayoutWatch();
  watch.take(statsOf([]).venues, 1_000);
  expect(watch.changed).toEqual([name]);
  const stats = statsOf(watch.changed) as unknown as Parameters<typeof ingestParts>[0];
  expect(ingestParts(stats)['layouts']).toContain(name);
  expect(ingestParts({ ...stats, changedVenues: [] })['layouts']).toBeNull();
  // An account with another layout.
  const state = { address: addressOf('pool'), owner: venue.programId, data: Uint8Array.of(250, 251, 252), slot: 100, receivedUs: 1 };
  harness.pipeline.takeAccount(state);
  expect(harness.faults).toHaveLength(21);
  const samples = venueMetrics(stats).map(({ name: metric, labels, value }) => [metric, labels['source'], value]);
  expect(samples).toContainEqual(['sluice_ingest_malformed_total', 'accounts', 1]);
  expect(samples).toContainEqual(['sluice_ingest_unknown_total', 'events', unknowns]);
});
