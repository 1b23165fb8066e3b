import { systemClock } from '@sluice/shared/runtime/clock/clock.ts';
import { RpcSocket, type ReportedSlot } from '@sluice/shared/solana/pubsub/rpc-socket.ts';
import { accountSubscription, slotSubscription } from '@sluice/shared/solana/pubsub/subscription.ts';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { recordingLog, type LogLine } from '../ingest/harness.ts';
import { startScriptedNode, type ScriptedNode } from '../ingest/scripted-node.ts';
import { startSimnet, type Simnet } from '../simnet/simnet.ts';
import { alice, bob, quietChain } from '../simnet/support/test-chain.ts';
import type { SimChain } from '../simnet/sim-chain.ts';
import { manualClock } from '../support/clocks.ts';
import { until } from '../support/gateway.ts';

/** A client of a node's PubSub whose subscriptions change while it is connected. */
interface Client {
  readonly socket: RpcSocket;
  readonly notified: string[];
  readonly begun: string[];
  readonly slots: ReportedSlot[];
  downs: number;
}

let chain: SimChain;
let simnet: Simnet;
let scripted: ScriptedNode;
let lines: LogLine[];
let ending: AbortController;
beforeEach(async () => {
  chain = quietChain();
  simnet = await startSimnet({ chain, autoStart: false });
  scripted = await startScriptedNode();
  [lines, ending] = [[], new AbortController()];
});
afterEach(async () => {
  ending.abort();
  await scripted.close();
  await simnet.close();
});

function connect(url: string, clock = systemClock): Client {
  const client: Client = {
    socket: new RpcSocket({
      url,
      index: 0,
      subscriptions: [slotSubscription(true)],
      nowUs: () => Date.now() * 1_000,
      clock,
      log: recordingLog(lines),
      signal: ending.signal,
      handlers: {
        onNotification: (_method, _params, _receivedUs, subscription) => void client.notified.push(subscription?.name ?? 'unasked'),
        onSlot: (notified) => void client.slots.push(notified),
        onSubscribed: ({ name }) => void client.begun.push(name),
        onDown: () => void client.downs++,
      },
    }),
    notified: [],
    begun: [],
    slots: [],
    downs: 0,
  };
  client.socket.start();
  return client;
}

const ofAlice = accountSubscription(alice.publicKey);
const ofBob = accountSubscription(bob.publicKey);

it('subscribes and unsubscribes while it is connected; the last call counts', async () => {
  const { socket, notified, begun } = connect(simnet.wsUrl);
  await until('it is up', () => socket.state === 'up');
  socket.subscribe(ofAlice);
  await until('alice is followed', () => begun.includes(ofAlice.name));
  socket.unsubscribe(ofAlice);
  socket.subscribe(ofAlice);
  socket.subscribe(ofBob);
  // Before the node has answered.
  socket.unsubscribe(ofBob);
  socket.subscribe(ofBob);
  await until('both are followed', () => begun.filter((name) => name === ofAlice.name).length === 2 && begun.includes(ofBob.name));
  expect(simnet.subscriptions('account')).toBe(2);
  chain.airdrop(alice.publicKey, 5n);
  chain.airdrop(bob.publicKey, 5n);
  chain.advance();
  await until('both are reported', () => notified.length === 2);
  expect(new Set(notified)).toEqual(new Set([ofAlice.name, ofBob.name]));
  socket.unsubscribe(ofBob);
  await until('bob is not', () => simnet.subscriptions('account') === 1);
  socket.subscribe(ofBob);
  socket.unsubscribe(ofBob);
  socket.unsubscribe(ofAlice);
  await until('nobody is', () => simnet.subscriptions('account') === 0);
  expect(socket.counts.malformedFrames).toBe(0);
});

it('subscribes to all again on the next connection', async () => {
  const client = connect(simnet.wsUrl);
  const { socket, notified, begun } = client;
  socket.subscribe(ofAlice);
  await until('alice is followed', () => begun.length === 2);
  socket.subscribe(ofBob);
  await until('bob is followed', () => begun.length === 3);
  simnet.control.cut();
  await until('it is down', () => client.downs === 1);
  await until('all are followed', () => begun.length === 6);
  chain.airdrop(bob.publicKey, 5n);
  chain.advance();
  await until('bob is reported', () => notified.includes(ofBob.name));
});

it('reports the parent of a slot', async () => {
  const { slots, socket } = connect(simnet.wsUrl);
  await until('it is up', () => socket.state === 'up');
  const first = chain.advance();
  chain.advance();
  chain.fork(1);
  const next = chain.advance();
  await until('all are reported', () => slots.length === 3);
  expect(slots[0]).toEqual({ slot: first.slot, parent: first.parentSlot });
  expect(slots[2]).toEqual({ slot: next.slot, parent: first.slot });
});

it('counts refused subscriptions, and logs the first ones', async () => {
  scripted.onSubscribe = (method) => (method === 'accountSubscribe' ? { error: { code: -32603, message: 'Too many' } } : undefined);
  const { socket } = connect(scripted.wsUrl);
  await until('it is up', () => socket.state === 'up');
  for (let i = 0; i < 20; i++) socket.subscribe({ ...ofAlice, name: `account ${i}` });
  await until('all are refused', () => socket.counts.refusedSubscriptions === 20);
  expect(lines.filter(({ name }) => name === 'subscription_refused')).toHaveLength(5);
  expect(socket.state).toBe('up');
});

it('an endpoint that reports no slot for three seconds is given up, but not after this process was suspended', async () => {
  const clock = manualClock();
  const client = connect(scripted.wsUrl, clock);
  const { socket, slots } = client;
  await until('a slot', () => slots.length > 0);
  clock.suspend(60_000);
  await clock.pass(0);
  // Now the process reads what has arrived meanwhile.
  const before = slots.length;
  await until('another slot', () => slots.length > before);
  await clock.pass(1_000);
  expect([socket.state, client.downs]).toEqual(['up', 0]);
  const last = slots.length;
  await until('a slot at this time', () => slots.length > last);
  scripted.reportsSlots = false;
  await clock.pass(2_900);
  expect(socket.counts.silences).toBe(0);
  await clock.pass(1_600);
  expect([socket.counts.silences, client.downs]).toEqual([1, 1]);
  scripted.reportsSlots = true;
  await until('it is up again', () => socket.state === 'up');
});
