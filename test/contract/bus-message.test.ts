import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { busLimits, type BusEntry } from '@sluice/shared/bus/bus.ts';
import { epochLength, newEpoch } from '@sluice/shared/bus/epoch.ts';
import { BatchEncoder, decodeHead, decodeMessage, formatVersion, maxBatchEntries, olderVersion } from '@sluice/shared/bus/message.ts';

const bytes = fc.uint8Array({ maxLength: 300 });
const topic = fc
  .string({ minLength: 1, maxLength: 40, unit: 'grapheme' })
  .filter((name) => Buffer.byteLength(name) <= busLimits.maxTopicBytes);
const topics = fc.uniqueArray(fc.oneof(topic, fc.constantFrom('trades', 'trades:a', 'trades:b')), { minLength: 1, maxLength: 16 });
const anyEntry: fc.Arbitrary<BusEntry> = fc.record({ topics, record: bytes, tickTopics: topics }, { requiredKeys: ['topics', 'record'] });
const viewsIn = (entries: readonly BusEntry[]) =>
  entries.flatMap(({ record, tickTopics, ...entry }) =>
    [entry.topics, ...(tickTopics === undefined ? [] : [tickTopics])].map((names, view) => ({ names, record, view })),
  );
const batch = fc.array(anyEntry, { minLength: 1, maxLength: 20 });
const offset = fc.integer({ min: 1, max: 2 ** 47 });

/** As the store does it: a seq before the batch for each topic, in the order in which topics first appear. */
function compose(encoder: BatchEncoder, entries: readonly BusEntry[], first: number, base: (topic: string) => number): Buffer {
  const names = [...new Set(viewsIn(entries).flatMap((view) => view.names))];
  const { counts, body } = encoder.encode(entries);
  const front = Buffer.alloc(1 + epochLength + 6);
  front[0] = formatVersion;
  front.write(newEpoch(), 1, 'latin1');
  front.writeUIntBE(first, 1 + epochLength, 6);
  const seqs = Buffer.alloc(names.length * 6);
  for (const [place, name] of names.entries()) seqs.writeUIntBE(base(name), place * 6, 6);
  return Buffer.concat([front, counts, seqs, body]);
}

describe('a message of the log', () => {
  it('is read as it was written, with consecutive seqs', () => {
    // One encoder for all, because nothing of one batch may appear in the next.
    const encoder = new BatchEncoder();
    fc.assert(
      fc.property(batch, offset, fc.integer({ min: 0, max: 2 ** 47 }), (entries, first, base) => {
        const seqs = new Map<string, number>();
        const message = decodeMessage(compose(encoder, entries, first, (name) => base + name.length));
        if (message === null) throw new Error('malformed');
        expect(message.first).toBe(first);
        const views = viewsIn(entries);
        expect(message.last).toBe(first + views.length - 1);
        for (const [index, decoded] of message.entries.entries()) {
          const sent = views[index]!;
          expect(decoded.view).toBe(sent.view);
          expect(decoded.offset).toBe(first + index);
          expect(Buffer.compare(decoded.record, sent.record)).toBe(0);
          expect(decoded.topics).toEqual(
            sent.names.map((name) => {
              const seq = (seqs.get(name) ?? base + name.length) + 1;
              seqs.set(name, seq);
              return { topic: name, seq };
            }),
          );
        }
        for (const [place, name] of message.head.names.entries()) {
          expect(message.head.bases[place]).toBe(base + name.length);
          expect(message.head.counts[place]).toBe((seqs.get(name) as number) - base - name.length);
        }
      }),
    );
  });

  it('shows payloads without copying them', () => {
    const wire = compose(new BatchEncoder(), [{ topics: ['trades'], record: Buffer.from('{}') }], 1, () => 0);
    const message = decodeMessage(wire);
    if (message === null) throw new Error('malformed');
    expect(message.entries[0]?.record.buffer).toBe(wire.buffer);
  });

  it('carries the largest batch', () => {
    const entries = Array.from({ length: maxBatchEntries }, (_, index) => ({
      topics: Array.from({ length: 16 }, (__, n) => `${'x'.repeat(240)}${index}.${n}`),
      record: Buffer.alloc(0),
    }));
    const message = decodeMessage(compose(new BatchEncoder(), entries, 5, () => 7));
    if (message === null) throw new Error('malformed');
    expect(message.head.names).toHaveLength(maxBatchEntries * 16);
    expect(message.entries.map((entry) => entry.topics.map((each) => each.topic))).toEqual(entries.map((entry) => entry.topics));
  });

  it('has a head that can be read without its payloads', () => {
    const wire = compose(new BatchEncoder(), [{ topics: ['a', 'b'], record: Buffer.alloc(9) }], 3, () => 4);
    const whole = decodeHead(wire);
    if (whole === null) throw new Error('malformed');
    expect(decodeHead(wire.subarray(0, whole.entriesAt))).toEqual(whole);
    expect(decodeHead(wire.subarray(0, whole.entriesAt - 1))).toBeNull();
    expect(whole).toMatchObject({ first: 3, last: 3, names: ['a', 'b'], bases: [4, 4], counts: [1, 1] });
  });

  it('is malformed when it is cut short or longer, at every byte', () => {
    const entries = [
      { topics: ['trades', 'trades:ü'], record: Buffer.from('{"a":1}') },
      { topics: ['trades'], record: Buffer.alloc(0) },
    ];
    const wire = compose(new BatchEncoder(), entries, 1, () => 0);
    for (let length = 0; length < wire.length; length += 1) expect(decodeMessage(wire.subarray(0, length))).toBeNull();
    expect(decodeMessage(Buffer.concat([wire, Buffer.alloc(1)]))).toBeNull();
    expect(decodeMessage(wire)).not.toBeNull();
  });

  it('never throws, for any bytes', () => {
    const encoder = new BatchEncoder();
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (hostile) => {
        decodeMessage(Buffer.from(hostile));
        decodeHead(Buffer.from(hostile));
      }),
      { numRuns: 2_000 },
    );
    const change = fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 }));
    fc.assert(
      fc.property(batch, fc.array(change, { minLength: 1, maxLength: 4 }), fc.nat({ max: 40 }), (entries, changes, cut) => {
        const wire = compose(encoder, entries, 1, () => 0);
        for (const [at, value] of changes) wire[at % wire.length] = value;
        const message = decodeMessage(wire.subarray(0, Math.max(0, wire.length - Math.max(0, cut - 20))));
        if (message === null) return;
        // If a change affected only payloads or numbers, everything that is returned lies within the bytes.
        expect(message.entries).toHaveLength(message.last - message.first + 1);
        for (const entry of message.entries) expect(entry.topics.length).toBeGreaterThan(0);
      }),
      { numRuns: 3_000 },
    );
  });

  it('is malformed when it counts other entries of a topic than it has', () => {
    const wire = compose(new BatchEncoder(), [{ topics: ['a'], record: Buffer.alloc(1) }], 1, () => 0);
    const head = decodeHead(wire);
    if (head === null) throw new Error('malformed');
    wire.writeUInt16BE(2, head.entriesAt - 4);
    expect(decodeMessage(wire)).toBeNull();
  });

  it('is read in the older version, in which an entry has JSON and MessagePack', () => {
    const [json, msgpack] = [Buffer.from('{"id":"a"}'), Buffer.alloc(3)];
    const wire = compose(new BatchEncoder(), [{ topics: ['trades'], record: Buffer.alloc(3) }], 9, () => 4);
    const { entriesAt } = decodeHead(wire)!;
    const [places, lengths] = [Buffer.from([1, 0, 0]), Buffer.from([0, 0, 0, json.length, 0, 0, 0, msgpack.length])];
    const older = Buffer.concat([wire.subarray(0, entriesAt), places, lengths, json, msgpack]);
    older[0] = olderVersion;
    const [entry, ...others] = decodeMessage(older)!.entries;
    expect([entry!.offset, entry!.topics, Buffer.from(entry!.json).toString()]).toEqual([
      9,
      [{ topic: 'trades', seq: 5 }],
      json.toString(),
    ]);
    expect(others).toEqual([]);
    for (let length = 0; length < older.length; length++) expect(decodeMessage(older.subarray(0, length))).toBeNull();
  });

  it('is refused in another version of the format', () => {
    const wire = compose(new BatchEncoder(), [{ topics: ['a'], record: Buffer.alloc(1) }], 1, () => 0);
    wire[0] = formatVersion + 1;
    expect(decodeMessage(wire)).toBeNull();
  });
});
