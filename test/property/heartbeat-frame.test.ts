import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formats, frameHead } from '@sluice/shared/wire/stream/frames.ts';
import { HeartbeatWriter } from '@sluice/shared/wire/stream/heartbeat-frame.ts';
import { unpack } from '../support/clients/msgpack.ts';

const seq = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
/** Any name except the one that the test's decoder renames, so that no object's prototype is replaced. */
const topicName = fc.string({ unit: 'binary', minLength: 1, maxLength: 60 }).filter((name) => name !== '__proto__');
const heartbeat = fc.record({
  ts: seq,
  slotAgeMs: fc.option(seq),
  batch: fc.boolean(),
  epoch: fc.string({ unit: 'grapheme-ascii', maxLength: 40 }),
  positions: fc.array(fc.tuple(topicName, seq), { maxLength: 400 }),
});

/** The message that the decoder must return. If a topic appears twice, the last position wins. */
function expected({ ts, slotAgeMs, batch, epoch, positions }: typeof heartbeat extends fc.Arbitrary<infer T> ? T : never) {
  const named = Object.fromEntries(positions.map(([topic, at]) => [topic, { epoch, seq: at }]));
  const whole = { op: 'heartbeat', ts, slotAgeMs, positions: named };
  return batch ? [whole] : whole;
}

describe('the writer of heartbeats', () => {
  for (const format of formats) {
    it(`writes ${format} that a decoder reads, also when one writer is used again`, () => {
      const writer = new HeartbeatWriter();
      fc.assert(
        fc.property(heartbeat, (one) => {
          writer.begin(format, one.batch, one.ts, one.slotAgeMs);
          for (const [topic, at] of one.positions) writer.add(frameHead(topic), one.epoch, at);
          const bytes = Buffer.from(writer.end());
          const read: unknown = format === 'json' ? JSON.parse(bytes.toString('utf8')) : unpack(bytes);
          expect(read).toEqual(expected(one));
        }),
      );
    });
  }
});
