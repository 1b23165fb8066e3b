import { describe, expect, it } from 'vitest';
import { fastClock } from '../support/clocks.ts';
import { until } from '../support/until.ts';
import { signatureOf } from './pump-frames.ts';
import type { Answer } from './scripted-node.ts';
import { World, answerOf, wholeOf, shortLogsOf, tradeOf, patient } from './settling-world.ts';

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
    world.transactions.set(signatureOf('a'), { result: { ...wholeOf('a'), slot: at } });
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
