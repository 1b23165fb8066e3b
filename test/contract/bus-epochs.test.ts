import { afterEach, describe, expect, it } from 'vitest';
import type { Bus } from '@sluice/shared/bus/bus.ts';
import { BusError } from '@sluice/shared/bus/bus-error.ts';
import { connectRedisBus } from '@sluice/shared/bus/redis/redis-bus.ts';
import { until } from '../support/gateway.ts';
import { startRedis, type TestRedis, type TestRedisOptions } from '../support/servers/redis.ts';
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

/** Any other error is a fault. */
function refusedMeanwhile(error: unknown): undefined {
  if (!(error instanceof BusError) || error.code !== 'UNAVAILABLE') throw error;
}

function lastLink(recorder: Recorder): boolean | undefined {
  return recorder.seen.flatMap((seen) => (seen.kind === 'link' ? [seen.up] : [])).at(-1);
}

/** Redis restarts without what was written after `size`, and a publisher that does not know this continues. */
async function loseEnd(redis: TestRedis, size: number, count: number): Promise<Bus> {
  const file = await fileOf(redis);
  await redis.kill();
  file.cutTo(size);
  await redis.restart();
  const next = await connect(redis.url);
  await (await next.publisher()).publish(entries(count, 'b'));
  return next;
}

describe('a Redis that starts again', () => {
  it('continues its log in a new epoch, for current, new and resuming subscribers, and for readers of its tail', async () => {
    const redis = await open();
    const bus = await connect(redis.url);
    const publisher = await bus.publisher();
    const recorder = await record(await bus.subscriber());
    const first = recorder.subscriber.epoch;
    const epochs = new Set<string>();
    for (let life = 0; life < 4; life += 1) {
      await publisher.publish(entries(10, `${life}.`, (index) => ['trades', `trades:m${index % 3}`]));
      await recorder.untilOffset(10 * (life + 1));
      epochs.add(recorder.subscriber.epoch);
      await redis.kill();
      await isDown(recorder);
      await redis.restart();
      await until('the link', () => lastLink(recorder) === true);
    }
    const { epoch } = recorder.subscriber;
    expect(epochs.size).toBe(4);
    const late = await record(await bus.subscriber());
    const after = await record(await bus.subscriber({ after: { epoch: first, offset: 5 } }));
    expect([recorder.faults, late.faults, after.faults, recorder.lost, late.lost, after.lost]).toEqual([[], [], [], [], [], []]);
    expect(recorder.subscriber.counters.epochChanges).toBe(4);
    const places = [first, 'another', epoch].map((one) => recorder.subscriber.placeOf(one));
    expect(places).toEqual([{ end: 10, isWhole: true }, null, { end: 40, isWhole: true }]);
    expect(late.texts).toEqual(recorder.texts);
    expect([late.subscriber.epoch, after.subscriber.epoch]).toEqual([epoch, epoch]);
    expect(after.texts.slice(-35)).toEqual(recorder.texts.slice(5));
    // The bus uses its own connection, which may reconnect later than those of subscribers; until then it refuses.
    const tail = await until('the connection of the bus', () => bus.tail(35).catch(refusedMeanwhile));
    expect(tail.map((one) => Buffer.from(one.record).toString())).toEqual(recorder.texts.slice(5));
  });

  it('sends subscribers that saw the lost end back to where the log continues', async () => {
    const redis = await open();
    const way = await holdable(redis);
    const recorder = await record(await (await connect(way.url)).subscriber());
    const before = await connect(redis.url);
    const publisher = await before.publisher();
    await publisher.publish(entries(30, 'a', () => ['trades', 'trades:m']));
    const { size } = await fileOf(redis);
    await publisher.publish(entries(10, 'z', () => ['trades', 'trades:m']));
    await recorder.untilOffset(40);
    const { epoch } = recorder.subscriber;
    await before.close();
    way.hold();
    await isDown(recorder);
    await loseEnd(redis, size, 20);
    expect(await redis.command('GET', '{sluice}:offset')).toContain('50');
    way.letGo();
    await recorder.untilOffset(50);
    expect(recorder.lost).toEqual([{ kind: 'lost', from: 41, to: 40, reason: 'epoch' }]);
    expect(recorder.subscriber.epoch).not.toBe(epoch);
    expect([recorder.faults, recorder.texts.slice(40, 42)]).toEqual([[], ['b0', 'b1']]);
    expect(recorder.subscriber.position('trades:m')).toBe(30);
  });

  it('continues without a gap for subscribers that had not seen the lost end', async () => {
    const redis = await open();
    const way = await holdable(redis);
    const recorder = await record(await (await connect(way.url)).subscriber());
    const before = await connect(redis.url);
    const publisher = await before.publisher();
    await publisher.publish(entries(30, 'a'));
    await recorder.untilOffset(30);
    const { size } = await fileOf(redis);
    way.hold();
    await isDown(recorder);
    await publisher.publish(entries(10, 'z'));
    await before.close();
    await loseEnd(redis, size, 20);
    way.letGo();
    await recorder.untilOffset(50);
    expect([recorder.faults, recorder.lost, recorder.texts.slice(30, 32)]).toEqual([[], [], ['b0', 'b1']]);
  });

  it('never reuses a number of an epoch, even if its file is older than its last flush', async () => {
    const redis = await open();
    const received = new Map<string, string>();
    const check = (recorder: Recorder): string[] =>
      recorder.seen.flatMap((seen) => {
        if (seen.kind !== 'entry') return [];
        const [place, text] = [`${seen.epoch} ${seen.entry.offset}`, Buffer.from(seen.entry.record).toString()];
        const before = received.get(place) ?? text;
        received.set(place, before);
        return before === text ? [] : [`${place} is ${before}, and ${text}`];
      });
    const publish = async (count: number, prefix: string): Promise<void> => {
      const bus = await connect(redis.url);
      await (await bus.publisher()).publish(entries(count, prefix));
      await bus.close();
    };
    await publish(10, 'a');
    const { size } = await fileOf(redis);
    await publish(10, 'x');
    const first = await record(await (await connect(redis.url)).subscriber());
    await redis.command('FLUSHALL');
    await publish(5, 'c');
    await first.until(() => first.texts.at(-1) === 'c4');
    // Only entries from before the flush remain, and a publisher continues before any other connection is made.
    await first.subscriber.close();
    await loseEnd(redis, size, 20);
    const second = await record(await (await connect(redis.url)).subscriber());
    expect([...check(first), ...check(second)]).toEqual([]);
    expect(new Set([...received.keys()].map((place) => place.split(' ')[0])).size).toBe(3);
  });

  it('reports the loss to all when a publisher that stored the lost end reconnects', async () => {
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
    expect([recorder.faults, recorder.texts.slice(-2)]).toEqual([[], ['b19', 'y0']]);
    expect(recorder.lost).toEqual([{ kind: 'lost', from: 51, to: 50, reason: 'epoch' }]);
    expect(recorder.subscriber.placeOf(recorder.seen.flatMap((seen) => (seen.kind === 'entry' ? [seen.epoch] : []))[0]!)).toMatchObject({
      isWhole: false,
    });
  });

  it(
    'reports the loss of what a process had stored, although it has stored nothing since and has another term now',
    { timeout: 120_000 },
    async () => {
      const redis = await open();
      const way = await holdable(redis);
      const recorder = await record(await (await connect(way.url)).subscriber());
      const bus = await connect(redis.url);
      const lease = bus.lease('one');
      await until('the lease', () => lease.held);
      const bound = await bus.publisher({ lease });
      await bound.publish(entries(30, 'a'));
      await recorder.untilOffset(30);
      const file = await fileOf(redis);
      const { size } = file;
      way.hold();
      await isDown(recorder);
      await bound.publish(entries(10, 'z'));
      await redis.kill();
      file.cutTo(size);
      await redis.restart();
      await bound.close();
      await until('a publisher in the term', async () => {
        const stored = bus.publisher({ lease }).then((publisher) => publisher.publish(entries(5, 'y')));
        return stored.then(
          () => true,
          (error: unknown) => {
            if (!(error instanceof BusError)) throw error;
            return false;
          },
        );
      });
      way.letGo();
      await recorder.until(() => recorder.texts.at(-1) === 'y4');
      expect([recorder.faults, recorder.lost.map(({ reason }) => reason)]).toEqual([[], ['epoch']]);
    },
  );

  it('reports at once the loss of what an idle publisher had stored, and retains the log', async () => {
    const redis = await open();
    const way = await holdable(redis);
    const recorder = await record(await (await connect(way.url)).subscriber());
    const idle = await (await connect(redis.url)).publisher();
    const bus = await connect(redis.url);
    await (await bus.publisher()).publish(entries(30, 'a'));
    await recorder.untilOffset(30);
    const file = await fileOf(redis);
    const { size } = file;
    way.hold();
    await isDown(recorder);
    await idle.publish(entries(1, 'order'));
    await redis.kill();
    file.cutTo(size);
    await redis.restart();
    way.letGo();
    await recorder.until(() => recorder.lost.length > 0);
    await (await bus.publisher()).publish(entries(20, 'b'));
    await idle.publish(entries(1, 'other'));
    await recorder.until(() => recorder.texts.at(-1) === 'other0');
    expect([recorder.faults, recorder.lost.map(({ reason }) => reason)]).toEqual([[], ['epoch']]);
    expect((await record(await bus.subscriber())).texts).toHaveLength(51);
  });

  it('lets a subscriber with a position beyond the end of its epoch begin at that end', async () => {
    const redis = await open();
    const bus = await connect(redis.url);
    const publisher = await bus.publisher();
    await publisher.publish(entries(100, 'a'));
    const { epoch } = (await record(await bus.subscriber())).subscriber;
    await redis.kill();
    await redis.restart();
    await publisher.publish(entries(5, 'b'));
    const after = await record(await bus.subscriber({ after: { epoch, offset: 103 } }));
    await after.until(() => after.texts.at(-1) === 'b4');
    expect(after.lost).toEqual([{ kind: 'lost', from: 101, to: 103, reason: 'epoch' }]);
    expect(after.texts.length).toBeLessThan(70);
  });

  it('reports a loss once, however many publishers stored the lost entries, and at any clock', async () => {
    const redis = await open({});
    const bus = await connect(redis.url);
    const memory = /master_replid:(\w+)/.exec(await redis.command('INFO', 'replication'))![1]!;
    // An epoch that a server with a fast clock named.
    const ahead = `${(Date.now() + 60_000).toString(32).padStart(9, '0')}abc`;
    await redis.command('SET', '{sluice}:epochs', `${ahead} ${memory}`);
    const publishers = await Promise.all(Array.from({ length: 6 }, async () => (await connect(redis.url)).publisher()));
    for (const [at, one] of publishers.entries()) await one.publish(entries(1, `p${at}.`));
    const recorder = await record(await bus.subscriber());
    await redis.command('FLUSHALL');
    for (const [at, one] of publishers.entries()) {
      await one.publish(entries(10, `q${at}.`));
      await recorder.until(() => recorder.texts.at(-1) === `q${at}.9`);
    }
    expect([recorder.faults, recorder.entries.at(-1)!.offset]).toEqual([[], 60]);
    // Once for the flushed log, and perhaps once more for what the first publisher had stored.
    expect(recorder.lost.length).toBeLessThanOrEqual(2);
  });

  it('ends the lease term of the previous publisher, which must read the remaining log first', async () => {
    const redis = await open();
    const bus = await connect(redis.url);
    const lease = bus.lease('one');
    await until('the lease', () => lease.held);
    const bound = await bus.publisher({ lease });
    const free = await bus.publisher();
    await bound.publish(entries(5, 'a'));
    await redis.kill();
    await redis.restart();
    await free.publish(entries(1, 'b'));
    await expect(bound.publish(entries(1, 'c'))).rejects.toMatchObject({ code: 'FENCED' });
    const { fence } = lease;
    await until('a new term', () => lease.held && lease.fence > fence);
    await (await bus.publisher({ lease })).publish(entries(1, 'd'));
    const recorder = await record(await bus.subscriber());
    expect(recorder.texts.slice(4)).toEqual(['a4', 'b0', 'd0']);
  });
});

describe('a log with entries of many epochs', () => {
  it('continues as long as its entries belong to few of them', async () => {
    const redis = await open({ args: ['--enable-debug-command', 'yes'] });
    const small = await connect(redis.url, { maxEntries: 64 });
    const recorder = await record(await small.subscriber());
    const publisher = await small.publisher();
    const epochs = 100;
    for (let epoch = 0; epoch < epochs; epoch += 1) {
      await redis.command('DEBUG', 'CHANGE-REPL-ID');
      await publisher.publish(Array.from({ length: 64 }, () => entry(`m${epoch}`)));
    }
    await recorder.untilOffset(epochs * 64);
    expect([recorder.faults, recorder.texts.length]).toEqual([[], epochs * 64]);
    expect(recorder.lost).toEqual([]);
    expect((await redis.command('GET', '{sluice}:epochs')).length).toBeLessThan(1_100);
  });

  it('starts again if its entries belong to too many', async () => {
    const redis = await open({ args: ['--enable-debug-command', 'yes'] });
    const bus = await connect(redis.url);
    const recorder = await record(await bus.subscriber());
    const publisher = await bus.publisher();
    const hasRestarted = (): boolean => recorder.entries.slice(1).some(({ offset }) => offset === 1);
    for (let epoch = 0; !hasRestarted(); epoch += 1) {
      await redis.command('DEBUG', 'CHANGE-REPL-ID');
      await publisher.publish([entry(`m${epoch}`)]);
      await recorder.until(() => recorder.texts.at(-1) === `m${epoch}`);
    }
    expect(recorder.faults).toEqual([]);
    expect(recorder.entries.length).toBeGreaterThan(30);
  });
});
