import { LogEntry } from '@sluice/shared/bus/bus.ts';
import { History } from '../../gateway/src/stream/history/history.ts';
import { InProcessLog } from '@sluice/shared/bus/in-process/in-process-log.ts';
import { ownBytes } from '@sluice/shared/codec/bytes.ts';
import { segmentBytes, Segments } from '@sluice/shared/runtime/collections/segments.ts';
import { InProcessMarket } from '@sluice/shared/market/in-process-market.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addressOf } from '../support/events/stream-events.ts';

/** Bytes that differ from all others. */
function bytesOf(number: number, length: number): Uint8Array {
  const pattern = Uint8Array.from({ length: 251 }, (_, i) => number * 31 + i * 7);
  return new Uint8Array(Buffer.alloc(length, pattern));
}

const entry = fc.record({
  topics: fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { minLength: 1, maxLength: 3 }),
  json: fc.integer({ min: 0, max: 50 }),
  msgpack: fc.integer({ min: 0, max: 50 }),
});
const limits = fc.record({
  maxEntries: fc.integer({ min: 1, max: 20 }),
  maxBytes: fc.integer({ min: 60, max: 600 }),
  maxTopics: fc.integer({ min: 3, max: 5 }),
});

describe('the log of one process', () => {
  it('has the newest entries within its bounds, as they were appended', () => {
    fc.assert(
      fc.property(limits, fc.array(entry, { maxLength: 80 }), (bounds, entries) => {
        const log = new InProcessLog(bounds);
        /** All entries that were ever appended. */
        const model: { epoch: string; offset: number; topics: { topic: string; seq: number }[]; record: Uint8Array }[] = [];
        let seqs = new Map<string, number>();
        let { epoch } = log;
        for (const [number, { topics, json, msgpack }] of entries.entries()) {
          const one = { topics, record: bytesOf(number, json + msgpack) };
          log.append(one);
          if (log.epoch !== epoch) seqs = new Map();
          ({ epoch } = log);
          for (const topic of topics) seqs.set(topic, (seqs.get(topic) ?? 0) + 1);
          model.push({ ...one, epoch, offset: log.offset, topics: topics.map((topic) => ({ topic, seq: seqs.get(topic)! })) });
          // The stored entries are as much of the end as fits.
          let first = model.length;
          for (let bytes = 0; first > 0 && model.length - first < bounds.maxEntries; first--) {
            bytes += model[first - 1]!.record.length;
            if (bytes > bounds.maxBytes) break;
          }
          expect([log.firstIndex, log.endIndex]).toEqual([first, model.length]);
          expect(log.at(first - 1)).toBeUndefined();
          expect(log.at(model.length)).toBeUndefined();
          for (let index = first; index < model.length; index++) {
            const { epoch: ofEpoch, ...plain } = model[index]!;
            const stored = log.at(index)!;
            expect(stored.epoch).toBe(ofEpoch);
            const { offset, topics: numbered, record } = stored.entry;
            expect({ offset, topics: numbered, record: Uint8Array.from(record) }).toEqual(plain);
          }
          expect(log.tail(5, ({ offset }) => offset)).toEqual(
            model
              .slice(log.oldestIndex)
              .slice(-5)
              .map(({ offset }) => offset),
          );
        }
      }),
      { seed: 20261122, numRuns: 200 },
    );
  });

  it('returns entries that do not change while its memory is reused', () => {
    const log = new InProcessLog({ maxBytes: 2 * segmentBytes });
    const length = segmentBytes / 8;
    const append = (number: number): void => log.append({ topics: ['a'], record: bytesOf(number, length) });
    append(0);
    const stored = log.at(0)!.entry;
    for (let number = 1; number < 64; number++) append(number);
    expect(log.firstIndex).toBeGreaterThan(0);
    expect(Buffer.compare(stored.record, bytesOf(0, length))).toBe(0);
    for (let index = log.firstIndex; index < log.endIndex; index++) {
      expect(Buffer.compare(log.at(index)!.entry.record, bytesOf(index, length))).toBe(0);
    }
  });
});

it('the history of a gateway has the correct bytes after its memory was reused', () => {
  const length = segmentBytes / 4;
  const history = new History({ maxEntries: 1_000, maxBytes: 3 * segmentBytes });
  for (let offset = 1; offset <= 60; offset++) {
    history.append(new LogEntry(offset, [{ topic: 'a', seq: offset }], bytesOf(offset, length)));
    if (offset === 40) history.clear();
  }
  expect(history.bytes).toBeLessThanOrEqual(3 * segmentBytes);
  expect(history.oldest('a')).toBeGreaterThan(41);
  for (let seq = history.oldest('a'); seq <= 60; seq++) {
    expect(Buffer.compare(history.read('a', seq)!.record, bytesOf(seq, length))).toBe(0);
  }
});

it('a returned segment is the next one to be used, unless it has a special size', () => {
  const segments = new Segments();
  const [one, large] = [segments.take(1), segments.take(segmentBytes + 1)];
  expect([one.length, large.length]).toEqual([segmentBytes, segmentBytes + 1]);
  segments.give(one);
  segments.give(large);
  expect(segments.take(5).buffer).toBe(one.buffer);
  expect(segments.take(5).buffer).not.toBe(one.buffer);
  expect(segments.take(segmentBytes + 1).buffer).not.toBe(large.buffer);
});

describe('separate bytes', () => {
  it('hold nothing else in memory, unlike a view of a shared block', () => {
    const shared = Buffer.from('an event');
    expect(shared.buffer.byteLength).toBeGreaterThan(shared.length);
    const own = ownBytes(shared);
    expect([Buffer.from(own).toString(), own.buffer.byteLength]).toEqual(['an event', shared.length]);
  });

  it('are what the state of the market stores of trades', async () => {
    const mint = addressOf(1);
    const market = new InProcessMarket();
    const trade = Buffer.from(JSON.stringify({ id: 'a:0' }));
    const undecided = { trades: [], prices: [], gone: [] };
    const nothing = { head: null, buckets: [], voided: null, price: null, retracted: [], touched: [], tradedS: 0 };
    const change = { mint, ...nothing, trades: [trade], undecided };
    const batch = { from: null, to: { epoch: 'e', offset: 1 }, changes: [change] };
    expect(await market.apply(batch, { lease: { name: 'market', held: true, fence: 1 }, fence: 1 })).toBe('applied');
    const [stored] = await market.trades(mint, null, 1);
    expect([stored!.length, stored!.buffer.byteLength]).toEqual([trade.length, trade.length]);
    await market.close();
  });
});
