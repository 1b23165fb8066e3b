import { describe, expect, it } from 'vitest';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { pump } from '../../venues/src/pump/curve/index.ts';
import { pumpAmm } from '../../venues/src/pump/amm/index.ts';
import type { Venue, VenueRecords } from '@sluice/venues/seam/venue.ts';
import { readLogsHead, readLogsLines } from '../../ingest/src/sources/pubsub/logs.ts';
import { createHarness, type Harness } from './harness.ts';
import { until } from '../support/until.ts';
import { pumpProgram, signatureOf } from './pump-frames.ts';
import { dataLine, invoked } from './log-frames.ts';
import { logsSighting, wholeSighting } from './sightings.ts';
import { curveBuy } from './some-trades.ts';
import { wholeTransaction } from './whole-transaction.ts';

const signature = signatureOf('a trade');
const first = curveBuy({ solAmount: 1n });
const second = curveBuy({ solAmount: 2n });
const textPrefix = 'ray_log: ';
const none: VenueRecords = { logged: false, eventAuthority: null, instructions: [], textPrefix: null };
const sentOnly = (venue: Venue): Venue => ({ ...venue, needsTransaction: true, records: { ...venue.records, logged: false } });
const asText = (event: Buffer): string => `Program log: ${textPrefix}${event.toString('base64')}`;
const readsText: Venue = {
  ...pump,
  records: { ...none, textPrefix },
  decode: ({ text, ...context }, emit) =>
    pump.decode(
      { ...context, record: 'event', text: null, data: Buffer.from(text!.slice(textPrefix.length), 'base64'), instruction: () => null },
      emit,
    ),
};

function harnessOf(venue: Venue, answer: unknown): Harness {
  return createHarness({
    venues: [venue, pumpAmm],
    answer: (method) => (method === 'getTransaction' ? answer : undefined),
  });
}

function take({ pipeline }: Harness, logs: readonly string[]): void {
  pipeline.see(signature, 100);
  pipeline.takeNew(logsSighting({ signature, slot: 100, logs, receivedUs: 1 }));
}

const requests = ({ calls }: Harness): number => calls.filter(({ method }) => method === 'getTransaction').length;
const tradeIds = ({ events }: Harness): string[] => events.filter(({ type }) => type === 'trade').map(({ id }) => id);

describe('a venue that reveals its trades by self-CPI', () => {
  const venue = sentOnly(pump);

  it('gets the completed transaction, and the completion is counted', async () => {
    const harness = harnessOf(venue, wholeTransaction(signature, [first, second]));
    take(harness, [...invoked(pumpProgram, 1, []), ...invoked(pumpProgram, 1, [])]);
    expect(harness.events).toEqual([]);
    await until('completed', () => harness.pipeline.counts.completed === 1);
    expect(tradeIds(harness)).toEqual([`${signature}:0`, `${signature}:1`]);
    expect(harness.pipeline.counts).toMatchObject({ incomplete: 1, hidden: 1, completedByOthers: 0, lostTransactions: 0 });
    expect(requests(harness)).toBe(1);
  });

  it('is completed by a whole sighting from another source, without a request', async () => {
    const never = harnessOf(venue, null);
    take(never, invoked(pumpProgram, 1, []));
    const reading = harnessOf(venue, wholeTransaction(signature, [first]));
    take(reading, invoked(pumpProgram, 1, []));
    await until('fetched', () => reading.pipeline.counts.completed === 1);
    never.pipeline.takeAgain(wholeSighting(wholeTransaction(signature, [first])));
    expect(never.pipeline.counts).toMatchObject({ completed: 1, completedByOthers: 1 });
    expect(tradeIds(never)).toEqual(tradeIds(reading));
  });

  it('reads nothing from the logs of a whole transaction without inner instructions', () => {
    const harness = harnessOf(venue, null);
    const answer = wholeTransaction(signature, [first]);
    const logMessages = invoked(pumpProgram, 1, [dataLine(first)]);
    const reading = harness.pipeline.decoder.read(
      wholeSighting({ ...answer, meta: { ...answer.meta, innerInstructions: null, logMessages } }),
    );
    expect(reading).toMatchObject({ kind: 'unusable', reason: 'inner instructions were not recorded' });
  });

  it('causes no request for transactions of other programs', () => {
    const harness = harnessOf(sentOnly(pumpAmm), null);
    take(harness, invoked(pumpProgram, 1, [dataLine(first)]));
    expect(requests(harness)).toBe(0);
    expect(harness.pipeline.counts.incomplete).toBe(0);
  });
});

describe('a venue that reveals its trades by instructions', () => {
  it('gets the data of each of its instructions, top-level and inner', async () => {
    const answer = wholeTransaction(signature, [first, second]);
    const { message } = answer.transaction as { message: { instructions: object[] } };
    message.instructions[0] = { programIdIndex: 1, accounts: [0], data: encodeBase58(first) };
    const instructions = [{ programIdIndex: 1, accounts: [0], data: encodeBase58(second), stackHeight: 2 }];
    answer.meta['innerInstructions'] = [{ index: 1, instructions }];
    const byInstruction: Venue = {
      ...pump,
      needsTransaction: true,
      records: { ...none, instructions: [first.subarray(0, 8)] },
      // The instructions of this test have the form of events.
      decode: (context, emit) => pump.decode({ ...context, record: 'event' }, emit),
    };
    const harness = harnessOf(byInstruction, answer);
    take(harness, [...invoked(pumpProgram, 1, []), ...invoked(pumpProgram, 1, [])]);
    await until('completed', () => harness.pipeline.counts.completed === 1);
    expect(tradeIds(harness)).toEqual([`${signature}:0i`, `${signature}:1.0i`]);
    expect(harness.pipeline.counts.hidden).toBe(1);
  });
});

describe('the records of one transaction', () => {
  it('arrive in the order of the chain, from all of its parts, and say what they are', () => {
    const answer = wholeTransaction(signature, [first]);
    const called = { programIdIndex: 1, accounts: [0], data: encodeBase58(Buffer.from('a call')), stackHeight: 2 };
    const logger = { programIdIndex: 3, accounts: [], data: '', stackHeight: 2 };
    const { message } = answer.transaction as { message: { accountKeys: string[] } };
    message.accountKeys.push(pumpAmm.programId);
    const [{ instructions: sent }] = answer.meta['innerInstructions'] as [{ instructions: object[] }];
    answer.meta['innerInstructions'] = [{ index: 0, instructions: [logger, ...sent, called, ...sent] }];
    const event = invoked(pumpAmm.programId, 2, [dataLine(second)]);
    const inner = invoked(pumpProgram, 2, []);
    answer.meta['logMessages'] = invoked(pumpProgram, 1, [...event, ...inner, ...inner, ...inner]);
    const records: string[] = [];
    const noting = (venue: Venue, own: Partial<VenueRecords>): Venue => ({
      ...venue,
      records: { ...none, ...own },
      decode: (context) => {
        const { data, at } = context.instruction()!;
        records.push(`${venue.name} ${context.record} of ${data.length} bytes at ${at}`);
        return { kind: 'ignored', name: 'x' };
      },
    });
    const { eventAuthority } = pump.records;
    const harness = createHarness({
      venues: [noting(pump, { eventAuthority, instructions: [Buffer.from('a call')] }), noting(pumpAmm, { logged: true })],
    });
    harness.pipeline.takeNew(wholeSighting(answer));
    expect(records).toEqual([
      'pump-amm event of 0 bytes at 0',
      'pump event of 0 bytes at -1',
      'pump instruction of 6 bytes at 2',
      'pump event of 0 bytes at -1',
    ]);
  });
});

describe('a venue that reads text', () => {
  const logs = invoked(pumpProgram, 1, ['Program log: something else', asText(first), asText(second)]);

  it('gets the lines with its prefix, in order, and no others', () => {
    const harness = harnessOf(readsText, null);
    take(harness, logs);
    expect(tradeIds(harness)).toEqual([`${signature}:0`, `${signature}:0+1`]);
    expect(harness.faults).toEqual([]);
    expect(requests(harness)).toBe(0);
  });

  it('gets them from a whole transaction under the same ids', () => {
    const harness = harnessOf(readsText, null);
    const answer = wholeTransaction(signature, []);
    harness.pipeline.takeNew(wholeSighting({ ...answer, meta: { ...answer.meta, logMessages: logs } }));
    expect(tradeIds(harness)).toEqual([`${signature}:0`, `${signature}:0+1`]);
  });

  it('gets no text that another program logs', () => {
    const harness = harnessOf({ ...pumpAmm, records: readsText.records }, null);
    take(harness, logs);
    expect(harness.events).toEqual([]);
  });

  it('receives its text from PubSub frames; other text is left out', () => {
    const value = { signature, err: null, logs };
    const params = { result: { context: { slot: 5 }, value }, subscription: 1 };
    const frame = Buffer.from(JSON.stringify({ jsonrpc: '2.0', method: 'logsNotification', params }));
    const lines = readLogsLines(frame, readLogsHead(frame)!, [`Program log: ${textPrefix}`]);
    expect(lines).toContain(asText(first));
    expect(lines).not.toContain('Program log: something else');
    expect(readLogsLines(frame, readLogsHead(frame)!)).not.toContain(asText(first));
  });
});
