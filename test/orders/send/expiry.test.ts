import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import type { StoredOrder } from '@sluice/gateway/store/order-model/order.ts';
import { afterEach, expect, test } from 'vitest';
import { orderGenesisHash } from '../../support/orders.ts';
import { startWorld, until, type Gateway, type Prepared, type World } from './sending-world.ts';
import type { Tampering } from '../../support/chain/tampered-node.ts';

/** A client repeats an order that is reported as expired. So no order may be reported as expired while its message can still land. */
let world: World;
afterEach(() => world.close());

const buy = { exact: 'baseOut', amount: 5_000_000_000n } as const;
/** Blocks from a slot to the finalized one after it. */
const finality = 32;

async function begin(
  nodeCount: number,
  prepare: (world: World) => Prepared,
): Promise<{ prepared: Prepared; order: StoredOrder; gateway: Gateway }> {
  world = await startWorld({ nodeCount });
  for (const node of world.nodes) node.tampering = blackhole;
  const gateway = world.gateway('one');
  await gateway.follower.start(orderGenesisHash);
  const prepared = prepare(world);
  const order = await world.insert(prepared, 'one');
  gateway.follower.follow(order);
  return { prepared, order, gateway };
}

/** Accepts messages, confirms them, and does nothing with them. */
const blackhole: Tampering = async ({ method, params }, answer) => {
  if (method !== 'sendTransaction') return await answer();
  return encodeBase58(Buffer.from(String(params[0]), 'base64').subarray(1, 65));
};

function advanceTo(height: number): void {
  while (world.chain.blockHeight < height) world.chain.advance();
}

/** Waits until every node was asked this often, for the state and for whether it can land: the result of their answers is known then. */
async function heard(rounds = 4): Promise<void> {
  const asked = world.nodes.map((node) => node.count('getSignatureStatuses'));
  const heights = world.nodes.map((node) => node.count('getEpochInfo'));
  await until(
    () =>
      world.nodes.every(
        (node, i) => node.count('getSignatureStatuses') >= asked[i]! + rounds && node.count('getEpochInfo') > heights[i]! + 1,
      ),
    'their answers',
  );
}

async function landsAfterAll({ prepared, order }: { prepared: Prepared; order: StoredOrder }): Promise<void> {
  for (const node of world.nodes) node.tampering = null;
  // One node had it all the time.
  expect(world.chain.send(prepared.wire, { skipPreflight: true }).ok).toBe(true);
  world.chain.start();
  expect(await world.ended(order)).toMatchObject({ state: 'finalized' });
  expect(world.landed()).toEqual([prepared.signature]);
}

test('a false last block expires nothing: the blockhash is still valid on two nodes', async () => {
  const begun = await begin(2, (of) => {
    const prepared = of.prepare(buy);
    return { ...prepared, lastValidBlockHeight: prepared.lastValidBlockHeight - 120 };
  });
  advanceTo(begun.prepared.lastValidBlockHeight + finality + 20);
  await heard();
  expect(await world.stateOf(begun.order)).toBe('submitted');
  await landsAfterAll(begun);
});

test('one of two nodes that reports an expiry expires nothing', async () => {
  const begun = await begin(2, (of) => of.prepare(buy));
  world.nodes[0]!.tampering = async (call, answer) => {
    const answered = await answer();
    if (call.method === 'isBlockhashValid') return { ...(answered as object), value: false };
    if (call.method === 'getEpochInfo')
      return { ...(answered as object), blockHeight: (answered as { absoluteSlot: number }).absoluteSlot };
    if (call.method === 'getSignatureStatuses') return { ...(answered as object), value: (call.params[0] as string[]).map(() => null) };
    return await blackhole(call, () => Promise.resolve(answered));
  };
  advanceTo(begun.prepared.lastValidBlockHeight - 20);
  await heard();
  expect(await world.stateOf(begun.order)).toBe('submitted');
  await landsAfterAll(begun);
});

test('two nodes that do not report whether a blockhash is valid: their heights count, with a margin', async () => {
  const { prepared, order } = await begin(2, (of) => of.prepare(buy));
  for (const node of world.nodes)
    node.tampering = (call, answer) => (call.method === 'isBlockhashValid' ? Promise.resolve(null) : blackhole(call, answer));
  advanceTo(prepared.lastValidBlockHeight + finality + 20);
  await heard();
  expect(await world.stateOf(order)).toBe('submitted');
  advanceTo(prepared.lastValidBlockHeight + finality + 40);
  expect((await world.ended(order)).state).toBe('expired');
});

test(
  'one node alone expires nothing before its height has passed the margin, even if it reports the blockhash as invalid',
  { timeout: 120_000 },
  async () => {
    const { prepared, order } = await begin(1, (of) => of.prepare(buy));
    advanceTo(prepared.lastValidBlockHeight + finality + 20);
    await heard();
    expect(await world.stateOf(order)).toBe('submitted');
    advanceTo(prepared.lastValidBlockHeight + finality + 40);
    expect((await world.ended(order)).state).toBe('expired');
  },
);
