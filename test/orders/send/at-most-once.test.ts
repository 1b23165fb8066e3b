import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { endStates, type StoredOrder } from '@sluice/gateway/store/order-model/order.ts';
import { expect, test } from 'vitest';
import { createRandom } from '../../simnet/market/random.ts';
import { orderGenesisHash } from '../../support/orders.ts';
import { startWorld, until, type Gateway, type Prepared, type World } from './sending-world.ts';
import { cut, silent, type Tampering } from '../../support/chain/tampered-node.ts';

/**
 * Orders under failures: nodes that drop messages, are silent or cut off, forks, gateways that die. The final state must always equal the
 * chain.
 */
const ordersEach = 6;
const storms = 12;

type Random = ReturnType<typeof createRandom>;

const faults: readonly (Tampering | null)[] = [
  null,
  // Accepts a message, and drops it.
  async ({ method, params }, answer) =>
    method === 'sendTransaction' ? encodeBase58(Buffer.from(String(params[0]), 'base64').subarray(1, 65)) : await answer(),
  // Executes a message, and does not confirm it.
  async ({ method }, answer) => {
    await answer();
    return method === 'sendTransaction' ? cut : silent;
  },
  () => Promise.resolve(cut),
  // Knows no messages.
  async ({ method, params }, answer) => {
    const answered = (await answer()) as { readonly context: object };
    return method === 'getSignatureStatuses' ? { context: answered.context, value: (params[0] as string[]).map(() => null) } : answered;
  },
];

interface Run {
  readonly world: World;
  readonly random: Random;
  readonly sent: { readonly order: StoredOrder; readonly prepared: Prepared }[];
  gateway: Gateway;
  gatewayId: string;
  takenOver: number;
}

async function place(run: Run): Promise<void> {
  const { world, gateway, gatewayId, random } = run;
  const prepared = world.prepare({ exact: 'baseOut', amount: BigInt(1 + random.below(1_000)) * 1_000_000n });
  const order = await world.insert(prepared, gatewayId);
  run.sent.push({ order, prepared });
  // A process may end between storing that it will send and sending.
  if (random.chance(0.2)) return;
  gateway.follower.follow(order);
  gateway.send(prepared);
}

async function dieAndTakeOver(run: Run): Promise<void> {
  run.gateway.crash();
  run.takenOver++;
  run.gatewayId = `gateway ${run.takenOver}`;
  run.gateway = run.world.gateway(run.gatewayId);
  // The lease of the previous one has expired by then.
  const nowMs = Date.now() + 3_600_000 * run.takenOver;
  await run.world.store.orders.claim({ gatewayId: run.gatewayId, genesisHash: orderGenesisHash, nowMs, untilMs: nowMs + 1, limit: 100 });
  await run.gateway.follower.start(orderGenesisHash);
}

async function storm(run: Run): Promise<void> {
  const { world, random } = run;
  for (const node of world.nodes) node.tampering = faults[random.below(faults.length)]!;
  const blocks = world.chain.blockHeight + 5 + random.below(10);
  if (random.chance(0.4)) world.chain.fork(1 + random.below(2), { replay: random.chance(0.5) });
  if (random.chance(0.25)) await dieAndTakeOver(run);
  await until(() => world.chain.blockHeight >= blocks, 'some blocks');
}

// The seeds run at the same time, because each of them mostly waits for its chain.
test.concurrent.each([1, 2, 3, 4])(
  'a bad day, number %i: at most one message of an order lands, and every order ends as the chain says',
  { timeout: 90_000 },
  async (seed) => {
    const world = await startWorld({ nodeCount: 3 });
    try {
      const random = createRandom(`bad day ${seed}`);
      const run: Run = { world, random, sent: [], gateway: world.gateway('gateway 0'), gatewayId: 'gateway 0', takenOver: 0 };
      await run.gateway.follower.start(orderGenesisHash);
      world.chain.start();
      for (let i = 0; i < storms; i++) {
        if (run.sent.length < ordersEach) await place(run);
        await storm(run);
      }
      for (const node of world.nodes) node.tampering = null;
      await dieAndTakeOver(run);
      const ends = [];
      for (const { order } of run.sent) ends.push(await world.ended(order, 30_000));
      const landed = new Set(world.landed());
      for (const [at, { prepared }] of run.sent.entries()) {
        const end = ends[at]!;
        expect(endStates.has(end.state)).toBe(true);
        const record = world.chain.transaction(prepared.signature);
        const truth = record === null ? 'expired' : record.err === null ? 'finalized' : 'failed';
        expect(end.state, prepared.signature).toBe(truth);
        expect(end.fill?.slot ?? null).toBe(truth === 'finalized' ? record!.slot : null);
        landed.delete(prepared.signature);
      }
      // Nothing else of this wallet is on the chain, and only these bytes were ever sent.
      expect([...landed]).toEqual([]);
      const known = new Set(run.sent.map(({ prepared }) => Buffer.from(prepared.wire).toString('base64')));
      const sent = world.nodes.flatMap((node) => node.calls.filter(({ method }) => method === 'sendTransaction'));
      expect(sent.every(({ params }) => known.has(String(params[0])))).toBe(true);
      expect(run.gateway.follower.counters.contradictions).toBe(0);
    } finally {
      await world.close();
    }
  },
);
