import { firstDropMs, FrameFaults, maxFaults } from '@sluice/shared/solana/pubsub/frame-faults.ts';
import { maxFrameDepth, methodAtHead, subscriptionAtTail } from '@sluice/shared/solana/pubsub/frame-shape.ts';
import { isTooDeep } from '@sluice/shared/solana/rpc/answers/nesting.ts';
import { RpcSocket } from '@sluice/shared/solana/pubsub/rpc-socket.ts';
import { accountSubscription, slotSubscription } from '@sluice/shared/solana/pubsub/subscription.ts';
import type { Writable } from 'node:stream';
import type { WebSocket } from 'ws';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { recordingLog, type LogLine } from '../ingest/harness.ts';
import { startScriptedNode, type ScriptedNode } from '../ingest/scripted-node.ts';
import { alice } from '../simnet/support/test-chain.ts';
import { until } from '../support/gateway.ts';

/** Two endpoints, one of which is faulty. */
let liar: ScriptedNode;
let honest: ScriptedNode;
let lines: LogLine[];
let ending: AbortController;
beforeEach(async () => {
  [liar, honest] = [await startScriptedNode(), await startScriptedNode()];
  [lines, ending] = [[], new AbortController()];
});
afterEach(async () => {
  ending.abort();
  for (const node of [liar, honest]) await node.close();
});

const ofAlice = accountSubscription(alice.publicKey);

async function connect(node: ScriptedNode, index: number): Promise<RpcSocket> {
  const socket = new RpcSocket({
    url: node.wsUrl,
    index,
    subscriptions: [slotSubscription(true), ofAlice],
    allowance: { bytesPerSecond: 2 * 1024 * 1024, framesPerSecond: 5_000 },
    nowUs: () => Date.now() * 1_000,
    log: recordingLog(lines),
    signal: ending.signal,
    handlers: { onNotification: () => undefined, onSlot: () => undefined },
  });
  socket.start();
  await until('it is up', () => socket.state === 'up');
  return socket;
}

const sockets = (node: ScriptedNode): readonly WebSocket[] => [...node.subscriptions.keys()];
const account = (bytes: number, subscription: number): string =>
  JSON.stringify({
    jsonrpc: '2.0',
    method: 'accountNotification',
    params: { result: { context: { slot: 1 }, value: { data: ['A'.repeat(bytes), 'base64'] } }, subscription },
  });
const idOfAccount = (node: ScriptedNode): number => {
  for (const [id, { method }] of [...node.subscriptions.values()].flatMap((all) => [...all])) if (method === 'accountSubscribe') return id;
  throw new Error('there is no followed account');
};
const many = (frame: (node: ScriptedNode) => string) => (node: ScriptedNode) => {
  for (let i = 0; i < 40; i++) node.send(frame(node));
};

const floods: readonly (readonly [string, (node: ScriptedNode) => void])[] = [
  ['accounts longer than any followed one', many((node) => account(260_000, idOfAccount(node)))],
  [
    'slots of two kilobytes',
    many(() => `{"jsonrpc":"2.0","method":"slotNotification","params":{"result":{"slot":5,"parent":4,"x":"${'x'.repeat(2_000)}"}}}`),
  ],
  ['text that is not JSON', many(() => '{"jsonrpc":')],
  [
    'bytes',
    (node) => sockets(node).forEach((socket) => many(() => '')({ ...node, send: () => socket.send(Buffer.of(0, 255), { binary: true }) })),
  ],
  ['notifications without a subscription', many(() => account(100, 99_999))],
  [
    'nested lists',
    many(
      (node) =>
        `{"method":"accountNotification","params":{"subscription":${idOfAccount(node)},"result":${'['.repeat(500)}${']'.repeat(500)}}}`,
    ),
  ],
  ['pongs', (node) => sockets(node).forEach((socket) => many(() => '')({ ...node, send: () => socket.pong() }))],
  ['pings', (node) => sockets(node).forEach((socket) => many(() => '')({ ...node, send: () => socket.ping() }))],
  ['answers to nothing', many(() => '{"jsonrpc":"2.0","id":123456,"result":1}')],
  [
    'an endless number of well-formed frames',
    (node) => {
      const frame = account(200_000, idOfAccount(node));
      for (let i = 0; i < 100; i++) node.send(frame);
    },
  ],
];

describe('an endpoint that sends', () => {
  it.each(floods)(
    '%s is dropped after a few, is not used for a while, and is reported once; another endpoint continues',
    async (_what, flood) => {
      const [bad, good] = [await connect(liar, 0), await connect(honest, 1)];
      flood(liar);
      await until('it is dropped', () => liar.subscriptions.size === 0);
      const framesThen = good.counts.frames;
      await until('the other continues', () => good.counts.frames > framesThen + 5);
      expect([liar.connections, honest.connections, good.state, bad.state]).toEqual([1, 1, 'up', 'down']);
      expect(bad.counts).toMatchObject({ drops: 1 });
      expect(bad.counts.faults).toBeLessThanOrEqual(maxFaults);
      expect(good.counts).toMatchObject({ drops: 0, faults: 0 });
      expect(lines.filter(({ name }) => name === 'endpoint_dropped').map(({ data }) => data)).toMatchObject([
        { endpoint: 1, droppedForMs: firstDropMs },
      ]);
    },
  );

  it('frames that break the connection is dropped after three', async () => {
    const bad = await connect(liar, 0);
    for (let broken = 1; broken <= 3; broken++) {
      await until('it is up', () => bad.state === 'up');
      // Longer than any frame of its subscriptions; then a compressed one, although compression was not negotiated.
      if (broken < 3) liar.send('x'.repeat(300_000));
      else for (const socket of sockets(liar)) (Reflect.get(socket, '_socket') as Writable).write(Buffer.of(0xc1, 0x01, 0x00));
      await until('the connection is gone', () => liar.subscriptions.size === 0);
    }
    await until('it is dropped', () => bad.counts.drops === 1);
    expect(liar.connections).toBe(3);
  });

  it('errors of any length and depth, which repeat its address, causes only short log entries without the address', async () => {
    const deep = `${'['.repeat(20)}${']'.repeat(20)}`;
    liar.onSubscribe = (method) =>
      method === 'accountSubscribe'
        ? { error: { code: JSON.parse(deep) as number, message: `${liar.wsUrl} ${'m'.repeat(10_000)}` } }
        : undefined;
    await connect(liar, 0);
    await until('it is refused', () => lines.some(({ name }) => name === 'subscription_refused'));
    expect(lines.find(({ name }) => name === 'subscription_refused')!.data).toMatchObject({
      error: { code: null, message: `(hidden) ${'m'.repeat(191)}…` },
    });
  });

  it('a notification after its subscription ended, or before its id arrives, is not blamed', async () => {
    const socket = await connect(liar, 0);
    const id = idOfAccount(liar);
    socket.unsubscribe(ofAlice);
    liar.onSubscribe = (method) => (method === 'accountSubscribe' ? 'silence' : undefined);
    for (let i = 0; i < 40; i++) liar.send(account(100, id));
    socket.subscribe(ofAlice);
    await until('all came', () => socket.counts.frames > 40);
    for (let i = 0; i < 40; i++) liar.send(account(100, 77_777));
    await until('all came', () => socket.counts.frames > 80);
    expect(socket.counts).toMatchObject({ faults: 0, drops: 0 });
  });
});

describe('faults', () => {
  it('are forgiven one by one, and the pauses grow until the endpoint had no faults for long', () => {
    const faults = new FrameFaults(null);
    let nowMs = 0;
    for (let i = 0; i < 200; i++) expect(faults.note('malformed', (nowMs += 10_001))).toBe(false);
    const few = (): number => {
      let count = 1;
      while (!faults.note('malformed', nowMs)) count++;
      return count;
    };
    expect(few()).toBeLessThanOrEqual(maxFaults);
    expect(faults.drop(nowMs)).toBe(firstDropMs);
    expect(few()).toBe(maxFaults);
    expect(faults.drop((nowMs += firstDropMs + 1_000))).toBe(2 * firstDropMs);
    expect(faults.drop((nowMs += 2 * firstDropMs + 700_000))).toBe(firstDropMs);
  });

  it('of too many frames or bytes are detected within two seconds, also after a pause', () => {
    const faults = new FrameFaults({ bytesPerSecond: 1_000, framesPerSecond: 10 });
    for (let second = 1; second <= 100; second++) for (let i = 0; i < 10; i++) expect(faults.isFlood(100, second * 1_000)).toBe(false);
    expect(faults.isFlood(4_001, 200_000)).toBe(true);
    const burst = Array.from({ length: 41 }, () => faults.isFlood(1, 300_000));
    expect(burst.indexOf(true)).toBe(40);
  });
});

describe('the shape of a frame', () => {
  it('is determined without parsing', () => {
    const frame = Buffer.from(account(5, 40_321));
    expect([methodAtHead(frame), subscriptionAtTail(frame)]).toEqual(['accountNotification', 40_321]);
    for (const text of ['', '}}', ':}}', '"subscription":x}}', '9'.repeat(400)]) expect(subscriptionAtTail(Buffer.from(text))).toBeNull();
    expect(methodAtHead(Buffer.from('{"jsonrpc":"2.0","id":1,"result":5}'))).toBeNull();
  });

  it('is too deep if the brackets outside of strings are', () => {
    const nested = (levels: number): Buffer => Buffer.from(`${'[{"a":'.repeat(levels)}"\\"[[[["${'}]'.repeat(levels)}`);
    expect(isTooDeep(nested(maxFrameDepth / 2), maxFrameDepth)).toBe(false);
    expect(isTooDeep(nested(maxFrameDepth / 2 + 1), maxFrameDepth)).toBe(true);
    expect(isTooDeep(Buffer.from(JSON.stringify('['.repeat(1_000))), maxFrameDepth)).toBe(false);
    expect(isTooDeep(Buffer.from(`"${'['.repeat(1_000)}`), maxFrameDepth)).toBe(false);
  });
});
