import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { WebSocketServer, type WebSocket } from 'ws';
import { until } from '../support/gateway.ts';
import { Judge } from './judge.ts';
import { ResumingClient, type ResumingClientOptions } from './resuming-client.ts';

const topic = 'trades';
const frame = (seq: number, id = `e${seq}`, more: object = {}): object => ({ topic, seq, ...more, data: { type: 'trade', id, mint: 'm' } });
const retract = (seq: number, id: string): object => ({ topic, seq, data: { type: 'retract', id } });
const heartbeat = (seq: number, epoch = 'a'): object => ({ op: 'heartbeat', ts: 0, positions: { [topic]: { epoch, seq } } });
const gap = (from: number, to: number | null, epoch = 'a', reason = 'trimmed'): object => ({ op: 'gap', topic, from, to, reason, epoch });

type Answer = (since: { readonly epoch: string; readonly seq: number } | null, link: number) => readonly object[];

/** A server that answers each subscription with a script. The tests check what the judge finds about a client that received it. */
async function judged(
  answer: Answer,
  { filter, ...more }: Partial<Pick<ResumingClientOptions, 'format' | 'batch'>> & { filter?: object } = {},
): Promise<{ judge: Judge; client: ResumingClient; sinces: unknown[] }> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  onTestFinished(() => server.close());
  await once(server, 'listening');
  const sinces: unknown[] = [];
  server.on('connection', (socket: WebSocket) => {
    socket.on('message', (text: Buffer) => {
      const command = JSON.parse(text.toString()) as {
        readonly id: string;
        readonly since?: Record<string, { epoch: string; seq: number }>;
      };
      const since = command.since?.[topic] ?? null;
      sinces.push(since);
      for (const message of answer(since, sinces.length))
        socket.send(JSON.stringify({ ...message, ...('op' in message && message.op === 'subscribed' ? { id: command.id } : {}) }));
    });
  });
  const judge = new Judge({ passes: () => true, partOf: () => 'all' });
  const client = new ResumingClient({
    name: 'one',
    hosts: [`127.0.0.1:${(server.address() as AddressInfo).port}`],
    apiKey: 'k',
    format: 'json',
    batch: false,
    ...more,
    subscriptions: [{ channel: 'trades', ...(filter && { filter: filter as Readonly<Record<string, unknown>> }) }],
    witness: judge,
    random: () => 0.5,
  });
  onTestFinished(() => client.close());
  client.start();
  return { judge, client, sinces };
}

const subscribed = (seq: number, recovered = false, epoch = 'a'): object => ({
  op: 'subscribed',
  positions: { [topic]: { epoch, seq, recovered } },
});

describe('the resuming client and the judge', () => {
  it.each<[string, readonly object[], RegExp]>([
    ['a missing frame', [frame(1), frame(3)], /3 .* came after 1 without a gap/],
    ['a repeated frame', [frame(1), frame(1)], /1 came after 1/],
    ['a frame out of order', [frame(1), frame(2), frame(1)], /1 came after 2/],
    ['a missing last frame', [frame(1), heartbeat(2)], /the heartbeat names 2, the last frame was 1/],
    ['an epoch that changed without notice', [frame(1), heartbeat(1, 'b')], /heartbeat is of b/],
    ['an event under two numbers', [frame(1, 'x'), frame(2, 'x')], /x is at 1 and at 2/],
    ['a retraction of an event that nobody received', [frame(1), retract(2, 'z')], /retract z at 2, which is not in the log/],
    ['a refusal', [{ op: 'error', id: 's0', error: { code: 'FORBIDDEN', retryable: false } }], /refused/],
  ])('notice %s', async (_, messages, fault) => {
    for (const format of ['json', 'light'] as const) {
      const { judge } = await judged(() => [subscribed(0), ...messages], { format });
      await until('the fault', () => judge.faults.length + judge.judge(new Map()).length > 0);
      expect(judge.faults[0]).toMatch(fault);
    }
  });

  it('accepts a gap as a notice, and continues after it', async () => {
    const { judge } = await judged(() => [
      subscribed(0),
      frame(1),
      gap(2, 4),
      frame(5),
      gap(6, null, 'b', 'epoch'),
      frame(3),
      heartbeat(3, 'b'),
    ]);
    judge.forgot();
    await until('the frames', () => judge.deliveries === 3);
    expect([judge.faults, Object.fromEntries(judge.gaps)]).toEqual([[], { trimmed: 1, epoch: 1 }]);
    const { judge: strict } = await judged(() => [subscribed(0), frame(1), gap(2, null, 'b', 'epoch'), frame(1)]);
    await until('the frames', () => strict.deliveries === 2);
    expect(strict.faults.join()).toMatch(/a gap was reported \(epoch\) at \d+ ms, and no Redis lost its memory/);
  });

  it('resumes from the last position, also after a heartbeat that names a lost frame', async () => {
    const { judge, sinces } = await judged((since, link) =>
      link === 1 ? [subscribed(0), frame(1), frame(2), heartbeat(3)] : [subscribed(since?.seq ?? 0, true), frame(3)],
    );
    await until('the frame that was lost', () => judge.deliveries === 3);
    expect(sinces).toEqual([null, { epoch: 'a', seq: 2 }]);
    expect(judge.faults).toHaveLength(1);
  });

  it('notices a frame that is neither recovered nor reported as lost', async () => {
    const { judge } = await judged((_, link) => (link === 1 ? [subscribed(0), frame(1), heartbeat(2)] : [subscribed(5), frame(6)]));
    await until('the fault', () => judge.faults.some((fault) => fault.includes('before the gap')));
  });

  it('links frames under a filter by `prev`', async () => {
    const good = await judged(() => [subscribed(0), frame(3, 'c', { prev: 0 }), heartbeat(5), frame(9, 'i', { prev: 5 })], {
      filter: { minSol: 1 },
    });
    await until('the frames', () => good.judge.deliveries === 2);
    expect(good.judge.faults).toEqual([]);
    const bad = await judged(() => [subscribed(0), frame(3, 'c', { prev: 0 }), frame(9, 'i', { prev: 7 })], { filter: { minSol: 1 } });
    await until('the fault', () => bad.judge.faults.length > 0);
  });

  it('reports events that were emitted and never published, published and never emitted, or published to some clients only', async () => {
    const judge = new Judge({ passes: () => true, partOf: () => 'all' });
    const event = (id: string): { topic: string; epoch: string; event: { type: string; id: string } } => ({
      topic,
      epoch: 'a',
      event: { type: 'trade', id },
    });
    for (const client of ['one', 'two']) judge.onFollow(client, topic, { epoch: 'a', seq: 0 });
    for (const client of ['one', 'two']) judge.onFrame(client, { ...event('a'), seq: 1 });
    expect(judge.isCaughtUp()).toBe(true);
    judge.onFrame('one', { ...event('x'), seq: 2 });
    expect(judge.isCaughtUp()).toBe(false);
    judge.onFrame('two', { ...event('y'), seq: 2 });
    const faults = judge.judge(
      new Map([
        [
          topic,
          new Map([
            ['trade a', 0],
            ['trade b', 0],
          ]),
        ],
      ]),
    );
    expect(faults.join('\n')).toMatch(/2 is trade y, and trade x for another/);
    expect(faults.join('\n')).toMatch(/nobody received trade b/);
    expect(faults.join('\n')).toMatch(/never happened or died: trade x/);
    judge.onFrame('one', { ...event('z'), seq: 3 });
    expect(judge.judge(new Map()).join('\n')).toMatch(/two: trades: has 2 of 3 frames/);
  });

  describe('checks what each client has received:', () => {
    const receive = (judge: Judge, client: string, ...frames: readonly (readonly [seq: number, type: string, id: string])[]): void => {
      for (const [seq, type, id] of frames) judge.onFrame(client, { topic, epoch: 'a', seq, event: { type, id } });
    };
    const emitted = (...ids: readonly string[]) => new Map([[topic, new Map(ids.map((id) => [`trade ${id}`, 0]))]]);
    const withClients = (...clients: readonly string[]): Judge => {
      const judge = new Judge({ passes: () => true, partOf: (client) => (client === 'confirmed' ? 'valid' : 'all') });
      for (const client of clients) judge.onFollow(client, topic, { epoch: 'a', seq: 0 });
      return judge;
    };
    const landed = [
      [1, 'trade', 'a'],
      [2, 'trade', 'b'],
      [3, 'retract', 'b'],
      [4, 'trade', 'b'],
      [5, 'trade', 'c'],
      [6, 'retract', 'c'],
    ] as const;

    it('counts retracted events as gone, and an event that landed again once', () => {
      const judge = withClients('one', 'confirmed');
      receive(judge, 'one', ...landed);
      expect(judge.isCaughtUp()).toBe(false);
      receive(judge, 'confirmed', [1, 'trade', 'a'], [4, 'trade', 'b']);
      expect([judge.isCaughtUp(), judge.isWhole(emitted('a', 'b'))]).toEqual([true, true]);
      expect([judge.judge(emitted('a', 'b')), judge.counts]).toEqual([[], { gap: 0, double: 0, other: 0 }]);
    });

    it('notices a dead event that is confirmed, one that is not retracted, and one that is never published again', () => {
      const one = withClients('one', 'confirmed');
      receive(one, 'one', ...landed);
      receive(one, 'confirmed', [1, 'trade', 'a'], [2, 'trade', 'b']);
      expect(one.judge(emitted('a', 'b')).join()).toMatch(/confirmed: trades: has 2 of 2 frames .* not the same/);
      const two = withClients('one');
      receive(two, 'one', ...landed.slice(0, 5));
      expect(two.judge(emitted('a', 'b')).join()).toMatch(/never happened or died: trade c/);
      const three = withClients('one');
      receive(three, 'one', ...landed.slice(0, 3));
      expect(three.judge(emitted('a', 'b')).join()).toMatch(/nobody received trade b/);
      expect([one.counts.gap, two.counts.other, three.counts.gap]).toEqual([1, 1, 1]);
    });

    it('counts repeated events, and compares with what other processes received', () => {
      const judge = withClients('one', 'two');
      for (const client of ['one', 'two']) receive(judge, client, [1, 'trade', 'a']);
      receive(judge, 'two', [1, 'trade', 'a']);
      expect(judge.judge(emitted('a')).join()).toMatch(/two: trades: has 2 of 1 frames/);
      expect(judge.counts.double).toBe(1);
      const short = withClients('one');
      receive(short, 'one', [1, 'trade', 'a']);
      expect(short.isCaughtUp()).toBe(true);
      short.expectEnds([{ topic, epoch: 'a', seq: 2 }]);
      expect(short.isCaughtUp()).toBe(false);
      short.judgeClients();
      expect(short.counts.gap).toBe(1);
    });

    it('compares what other processes received with the same log', () => {
      const judge = withClients('one');
      receive(judge, 'one', [1, 'trade', 'a']);
      judge.learn('another', { topic, epoch: 'a', seq: 1, key: 'trade z' });
      judge.learn('another', { topic, epoch: 'a', seq: 2, key: 'trade b' });
      expect(judge.judge(emitted('a', 'b')).join()).toMatch(/another: trades: 1 is trade z, and trade a.*one: trades: has 1 of 2 frames/);
    });

    it('allows one new epoch for each start of a Redis, without a loss', () => {
      const judge = withClients('one');
      receive(judge, 'one', [1, 'trade', 'a']);
      const expectedEvents = new Map([[topic, new Map([['trade b', performance.now()]])]]);
      judge.restarted();
      expect(judge.isWhole(expectedEvents)).toBe(false);
      judge.onGap('one', { topic, epoch: 'b', from: 1, to: null, reason: 'epoch' });
      expect([judge.isWhole(expectedEvents), judge.faults]).toEqual([false, []]);
      // A second one without another start.
      judge.onGap('one', { topic, epoch: 'c', from: 1, to: null, reason: 'epoch' });
      expect(judge.faults.join()).toMatch(/a gap was reported \(epoch\) at \d+ ms, and no Redis lost its memory/);
    });

    it('reports a missing event, unless Redis lost it in a declared loss', () => {
      const judge = withClients('one');
      receive(judge, 'one', [1, 'trade', 'a']);
      judge.forgot();
      const nowMs = performance.now();
      const expectedEvents = (ms: number) => new Map([[topic, new Map([['trade b', ms]])]]);
      expect([
        judge.isWhole(expectedEvents(nowMs)),
        judge.isWhole(expectedEvents(nowMs - 60_000)),
        judge.isWhole(expectedEvents(nowMs + 10_000)),
      ]).toEqual([true, false, false]);
      judge.onGap('one', { topic, epoch: 'b', from: 1, to: null, reason: 'epoch' });
      judge.onFrame('one', { topic, epoch: 'b', seq: 4, event: { type: 'trade', id: 'a' } });
      judge.learn('another', { topic, epoch: 'b', seq: 5, key: 'trade c' });
      expect([judge.judge(new Map()).join(), judge.publishedAgain]).toMatchObject([expect.stringMatching(/one: trades: has 1 of 2/), 1]);
    });
  });
});
