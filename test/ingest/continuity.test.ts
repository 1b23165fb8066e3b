import { afterEach, describe, expect, it } from 'vitest';
import type { Bus, BusStatus } from '@sluice/shared/bus/bus.ts';
import type { Config } from '@sluice/shared/config/config.ts';
import { createBus } from '@sluice/shared/bus/create.ts';
import { readVerdict } from '@sluice/shared/market/verdicts/slot-verdict.ts';
import type { StreamEvent } from '@sluice/shared/wire/events/events.ts';
import { watermarkOfOthers } from '../../ingest/src/continuity/watermark.ts';
import { startIngest, type Ingest } from '@sluice/ingest/ingest.ts';
import { createChain } from '../simnet/sim-chain.ts';
import type { Chain } from '../simnet/chain.ts';
import type { MarketOptions } from '../simnet/market/market.ts';
import type { HistoryBounds } from '../simnet/ledger/history.ts';
import { startSimnet, type Simnet } from '../simnet/simnet.ts';
import { eventsOnChain, eventKinds } from '../support/events/chain-events.ts';
import { recordingLog, type LogLine } from './harness.ts';
import { startScriptedNode } from './scripted-node.ts';
import { fastClock } from '../support/clocks.ts';
import { eventsOfEntry } from '../support/events/entry-events.ts';
import { advanceWith } from '../support/chain/advance-with.ts';
import { until as untilMet } from '../support/gateway.ts';
import { testConfig } from '../support/test-config.ts';
import { eventFaults } from '../support/events/event-faults.ts';
import { fuzzMs, isFullFuzz } from '../support/fuzz.ts';

/** As on the network. */
const slotMs = 400;
const waitMs = fuzzMs(60_000);
/** Rounds of the gap filler are this many times more frequent than on the network. */
const clock = fastClock(10);
/** Busy machines answer late. */
const blockClock = fastClock(0.1);
/** Lengths of the parts of the chain, in slots. Most of the processor time of these tests goes into the simulated chain. */
const lengths = isFullFuzz
  ? { warm: 60, dropped: 200, missed: 300, failing: 150, pruned: 2_600 }
  : { warm: 24, dropped: 80, missed: 120, failing: 50, pruned: 800 };

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

interface World {
  readonly chain: Chain;
  /** Nodes of one chain, each with its own faults. */
  readonly nodes: readonly Simnet[];
  readonly bus: Bus;
  readonly events: StreamEvent[];
  readonly lines: LogLine[];
  /** A bus other than the world's, or a start without waiting for the lead. */
  start(options?: {
    readonly bus?: Bus;
    readonly leads?: boolean;
    readonly sources?: Config['sources'];
    readonly settleBy?: Config['settleBy'];
  }): Promise<Ingest>;
}

const until = (what: string, met: () => boolean, withinMs = waitMs): Promise<true> => untilMet(what, met, withinMs);

async function createWorld(nodeCount = 1, history?: HistoryBounds, market: MarketOptions = {}): Promise<World> {
  const lines: LogLine[] = [];
  const log = recordingLog(lines);
  // A clock that follows the slots, however fast the test freezes them.
  let slots = 0;
  const chain = createChain({
    seed: 23,
    slotMs,
    market: { completeEverySeconds: 20, ...market },
    nowMs: () => Date.now() + slots * slotMs,
    ...(history === undefined ? {} : { history }),
  });
  chain.listen({ onFrozen: () => void slots++ });
  const nodes: Simnet[] = [];
  for (let index = 0; index < nodeCount; index++) {
    const node = await startSimnet({ chain, autoStart: false, seed: index + 1, oracleTransactions: 100_000, ...(history && { history }) });
    closers.push(() => node.close());
    nodes.push(node);
  }
  const bus = await createBus({ redisUrls: null, log });
  closers.push(() => bus.close());
  const events: StreamEvent[] = [];
  const subscriber = await bus.subscriber();
  await subscriber.start({
    onEntry: (entry) => void events.push(...eventsOfEntry(entry)),
    onLost: ({ from, to, reason }) => {
      throw new Error(`Entries ${from} to ${to} were lost: ${reason}.`);
    },
  });
  const rpc = { httpUrls: nodes.map(({ rpcUrl }) => rpcUrl), wsUrls: nodes.map(({ wsUrl }) => wsUrl) };
  const start: World['start'] = async ({
    bus: own = bus,
    leads = true,
    sources = testConfig.sources,
    settleBy = testConfig.settleBy,
  } = {}) => {
    const config = { ...testConfig, rpc, sources, settleBy };
    const ingest = await startIngest({ config, bus: own, clock, blockClock, log, signal: new AbortController().signal });
    closers.push(() => ingest.close());
    await until('it sees the chain', () => ingest.stats().endpointsUp === nodeCount && (!leads || ingest.stats().leads));
    return ingest;
  };
  return { chain, nodes, bus, events, lines, start };
}

/** The same bus with some functions replaced. */
function forwardTo(bus: Bus, replaced: Partial<Bus>): Bus {
  return {
    publisher: (options) => bus.publisher(options),
    subscriber: (options) => bus.subscriber(options),
    lease: (name) => bus.lease(name),
    tail: (count) => bus.tail(count),
    readTail: (count, read) => bus.readTail(count, read),
    setStatus: (name, value, ttlMs) => bus.setStatus(name, value, ttlMs),
    statuses: () => bus.statuses(),
    timeMs: () => bus.timeMs(),
    close: () => bus.close(),
    ...replaced,
  };
}

/** The same bus, but without its memory of the watermark after a call. */
function forgettingWatermark(bus: Bus): { readonly bus: Bus; readonly forget: () => void } {
  let forgot = false;
  return {
    forget: () => void (forgot = true),
    bus: forwardTo(bus, { statuses: async () => (await bus.statuses()).filter(({ name }) => !forgot || name !== 'watermark') }),
  };
}

/** Freezes slots as fast as the reader follows; without a reader, as fast as possible. */
async function pass({ chain }: World, slots: number, reader: Ingest | null): Promise<void> {
  for (let slot = 0; slot < slots; slot++) {
    if (reader !== null) await advanceWith(chain, () => reader.stats().slot);
    else {
      chain.advance();
      if (slot % 16 === 0) await new Promise(setImmediate);
    }
  }
}

/** A first part of the chain, seen live, with a watermark on it. */
async function warm(world: World, ingest: Ingest, slots = lengths.warm): Promise<void> {
  await running(world, 'a watermark', () => (ingest.stats().continuity?.watermark ?? 0) > 0);
  await pass(world, slots, ingest);
}

/** Waits while the chain runs: a frozen chain reports no slots, and an endpoint that reports none is dropped. */
async function running({ chain }: World, what: string, met: () => boolean): Promise<void> {
  chain.start();
  await until(what, met);
  chain.stop();
}

const seeAgain = (world: World, ingest: Ingest): Promise<void> =>
  running(world, 'it is up again', () => ingest.stats().endpointsUp === 1 && ingest.stats().leads);

const eventsOf = ({ events }: World, type: StreamEvent['type']): StreamEvent[] => events.filter((event) => event.type === type);

/** Every event of the living chain was published once, in the form of the contract; `confirmed` slots only. */
async function expectWhole(world: World, ingest: Ingest, isConfirmedOnly = false): Promise<void> {
  // Events that are not confirmed may be missing.
  await pass(world, 4, ingest);
  const all = eventsOnChain(world.nodes[0]!).filter(({ slot }) => !isConfirmedOnly || slot <= world.chain.confirmedSlot);
  for (const kind of eventKinds) {
    const expected = all.filter((event) => event.kind === kind).map(({ id }) => id);
    let seen = -1;
    const isComplete = (): boolean => {
      if (world.events.length === seen) return false;
      seen = world.events.length;
      const published = new Set(validIds(world, kind));
      return published.size <= new Set(expected).size && expected.every((id) => published.has(id));
    };
    await until(`all of ${kind}`, isComplete).catch(() => undefined);
    const published = validIds(world, kind);
    const [publishedOnce, expectedOnce] = [new Set(published), new Set(expected)];
    // Only a few of them, because there are thousands.
    expect({
      kind,
      missing: expected.filter((id) => !publishedOnce.has(id)).slice(0, 5),
      wrong: published.filter((id) => !expectedOnce.has(id)).slice(0, 5),
      published: published.length,
    }).toEqual({ kind, missing: [], wrong: [], published: expected.length });
  }
  expect(world.events.flatMap(eventFaults)).toEqual([]);
  expect(ingest.stats().pipeline).toMatchObject({ lostEvents: 0, lostTransactions: 0, waiting: 0 });
}

/** Ids of the events of a kind that were not retracted. An event that was published twice appears twice. */
function validIds({ events }: World, type: StreamEvent['type']): string[] {
  const counts = new Map<string, number>();
  for (const event of events) {
    const count = counts.get(event.id) ?? 0;
    if (event.type === type) counts.set(event.id, count + 1);
    else if (event.type === 'retract' && count > 0) counts.set(event.id, count - 1);
  }
  return [...counts].flatMap(([id, count]) => Array.from({ length: count }, () => id));
}

/** Late events of each pool arrive in the order of the chain. */
function expectLateInOrder(world: World): void {
  const order = new Map(eventsOnChain(world.nodes[0]!).map(({ id }, index) => [id, index]));
  const places = new Map<string, number[]>();
  for (const event of eventsOf(world, 'trade')) {
    if (event.type !== 'trade' || event.late !== true) continue;
    const ofPool = places.get(event.poolAddress) ?? [];
    places.set(event.poolAddress, [...ofPool, order.get(event.id)!]);
  }
  expect(places.size).toBeGreaterThan(3);
  for (const ofPool of places.values()) expect(ofPool).toEqual(ofPool.toSorted((x, y) => x - y));
}

describe('what no process saw live', () => {
  it('is filled after minutes without any endpoint, in order, faster than five times', async () => {
    let isAtRest = false;
    const world = await createWorld(1, undefined, { tradesPerSecond: 3, isAtRest: () => isAtRest });
    const [node] = world.nodes;
    const ingest = await world.start();
    await warm(world, ingest);
    isAtRest = true;
    // A transaction that was seen in part is fetched for half a minute of real time, and the outage may take longer.
    await running(world, 'all transactions to be complete', () => {
      const { incomplete, completed, abandoned } = ingest.stats().pipeline;
      return incomplete === completed + abandoned;
    });
    isAtRest = false;
    node!.control.cut({ refuseMs: 3_600_000 });
    await until('it is blind', () => ingest.stats().endpointsUp === 0);
    const minutes = isFullFuzz ? 10 : 2;
    const outageMs = minutes * 60_000;
    const outageSlots = outageMs / slotMs;
    await pass(world, outageSlots, null);
    node!.control.clear();
    const before = process.cpuUsage();
    await until('it has caught up', () => (ingest.stats().continuity?.watermark ?? 0) >= world.chain.confirmedSlot);
    // Processor time, because other processes of a busy machine have nothing to do with it.
    const { user, system } = process.cpuUsage(before);
    await seeAgain(world, ingest);
    await expectWhole(world, ingest);
    expectLateInOrder(world);
    const stats = ingest.stats().continuity!;
    expect(stats.gaps).toMatchObject({ lostTransactions: 0, lostSlots: 0 });
    expect(stats.slots.filled).toBeGreaterThan(100);
    expect(eventsOf(world, 'trade').filter((event) => 'late' in event).length).toBeGreaterThan(100 * minutes);
    expect((user + system) / 1e3).toBeLessThan(outageMs / 5);
  });

  it('is filled from whole blocks if a few slots lack many transactions', async () => {
    const world = await createWorld(1, undefined, { tradesPerSecond: 40 });
    const ingest = await world.start();
    await warm(world, ingest);
    const [node] = world.nodes;
    node!.control.cut({ refuseMs: 3_600_000 });
    await until('it is blind', () => ingest.stats().endpointsUp === 0);
    await pass(world, 40, null);
    node!.control.clear();
    await seeAgain(world, ingest);
    await expectWhole(world, ingest);
    expectLateInOrder(world);
    const { gaps, blocks } = ingest.stats().continuity!;
    expect(gaps).toMatchObject({ lostTransactions: 0, lostSlots: 0 });
    expect(blocks.read).toBeGreaterThan(20);
    expect(blocks).toMatchObject({ short: 0, skipped: 0, pruned: 0, refused: 0 });
  });

  it('is filled if an endpoint drops logs without notice', async () => {
    const world = await createWorld();
    const ingest = await world.start();
    await warm(world, ingest);
    world.nodes[0]!.control.drop({ share: 0.3, kinds: ['logs'] });
    await pass(world, lengths.dropped, ingest);
    world.nodes[0]!.control.clear();
    await expectWhole(world, ingest);
    expect(ingest.stats().continuity!.gaps.filled).toBeGreaterThan(20);
    expectLateInOrder(world);
  });

  it('is filled if one endpoint omits signatures and another lists them', async () => {
    const world = await createWorld(2);
    const ingest = await world.start();
    await warm(world, ingest);
    world.nodes[0]!.control.lie({ omitShare: 0.4, ignoreUntil: true });
    for (const { control } of world.nodes) control.drop({ share: 1, kinds: ['logs'] });
    await pass(world, 100, ingest);
    for (const { control } of world.nodes) control.clear('drop');
    await expectWhole(world, ingest);
  });

  it('is reported as lost if no node has it any more', async () => {
    const world = await createWorld(1, { transactions: isFullFuzz ? 4_000 : 600, blocks: 20_000 }, { tradesPerSecond: 2 });
    const first = await world.start();
    await warm(world, first);
    await first.close();
    const before = world.chain.slot;
    await pass(world, lengths.pruned, null);
    const next = await world.start();
    await running(world, 'it is counted', () => (next.stats().continuity?.gaps.lostSlots ?? 0) > 300);
    await until('clients are notified', () => next.stats().publisher.buffered === 0);
    await next.close();
    const published = (await world.bus.tail(32_768)).flatMap((entry) => readVerdict(entry)?.lost ?? []);
    // The loss may be reported in several parts, and the node may drop further blocks meanwhile.
    expect(Math.min(...published.map(({ from }) => from))).toBeLessThanOrEqual(before);
    expect(Math.max(...published.map(({ to }) => to))).toBeGreaterThan(before + 300);
  });

  it('while no process ran is filled by the next one, from the watermark on the bus', async () => {
    const world = await createWorld();
    const first = await world.start();
    await warm(world, first);
    const { watermark } = first.stats().continuity!;
    await first.close();
    await pass(world, lengths.missed, null);
    const second = await world.start();
    await running(world, 'it has caught up', () => (second.stats().continuity?.watermark ?? 0) > watermark + lengths.missed);
    await expectWhole(world, second);
    expectLateInOrder(world);
    expect(eventsOf(world, 'trade').filter((event) => 'late' in event).length).toBeGreaterThan(50);
  });
});

describe('what the previous leader published', () => {
  it('is not published again by a process that leads before it sees a slot', async () => {
    const world = await createWorld();
    const first = await world.start();
    await warm(world, first, 60);
    await until('the watermark is near', () => first.stats().continuity!.watermark >= world.chain.confirmedSlot - 2);
    await first.close();
    const second = await world.start();
    await until('it has compared', () => (second.stats().continuity?.gaps.rounds ?? 0) > 0);
    await seeAgain(world, second);
    await expectWhole(world, second);
  });
});

describe('what happened before the bus lost the watermark', () => {
  it('is filled by a process that never led, from the last watermark that it read there', async () => {
    const world = await createWorld();
    const first = await world.start();
    await warm(world, first);
    const forgetful = forgettingWatermark(world.bus);
    const second = await world.start({ bus: forgetful.bus, leads: false });
    const { watermark } = first.stats().continuity!;
    await running(world, 'it knows the watermark', () => (second.stats().continuity?.watermark ?? 0) >= watermark);
    // As after a flush: neither process saw this live, and the bus no longer knows up to where the log is complete.
    forgetful.forget();
    for (const { control } of world.nodes) control.drop({ share: 1, kinds: ['logs'] });
    await pass(world, 60, second);
    await first.close();
    for (const { control } of world.nodes) control.clear('drop');
    await running(world, 'it leads', () => second.stats().leads);
    await expectWhole(world, second);
  });

  it('is filled by a process that starts then, from the oldest slot that the log has', async () => {
    const world = await createWorld();
    const first = await world.start();
    await warm(world, first);
    await first.close();
    await pass(world, 60, null);
    const forgetful = forgettingWatermark(world.bus);
    forgetful.forget();
    const second = await world.start({ bus: forgetful.bus });
    await running(world, 'it has finished rounds', () => (second.stats().continuity?.gaps.rounds ?? 0) > 1);
    await expectWhole(world, second);
  });
});

describe('a process whose endpoints do not report the confirmed slot', () => {
  it('does not read the log again at each attempt', async () => {
    const log = recordingLog([]);
    const bus = await createBus({ redisUrls: null, log });
    closers.push(() => bus.close());
    const node = await startScriptedNode();
    closers.push(() => node.close());
    let reads = 0;
    const counting: Bus = forwardTo(bus, {
      readTail: (count, read) => {
        reads++;
        return bus.readTail(count, read);
      },
    });
    const config = { ...testConfig, rpc: { httpUrls: [node.httpUrl], wsUrls: [node.wsUrl] } };
    const ingest = await startIngest({ config, bus: counting, clock, log, signal: new AbortController().signal });
    closers.push(() => ingest.close());
    await until('some rounds have failed', () => (ingest.stats().continuity?.gaps.failedRounds ?? 0) >= 3);
    // The publisher reads the log once, when it begins to lead.
    expect(reads).toBe(1);
  });
});

describe('a process that starts on a bus that lost everything', () => {
  it('gets the newest watermark that another process remembers of the same chain', async () => {
    const world = await createWorld();
    const first = await world.start();
    await warm(world, first);
    const { genesis, watermark } = first.stats().continuity!;
    const ended = new AbortController();
    const statuses = async (): Promise<readonly BusStatus[]> => [
      { name: 'ingest:new', value: { continuity: { genesis, watermark: 0 } } },
      { name: 'ingest:elsewhere', value: { continuity: { genesis: 'another chain', watermark: watermark + 100 } } },
      ...(await world.bus.statuses()),
    ];
    await world.bus.setStatus('ingest:first', { ...first.stats() }, 60_000);
    expect(await watermarkOfOthers({ statuses }, genesis, fastClock(100), ended.signal)).toBeGreaterThanOrEqual(watermark);
    expect(await watermarkOfOthers({ statuses: async () => [] }, genesis, fastClock(100), ended.signal)).toBeNull();
  });
});

describe('events of a fork that died', () => {
  for (const replay of [false, true]) {
    it(`are retracted${replay ? ', and published again if their transactions landed again' : ''}`, async () => {
      const world = await createWorld();
      const ingest = await world.start();
      await warm(world, ingest);
      for (let fork = 0; fork < 12; fork++) {
        await pass(world, 9 + fork, ingest);
        world.chain.fork((fork % 2) + 1, { replay });
      }
      await pass(world, 6, ingest);
      await running(world, 'dead slots are counted', () => ingest.stats().continuity!.slots.dead > 0);
      await expectWhole(world, ingest);
      const { forks } = ingest.stats().continuity!;
      expect(ingest.stats().publisher).toMatchObject({ retracted: eventsOf(world, 'retract').length, forgotten: 0 });
      const retracted = eventsOf(world, 'retract').map(({ id }) => id);
      expect(retracted.length).toBeGreaterThan(20);
      expect(forks).toMatchObject({ forgotten: 0 });
      if (replay) expect(forks.relanded).toBeGreaterThan(0);
      // Each retraction follows its event, and no price of a dead slot remains.
      const seen = new Set<string>();
      for (const event of world.events) {
        if (event.type === 'retract') expect(seen.has(event.id)).toBe(true);
        else seen.add(event.id);
      }
      const dead = new Set(world.nodes[0]!.oracle.slots().flatMap((slot) => (slot.dead ? [slot.slot] : [])));
      const prices = new Map(eventsOf(world, 'price').map((event) => [event.id, 'slot' in event ? event.slot : 0]));
      for (const id of validIds(world, 'price')) expect(dead.has(prices.get(id)!)).toBe(false);
    });
  }
});

describe.each<[NonNullable<Config['sources']>, number]>([
  [['blocks'], 1],
  [['blocks'], 3],
  [['logs', 'blocks'], 1],
  [['logs', 'blocks'], 3],
])('a chain that is read by %j of %i endpoints', (sources, count) => {
  const isConfirmedOnly = !sources.includes('logs');

  it('is whole, with forks, replaced banks and dropped logs, and needs no other read of its blocks', async () => {
    const world = await createWorld(count, undefined, { tradesPerSecond: 10 });
    const ingest = await world.start({ sources });
    await warm(world, ingest);
    for (const { control } of world.nodes) control.drop({ share: 0.3, kinds: ['logs'] });
    for (let round = 0; round < 6; round++) {
      await pass(world, 5 + round, ingest);
      world.chain.fork(1 + (round % 2), { replay: round % 3 === 0, replace: round % 2 === 0 });
    }
    for (const { control } of world.nodes) control.clear('drop');
    await pass(world, 12, ingest);
    await expectWhole(world, ingest, isConfirmedOnly);
    const { continuity } = ingest.stats();
    expect(continuity!.settlement).toMatchObject({ unread: 0, contradicted: 0 });
    if (isConfirmedOnly) expect(eventsOf(world, 'retract')).toEqual([]);
    else expect(eventsOf(world, 'retract').length).toBeGreaterThan(0);
  });
});

describe('a bank that was replaced', () => {
  for (const replay of [false, true]) {
    it(`leaves only the events of the confirmed block${replay ? ', also if it has the same transactions' : ''}`, async () => {
      const world = await createWorld();
      const ingest = await world.start();
      await warm(world, ingest);
      for (let bank = 0; bank < 8; bank++) {
        await pass(world, 5 + bank, ingest);
        world.chain.fork(1, { replay, replace: true });
      }
      await pass(world, 6, ingest);
      // A retraction that is not in the log yet may be followed by the event of the confirmed block.
      await until('all slots are settled', () => {
        const { continuity, publisher } = ingest.stats();
        return continuity!.settlement.pending === 0 && publisher.retracted === eventsOf(world, 'retract').length;
      });
      await expectWhole(world, ingest);
      const { continuity, publisher } = ingest.stats();
      expect(publisher.forgotten).toBe(0);
      expect(continuity!.settlement).toMatchObject({ unread: 0, contradicted: 0 });
      if (!replay) expect(continuity!.forks.replaced).toBeGreaterThan(3);
    });
  }
});

describe('slots that are settled by lists', () => {
  it('have only the events of their blocks, and a block is read only if a list lacks a transaction', async () => {
    const world = await createWorld(2);
    const ingest = await world.start({ settleBy: 'lists' });
    await warm(world, ingest);
    for (let bank = 0; bank < 4; bank++) {
      await pass(world, 8, ingest);
      world.chain.fork(1, { replace: true });
    }
    await pass(world, 20, ingest);
    await running(world, 'the slots are settled', () => ingest.stats().continuity!.settlement.pending < 20);
    await expectWhole(world, ingest);
    const { settlement, forks } = ingest.stats().continuity!;
    expect(forks.replaced).toBeGreaterThan(2);
    expect(settlement).toMatchObject({ unread: 0, contradicted: 0 });
  });
});

describe('endpoints', () => {
  it('are dropped if they are silent for three seconds, and what they did not report is filled', async () => {
    const world = await createWorld();
    const [node] = world.nodes;
    const ingest = await world.start();
    await warm(world, ingest);
    const { connects } = ingest.stats().endpoints[0]!;
    node!.control.stall();
    world.chain.start();
    const stalledAtMs = performance.now();
    await until('it is dropped', () => ingest.stats().endpoints[0]!.state === 'down');
    const noticedMs = performance.now() - stalledAtMs;
    expect(noticedMs).toBeGreaterThan(2_500);
    expect(noticedMs).toBeLessThan(15_000);
    expect(ingest.stats().endpoints[0]!.silences).toBe(1);
    node!.control.clear();
    await seeAgain(world, ingest);
    expect(ingest.stats().endpoints[0]!.connects).toBeGreaterThan(connects);
    await expectWhole(world, ingest);
    expect(ingest.stats().continuity!.gaps.filled).toBeGreaterThan(0);
  });

  it('cost nothing if one of two fails', async () => {
    const world = await createWorld(2);
    const ingest = await world.start();
    await warm(world, ingest);
    world.nodes[0]!.control.cut({ refuseMs: 3_600_000 });
    await pass(world, lengths.failing, ingest);
    await until('one is down', () => ingest.stats().endpointsUp === 1);
    await pass(world, lengths.failing, ingest);
    await expectWhole(world, ingest);
    expect(eventsOf(world, 'trade').filter((event) => 'late' in event)).toEqual([]);
    expect(ingest.stats().blindPeriods).toBe(0);
  });
});
