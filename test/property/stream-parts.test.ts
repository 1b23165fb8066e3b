import * as fc from 'fast-check';
import { pack, unpack } from 'msgpackr';
import { describe, expect, it } from 'vitest';
import { History } from '@sluice/gateway/stream/history.ts';
import { LatencyHistogram } from '@sluice/gateway/stream/latency.ts';
import { Session } from '@sluice/gateway/stream/protocol.ts';
import { decodeMsgpackCommand } from '@sluice/shared/wire/msgpack-command.ts';
import { frameBytes, frameHead, writeJsonFrame, writeMsgpackFrame } from '@sluice/shared/wire/frames.ts';
import { ErrorReply } from '@sluice/shared/wire/replies.ts';
import { validator } from '@sluice/shared/wire/validate.ts';

const isErrorReply = validator(ErrorReply);

describe('frames', () => {
  it('are what their bytes say, in both forms, and never longer than foretold', () => {
    const seq = fc.oneof(fc.nat(300), fc.nat(70_000), fc.integer({ min: 0, max: 2 ** 32 + 10 }), fc.maxSafeNat());
    const data = fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.integer(), fc.boolean()));
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: 60, unit: 'grapheme' }), seq, fc.option(seq), data, (topic, number, prev, value) => {
        fc.pre(Buffer.byteLength(topic) <= 255);
        const head = frameHead(topic);
        const expected = { topic, seq: number, ...(prev === null ? {} : { prev }), data: value };
        const json = Buffer.from(JSON.stringify(value));
        const target = Buffer.alloc(frameBytes(head, json) + 3);
        const end = writeJsonFrame(target, 3, head, number, prev, json);
        expect(JSON.parse(target.toString('utf8', 3, end))).toEqual(expected);
        const msgpack = pack(value);
        const other = Buffer.alloc(frameBytes(head, msgpack) + 3);
        const otherEnd = writeMsgpackFrame(other, 3, head, number, prev, msgpack);
        expect(unpack(other.subarray(3, otherEnd))).toEqual(expected);
      }),
      { numRuns: 500 },
    );
  });
});

describe('MessagePack of clients', () => {
  it('is read as msgpackr wrote it', () => {
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { maxDepth: 4 },
        fc.string(),
        fc.integer(),
        fc.double({ noNaN: true }),
        fc.boolean(),
        fc.constant(null),
        tie('list'),
        tie('map'),
      ),
      list: fc.array(tie('any'), { maxLength: 20 }),
      map: fc.dictionary(fc.string(), tie('any'), { maxKeys: 20, noNullPrototype: true }),
    })).any;
    fc.assert(
      fc.property(value, (one) => {
        const outcome = decodeMsgpackCommand(pack(one));
        expect(outcome).toEqual({ ok: true, value: unpack(pack(one)) });
      }),
    );
  });

  it('is refused, never thrown at, where it is anything else; a claimed length costs nothing', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => typeof decodeMsgpackCommand(bytes).ok === 'boolean'),
      { numRuns: 5_000 },
    );
    for (const claim of [
      [0xdd, 255, 255, 255, 255],
      [0xdf, 255, 255, 255, 255],
      [0xdb, 255, 255, 255, 255],
      [0xdd, 1, 0, 0, 0],
    ]) {
      expect(decodeMsgpackCommand(Uint8Array.from(claim))).toEqual({ ok: false });
    }
    expect(decodeMsgpackCommand(new Uint8Array(100_000).fill(0x91))).toEqual({ ok: false });
  });
});

describe('a session', () => {
  it('answers any bytes with one action, and every refusal is a documented reply', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.boolean(), fc.boolean(), (bytes, binary, authenticated) => {
        const action = new Session(authenticated, 0).receive(bytes, binary, 0);
        if (action.kind === 'refused') expect(isErrorReply(action.reply)).toMatchObject({ ok: true });
      }),
      { numRuns: 3_000 },
    );
  });

  it('answers any object the same way', () => {
    const name = fc.constantFrom('op', 'id', 'channel', 'mints', 'accounts', 'filter', 'since', 'snapshot', 'method', 'keys', 'key', 'x');
    const value = fc.oneof(
      fc.constantFrom('subscribe', 'unsubscribe', 'auth', 'list', 'ping', 'trades', 'newTokens', 'prices'),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(fc.dictionary(name, value), (message) => {
        const action = new Session(true, 0).receive(Buffer.from(JSON.stringify(message)), false, 0);
        if (action.kind === 'refused') expect(isErrorReply(action.reply)).toMatchObject({ ok: true });
      }),
      { numRuns: 3_000 },
    );
  });

  it('bears JSON of any depth', () => {
    const deep = `{"op":"subscribe","channel":"trades","filter":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    expect(new Session(true, 0).receive(Buffer.from(deep), false, 0)).toMatchObject({
      kind: 'refused',
      reply: { error: { code: 'INVALID_REQUEST' } },
    });
  });

  it('lets through 200 commands at once and 200 a second, and gives up on who never pauses', () => {
    const session = new Session(true, 0);
    const ping = Buffer.from('{"op":"ping"}');
    const allowed = (count: number, nowMs: number): number =>
      Array.from({ length: count }, () => session.receive(ping, false, nowMs)).filter(({ kind }) => kind === 'ping').length;
    expect(allowed(500, 0)).toBe(200);
    expect(allowed(500, 500)).toBe(100);
    expect(allowed(500, 10_500)).toBe(200);
    let close: unknown = null;
    for (let i = 0; i < 6_000 && close === null; i++) {
      const action = session.receive(ping, false, 10_500);
      if (action.kind === 'refused') ({ close } = action);
    }
    expect(close).toBe('RATE_LIMIT');
  });
});

describe('history', () => {
  it('finds what a list would, dense and within its bounds', () => {
    const step = fc.record({
      topics: fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd'), { minLength: 1 }),
      size: fc.integer({ min: 1, max: 900_000 }),
      hole: fc.nat(40),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const maxBytes = 12 * 1024 * 1024;
        const history = new History({ maxEntries: 40, maxBytes });
        const seqs: Record<string, number> = {};
        const all: { topics: { topic: string; seq: number }[]; json: Uint8Array }[] = [];
        for (const [at, { topics, size, hole }] of steps.entries()) {
          const numbered = topics.map((topic) => ({ topic, seq: (seqs[topic] = (seqs[topic] ?? 0) + (hole === 0 ? 2 : 1)) }));
          const json = Buffer.alloc(size, at);
          all.push({ topics: numbered, json });
          history.append({ offset: at + 1, topics: numbered, json, msgpack: Buffer.from([at]) });
        }
        expect(history.bytes).toBeLessThanOrEqual(maxBytes);
        for (const topic of ['a', 'b', 'c', 'd']) {
          const [oldest, newest] = [history.oldest(topic), history.newest(topic)];
          if (oldest === 0) continue;
          expect(newest).toBe(seqs[topic]);
          for (let seq = oldest; seq <= newest; seq++) {
            const expected = all.find(({ topics }) => topics.some((one) => one.topic === topic && one.seq === seq))!;
            const found = history.read(topic, seq)!;
            expect(Buffer.compare(found.json, expected.json)).toBe(0);
            expect(found.msgpack[0]).toBe(all.indexOf(expected));
          }
          expect(history.read(topic, oldest - 1)).toBeNull();
          expect(history.read(topic, newest + 1)).toBeNull();
        }
        const last = all.at(-1);
        if (last !== undefined) for (const { topic, seq } of last.topics) expect(history.read(topic, seq)).not.toBeNull();
      }),
      { numRuns: 60 },
    );
  });
});

it('a latency histogram is never too high, and low by at most seven per cent', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 10_000_000 }), { minLength: 1, maxLength: 300 }),
      fc.constantFrom(0.5, 0.9, 0.99),
      (values, fraction) => {
        const histogram = new LatencyHistogram();
        for (const value of values) histogram.record(value);
        const exact = values.toSorted((a, b) => a - b)[Math.ceil(fraction * values.length) - 1]!;
        const found = histogram.percentile(fraction)!;
        expect(found).toBeLessThanOrEqual(exact);
        expect(found).toBeGreaterThanOrEqual(Math.floor(exact * 0.93));
        expect(histogram.summary()).toMatchObject({ count: values.length, max: Math.max(...values) });
      },
    ),
  );
});
