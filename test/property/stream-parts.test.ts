import { LogEntry } from '@sluice/shared/bus/bus.ts';
import * as fc from 'fast-check';
import { pack } from 'msgpackr';
import { fuzzCases } from '../support/fuzz.ts';
import { unpack } from '../support/clients/msgpack.ts';
import { describe, expect, it } from 'vitest';
import { History } from '../../gateway/src/stream/history/history.ts';
import { standardMemory } from '@sluice/shared/config/memory-bounds.ts';
import { LatencyHistogram } from '@sluice/shared/operations/latency-histogram.ts';
import { Session } from '@sluice/gateway/stream/session/protocol.ts';
import { TopicMap } from '@sluice/gateway/stream/session/topic-map.ts';
import { WorkBudget } from '@sluice/gateway/stream/session/work-budget.ts';
import { decodeMsgpackCommand, firstMsgpackId } from '@sluice/gateway/stream/session/msgpack-command.ts';
import { encodeEvent, encodeTrade } from '@sluice/shared/codec/encode-event.ts';
import { frameBytes, frameHead, writeJsonFrame, writeMsgpackFrame } from '@sluice/shared/wire/stream/frames.ts';
import { streamLimits } from '@sluice/shared/wire/stream/limits.ts';
import { ErrorReply } from '@sluice/shared/wire/stream/replies.ts';
import { validator } from '@sluice/shared/wire/validate.ts';
import { addressOf, priceEvent, tradeEvent } from '../support/events/stream-events.ts';

const isErrorReply = validator(ErrorReply);
const grant = { commandsPerSecond: 200, keyWork: null };

describe('topics of a connection', () => {
  it('behave like a Map, also if entries are deleted during the iteration', () => {
    const topic = fc.constantFrom('', 'trades', 'prices', 'candles');
    const step = fc.record({ topic, set: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        const topics = new TopicMap<object>();
        const expected = new Map<string, object>();
        for (const { topic: name, set } of steps) {
          const value = {};
          for (const map of [topics, expected]) {
            if (set) map.set(name, value);
            else map.delete(name);
          }
          expect([...topics.entries()]).toEqual([...expected]);
          expect(topics.size).toBe(expected.size);
          for (const one of ['', 'trades', 'prices', 'candles']) {
            expect(topics.get(one)).toBe(expected.get(one));
            expect(topics.has(one)).toBe(expected.has(one));
          }
        }
        const dropped: string[] = [];
        for (const name of topics.keys()) {
          topics.delete(name);
          dropped.push(name);
        }
        expect(dropped).toEqual([...expected.keys()]);
        expect(topics.size).toBe(0);
      }),
      { numRuns: 500 },
    );
  });
});

describe('frames', () => {
  it('decode to what was written, in both forms, and are never longer than computed', () => {
    const seq = fc.oneof(fc.nat(300), fc.nat(70_000), fc.integer({ min: 0, max: 2 ** 32 + 10 }), fc.maxSafeNat());
    // msgpackr renames `__proto__`, which no event has.
    const data = fc.dictionary(
      fc.string().filter((name) => name !== '__proto__'),
      fc.oneof(fc.string(), fc.integer(), fc.boolean()),
    );
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
  it('decodes what msgpackr encodes', () => {
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
      // msgpackr renames this one; ours does not change it, like any other unknown field.
      map: fc.dictionary(
        fc.string().filter((key) => key !== '__proto__'),
        tie('any'),
        { maxKeys: 20, noNullPrototype: true },
      ),
    })).any;
    fc.assert(
      fc.property(value, (one) => {
        expect(decodeMsgpackCommand(pack(one))).toEqual(unpack(pack(one)));
      }),
    );
  });

  it('is refused without an exception if it is malformed, and a false length allocates nothing', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        decodeMsgpackCommand(bytes);
        firstMsgpackId(bytes);
        // What was read before does not change how the next command is read.
        expect(decodeMsgpackCommand(pack({ id: 1, op: 'ping' }))).toEqual({ id: 1, op: 'ping' });
      }),
      { numRuns: 5_000 },
    );
    for (const claim of [
      [0xdd, 255, 255, 255, 255],
      [0xdf, 255, 255, 255, 255],
      [0xdb, 255, 255, 255, 255],
      [0xdd, 1, 0, 0, 0],
    ]) {
      expect(decodeMsgpackCommand(Uint8Array.from(claim))).toBeUndefined();
    }
    expect(decodeMsgpackCommand(new Uint8Array(100_000).fill(0x91))).toBeUndefined();
    expect(firstMsgpackId(pack({ id: 'a', more: 'x'.repeat(100) }).subarray(0, 40))).toBe('a');
    expect(firstMsgpackId(pack({ op: 'ping', id: 'a' }))).toBeUndefined();
  });
});

describe('a session', () => {
  it('answers any bytes with one action, and every refusal is a documented reply', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.boolean(), fc.boolean(), (bytes, binary, authenticated) => {
        const action = new Session(0, authenticated ? grant : null).receive(bytes, binary, 0);
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
        const action = new Session(0, grant).receive(Buffer.from(JSON.stringify(message)), false, 0);
        if (action.kind === 'refused') expect(isErrorReply(action.reply)).toMatchObject({ ok: true });
      }),
      { numRuns: 3_000 },
    );
  });

  it('accepts JSON of any depth', () => {
    const deep = `{"op":"subscribe","channel":"trades","filter":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    expect(new Session(0, grant).receive(Buffer.from(deep), false, 0)).toMatchObject({
      kind: 'refused',
      reply: { error: { code: 'INVALID_REQUEST' } },
    });
  });

  it('names an id that cannot be repeated, and replies with null', () => {
    const answered = (bytes: Uint8Array, binary: boolean): unknown => {
      const action = new Session(0, grant).receive(bytes, binary, 0);
      return action.kind === 'refused' ? [action.reply.id, action.reply.error.details['fields']] : action;
    };
    const wrong = [null, { id: expect.stringContaining('integer') }];
    for (const id of ['9007199254740993', '12345678901234567890', '-0', '1e400', '1.5', 'true', '[]']) {
      expect(answered(Buffer.from(`{"id":${id},"op":"ping"}`), false), id).toEqual(wrong);
    }
    expect(answered(pack({ id: 2n ** 60n + 1n, op: 'ping' }), true)).toEqual(wrong);
    for (const id of [0, -5, Number.MAX_SAFE_INTEGER, 'x', null]) {
      expect(answered(Buffer.from(JSON.stringify({ id, op: 'ping' })), false)).toEqual({ kind: 'ping', id });
    }
  });

  it('accepts work until the budget is spent, refuses the rest unread with its id, and continues when the budget has recovered', () => {
    const session = new Session(0, grant);
    const command = (id: unknown): string =>
      `{"id":${JSON.stringify(id)},"op":"subscribe","channel":"prices","mints":["${'x'.repeat(400_000)}"]}`;
    const answers = Array.from({ length: 30 }, (_, id) => session.receive(Buffer.from(command(id)), false, 0));
    const refused = answers.flatMap((action) =>
      action.kind === 'refused' && action.reply.error.code === 'RATE_LIMIT' ? [action.reply] : [],
    );
    expect(refused).toHaveLength(30 - Math.ceil(streamLimits.workBurst / (command(10).length + streamLimits.commandWork)));
    expect(refused.map(({ id }) => id)).toEqual(Array.from({ length: refused.length }, (_, i) => i + 30 - refused.length));
    const { retryAfterMs } = refused.at(-1)!.error.details as { retryAfterMs: number };
    expect(session.receive(Buffer.from('{"id":"early","op":"ping"}'), false, retryAfterMs - 5)).toMatchObject({ reply: { id: 'early' } });
    expect(session.receive(Buffer.from('{"id":"late","op":"ping"}'), false, retryAfterMs)).toEqual({ kind: 'ping', id: 'late' });
    session.charge(streamLimits.workBurst);
    const later = session.receive(pack({ id: 7, op: 'ping', padding: 'x'.repeat(5_000) }), true, retryAfterMs);
    expect(later).toMatchObject({ kind: 'refused', reply: { id: 7, error: { code: 'RATE_LIMIT' } } });
    expect(session.receive(Buffer.from(command('\\q')), false, retryAfterMs)).toMatchObject({ kind: 'refused', reply: { id: '\\q' } });
  });

  it('has one budget for all connections of a key', () => {
    const keyWork = new WorkBudget(10_000, 1_000, 0);
    const [first, second] = [new Session(0, { ...grant, keyWork }), new Session(0, { ...grant, keyWork })];
    const ping = Buffer.from('{"op":"ping"}');
    const kinds = Array.from({ length: 12 }, (_, i) => (i % 2 === 0 ? first : second).receive(ping, false, 0).kind);
    expect(kinds).toEqual([...Array.from({ length: 10 }, () => 'ping'), 'refused', 'refused']);
  });

  it('carries out a burst of a PumpPortal client later, and refuses no message', () => {
    const session = new Session(0, { ...grant, commandsPerSecond: 20 });
    const message = Buffer.from('{"method":"subscribeTokenTrade","keys":[]}');
    const kindsAt = (nowMs: number) => Array.from({ length: 120 }, () => session.receive(message, false, nowMs).kind);
    const counts = (kinds: readonly string[]) => [kinds.filter((kind) => kind === 'dialect').length, new Set(kinds).size];
    expect(counts(kindsAt(0))).toEqual([20, 2]);
    expect(session.receive(message, false, 0)).toEqual({ kind: 'later', waitMs: 10 });
    expect(counts(kindsAt(500))).toEqual([50, 2]);
    expect(counts(kindsAt(60_000))).toEqual([100, 2]);
    // A client that has used `op` understands a refusal, and one without a key must not fill a queue.
    session.receive(Buffer.from('{"op":"ping"}'), false, 61_000);
    expect(kindsAt(61_000)).toContain('refused');
    const stranger = new Session(0, null);
    expect(Array.from({ length: 30 }, () => stranger.receive(message, false, 0).kind)).not.toContain('later');
  });

  it('accepts little work from a client that has not authenticated', () => {
    const stranger = new Session(0, null);
    const auth = Buffer.from('{"op":"auth","key":"k"}');
    const kinds = Array.from({ length: 40 }, () => stranger.receive(auth, false, 0).kind);
    expect(kinds.filter((kind) => kind === 'authenticate').length).toBe(streamLimits.unauthenticatedCommands);
    const long = Buffer.from(`{"op":"auth","key":"${'k'.repeat(500)}","x":"${'x'.repeat(15_000)}"}`);
    const other = new Session(0, null);
    expect(Array.from({ length: 5 }, () => other.receive(long, false, 0)).filter(({ kind }) => kind === 'refused').length).toBe(5);
    expect(other.receive(auth, false, 0)).toMatchObject({ reply: { error: { code: 'RATE_LIMIT' } } });
    stranger.accept(0, grant);
    expect(stranger.receive(Buffer.from('{"op":"ping"}'), false, 0).kind).toBe('ping');
  });

  it.each([
    ['a list far too long', { mints: Array.from({ length: 100_000 }, () => 5) }, ['mints']],
    ['a list of wrong keys', { mints: Array.from({ length: 5_000 }, () => 5) }, Array.from({ length: 16 }, (_, i) => `mints.${i}`)],
    [
      'wrong positions',
      { since: Object.fromEntries(Array.from({ length: 9_000 }, (_, i) => [`t${i}`, 5])) },
      Array.from({ length: 16 }, (_, i) => `since.t${i}`),
    ],
    ['too many positions', { since: Object.fromEntries(Array.from({ length: 10_001 }, (_, i) => [`t${i}`, 5])) }, ['since']],
    ['a wrong part of one position', { since: { epoch: 'a', seq: -1 } }, ['since.seq']],
    ['a wrong part of a map', { since: { migrations: { epoch: 'a', seq: 1 }, x: 5 } }, ['since.x']],
    ['a number beyond 53 bits', { since: { epoch: 'a', seq: 1e300 } }, ['since.seq']],
    ['the last of 53 bits', { since: { epoch: 'a', seq: Number.MAX_SAFE_INTEGER } }, ['since.seq']],
    ['a filter of another type', { filter: { pool: 5, trader: {} } }, ['filter.pool', 'filter.trader']],
    ['bounds that exclude everything', { filter: { minSol: 5, maxSol: 1 } }, ['filter.minSol']],
  ])('names in %s the fault, and no more', (_what, part, names) => {
    const message = Buffer.from(JSON.stringify({ op: 'subscribe', channel: 'trades', ...part }));
    const action = new Session(0, grant).receive(message, false, 0);
    expect(action).toMatchObject({ kind: 'refused', reply: { error: { code: 'INVALID_REQUEST' } } });
    if (action.kind === 'refused') expect(Object.keys(action.reply.error.details['fields'] as object)).toEqual(names);
  });

  it('accepts 200 commands in a burst and 200 a second, and closes a connection that never pauses', () => {
    const session = new Session(0, grant);
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
  it('knows when its oldest event was published, after entries that are no events', () => {
    const history = new History({ maxEntries: 40, maxBytes: 12 * 1024 * 1024 });
    expect(history.oldestAtMs).toBeNull();
    const verdict = Buffer.from('{"type":"slots","alive":[1],"dead":[]}');
    const trades = [7_000, 9_000].map((ms) =>
      encodeEvent({ ...tradeEvent(addressOf(1)), ts: { received: 1, published: ms * 1_000 + 999 } }),
    );
    for (const [at, record] of [verdict, ...trades].entries()) history.append(new LogEntry(at + 1, [], record));
    expect(history.oldestAtMs).toBe(7_000);
  });

  it('has both views of a record, whose bytes it stores once', () => {
    const history = new History({ maxEntries: 40, maxBytes: 12 * 1024 * 1024 });
    const trade = tradeEvent(addressOf(1));
    const tick = priceEvent(addressOf(1), { id: `${trade.id}.price` });
    const record = encodeTrade(trade, tick)!;
    for (const [view, topic] of ['trades', 'prices'].entries()) history.append(new LogEntry(view + 1, [{ topic, seq: 7 }], record, view));
    expect([history.read('trades', 7)!.event, history.read('prices', 7)!.event]).toEqual([trade, tick]);
    expect(history.read('prices', 7)!.record.byteOffset).toBe(history.read('trades', 7)!.record.byteOffset);
  });

  it('finds the same events as a plain list, consecutive and within its bounds', () => {
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
        const all: LogEntry[] = [];
        for (const [at, { topics, size, hole }] of steps.entries()) {
          const numbered = topics.map((topic) => ({ topic, seq: (seqs[topic] = (seqs[topic] ?? 0) + (hole === 0 ? 2 : 1)) }));
          const entry = new LogEntry(at + 1, numbered, encodeEvent({ type: 'retract', id: `${at}`.padEnd(size, 'x') }));
          all.push(entry);
          history.append(entry);
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
            expect(Buffer.compare(found.msgpack, expected.msgpack)).toBe(0);
            expect(Buffer.compare(history.read(topic, seq)!.msgpack, expected.msgpack)).toBe(0);
          }
          expect(history.read(topic, oldest - 1)).toBeNull();
          expect(history.read(topic, newest + 1)).toBeNull();
          const first = history.oldestOffset!;
          expect(history.lastUpTo(topic, first - 1, newest)).toBeNull();
          for (let offset = first; offset <= all.length; offset++) {
            const last = all.slice(0, offset).findLast(({ topics }) => topics.some((one) => one.topic === topic));
            const seq = last?.topics.find((one) => one.topic === topic)!.seq ?? 0;
            if (seq >= oldest) expect(history.lastUpTo(topic, offset, newest)).toBe(seq);
          }
        }
        const last = all.at(-1);
        if (last !== undefined) for (const { topic, seq } of last.topics) expect(history.read(topic, seq)).not.toBeNull();
      }),
      { numRuns: fuzzCases(240) },
    );
  });

  it('has room for two minutes of 2,000 trades of maximal length a second', () => {
    const record = encodeEvent(tradeEvent(addressOf(1), { feePayer: addressOf(2), late: true, simulated: true }));
    expect(standardMemory.history.maxEntries).toBeGreaterThan(120 * 2_000);
    expect(standardMemory.history.maxBytes / record.length).toBeGreaterThan(120 * 2_000);
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
