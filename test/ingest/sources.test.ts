import { afterEach, describe, expect, it } from 'vitest';
import { createInProcessBus } from '@sluice/shared/bus/in-process/in-process-bus.ts';
import type { Config } from '@sluice/shared/config/config.ts';
import type { SourceName } from '@sluice/shared/config/settings/source-settings.ts';
import type { StreamEvent } from '@sluice/shared/wire/events/events.ts';
import { startIngest, type Ingest } from '@sluice/ingest/ingest.ts';
import { decodedVenueNames, venuesByLogs } from '@sluice/shared/wire/venues.ts';
import { startSimnet } from '../simnet/simnet.ts';
import { advanceWith } from '../support/chain/advance-with.ts';
import { fastClock } from '../support/clocks.ts';
import { eventsOfEntry } from '../support/events/entry-events.ts';
import { eventsOnChain, eventKinds } from '../support/events/chain-events.ts';
import { GrpcNode } from '../support/servers/grpc.ts';
import { testConfig } from '../support/test-config.ts';
import { until } from '../support/until.ts';
import { recordingLog, type LogLine } from './harness.ts';
import { signatureOf } from './pump-frames.ts';
import { startScriptedNode, type ScriptedNode } from './scripted-node.ts';
import { curveBuy } from './some-trades.ts';
import { wholeTransaction } from './whole-transaction.ts';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function start(
  rpc: { readonly httpUrls: string[]; readonly wsUrls: string[] },
  sources: readonly SourceName[],
  grpc: Config['grpc'] = null,
): Promise<{
  readonly ingest: Ingest;
  readonly events: StreamEvent[];
  readonly lines: LogLine[];
}> {
  const bus = createInProcessBus();
  closers.push(() => bus.close());
  const events: StreamEvent[] = [];
  const subscriber = await bus.subscriber();
  await subscriber.start({ onEntry: (entry) => void events.push(...eventsOfEntry(entry)), onLost: ({ reason }) => expect.fail(reason) });
  const { signal } = new AbortController();
  const lines: LogLine[] = [];
  const config = { ...testConfig, rpc, sources, grpc };
  const ingest = await startIngest({ config, bus, blockClock: fastClock(0.1), log: recordingLog(lines), signal });
  closers.push(() => ingest.close());
  const byPubSub = sources.filter((name) => name !== 'blocks' && name !== 'grpc').length;
  const connections = byPubSub * rpc.wsUrls.length + (grpc?.urls.length ?? 0);
  await until('all are up', () => {
    const { endpoints, leads } = ingest.stats();
    return leads && endpoints.length === connections && endpoints.every(({ state }) => state === 'up');
  });
  return { ingest, events, lines };
}

const slots = 150;

const token = 'a-secret-token';

/** Reads a simulated market through these sources, until all events of the confirmed slots are published. */
async function readMarket(sources: readonly SourceName[]): Promise<{ readonly events: StreamEvent[]; readonly ingest: Ingest }> {
  const simnet = await startSimnet({ seed: 11, autoStart: false, market: { completeEverySeconds: 20, boostedShare: 0.5 } });
  closers.push(() => simnet.close());
  const node = sources.includes('grpc') ? await GrpcNode.start() : null;
  const stop = node?.follow(simnet.chain);
  closers.push(async () => {
    stop?.();
    node?.close();
  });
  if (node !== null) node.token = token;
  // An endpoint of gRPC is up with its first update.
  const timer = setInterval(() => simnet.chain.advance(), node === null ? 1e9 : 100);
  const rpc = { httpUrls: [simnet.rpcUrl], wsUrls: [simnet.wsUrl] };
  const { ingest, events, lines } = await start(rpc, sources, node === null ? null : { urls: [node.url], token });
  clearInterval(timer);
  const first = simnet.chain.slot + 1;
  for (let slot = 0; slot < slots; slot++) await advanceWith(simnet.chain, () => ingest.stats().slot);
  const last = simnet.chain.confirmedSlot;
  const isRead = ({ slot }: { readonly slot: number }): boolean => slot >= first && slot <= last;
  for (const kind of eventKinds) {
    const expected = eventsOnChain(simnet).filter((event) => event.kind === kind && isRead(event));
    const published = (): StreamEvent[] => events.filter((event) => event.type === kind && isRead(event));
    expect(expected.length).toBeGreaterThan(0);
    await until(`every ${kind}`, () => published().length >= expected.length);
    const ids = published().map(({ id }) => id);
    expect(ids.toSorted()).toEqual(expected.map(({ id }) => id).toSorted());
  }
  expect(JSON.stringify(lines)).not.toContain(token);
  return { events, ingest };
}

describe('the same market', () => {
  it.each<[SourceName[]]>([
    [['transaction-subscribe']],
    [['block-subscribe']],
    [['logs', 'transaction-subscribe']],
    [['grpc']],
    [['logs', 'blocks', 'block-subscribe', 'transaction-subscribe', 'grpc']],
  ])('gives the same events with the same ids through %s', async (sources) => {
    const { ingest, events } = await readMarket(sources);
    const { notifications, sightings, pipeline } = ingest.stats();
    expect(notifications).toMatchObject({ malformed: 0, unasked: 0 });
    expect(sightings.otherContents).toBe(0);
    expect(events.filter(({ type }) => type === 'retract')).toEqual([]);
    // A whole transaction shows everything.
    if (!sources.includes('logs')) expect(pipeline).toMatchObject({ incomplete: 0, lostTransactions: 0 });
  });
});

const trade = (name: string): Record<string, unknown> => ({ ...wholeTransaction(signatureOf(name), [curveBuy()]) });
const failed = (name: string): Record<string, unknown> => ({
  ...trade(name),
  meta: { ...(trade(name)['meta'] as object), err: { InstructionError: [0, { Custom: 1 }] } },
});

async function startNode(source: SourceName): Promise<{ readonly node: ScriptedNode; readonly ingest: Ingest; readonly lines: LogLine[] }> {
  const node = await startScriptedNode();
  closers.push(() => node.close());
  return { node, ...(await start({ httpUrls: [node.httpUrl], wsUrls: [node.wsUrl] }, [source])) };
}

describe('without a setting', () => {
  const offering = async (...refused: readonly string[]): Promise<ScriptedNode> => {
    const node = await startScriptedNode();
    closers.push(() => node.close());
    const error = { error: { code: -32601, message: 'Method not found' } };
    const { onCall } = node;
    // The block is not stored yet, which only a node that serves blocks says.
    const block = refused.includes('getBlock') ? error : { error: { code: -32004, message: 'Block not available' } };
    node.onCall = (method, params) => (method === 'getBlock' ? block : method === 'getSlot' ? { result: 1 } : onCall(method, params));
    node.onSubscribe = (method) => (refused.includes(method) ? error : undefined);
    return node;
  };
  const all = () => offering();
  const noTransactions = () => offering('transactionSubscribe');
  const plain = () => offering('transactionSubscribe', 'blockSubscribe');
  const noBlocks = () => offering('transactionSubscribe', 'blockSubscribe', 'getBlock');

  it.each([
    ['transaction-subscribe', [all, all]],
    ['block-subscribe', [all, noTransactions]],
    ['blocks', [noTransactions, plain]],
    ['blocks', [plain]],
    ['nothing else', [plain, noBlocks]],
  ] as const)('logs and %s are read, by what all endpoints offer', async (expected, opened) => {
    const nodes = await Promise.all(opened.map((open) => open()));
    const rpc = { httpUrls: nodes.map(({ httpUrl }) => httpUrl), wsUrls: nodes.map(({ wsUrl }) => wsUrl) };
    const bus = createInProcessBus();
    closers.push(() => bus.close());
    const config = { ...testConfig, rpc, sources: null, venues: null };
    const ingest = await startIngest({ config, bus, log: recordingLog([]), signal: new AbortController().signal });
    closers.push(() => ingest.close());
    await until('it reads', () => ingest.stats().endpointsUp === nodes.length);
    expect(ingest.stats().sources.map(({ name }) => name)).toEqual(expected === 'nothing else' ? ['logs'] : ['logs', expected]);
    // The logs of Raydium and Orca do not show their trades.
    const logs = [...nodes[0]!.subscriptions.values()].flatMap((of) => [...of.values()]).filter(({ method }) => method === 'logsSubscribe');
    expect(logs).toHaveLength(expected === 'nothing else' ? venuesByLogs.length : decodedVenueNames.length);
  });
});

describe('notifications of transactions', () => {
  const notify = (
    node: ScriptedNode,
    { transaction, meta, version }: Record<string, unknown>,
    signature: unknown,
    slot: unknown = node.slot,
  ): void =>
    node.notify('transactionNotification', 'transactionSubscribe', { transaction: { transaction, meta, version }, signature, slot });

  it('are read once, and no other form is', async () => {
    const { node, ingest } = await startNode('transaction-subscribe');
    notify(node, trade('one'), signatureOf('one'));
    notify(node, trade('one'), signatureOf('one'));
    notify(node, failed('failed'), signatureOf('failed'));
    await until('three are taken', () => ingest.stats().notifications.failed === 1);
    expect(ingest.stats().sightings).toMatchObject({ new: 1, repeated: 1 });
    // The transaction of another signature, an impossible slot, no meta, no signature: each is a fault of the endpoint.
    const wrong = [
      ['other', node.slot],
      ['one', node.slot + 1_000_000],
      ['one', null],
    ] as const;
    for (const [name, slot] of wrong) notify(node, trade('two'), signatureOf(name), slot);
    notify(node, { ...trade('two'), meta: null }, signatureOf('two'));
    notify(node, trade('two'), 7);
    await until('five are refused', () => ingest.stats().notifications.malformed === 5);
    expect(ingest.stats().sightings.new).toBe(1);
  });
});

describe('notifications of blocks', () => {
  const notify = (node: ScriptedNode, block: unknown, more: Record<string, unknown> = {}): void => {
    const [only] = [...node.subscriptions.values()].flatMap((all) => [...all.values()].filter(({ method }) => method === 'blockSubscribe'));
    const value = { slot: node.slot, block, err: null, ...more };
    node.notify('blockNotification', 'blockSubscribe', { context: { slot: node.slot }, value }, (params) => params === only!.params);
  };
  const blockOf = (transactions: readonly unknown[]): unknown => ({
    blockhash: 'hash',
    parentSlot: 1,
    blockTime: 1_791_485_999,
    transactions,
  });

  it('are read whole, long ones in a thread, and no other form is', async () => {
    const { node, ingest, lines } = await startNode('block-subscribe');
    const many = Array.from({ length: 300 }, (_, index) => trade(`many ${index}`));
    notify(node, blockOf([...many, failed('failed'), trade('last')]));
    await until('all are read', () => ingest.stats().sightings.new === 301);
    notify(node, blockOf([trade('small'), { ...trade('bare'), meta: null }, null, 1]));
    await until('it is read', () => ingest.stats().sightings.new === 302);
    expect(ingest.stats().notifications.malformed).toBe(1);
    // The node could not read its own block: the comparison with the records of nodes finds the transactions.
    notify(node, null, { err: 'BlockStoreError' });
    await until('the hole is reported', () => lines.filter(({ name }) => name === 'slots_not_seen').length === 1);
    notify(node, { transactions: 'x' });
    notify(node, blockOf([trade('far')]), { slot: node.slot + 1_000_000 });
    notify(node, null);
    await until('three are refused', () => ingest.stats().notifications.malformed === 4);
    expect(ingest.stats().sightings.new).toBe(302);
  });
});
