import { setTimeout as delay } from 'node:timers/promises';
import { decodeBase58, encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { pump } from '../../../venues/src/pump/curve/index.ts';
import { StoreUnavailableError } from '@sluice/gateway/store/store-unavailable.ts';
import type { StoredOrder } from '@sluice/gateway/store/order-model/order.ts';
import { afterEach, expect, test } from 'vitest';
import { newOrder, orderGenesisHash } from '../../support/orders.ts';
import { buyer, startWorld, until, type Gateway, type Prepared, type World } from './sending-world.ts';
import { silent, type Tampering } from '../../support/chain/tampered-node.ts';

let world: World;
afterEach(() => world.close());

/**
 * With an exact amount of SOL, the first trade of a wallet pays the rent of the program's accounts from it; with exact tokens the rent is
 * added.
 */
const buy = { exact: 'baseOut', amount: 5_000_000_000n } as const;

async function begin(gateway: Gateway, prepared: Prepared): Promise<StoredOrder> {
  const order = await world.insert(prepared, 'one');
  gateway.send(prepared);
  expect(gateway.follower.follow(order)).toBe(true);
  return order;
}

async function started(nodeCount = 2): Promise<Gateway> {
  world = await startWorld({ nodeCount });
  const gateway = world.gateway('one');
  await gateway.follower.start(orderGenesisHash);
  return gateway;
}

/** Its block is seen before there is another one; then the chain continues. */
async function seenInItsBlock(gateway: Gateway, order: StoredOrder): Promise<void> {
  await until(() => gateway.lanes.all.every(({ counters }) => counters.accepted > 0), 'the first round');
  world.chain.advance();
  await until(async () => (await world.stateOf(order)) === 'processed', 'its block');
  world.chain.start();
}

const states = ({ changes }: Gateway): string[] => [...new Set(changes.map(({ state }) => state))];
/** If a busy machine pauses for a second, the nodes are silent, and the order is unknown for a moment. */
const knownStates = (gateway: Gateway): string[] => states(gateway).filter((state) => state !== 'unknown');

/** Accepts messages, confirms them, and does nothing with them. */
const blackhole: Tampering = async ({ method, params }, answer) => {
  if (method !== 'sendTransaction') return await answer();
  const wire = Buffer.from(String(params[0]), 'base64');
  return encodeBase58(wire.subarray(1, 65));
};
const mute: Tampering = () => Promise.resolve(silent);

test('an order is followed from its first block to the finalized one, with its fill to the lamport', async () => {
  const gateway = await started();
  const prepared = world.prepare(buy);
  const order = await begin(gateway, prepared);
  await seenInItsBlock(gateway, order);
  const end = await world.ended(order);
  expect(end.state).toBe('finalized');
  expect(knownStates(gateway)).toEqual(['processed', 'confirmed', 'finalized']);
  expect(gateway.changes.findLast(({ state }) => state === 'confirmed')?.fill).toEqual(end.fill);
  const record = world.chain.transaction(prepared.signature)!;
  const { quote } = prepared;
  const made = world.rentOf(prepared);
  expect(end.fill).toEqual({
    pool: 'pump',
    baseAmount: quote.baseAmount,
    quoteAmount: quote.quoteAmount,
    traderQuote: quote.traderQuote,
    venueFees: quote.feeTotal,
    networkFee: record.fee,
    otherLamports: made,
    slot: record.slot,
    blockTime: record.blockTime,
  });
  expect(made).toBeGreaterThan(2_000_000n);
  expect([gateway.follower.size, gateway.broadcaster.held]).toEqual([0, 0]);
  expect(world.landed()).toEqual([prepared.signature]);
});

test('nodes that have its status but not yet the transaction: it is published as confirmed, and its fill once the transaction can be read', async () => {
  const gateway = await started();
  const unread: Tampering = ({ method }, answer) => (method === 'getTransaction' ? Promise.resolve(null) : answer());
  for (const node of world.nodes) node.tampering = unread;
  world.chain.start();
  const order = await begin(gateway, world.prepare(buy));
  await until(async () => (await world.stateOf(order)) === 'confirmed', 'it to be confirmed');
  expect((await world.store.orders.byId(order.id))!.fill).toBeNull();
  for (const node of world.nodes) node.tampering = null;
  expect(await world.ended(order)).toMatchObject({ state: 'finalized', fill: { baseAmount: buy.amount } });
});

test('a transaction that lands and fails: the order fails by the program that failed', async () => {
  const gateway = await started();
  const late = world.prepare({ exact: 'quoteIn', amount: 10n ** 9n }, {}, buyer, 0n);
  const before = world.prepare({ exact: 'quoteIn', amount: 10n ** 10n });
  world.chain.send(before.wire, { skipPreflight: true });
  world.chain.advance();
  const order = await begin(gateway, late);
  await seenInItsBlock(gateway, order);
  const end = await world.ended(order);
  expect(end).toMatchObject({ state: 'failed', fill: null, error: { code: 'SLIPPAGE_EXCEEDED' } });
  const quoted = String(late.quote.baseAmount);
  expect(JSON.parse(end.error!.detailsJson)).toMatchObject({
    quoted,
    bound: quoted,
    program: pump.programId,
    programError: 6_042,
    instructionIndex: 3,
    logs: expect.any(Array),
  });
  expect(end.error!.message).toBe(
    'The price moved further than the slippage allows. The transaction landed and failed: pump refused the instruction at index 3 with the error 6042.',
  );
  expect(knownStates(gateway)).toEqual(['processed', 'failed']);
});

test(
  'a message that never lands expires once two finalized chains have passed its last block, not before',
  { timeout: 120_000 },
  async () => {
    const gateway = await started();
    for (const node of world.nodes) node.tampering = blackhole;
    const prepared = world.prepare(buy);
    const order = await begin(gateway, prepared);
    const sent = (): readonly string[] =>
      world.nodes[0]!.calls.filter(({ method }) => method === 'sendTransaction').map(({ params }) => String(params[0]));
    // The chain waits, because a busy machine sends less often in the life of a blockhash.
    await until(async () => sent().length > 3, 'it to be sent again');
    world.chain.start();
    await until(async () => (await world.stateOf(order)) === 'expired', 'expiry');
    // Read after the state: the order may have expired at a lower height, never at a higher one.
    expect(world.chain.blockHeight - 31).toBeGreaterThan(prepared.lastValidBlockHeight);
    expect(knownStates(gateway)).toEqual(['expired']);
    // The same bytes, each time.
    expect(new Set(sent())).toEqual(new Set([Buffer.from(prepared.wire).toString('base64')]));
  },
);

test('it lands in its last valid block while no node answers: it is filled, not expired', async () => {
  const gateway = await started();
  const { chain } = world;
  const prepared = world.prepare(buy);
  for (const node of world.nodes) node.tampering = mute;
  const order = await begin(gateway, prepared);
  while (chain.blockHeight < prepared.lastValidBlockHeight - 1) chain.advance();
  expect(chain.send(prepared.wire, { skipPreflight: true }).ok).toBe(true);
  chain.advance();
  expect(chain.blockHeight).toBe(prepared.lastValidBlockHeight);
  for (let i = 0; i < 40; i++) chain.advance();
  await until(async () => (await world.stateOf(order)) === 'unknown', 'it to be unknown');
  for (const node of world.nodes) node.tampering = null;
  const end = await world.ended(order);
  expect(end).toMatchObject({ state: 'finalized', fill: { slot: chain.transaction(prepared.signature)!.slot } });
  expect(states(gateway)[0]).toBe('unknown');
});

test(
  'new nodes know of no message that landed before: the order is unknown until a node that knows it is asked',
  { timeout: 120_000 },
  async () => {
    const gateway = await started();
    const { chain } = world;
    const prepared = world.prepare(buy);
    for (const node of world.nodes) node.tampering = mute;
    const order = await begin(gateway, prepared);
    expect(chain.send(prepared.wire, { skipPreflight: true }).ok).toBe(true);
    while (chain.blockHeight < prepared.lastValidBlockHeight + 200) chain.advance();
    const forgetful: Tampering = async ({ method, params }, answer) => {
      if (method === 'getFirstAvailableBlock') return chain.slot - 10;
      const answered = await answer();
      return method === 'getSignatureStatuses' ? { ...(answered as object), value: (params[0] as string[]).map(() => null) } : answered;
    };
    // As on the network: those blocks are current, and the order was made before.
    const blockTimes: Tampering = async (call, answer) =>
      call.method === 'getBlockTime' ? Math.ceil(Date.now() / 1_000) : await forgetful(call, answer);
    for (const node of world.nodes) node.tampering = blockTimes;
    const asked = world.nodes.map((node) => node.count('getSignatureStatuses'));
    await until(() => world.nodes.every((node, i) => node.count('getSignatureStatuses') > asked[i]! + 4), 'their answers');
    expect(await world.stateOf(order)).toBe('unknown');
    for (const node of world.nodes) node.tampering = null;
    expect(await world.ended(order)).toMatchObject({ state: 'finalized', fill: { slot: chain.transaction(prepared.signature)!.slot } });
  },
);

test('a message that never landed also expires late, by nodes whose history reaches back to it', async () => {
  const gateway = await started();
  const { chain } = world;
  for (const node of world.nodes) node.tampering = mute;
  const prepared = world.prepare(buy);
  const order = await begin(gateway, prepared);
  while (chain.blockHeight < prepared.lastValidBlockHeight + 200) chain.advance();
  for (const node of world.nodes) node.tampering = blackhole;
  expect((await world.ended(order)).state).toBe('expired');
});

test('every node accepts the message and drops it, then they work again: it lands once', async () => {
  const gateway = await started();
  for (const node of world.nodes) node.tampering = blackhole;
  world.chain.start();
  const prepared = world.prepare(buy);
  const order = await begin(gateway, prepared);
  await until(() => world.nodes.every((node) => node.count('sendTransaction') >= 2), 'a second round');
  for (const node of world.nodes) node.tampering = null;
  expect((await world.ended(order)).state).toBe('finalized');
  expect(world.landed()).toEqual([prepared.signature]);
});

test('a fork removes its block: the same bytes are sent again and land again', async () => {
  const gateway = await started();
  const { chain } = world;
  const prepared = world.prepare(buy);
  const order = await begin(gateway, prepared);
  await until(() => gateway.lanes.all.every(({ counters }) => counters.accepted > 0), 'the first round');
  chain.advance();
  await until(async () => (await world.stateOf(order)) === 'processed', 'its block');
  const first = chain.transaction(prepared.signature)!.slot;
  chain.fork(1);
  chain.advance();
  // A copy that was sent again before the fork may land at once, so that the follower never misses it.
  const isGone = (): boolean => gateway.changes.some(({ state }) => state === 'unknown' || state === 'submitted');
  const landedAgain = (): boolean => (chain.transaction(prepared.signature)?.slot ?? first) > first;
  await until(() => isGone() || landedAgain(), 'it to be gone, or to land again');
  chain.start();
  const end = await world.ended(order);
  expect(end.state).toBe('finalized');
  expect(end.fill!.slot).toBeGreaterThan(first);
  expect(end.fill!.slot).toBe(chain.transaction(prepared.signature)!.slot);
  expect(world.landed()).toEqual([prepared.signature]);
});

test('one of three endpoints invents its trade: the order stays submitted, and is sent again and again', async () => {
  const gateway = await started();
  const { chain } = world;
  for (const node of world.nodes) node.tampering = blackhole;
  const prepared = world.prepare(buy);
  const order = await begin(gateway, prepared);
  const { accepted } = gateway.lanes.all[0]!.counters;
  for (let i = 0; i < 20; i++) {
    gateway.follower.seen(prepared.signature);
    chain.advance();
    await delay(25);
  }
  await until(() => gateway.lanes.all[0]!.counters.accepted > accepted, 'it to be sent again');
  expect(gateway.changes).toEqual([]);
  for (const node of world.nodes) node.tampering = null;
  chain.start();
  expect((await world.ended(order)).state).toBe('finalized');
});

test('if a gateway dies, another one claims its orders, and sends the same bytes', async () => {
  const gateway = await started();
  const { chain, nodes } = world;
  for (const node of nodes) node.tampering = blackhole;
  const prepared = [0, 1, 2].map(() => world.prepare(buy));
  const orders = [];
  for (const one of prepared) orders.push(await begin(gateway, one));
  gateway.crash();
  for (const node of nodes) node.tampering = null;
  // The hold of the first one expires by the clock of the store's users.
  const other = world.gateway('two');
  const taken = await world.store.orders.claim({
    gatewayId: 'two',
    genesisHash: orderGenesisHash,
    nowMs: world.clock.wallMs() + 20_000,
    untilMs: world.clock.wallMs() + 40_000,
    limit: 100,
  });
  expect(taken.length).toBe(3);
  await other.follower.start(orderGenesisHash);
  chain.start();
  for (const order of orders) expect((await world.ended(order)).state).toBe('finalized');
  expect(world.landed().toSorted()).toEqual(prepared.map(({ signature }) => signature).toSorted());
});

test('an order that is unknown here, because its insert was not answered, is found and followed', async () => {
  const gateway = await started();
  const { wire, ...prepared } = world.prepare(buy);
  const { signature, blockhash, lastValidBlockHeight, terms } = prepared;
  const message = { signature, signedBytes: wire, blockhash, lastValidBlockHeight };
  const order = newOrder(Date.now() - 11_000, { ...message, terms, state: 'submitted' });
  await world.store.orders.insert(order, { idempotency: null, spend: null, followedBy: 'one' });
  await until(() => gateway.follower.counters.forgotten === 1, 'it to be found');
  world.chain.start();
  await until(async () => (await world.store.orders.byId(order.id))!.state === 'finalized', 'its end');
  expect(world.landed()).toEqual([signature]);
});

test('a gateway ends even while the store is unavailable, and its orders are claimed', async () => {
  const gateway = await started();
  const order = await begin(gateway, world.prepare(buy));
  const orders = { ...world.store.orders };
  Object.assign(world.store.orders, { release: () => Promise.reject(new StoreUnavailableError('gone')) });
  await gateway.follower.close();
  expect([gateway.follower.counters.storeFailures, gateway.broadcaster.held]).toEqual([1, 0]);
  Object.assign(world.store.orders, orders);
  const other = world.gateway('one');
  await other.follower.start(orderGenesisHash);
  world.chain.start();
  expect((await world.ended(order)).state).toBe('finalized');
});

test('if another client sends the same transaction, the end of both orders is published', async () => {
  const gateway = await started();
  const prepared = world.prepare(buy);
  const order = await begin(gateway, prepared);
  const { wire: signedBytes, signature, blockhash, lastValidBlockHeight } = prepared;
  const theirs = newOrder(Date.now(), {
    signature,
    signedBytes,
    blockhash,
    lastValidBlockHeight,
    state: 'submitted',
    kind: 'sent',
    keyId: 'b',
  });
  const inserted = await world.store.orders.insert(theirs, { idempotency: null, spend: null, followedBy: 'one' });
  if (inserted.kind !== 'stored') throw new Error(inserted.kind);
  gateway.follower.follow(inserted.order);
  world.chain.start();
  const [end, other] = [await world.ended(order), await world.ended(inserted.order)];
  expect([end.state, end.fill?.slot, other.state]).toEqual(['finalized', world.chain.transaction(signature)!.slot, 'finalized']);
  await until(() => gateway.follower.size === 0 && gateway.broadcaster.held === 0, 'both to be released');
});

/** What a liar reports about every signature. */
const says =
  (status: object): Tampering =>
  async ({ method, params }, answer) => {
    const answered = (await answer()) as { readonly context: { readonly slot: number } };
    if (method !== 'getSignatureStatuses') return answered;
    return {
      context: answered.context,
      value: (params[0] as string[]).map(() => ({ slot: answered.context.slot - 1, err: null, ...status })),
    };
  };

const lies = [{ confirmationStatus: 'finalized' }, { confirmationStatus: 'confirmed', err: { InstructionError: [2, { Custom: 6002 }] } }];

test.each(lies)('one of three that lies: %o is not believed', { timeout: 120_000 }, async (lie) => {
  const gateway = await started(3);
  world.nodes[2]!.tampering = says(lie);
  world.chain.start();
  const prepared = world.prepare(buy);
  const end = await world.ended(await begin(gateway, prepared));
  expect([end.state, end.fill?.slot]).toEqual(['finalized', world.chain.transaction(prepared.signature)?.slot]);
});

test(
  'one of three reports the true block of a trade, but that it failed there: the other two are believed',
  { timeout: 120_000 },
  async () => {
    const gateway = await started(3);
    const err = { InstructionError: [2, { Custom: 6002 }] };
    world.nodes[0]!.tampering = async ({ method }, answer) => {
      const answered = await answer();
      if (method === 'getSignatureStatuses') {
        const { value, ...rest } = answered as { readonly value: readonly (object | null)[] };
        return { ...rest, value: value.map((status) => (status === null ? null : { ...status, err })) };
      }
      if (method !== 'getTransaction' || answered === null) return answered;
      const landed = answered as { readonly meta: object };
      return { ...landed, meta: { ...landed.meta, err } };
    };
    world.chain.start();
    const prepared = world.prepare(buy);
    const end = await world.ended(await begin(gateway, prepared));
    expect([end.state, end.error, end.fill?.slot]).toEqual(['finalized', null, world.chain.transaction(prepared.signature)?.slot]);
  },
);

test('if one of three lies about a fill, the fill is that of the other two', async () => {
  const gateway = await started(3);
  world.nodes[0]!.tampering = async ({ method }, answer) => {
    const answered = await answer();
    if (method !== 'getTransaction' || answered === null) return answered;
    const landed = answered as { readonly meta: { readonly fee: number } };
    return { ...landed, meta: { ...landed.meta, fee: landed.meta.fee + 1_000_000 } };
  };
  world.chain.start();
  const prepared = world.prepare(buy);
  const end = await world.ended(await begin(gateway, prepared));
  expect(end.fill?.networkFee).toBe(world.chain.transaction(prepared.signature)!.fee);
});

test.each(lies)('one of two that lies about what never landed: %o changes nothing', { timeout: 120_000 }, async (lie) => {
  const gateway = await started();
  const [liar, honest] = world.nodes;
  const lying = says(lie);
  liar!.tampering = (call, answer) => (call.method === 'sendTransaction' ? blackhole(call, answer) : lying(call, answer));
  honest!.tampering = blackhole;
  const order = await begin(gateway, world.prepare(buy));
  await until(() => Math.min(liar!.count('getSignatureStatuses'), honest!.count('getSignatureStatuses')) >= 6, 'both answers');
  // Not even `processed`.
  expect(await world.stateOf(order)).toBe('submitted');
  // It is sent anyway.
  expect(honest!.count('sendTransaction')).toBeGreaterThan(3);
});

test('a node that lies about heights makes nothing expire', async () => {
  const gateway = await started();
  const [liar, honest] = world.nodes;
  liar!.tampering = async (call, answer) => {
    if (call.method === 'getEpochInfo') return { ...((await answer()) as object), blockHeight: 450_000_000, absoluteSlot: 460_000_000 };
    if (call.method === 'getSignatureStatuses')
      return { context: { slot: 460_000_900 }, value: (call.params[0] as string[]).map(() => null) };
    return await blackhole(call, answer);
  };
  honest!.tampering = blackhole;
  const prepared = world.prepare(buy);
  const order = await begin(gateway, prepared);
  await until(() => liar!.count('getSignatureStatuses') >= 4, "the liar's answers");
  expect(await world.stateOf(order)).toBe('submitted');
  honest!.tampering = null;
  world.chain.start();
  await until(() => world.landed().length === 1, 'its block');
  liar!.tampering = null;
  expect((await world.ended(order)).state).toBe('finalized');
});

test('malformed answers of every kind are ignored', async () => {
  const gateway = await started();
  const shapes: readonly unknown[] = [
    null,
    {},
    [],
    { context: {}, value: [] },
    { context: { slot: -1 }, value: [null] },
    { context: { slot: 1e15 }, value: [{ slot: 1, err: null, confirmationStatus: 'finalized' }] },
    { context: { slot: 460_000_100 }, value: [{ slot: 460_000_099, confirmationStatus: 'finalized' }] },
    { context: { slot: 460_000_100 }, value: [{ slot: 460_000_099, err: null, confirmationStatus: 'rooted' }] },
    { context: { slot: 460_000_100 }, value: [null, null] },
    { context: { slot: 460_000_100 }, value: 'finalized' },
  ];
  let said = 0;
  const nonsense: Tampering = async ({ method }, answer) => {
    if (method === 'getSignatureStatuses') return shapes[said++ % shapes.length];
    return method === 'sendTransaction' ? 'another signature' : await answer();
  };
  for (const node of world.nodes) node.tampering = nonsense;
  const order = await begin(gateway, world.prepare(buy));
  await until(() => said >= shapes.length, 'nonsense enough');
  expect(['submitted', 'unknown']).toContain(await world.stateOf(order));
  expect(gateway.follower.counters.malformed + gateway.follower.counters.unanswered).toBeGreaterThanOrEqual(shapes.length / 2);
  expect(decodeBase58(order.signature!)).not.toBeNull();
});
