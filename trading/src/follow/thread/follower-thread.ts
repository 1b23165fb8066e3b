import { parentPort, workerData } from 'node:worker_threads';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import { logSuspensions } from '@sluice/shared/solana/rpc/answers/suspensions.ts';
import { newestPossibleSlot } from '@sluice/shared/solana/newest-slot.ts';
import { openStore } from '@sluice/gateway/store/store.ts';
import { Halt } from '@sluice/gateway/store/halt/halt.ts';
import { publishedFields, type PublishedOrder } from '@sluice/gateway/store/order-model/order.ts';
import { Broadcaster } from '../../send/broadcaster.ts';
import { createLanes } from '../../send/lanes.ts';
import { createSendNodes } from '../../nodes/nodes.ts';
import { Follower } from '../follower.ts';
import { relayedClock } from './relayed-clock.ts';
import type { FollowerSettings, FromThread, KnownToThread, OrderChanges, ToThread } from './threaded-follower.ts';

/** How often the thread sends its report. */
const reportEveryMs = 1_000;

/** Runs the follower in a thread, with its own connections to the store and the nodes, until the `close` message. */
async function main({
  store: place,
  httpUrls,
  broadcast,
  gatewayId,
  takesOverAtOnce,
  placesSinceMs,
  genesisHash,
  wallOffsetMs: firstOffsetMs,
  level,
}: FollowerSettings): Promise<void> {
  if (parentPort === null) throw new TypeError('This file runs as a thread of a gateway.');
  const port = parentPort;
  const post = (message: FromThread): void => port.postMessage(message);
  const log = createLog({ level, name: 'orders' });
  const life = new AbortController();
  const store = await openStore(place, 'thread');
  const halt = new Halt(store, null);
  let known: KnownToThread | null = null;
  const clock = relayedClock(() => known?.wallOffsetMs ?? firstOffsetMs);
  try {
    const nodes = createSendNodes(httpUrls);
    logSuspensions(httpUrls, log);
    const { signal } = life;
    const maySend = (): boolean => !halt.halted;
    const lanes = createLanes({ nodes, ...broadcast, maySend, signal });
    const broadcaster = new Broadcaster({ lanes, blockHeight: () => known?.blockHeight ?? null, signal });
    const changes = new ChangesOfTurn(post);
    const follower = new Follower({
      nodes,
      broadcaster,
      orders: store.orders,
      gatewayId,
      takesOverAtOnce,
      placesSinceMs,
      newestSlot: () => known?.newestSlot ?? newestPossibleSlot,
      onLoaded: (order) => post({ op: 'loaded', order: publishedFields(order) }),
      onGone: (id) => post({ op: 'dropped', id }),
      onChange: (order, landedSlot) => changes.add(order, landedSlot),
      clock,
      log,
    });
    const report = (): void =>
      post({
        op: 'report',
        report: {
          counters: follower.counters,
          openByState: follower.openByState(clock.wallMs()),
          reads: follower.reads,
          lanes: lanes.all.map(({ name, counters }) => ({ name, counters })),
        },
      });
    const closed = new Promise<void>((resolve) => {
      port.on('message', (message: ToThread) => {
        if (message.op === 'follow') for (const order of message.orders) follower.follow(order);
        else if (message.op === 'seen') for (const signature of message.signatures) follower.seen(signature);
        else if (message.op === 'known') known = message.known;
        else resolve();
      });
    });
    await follower.start(genesisHash);
    log.info({}, 'order_follower_started');
    post({ op: 'started' });
    const timer = setInterval(report, reportEveryMs);
    await closed;
    clearInterval(timer);
    await follower.close();
    changes.post();
    report();
  } finally {
    life.abort();
    halt.close();
    await store.close();
  }
  port.close();
}

/** Sends all changes of one turn of the event loop in one message. */
class ChangesOfTurn {
  readonly #post: (message: FromThread) => void;
  #changes: OrderChanges[] = [];

  constructor(post: (message: FromThread) => void) {
    this.#post = post;
  }

  add({ id, kind, state, terms, fill, error, updatedAtMs, version }: PublishedOrder, landedSlot: number | null): void {
    const mayBeNew = kind === 'sent' ? terms : null;
    const count = this.#changes.push({ id, state, terms: mayBeNew, fill, error, updatedAtMs, version, landedSlot });
    if (count === 1) setImmediate(() => this.post());
  }

  post(): void {
    const changes = this.#changes;
    this.#changes = [];
    if (changes.length > 0) this.#post({ op: 'changed', changes });
  }
}

await main(workerData as FollowerSettings);
