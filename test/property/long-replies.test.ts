import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeReply } from '../../gateway/src/stream/fanout/encode.ts';
import { formats, type Format } from '@sluice/shared/wire/stream/frames.ts';
import { streamLimits } from '@sluice/shared/wire/stream/limits.ts';
import { replySchemas, type Reply, type SubscribedReply, type UnsubscribedReply } from '@sluice/shared/wire/stream/replies.ts';
import { validator } from '@sluice/shared/wire/validate.ts';
import { unpack } from '../support/clients/msgpack.ts';
import { addressOf, tradeEvent } from '../support/events/stream-events.ts';

const checks = { subscribed: validator(replySchemas.subscribed), unsubscribed: validator(replySchemas.unsubscribed) };
const keys = (count: number): string[] => Array.from({ length: count }, (_, at) => addressOf(at));
const id = fc.oneof(fc.constant(null), fc.integer(), fc.string({ unit: 'binary', maxLength: 128 }));

const subscribed = fc
  .record({
    id,
    followed: fc.nat(2_000),
    withSnapshot: fc.boolean(),
    wide: fc.nat(40_000),
    rejected: fc.array(fc.string({ unit: 'binary', maxLength: 256 }), { maxLength: 400 }),
  })
  .map(({ id: of, followed, withSnapshot, wide, rejected }): SubscribedReply => {
    const accepted = keys(followed);
    const snapshot = accepted.slice(0, 200).map((key, at) => ({
      topic: `trades:${key}`,
      seq: at,
      // One event that is longer than a message may be.
      data: { ...tradeEvent(key), ...(at === 7 ? { wide: 'x'.repeat(wide) } : {}) },
    }));
    return {
      id: of,
      op: 'subscribed',
      channel: 'trades',
      accepted,
      rejected: rejected.map((key) => ({ key, code: 'INVALID_MINT' })),
      positions: Object.fromEntries(accepted.map((key, at) => [`trades:${key}`, { epoch: 'k3v9', seq: at, recovered: at % 2 === 0 }])),
      ...(withSnapshot ? { snapshot } : {}),
    };
  });
const unsubscribed = fc.record({ id, followed: fc.nat(2_000) }).map(({ id: of, followed }): UnsubscribedReply => {
  const removed = keys(followed).map((key) => `candles:${key}:15s`);
  return {
    id: of,
    op: 'unsubscribed',
    channel: 'candles',
    removed,
    positions: Object.fromEntries(removed.map((topic) => [topic, { epoch: 'k3v9', seq: 1 }])),
  };
});

function decoded(message: string | Uint8Array, format: Format, batch: boolean): Reply {
  const whole = (format === 'json' ? JSON.parse(String(message)) : unpack(Buffer.from(message as Uint8Array))) as Reply | [Reply];
  return batch ? (whole as [Reply])[0] : (whole as Reply);
}

/** The reply that a client has after all messages. */
function joined(parts: readonly Reply[]): unknown {
  const last = parts.at(-1) as Reply & Record<string, unknown>;
  const fields = Object.entries(last).map(([name, value]) => {
    const all = parts.map((part) => (part as unknown as Record<string, unknown>)[name]);
    if (Array.isArray(value)) return [name, all.flat()];
    return [name, name === 'positions' ? Object.assign({}, ...all) : value];
  });
  return Object.fromEntries(fields);
}

describe.each(formats)('replies as %s', (format) => {
  it('are divided into messages that each fit, and together are the reply', () => {
    let divided = 0;
    fc.assert(
      fc.property(fc.oneof(subscribed, unsubscribed), fc.boolean(), (reply, batch) => {
        const messages = encodeReply(reply, format, batch);
        const parts = messages.map((message) => decoded(message, format, batch));
        expect(joined(parts)).toEqual(JSON.parse(JSON.stringify(reply)));
        for (const [at, part] of parts.entries()) {
          expect(checks[reply.op](part)).toMatchObject({ ok: true });
          const isLast = at === parts.length - 1;
          expect([part.id, 'of' in part ? part.of : undefined]).toEqual(isLast ? [reply.id, undefined] : [null, reply.id]);
          const isOneEvent = 'snapshot' in part && part.snapshot?.length === 1;
          if (!isOneEvent) expect(Buffer.byteLength(messages[at]!)).toBeLessThanOrEqual(streamLimits.frameBytes);
        }
        if (parts.length > 1) divided++;
        else expect(messages).toHaveLength(1);
      }),
      { numRuns: 60 },
    );
    expect(divided).toBeGreaterThan(20);
  });
});
