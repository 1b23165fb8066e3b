import { afterEach, describe, expect, it } from 'vitest';
import type { Bus, SubscriberOptions } from '@sluice/shared/bus/bus.ts';
import { BusError } from '@sluice/shared/bus/bus-error.ts';
import { connectRedisBus } from '@sluice/shared/bus/redis-bus.ts';
import { until } from '../support/gateway.ts';
import { startRedis, type TestRedis, type TestRedisOptions } from '../support/redis.ts';
import { silentLog } from './bus-harness.ts';
import { fileOf, heldWay, type HeldWay } from './lost-end.ts';
import { entries, entry, record, type Recorder } from './bus-recorder.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function open(options: TestRedisOptions = { appendOnly: true }): Promise<TestRedis> {
  const redis = await startRedis(options);
  cleanups.push(() => redis.stop());
  return redis;
}

async function connect(url: string, limits: { readonly maxEntries?: number } = {}): Promise<Bus> {
  const bus = await connectRedisBus([url], silentLog, limits);
  cleanups.push(() => bus.close());
  return bus;
}

async function holdable(redis: TestRedis): Promise<HeldWay> {
  const way = await heldWay(redis);
  cleanups.push(() => way.close());
  return way;
}

async function isDown(recorder: Recorder): Promise<void> {
  await recorder.until(() => recorder.seen.findLast(({ kind }) => kind === 'link')?.kind === 'link' && !lastLink(recorder));
}

/** Anything else is a fault. */
function refusedMeanwhile(error: unknown): undefined {
  if (!(error instanceof BusError) || error.code !== 'UNAVAILABLE') throw error;
}

function lastLink(recorder: Recorder): boolean | undefined {
  return recorder.seen.flatMap((seen) => (seen.kind === 'link' ? [seen.up] : [])).at(-1);
}

/** Redis comes back without what was written after `size`, and somebody who knows nothing of that writes on. */
async function loseEnd(redis: TestRedis, size: number, count: number): Promise<Bus> {
  const file = await fileOf(redis);
  await redis.kill();
  file.cutTo(size);
  await redis.restart();
  const next = await connect(redis.url);
  await (await next.publisher()).publish(entries(count, 'b'));
  return next;
}

describe('a Redis that comes back without the end of its log, which then grows beyond it', () => {
  it('begins a new epoch when the first comes who has seen that end', async () => {
    const redis = await open();
    const way = await holdable(redis);
    const recorder = await record(await (await connect(way.url)).subscriber());
    const before = await connect(redis.url);
    const publisher = await before.publisher();
    await publisher.publish(entries(30, 'a'));
    const { size } = await fileOf(redis);
    await publisher.publish(entries(10, 'z'));
    await recorder.untilOffset(40);
    const { epoch } = recorder.subscriber;
    await before.close();
    way.hold();
    await isDown(recorder);
    const next = await loseEnd(redis, size, 20);
    expect(await redis.command('GET', '{sluice}:offset')).toContain('50');
    way.letGo();
    await recorder.until(() => recorder.lost.length > 0);
    expect(recorder.lost).toEqual([{ kind: 'lost', from: 41, to: 40, reason: 'epoch' }]);
    expect(recorder.subscriber.epoch).not.toBe(epoch);
    await (await next.publisher()).publish(entries(2, 'c'));
    await recorder.until(() => recorder.texts.at(-1) === 'c1');
    expect(recorder.faults).toEqual([]);
    expect(recorder.texts.slice(40)).toEqual(['c0', 'c1']);
  });

  it('goes on in its epoch for those who have not', async () => {
    const redis = await open();
    const way = await holdable(redis);
    const recorder = await record(await (await connect(way.url)).subscriber());
    const before = await connect(redis.url);
    const publisher = await before.publisher();
    await publisher.publish(entries(30, 'a'));
    await recorder.untilOffset(30);
    const { epoch } = recorder.subscriber;
    const { size } = await fileOf(redis);
    way.hold();
    await isDown(recorder);
    await publisher.publish(entries(10, 'z'));
    await before.close();
    await loseEnd(redis, size, 20);
    way.letGo();
    await recorder.untilOffset(50);
    expect([recorder.faults, recorder.lost]).toEqual([[], []]);
    expect(recorder.subscriber.epoch).toBe(epoch);
    expect(recorder.texts.slice(30, 32)).toEqual(['b0', 'b1']);
  });

  it('begins a new epoch when a publisher writes on that had stored that end', async () => {
    const redis = await open();
    const way = await holdable(redis);
    const publisher = await (await connect(way.url)).publisher();
    await publisher.publish(entries(30, 'a'));
    const { size } = await fileOf(redis);
    await publisher.publish(entries(10, 'z'));
    way.hold();
    const waiting = publisher.publish(entries(1, 'y'));
    const next = await loseEnd(redis, size, 20);
    const recorder = await record(await next.subscriber());
    expect(recorder.texts.slice(30, 31)).toEqual(['b0']);
    way.letGo();
    await waiting;
    await recorder.until(() => recorder.texts.at(-1) === 'y0');
    expect(recorder.faults).toEqual([]);
    expect(recorder.lost.map(({ reason }) => reason)).toEqual(['epoch']);
  });
});

describe('what was seen before by others', () => {
  async function epochOf(bus: Bus, options: SubscriberOptions): Promise<string> {
    const recorder = await record(await bus.subscriber(options));
    const { epoch } = recorder.subscriber;
    await recorder.subscriber.close();
    return epoch;
  }

  it('is in the log, and nothing begins anew', async () => {
    const redis = await open();
    const bus = await connect(redis.url);
    const publisher = await bus.publisher();
    await publisher.publish(entries(30, 'a'));
    const recorder = await record(await bus.subscriber());
    const { sighting } = recorder.subscriber;
    expect(sighting).toMatchObject({ epoch: recorder.subscriber.epoch, offset: 30 });
    const unknown = { ...sighting, offset: null };
    expect(await epochOf(bus, { seen: [sighting, unknown] })).toBe(sighting.epoch);
    await redis.kill();
    await redis.restart();
    expect(await epochOf(await connect(redis.url), { seen: [sighting] })).toBe(sighting.epoch);
  });

  it('may lack in another memory where nobody knows how far it reached: a new epoch begins', async () => {
    const redis = await open();
    const bus = await connect(redis.url);
    await (await bus.publisher()).publish(entries(30, 'a'));
    const { sighting } = (await record(await bus.subscriber())).subscriber;
    await redis.kill();
    await redis.restart();
    expect(await epochOf(bus, { seen: [{ ...sighting, offset: null }] })).not.toBe(sighting.epoch);
  });

  it('lacks, and a new epoch begins, though the log has grown beyond it', async () => {
    const redis = await open();
    const bus = await connect(redis.url);
    const publisher = await bus.publisher();
    await publisher.publish(entries(30, 'a'));
    const { size } = await fileOf(redis);
    await publisher.publish(entries(10, 'z'));
    const recorder = await record(await bus.subscriber());
    const { sighting } = recorder.subscriber;
    await bus.close();
    const next = await loseEnd(redis, size, 20);
    const told = await record(await next.subscriber({ seen: [{ ...sighting, offset: 30 }] }));
    expect(told.subscriber.epoch).toBe(sighting.epoch);
    expect(await epochOf(next, { seen: [sighting] })).not.toBe(sighting.epoch);
    await told.until(() => told.lost.some(({ reason }) => reason === 'epoch'));
  });
});

describe('a log that several memories wrote, without a loss', () => {
  it('is one: for those who follow it, who come later, who read its end or come back', async () => {
    const redis = await open();
    const bus = await connect(redis.url);
    const publisher = await bus.publisher();
    const recorder = await record(await bus.subscriber());
    const terms = new Set<string>();
    for (let life = 0; life < 4; life += 1) {
      await publisher.publish(entries(10, `${life}.`, (index) => ['trades', `trades:m${index % 3}`]));
      await recorder.untilOffset(10 * (life + 1));
      terms.add(recorder.subscriber.sighting.term);
      await redis.kill();
      await isDown(recorder);
      await redis.restart();
      await until('the link', () => lastLink(recorder) === true);
    }
    const { epoch } = recorder.subscriber;
    expect(terms.size).toBe(4);
    const late = await record(await bus.subscriber());
    const after = await record(await bus.subscriber({ after: { epoch, offset: 15 } }));
    expect([recorder.lost, late.lost, after.lost]).toEqual([[], [], []]);
    expect(late.texts).toEqual(recorder.texts);
    expect(late.subscriber.epoch).toBe(epoch);
    expect(after.texts.slice(-25)).toEqual(recorder.texts.slice(15));
    // The bus asks by a connection of its own, which may come back later than those of subscribers; until then it refuses.
    const tail = await until('the connection of the bus', () => bus.tail(35).catch(refusedMeanwhile));
    expect(tail.map(({ json }) => Buffer.from(json).toString())).toEqual(recorder.texts.slice(5));
  });

  it('stays one however often they change, as long as the log outlives none of many', async () => {
    const redis = await open({ args: ['--enable-debug-command', 'yes'] });
    const small = await connect(redis.url, { maxEntries: 64 });
    const recorder = await record(await small.subscriber());
    const publisher = await small.publisher();
    const memories = 100;
    for (let memory = 0; memory < memories; memory += 1) {
      await redis.command('DEBUG', 'CHANGE-REPL-ID');
      await publisher.publish(Array.from({ length: 64 }, () => entry(`m${memory}`)));
    }
    await recorder.untilOffset(memories * 64);
    expect([recorder.faults, recorder.lost]).toEqual([[], []]);
    expect((await redis.command('GET', '{sluice}:terms')).length).toBeLessThan(1_100);
  });

  it('begins a new epoch where its entries are of too many', async () => {
    const redis = await open({ args: ['--enable-debug-command', 'yes'] });
    const bus = await connect(redis.url);
    const recorder = await record(await bus.subscriber());
    const publisher = await bus.publisher();
    for (let memory = 0; recorder.lost.length === 0; memory += 1) {
      await redis.command('DEBUG', 'CHANGE-REPL-ID');
      await publisher.publish([entry(`m${memory}`)]);
      await recorder.until(() => recorder.texts.at(-1) === `m${memory}`);
    }
    expect(recorder.faults).toEqual([]);
    expect(recorder.lost.map(({ reason }) => reason)).toEqual(['epoch']);
    expect(recorder.entries.length).toBeGreaterThan(30);
  });
});
