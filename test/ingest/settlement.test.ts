import { afterEach, describe, expect, it } from 'vitest';
import type { Config } from '@sluice/shared/config/config.ts';
import { createInProcessBus } from '@sluice/shared/bus/in-process/in-process-bus.ts';
import { InProcessMarket } from '@sluice/shared/market/in-process-market.ts';
import { solPricePool } from '@sluice/venues/registry.ts';
import { clockSysvar } from '@sluice/shared/solana/well-known.ts';
import { programId as whirlpoolProgram } from '@sluice/venues/orca/whirlpool/program.ts';
import { startIngest } from '@sluice/ingest/ingest.ts';
import { readRecord, type LogRecord } from '../../ingest/src/publisher/log-tail.ts';
import { recordingLog } from './harness.ts';
import { fastClock } from '../support/clocks.ts';
import { until } from '../support/until.ts';
import { testConfig } from '../support/test-config.ts';
import { addressOf, pumpProgram, signatureOf, whirlpoolBytes } from './pump-frames.ts';
import { dataLine, invoked, routedTradeLogs } from './log-frames.ts';
import { curveBuy } from './some-trades.ts';
import { wholeTransaction } from './whole-transaction.ts';
import { accountAnswers, accountJson, startScriptedNode, type Answer, type ScriptedNode } from './scripted-node.ts';

/** Busy machines answer late. */
const patient = fastClock(0.2);
const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

/** A block as `getBlock` shows its signatures. */
interface Shown {
  readonly bank: string;
  readonly names: readonly string[];
  /** Transactions as a whole block shows them, in place of the usual ones. */
  readonly whole?: readonly unknown[];
  readonly parent?: number;
}

const coin = addressOf('coin');
const tradeOf = (name: string): string => `${signatureOf(name)}:3.0`;
/** Each transaction buys for another amount, from the initial reserves. */
const amounts: Readonly<Record<string, bigint>> = { a: 5_000_000_000n, b: 1_000_000_000n, c: 2_000_000_000n, d: 3_000_000_000n };
const logsOf = (name: string): string[] =>
  routedTradeLogs(curveBuy({ solAmount: amounts[name]!, virtualSol: 30_000_000_000n + amounts[name]! }));
const clock = accountJson('Sysvar1111111111111111111111111111111111111', Buffer.alloc(40));
const price = accountJson(whirlpoolProgram, whirlpoolBytes(150));

class World {
  readonly nodes: ScriptedNode[] = [];
  /** By slot: the block that every node shows, unless `shownBy` has another one. */
  readonly blocks = new Map<number, Shown>();
  readonly shownBy = new Map<ScriptedNode, (slot: number) => Answer | undefined>();
  /** Answers to `getTransaction`, by signature. */
  readonly transactions = new Map<string, Answer>();
  confirmedSlot = 1_000;
  readonly bus = createInProcessBus();
  readonly market = new InProcessMarket();
  ingest!: Awaited<ReturnType<typeof startIngest>>;

  /** Endpoints that report nothing by themselves; the ingest process leads. */
  static async of(count: number, blockClock = patient, sources: Config['sources'] = ['logs']): Promise<World> {
    const world = new World();
    const accounts = accountAnswers(new Map([[solPricePool.address, price]]), 1_000);
    for (let index = 0; index < count; index++) {
      const node = await startScriptedNode();
      closers.push(() => node.close());
      node.onCall = (method, params) => {
        if (method === 'getBlock') return world.#block(node, params);
        if (method === 'getSlot') return { result: world.confirmedSlot };
        return world.transactions.get(String(params[0])) ?? accounts(method, params);
      };
      world.nodes.push(node);
    }
    closers.push(() => world.bus.close());
    const rpc = { httpUrls: world.nodes.map(({ httpUrl }) => httpUrl), wsUrls: world.nodes.map(({ wsUrl }) => wsUrl) };
    const { bus, market } = world;
    const { signal } = new AbortController();
    const clocks = { clock: fastClock(10), blockClock };
    world.ingest = await startIngest({ config: { ...testConfig, rpc, sources }, bus, market, ...clocks, log: recordingLog([]), signal });
    closers.push(() => world.ingest.close());
    await until('all are up', () => {
      const { endpoints, leads } = world.ingest.stats();
      return leads && endpoints.every(({ state, slot }) => state === 'up' && slot > 1_000);
    });
    for (const node of world.nodes) node.reportsSlots = false;
    return world;
  }

  /** A slot after all that were reported. */
  get next(): number {
    return Math.max(...this.nodes.map(({ slot }) => slot)) + 1;
  }

  slot(slot: number, parent: number, nodes: readonly ScriptedNode[] = this.nodes): void {
    for (const node of nodes) {
      node.slot = Math.max(node.slot, slot);
      node.notify('slotNotification', 'slotSubscribe', { slot, parent, root: 1 });
    }
  }

  confirm(slot: number, nodes: readonly ScriptedNode[] = this.nodes): void {
    this.confirmedSlot = slot;
    for (const node of nodes) {
      node.notify('accountNotification', 'accountSubscribe', { context: { slot }, value: clock }, ([address]) => address === clockSysvar);
    }
  }

  logs(name: string, slot: number, nodes: readonly ScriptedNode[] = this.nodes): void {
    for (const node of nodes) node.logs(signatureOf(name), logsOf(name), { slot });
  }

  published(trades: number): Promise<unknown> {
    return until(`${trades} trades are published`, () => this.ingest.stats().events.trades === trades);
  }

  async log(): Promise<LogRecord[]> {
    return (await this.bus.tail(4_096)).flatMap((entry) => readRecord(entry) ?? []);
  }

  /** Trades in the log that were not retracted, with their slots. */
  async trades(): Promise<Record<string, number>> {
    const found = new Map<string, number>();
    for (const record of await this.log()) {
      if (record.kind === 'published' && record.topics.includes('trades')) found.set(record.id, record.slot);
      else if (record.kind === 'retracted') found.delete(record.id);
    }
    return Object.fromEntries(found);
  }

  async retracted(): Promise<string[]> {
    return (await this.log()).flatMap((record) => (record.kind === 'retracted' ? [record.id] : []));
  }

  async isNamed(slot: number, as: 'alive' | 'dead' | 'unknown' = 'alive'): Promise<boolean> {
    return (await this.log()).some((record) => record.kind === 'slots' && record.verdict[as]?.includes(slot) === true);
  }

  settled(slot: number, as?: 'alive' | 'dead' | 'unknown'): Promise<unknown> {
    return until(`slot ${slot} is settled`, () => this.isNamed(slot, as));
  }

  /** Whole quote coins in the candles of the coin, once `slot` is settled. */
  async volume(): Promise<number> {
    await until('the market has the log', async () => (await this.market.checkpoint())?.offset === (await this.bus.tail(1))[0]?.offset);
    const buckets = await this.market.buckets(coin, '1h', 0, 4_000_000_000, 10);
    return buckets.reduce((sum, { volumeQuote }) => sum + volumeQuote, 0);
  }

  #block(node: ScriptedNode, [place, options]: readonly unknown[]): Answer {
    const slot = Number(place);
    const other = this.shownBy.get(node)?.(slot);
    if (other !== undefined) return other;
    const shown = this.blocks.get(slot);
    return shown === undefined
      ? { error: { code: -32004, message: `Block not available for slot ${slot}` } }
      : answerOf(slot, shown, (options as { readonly transactionDetails: string }).transactionDetails === 'full');
  }
}

function answerOf(
  slot: number,
  { bank, names, whole = names.map((name) => wholeOf(name)), parent = slot - 1 }: Shown,
  isFull = false,
): Answer {
  const [blockhash, previousBlockhash] = [addressOf(`${bank} ${slot}`), addressOf(`${bank} ${parent}`)];
  const content = isFull ? { transactions: whole } : { signatures: names.map(signatureOf) };
  return { result: { blockhash, previousBlockhash, parentSlot: parent, blockHeight: slot, blockTime: 1, ...content } };
}

/** A buy for so many lamports as the whole transaction and as logs, both with the path `0`. */
const buyFor = (solAmount: bigint): Buffer => curveBuy({ solAmount, virtualSol: 30_000_000_000n + solAmount });
const wholeOf = (name: string, solAmount = amounts[name]!) => ({ ...wholeTransaction(signatureOf(name), [buyFor(solAmount)]) });
const shortLogsOf = (name: string, solAmount = amounts[name]!): string[] => invoked(pumpProgram, 1, [dataLine(buyFor(solAmount))]);

describe.each([1, 3])('a slot with two banks, over %i endpoints,', (count) => {
  it('has the events of its confirmed block alone, in the log, in candles and at `confirmed`', async () => {
    const world = await World.of(count);
    const at = world.next;
    world.slot(at, at - 1);
    // The first bank is reported by one endpoint, the second by all.
    world.logs('a', at, world.nodes.slice(0, 1));
    await world.published(1);
    world.logs('b', at);
    await world.published(2);
    world.blocks.set(at, { bank: 'second', names: ['b'] });
    world.confirm(at);
    await world.settled(at);
    expect(await world.trades()).toEqual({ [tradeOf('b')]: at });
    expect(await world.volume()).toBe(1);
    // The retraction comes before the verdict, which names it for followers of confirmed events.
    const log = await world.log();
    const verdictAt = log.findIndex((record) => record.kind === 'slots' && record.verdict.alive.includes(at));
    const retracted = log.flatMap((record, index) => (record.kind === 'retracted' && index < verdictAt ? [record.id] : []));
    expect(retracted).toEqual([`${tradeOf('a')}.price`, tradeOf('a')]);
    const verdict = log[verdictAt]!;
    expect(verdict.kind === 'slots' && verdict.verdict.retracted).toEqual([{ slot: at, ids: retracted }]);
    expect(world.ingest.stats().continuity?.forks.replaced).toBe(1);
  });

  it('publishes a transaction of the lost bank again when it lands in a later slot, and refuses it if it comes late', async () => {
    const world = await World.of(count);
    const at = world.next;
    world.slot(at, at - 1);
    for (const name of ['a', 'b']) world.logs(name, at);
    await world.published(2);
    world.blocks.set(at, { bank: 'second', names: ['b'] });
    world.confirm(at);
    await world.settled(at);
    // An endpoint that lags still reports the first bank.
    world.logs('a', at);
    world.logs('c', at);
    await until('that is refused', () => world.ingest.stats().sightings.deadSlot >= 2 * count);
    world.slot(at + 1, at);
    world.logs('a', at + 1);
    world.blocks.set(at + 1, { bank: 'second', names: ['a'] });
    world.confirm(at + 1);
    await world.settled(at + 1);
    await until('it is published for the later slot', async () => (await world.trades())[tradeOf('a')] === at + 1);
    expect(await world.trades()).toEqual({ [tradeOf('b')]: at, [tradeOf('a')]: at + 1 });
  });
});

describe.each([1, 3])('the first slot of a leader, over %i endpoints,', (count) => {
  it('is settled by its confirmed block, if the leader began it on a block that was skipped', async () => {
    const world = await World.of(count);
    const at = world.next;
    // The last slot of the previous leader, and a first bank on it; then the parent is replaced.
    world.slot(at, at - 1);
    world.blocks.set(at, { bank: 'lost', names: ['a'] });
    world.confirm(at - 1);
    world.slot(at + 1, at);
    world.logs('a', at);
    world.logs('b', at + 1);
    await world.published(2);
    world.slot(at + 1, at - 1);
    world.logs('c', at + 1);
    await world.published(3);
    world.blocks.delete(at);
    world.blocks.set(at + 1, { bank: 'second', names: ['c'], parent: at - 1 });
    world.confirm(at + 1);
    await world.settled(at + 1);
    await world.settled(at, 'dead');
    expect(await world.trades()).toEqual({ [tradeOf('c')]: at + 1 });
    expect(await world.volume()).toBe(2);
  });
});

describe.each([1, 3])('while no slot is confirmed for minutes, over %i endpoints,', (count) => {
  it('everything waits, and then the slots are settled in order', async () => {
    const world = await World.of(count);
    const first = world.next;
    // Ten minutes of slots of 200 ms.
    const last = first + 3_000;
    for (let at = first; at <= last; at++) {
      world.slot(at, at - 1);
      world.blocks.set(at, { bank: 'only', names: [] });
      if ((at - first) % 100 === 0) await until('the slots are read', () => world.ingest.stats().slot === at);
    }
    world.logs('a', first);
    world.logs('b', first + 1);
    world.logs('c', last);
    world.logs('d', last);
    await world.published(4);
    expect((await world.log()).filter(({ kind }) => kind === 'slots')).toEqual([]);
    world.blocks.set(first + 1, { bank: 'only', names: ['b'] });
    world.blocks.set(last, { bank: 'only', names: ['d'] });
    world.confirm(last);
    await world.settled(last);
    expect(await world.trades()).toEqual({ [tradeOf('b')]: first + 1, [tradeOf('d')]: last });
    const named = (await world.log()).flatMap((record) => (record.kind === 'slots' ? record.verdict.alive : []));
    expect(named).toEqual(named.toSorted((x, y) => x - y));
    expect(await world.volume()).toBe(4);
  });
});

describe.each([1, 3])('a transaction that was reported otherwise than the confirmed block has it, over %i endpoints,', (count) => {
  it('gets the amounts of the block, and its source is reported', async () => {
    const world = await World.of(count, patient, ['logs', 'blocks']);
    const at = world.next;
    world.slot(at, at - 1);
    for (const node of world.nodes) {
      node.logs(signatureOf('a'), shortLogsOf('a', 9_000_000_000n), { slot: at });
      node.logs(signatureOf('b'), shortLogsOf('b'), { slot: at });
    }
    await world.published(2);
    world.blocks.set(at, { bank: 'only', names: ['a', 'b'] });
    world.confirm(at);
    await world.settled(at);
    await world.published(3);
    const ids = ['a', 'b'].map((name) => `${signatureOf(name)}:0`);
    await until('it is in the log', async () => Object.keys(await world.trades()).length === 2);
    expect(Object.keys(await world.trades()).toSorted()).toEqual(ids.toSorted());
    expect((await world.retracted()).filter((id) => !id.endsWith('.price'))).toEqual([ids[0]]);
    // 5 SOL of the block, not 9, and 1 of the other one.
    expect(await world.volume()).toBe(6);
    const [logs, blocks] = world.ingest.stats().sources;
    expect(logs).toMatchObject({ name: 'logs', first: 2, contradicted: 1 });
    expect(logs!.leadMs).toBeGreaterThan(0);
    expect(blocks).toMatchObject({ name: 'blocks', first: 0, contradicted: 0, leadMs: null });
  });

  it.each([
    ['whole blocks', ['logs', 'blocks'] as const],
    ['logs of the second bank', ['logs'] as const],
  ])('is retracted if it failed there, as %s show', async (_what, sources) => {
    const world = await World.of(count, patient, sources);
    const at = world.next;
    const failed = wholeOf('a');
    failed.meta = { ...failed.meta, err: { InstructionError: [0, { Custom: 6_002 }] } };
    world.transactions.set(signatureOf('a'), { result: { ...failed, slot: at } });
    world.slot(at, at - 1);
    for (const node of world.nodes) for (const name of ['a', 'b']) node.logs(signatureOf(name), shortLogsOf(name), { slot: at });
    await world.published(2);
    if (sources.length === 1)
      for (const node of world.nodes) node.logs(signatureOf('a'), shortLogsOf('a'), { slot: at, err: failed.meta['err'] });
    await until('the failure is read', () => sources.length > 1 || world.ingest.stats().notifications.failed === count);
    world.blocks.set(at, { bank: 'second', names: ['a', 'b'], whole: [failed, wholeOf('b')] });
    world.confirm(at);
    await world.settled(at);
    expect(await world.trades()).toEqual({ [`${signatureOf('b')}:0`]: at });
    expect(await world.volume()).toBe(1);
  });
});

describe('a liar', () => {
  const lies: Readonly<Record<string, (slot: number) => Answer>> = {
    'fewer transactions': (slot) => answerOf(slot, { bank: 'true', names: [] }),
    'more transactions': (slot) => answerOf(slot, { bank: 'true', names: ['a', 'b'] }),
    'another block': (slot) => answerOf(slot, { bank: 'false', names: ['a', 'b'] }),
    'no block': () => ({ error: { code: -32007, message: 'Slot was skipped' } }),
    'a block without a list': () => ({ result: { blockhash: 'x', parentSlot: 1, signatures: null } }),
  };

  it.each(Object.keys(lies))('among three that shows %s changes nothing', async (lie) => {
    const world = await World.of(3);
    const at = world.next;
    world.shownBy.set(world.nodes[0]!, lies[lie]!);
    world.slot(at, at - 1);
    for (const name of ['a', 'b']) world.logs(name, at);
    await world.published(2);
    world.blocks.set(at, { bank: 'true', names: ['b'] });
    world.confirm(at);
    await world.settled(at);
    expect(await world.trades()).toEqual({ [tradeOf('b')]: at });
  });

  it('of two leaves the slot undecided: nothing is retracted, nothing becomes confirmed, and the slot is reported', async () => {
    const world = await World.of(2, fastClock(1));
    const at = world.next;
    world.shownBy.set(world.nodes[0]!, lies['fewer transactions']!);
    world.slot(at, at - 1);
    world.logs('b', at);
    await world.published(1);
    world.blocks.set(at, { bank: 'true', names: ['b'] });
    world.confirm(at);
    await world.settled(at, 'unknown');
    expect(await world.isNamed(at)).toBe(false);
    expect(await world.trades()).toEqual({ [tradeOf('b')]: at });
    expect(world.ingest.stats().continuity?.settlement).toMatchObject({ contradicted: 1, read: 0 });
  });
});

describe.each([[['logs']], [['logs', 'blocks']]] as const)('a block that cannot be read by %j', (sources) => {
  it.each([
    ['no endpoint serves blocks', (): Answer => ({ error: { code: -32_601, message: 'Method not found' } })],
    ['it does not come within ten seconds', (): Answer => 'silence'],
    ['it is never available', (): Answer => ({ error: { code: -32_004, message: 'Block not available' } })],
  ])('holds a verdict back for ten seconds at most, and readiness says so: %s', async (_what, answer) => {
    const world = await World.of(1, fastClock(10), sources);
    const at = world.next;
    world.shownBy.set(world.nodes[0]!, answer);
    world.slot(at, at - 1);
    world.logs('a', at);
    await world.published(1);
    expect(world.ingest.parts()['blocks']).toBe(null);
    world.confirm(at);
    await world.settled(at);
    expect(await world.trades()).toEqual({ [tradeOf('a')]: at });
    expect(world.ingest.parts()['blocks']).toMatch(/confirmed by votes alone/);
    // The next slots do not wait.
    world.slot(at + 1, at);
    world.logs('b', at + 1);
    await world.published(2);
    world.confirm(at + 1);
    await world.settled(at + 1);
    expect(world.ingest.stats().continuity?.settlement).toMatchObject({ read: 0, unread: 2 });
  });
});
