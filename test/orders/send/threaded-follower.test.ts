import type { Worker } from 'node:worker_threads';
import { afterEach, expect, test } from 'vitest';
import type { PublishedOrder, StoredOrder } from '@sluice/gateway/store/order-model/order.ts';
import { beginFollower, ThreadedFollower } from '../../../trading/src/follow/thread/threaded-follower.ts';
import { firstRound, createLanes } from '../../../trading/src/send/lanes.ts';
import { createSendNodes } from '../../../trading/src/nodes/nodes.ts';
import { laneTips } from '../../../trading/src/prepare/tips.ts';
import { systemClock, type Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { Config } from '@sluice/shared/config/config.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import { orderGenesisHash } from '../../support/orders.ts';
import { newestSlot, startWorld, until, type World } from './sending-world.ts';
import { silent } from '../../support/chain/tampered-node.ts';

let world: World;
const followers: ThreadedFollower[] = [];
afterEach(async () => {
  for (const follower of followers.splice(0)) await follower.close();
  await world.close();
});

interface Threaded {
  readonly follower: ThreadedFollower;
  readonly threads: readonly Worker[];
  readonly changes: readonly PublishedOrder[];
}

const noPaidLanes: Config['broadcast'] = { jitoUrl: null, senderUrl: null, jitoTip: 0n, senderTip: 0n };

/** `place` runs after the gateway has begun to place orders, and before its thread starts. */
async function threaded(
  gatewayId: string,
  broadcast = noPaidLanes,
  httpUrls = world.nodes.map(({ url }) => url),
  place: (follower: ThreadedFollower) => Promise<void> = async () => undefined,
  clock: Clock = systemClock,
): Promise<Threaded> {
  const threads: Worker[] = [];
  const changes: PublishedOrder[] = [];
  const { dataDir, databaseUrl } = world.store;
  const follower = new ThreadedFollower({
    settings: { store: { dataDir, databaseUrl }, httpUrls, broadcast, gatewayId, takesOverAtOnce: false },
    onChange: (order) => void changes.push(order),
    newestSlot,
    blockHeight: () => world.chain.blockHeight,
    clock,
    log: createLog({ level: 'silent', name: 'test' }),
    begin: (settings) => {
      const thread = beginFollower(settings);
      threads.push(thread);
      return thread;
    },
  });
  followers.push(follower);
  await place(follower);
  await follower.start(orderGenesisHash);
  return { follower, threads, changes };
}

test(
  'an order is followed to its end, each change is published once and in order, and its place is free again',
  { timeout: 120_000 },
  async () => {
    world = await startWorld();
    const { follower, changes } = await threaded('gateway');
    const order = await world.insert(world.prepare({ exact: 'quoteIn', amount: 10_000_000n }), 'gateway');
    expect(follower.follow(order)).toBe(true);
    expect(follower.size).toBe(1);
    world.chain.start();
    const { state, version } = await world.ended(order);
    expect(state).toBe('finalized');
    await until(() => follower.size === 0, 'it to be released');
    const versions = changes.map((one) => one.version);
    expect(versions).toEqual(Array.from({ length: version - order.version }, (_, i) => order.version + 1 + i));
    expect(changes.at(-1)!.fill).not.toBeNull();
    await until(() => follower.report.counters.advanced === versions.length, 'its report');
    // The process that handed it over does the first round.
    expect(follower.report.lanes.map(({ counters }) => counters.first)).toEqual([0, 0]);
  },
);

test('the thread stores the time that the gateway has agreed on, not that of the machine', async () => {
  world = await startWorld();
  const aheadMs = 3_600_000;
  const clock: Clock = { ...systemClock, wallMs: () => systemClock.wallMs() + aheadMs };
  const { follower, changes } = await threaded('gateway', undefined, undefined, undefined, clock);
  const order = await world.insert(world.prepare({ exact: 'quoteIn', amount: 10_000_000n }), 'gateway');
  follower.follow(order);
  world.chain.start();
  await until(() => changes.at(-1)?.state === 'finalized', 'its end');
  expect(Math.min(...changes.map(({ updatedAtMs }) => updatedAtMs))).toBeGreaterThan(systemClock.wallMs() + aheadMs / 2);
});

test('an order whose coins were not known when its transaction was sent gets its terms and its fill', async () => {
  world = await startWorld();
  const { follower, changes } = await threaded('gateway');
  const prepared = world.prepare({ exact: 'quoteIn', amount: 10_000_000n });
  const order = await world.insert(prepared, 'gateway', 'sent', { terms: null, quoteJson: null });
  follower.follow(order);
  world.chain.start();
  const { terms, fill, state } = await world.ended(order);
  expect([state, terms]).toEqual(['finalized', prepared.terms]);
  expect(fill).toMatchObject({ baseAmount: prepared.quote.baseAmount, traderQuote: prepared.quote.traderQuote });
  await until(() => changes.at(-1)?.state === 'finalized', 'its last event');
  expect(changes.at(-1)).toMatchObject({ terms, fill });
});

test('a thread that dies is started again, loads its orders from the store, and sends the same bytes', async () => {
  world = await startWorld();
  const { follower, threads, changes } = await threaded('gateway');
  const first = await world.insert(world.prepare({ exact: 'quoteIn', amount: 10_000_000n }), 'gateway');
  follower.follow(first);
  await threads[0]!.terminate();
  // No thread can accept it, but it is in the store.
  const second = await world.insert(world.prepare({ exact: 'quoteIn', amount: 11_000_000n }), 'gateway');
  follower.follow(second);
  await until(() => threads.length === 2 && follower.size === 2, 'the next thread, with both orders');
  world.chain.start();
  for (const order of [first, second]) expect((await world.ended(order)).state).toBe('finalized');
  await until(() => follower.size === 0, 'both to be released');
  expect(world.landed().length).toBe(2);
  expect(new Set(world.landed())).toEqual(new Set([first.signature, second.signature]));
  expect(new Set(changes.map(({ id }) => id))).toEqual(new Set([first.id, second.id]));
});

test('an order that is being placed while the first thread starts is not sent before its request hands it over', async () => {
  world = await startWorld();
  const inserted: StoredOrder[] = [];
  const insert = async (amount: bigint): Promise<StoredOrder> => {
    const order = await world.insert(world.prepare({ exact: 'quoteIn', amount }), 'gateway');
    inserted.push(order);
    return order;
  };
  const { follower } = await threaded('gateway', noPaidLanes, undefined, async (starting) => {
    const beganMs = Date.now();
    await until(() => Date.now() > beganMs, 'a later millisecond');
    await insert(10_000_000n);
    starting.follow(await insert(11_000_000n));
  });
  const [waiting, handedOver] = inserted;
  world.chain.start();
  expect((await world.ended(handedOver!)).state).toBe('finalized');
  await until(() => follower.size === 0, 'it to be released');
  expect(world.landed()).toEqual([handedOver!.signature]);
  expect(await world.stateOf(waiting!)).toBe('submitted');
});

test(
  'an order that is sent while the thread starts is loaded from the store: the block engine gets it once',
  { timeout: 120_000 },
  async () => {
    world = await startWorld({ nodeCount: 3 });
    const [node, sender, jito] = world.nodes;
    const broadcast = { jitoUrl: jito!.url, jitoTip: 1_000n, senderUrl: sender!.url, senderTip: 1_000_000n };
    const prepared = world.prepare({ exact: 'quoteIn', amount: 10_000_000n }, { requestedTips: laneTips(broadcast) });
    const order = await world.insert(prepared, 'gateway');
    const lanes = createLanes({
      nodes: createSendNodes([node!.url]),
      ...broadcast,
      maySend: () => true,
      signal: new AbortController().signal,
    });
    expect((await firstRound(prepared.signature, prepared.wire, lanes)).kind).toBe('accepted');
    const { follower } = await threaded('gateway', broadcast, [node!.url]);
    expect(follower.size).toBe(1);
    await until(() => sender!.count('sendTransaction') >= 3, 'it to be sent again');
    expect(jito!.count('sendTransaction')).toBe(1);
    world.chain.start();
    expect((await world.ended(order)).state).toBe('finalized');
    expect(world.landed()).toEqual([prepared.signature]);
    expect(jito!.count('sendTransaction')).toBe(1);
  },
);

test('an order that another gateway has ended is dropped, and not published again', async () => {
  world = await startWorld();
  const { follower, changes } = await threaded('gateway');
  for (const node of world.nodes) node.tampering = () => Promise.resolve(silent);
  const order = await world.insert(world.prepare({ exact: 'quoteIn', amount: 10_000_000n }), 'gateway');
  follower.follow(order);
  await world.store.orders.advanceAll([{ order, change: { state: 'expired' }, atMs: Date.now() }]);
  // That no node answers is a change to be stored, and storing it shows that the order has ended.
  await until(() => follower.size === 0, 'it to be released');
  expect(changes).toEqual([]);
});

test('a store that cannot be opened is tried again until the gateway ends', async () => {
  world = await startWorld();
  let begun = 0;
  const follower = new ThreadedFollower({
    settings: {
      store: { dataDir: '/dev/null', databaseUrl: null },
      httpUrls: [],
      broadcast: noPaidLanes,
      gatewayId: 'gateway',
      takesOverAtOnce: false,
    },
    onChange: () => undefined,
    newestSlot,
    blockHeight: () => null,
    clock: systemClock,
    log: createLog({ level: 'silent', name: 'test' }),
    begin: (settings) => {
      begun++;
      return beginFollower(settings);
    },
  });
  const started = follower.start(orderGenesisHash);
  await until(() => begun === 3, 'three tries');
  await follower.close();
  await started;
});
