import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Bus, BusPublisher } from '@sluice/shared/bus/bus.ts';
import { BusError } from '@sluice/shared/bus/bus-error.ts';
import { createBus } from '@sluice/shared/bus/create.ts';
import { connectRedisBus } from '@sluice/shared/bus/redis/redis-bus.ts';
import { publishQueue } from '@sluice/shared/bus/redis/redis-publisher.ts';
import { loaderOptions } from '../loader/options.ts';
import { startRedis, type TestRedis, type TestRedisOptions } from '../support/servers/redis.ts';
import { cutOff, publishOn, silentLog } from './bus-harness.ts';
import { startProxy } from './bus-proxy.ts';
import { entries, entry, record, type Recorder } from './bus-recorder.ts';

const live = '{sluice}:live';

describe('the Redis bus', () => {
  const cleanups: (() => unknown)[] = [];
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
  });

  async function open(
    options: TestRedisOptions = {},
  ): Promise<{ redis: TestRedis; bus: Bus; publisher: BusPublisher; recorder: Recorder }> {
    const redis = await startRedis(options);
    cleanups.push(() => redis.stop());
    const bus = await connect(redis.url);
    const recorder = await record(await bus.subscriber());
    return { redis, bus, publisher: await bus.publisher(), recorder };
  }

  async function connect(...urls: string[]): Promise<Bus> {
    const bus = await connectRedisBus(urls, silentLog);
    cleanups.push(() => bus.close());
    return bus;
  }

  it('starts a new epoch when Redis restarts empty, and continues by itself', async () => {
    const { redis, publisher, recorder } = await open();
    await publisher.publish(entries(30, 'a'));
    await recorder.untilOffset(30);
    const { epoch } = recorder.subscriber;
    await redis.kill();
    // Published while Redis is unavailable: it waits, and is stored once Redis is available.
    const waiting = publisher.publish(entries(3, 'b'));
    await recorder.until(() => recorder.seen.some((seen) => seen.kind === 'link' && !seen.up));
    await redis.restart();
    await waiting;
    await recorder.until(() => recorder.texts.includes('b2'));
    expect(recorder.faults).toEqual([]);
    expect(recorder.lost).toEqual([{ kind: 'lost', from: 31, to: 30, reason: 'epoch' }]);
    expect(recorder.subscriber.epoch).not.toBe(epoch);
    expect(recorder.texts.slice(30)).toEqual(['b0', 'b1', 'b2']);
    expect(recorder.subscriber.position('trades')).toBe(3);
    await recorder.until(() => lastLink(recorder) === true);
    expect(recorder.seen.flatMap((seen) => (seen.kind === 'link' ? [seen.up] : []))).toEqual([true, false, true]);
  });

  it('retains offsets and seqs when Redis retained its memory, and stores each batch once', async () => {
    const { redis, publisher, recorder } = await open({ appendOnly: true });
    const going = publishOn(publisher, 'k');
    for (const round of [1, 2, 3]) {
      await recorder.untilOffset(round * 100);
      await redis.kill();
      await redis.restart();
    }
    await recorder.untilOffset(recorder.entries.length + 50);
    const count = await going.stop();
    await recorder.untilOffset(count);
    expect(recorder.faults).toEqual([]);
    expect(recorder.lost).toEqual([]);
    expect(recorder.entries).toHaveLength(count);
    expect(recorder.entries.at(-1)!.offset).toBe(count);
    expect(new Set(recorder.texts).size).toBe(count);
  });

  it('recognizes a batch whose answer was lost', async () => {
    const { redis, recorder } = await open();
    let answersLost = 0;
    let armed = false;
    const proxy = await startProxy(redis.port, async () => {
      if (!armed) return;
      // The request was executed, but its answer does not arrive.
      const stored = /:(\d+)/.exec(await redis.command('XLEN', '{sluice}:log'))?.[1];
      if (Number(stored) === answersLost + 1) {
        answersLost += 1;
        armed = false;
        proxy.cut();
      }
    });
    cleanups.push(() => proxy.close());
    const publisher = await (await connect(proxy.url)).publisher();
    for (let call = 0; call < 5; call += 1) {
      armed = true;
      await publisher.publish(entries(2, `c${call}.`));
    }
    await recorder.untilOffset(10);
    expect(answersLost).toBe(5);
    expect(recorder.faults).toEqual([]);
    expect(recorder.texts).toEqual([0, 1, 2, 3, 4].flatMap((call) => [`c${call}.0`, `c${call}.1`]));
    expect(await redis.command('GET', '{sluice}:offset')).toContain('10');
  });

  it('fills what a killed pub/sub connection missed, repeatedly and under load', async () => {
    const { redis, publisher, recorder } = await open();
    const going = publishOn(publisher, 'k');
    for (let round = 1; round <= 5; round += 1) {
      const before = recorder.subscriber.counters.refills;
      await redis.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
      await recorder.until(() => recorder.subscriber.counters.refills > before && lastLink(recorder) === true);
    }
    const count = await going.stop();
    await recorder.untilOffset(count);
    expect(recorder.faults).toEqual([]);
    expect(recorder.lost).toEqual([]);
    expect(recorder.entries).toHaveLength(count);
    expect(recorder.seen.some((seen) => seen.kind === 'entry' && seen.replayed)).toBe(true);
  });

  it('recovers when Redis ends the pub/sub connection because of its full output buffer', async () => {
    const { publisher, recorder } = await open({ args: ['--client-output-buffer-limit', 'pubsub 256kb 0 0'] });
    await publisher.publish(entries(1, 'a'));
    await recorder.untilOffset(1);
    // One announcement exceeds the limit at once, so it is always missed.
    const bytes = 400_000;
    await publisher.publish([entry('b', ['trades'], bytes), entry('c', ['trades'], bytes), entry('d', ['trades'], bytes)]);
    await recorder.untilOffset(4);
    expect(recorder.faults).toEqual([]);
    expect(recorder.texts).toEqual(['a0', 'b', 'c', 'd']);
    expect(recorder.subscriber.counters.refills).toBeGreaterThan(0);
    expect(recorder.lost).toEqual([]);
  });

  it('detects a lost last announcement, although none follows', async () => {
    const { redis, publisher, recorder } = await open();
    await publisher.publish(entries(1, 'heard'));
    await recorder.untilOffset(1);
    const [message] = await readLog(redis);
    // Stored without being announced, as after a lost announcement: the next message, by the script's own rules.
    const next = Buffer.from(message as Buffer);
    next.writeUIntBE(2, 13, 6);
    next.writeUIntBE(1, 27, 6);
    await writeLog(redis, 2, next);
    await recorder.untilOffset(2);
    expect(recorder.faults).toEqual([]);
    expect(recorder.texts).toEqual(['heard0', 'heard0']);
    expect(recorder.subscriber.position('trades')).toBe(2);
  });

  it('starts a new epoch after FLUSHALL, with and without a publisher', async () => {
    const { redis, publisher, recorder } = await open();
    await publisher.publish(entries(7, 'a'));
    await recorder.untilOffset(7);
    await redis.command('FLUSHALL');
    await recorder.until(() => recorder.lost.length === 1);
    expect(recorder.lost).toEqual([{ kind: 'lost', from: 8, to: 7, reason: 'epoch' }]);
    expect(recorder.subscriber.position('trades')).toBe(0);
    await publisher.publish(entries(2, 'b'));
    await redis.command('FLUSHALL');
    await publisher.publish(entries(9, 'c'));
    await recorder.until(() => recorder.texts.at(-1) === 'c8');
    expect(recorder.faults).toEqual([]);
    expect(recorder.lost).toHaveLength(2);
    expect(recorder.subscriber.position('trades')).toBe(9);
    expect(recorder.entries.at(-1)?.offset).toBe(9);
    expect(recorder.subscriber.counters.epochChanges).toBe(2);
  });

  it.each([
    ['the counters', ['DEL', '{sluice}:seq']],
    ['the offset', ['DEL', '{sluice}:offset']],
    ['the epochs', ['DEL', '{sluice}:epochs']],
  ])('begins a new epoch when the log lost %s', async (_, command) => {
    const { redis, publisher, recorder } = await open();
    await publisher.publish(entries(7, 'a'));
    await recorder.untilOffset(7);
    await redis.command(...command);
    await publisher.publish(entries(2, 'b'));
    await recorder.until(() => recorder.texts.at(-1) === 'b1');
    expect(recorder.faults).toEqual([]);
    expect(recorder.lost).toEqual([{ kind: 'lost', from: 8, to: 7, reason: 'epoch' }]);
    expect(recorder.entries.at(-1)).toMatchObject({ offset: 2, topics: [{ topic: 'trades', seq: 2 }] });
  });

  it('starts a new epoch when Redis restarts without the end of its file', async () => {
    const { redis, publisher, recorder } = await open({ appendOnly: true });
    await publisher.publish(entries(30, 'a'));
    for (let call = 0; call < 10; call += 1) await publisher.publish(entries(1, 'z'));
    await recorder.untilOffset(40);
    const { epoch } = recorder.subscriber;
    await redis.kill();
    redis.cutFile(2_000);
    await redis.restart();
    await publisher.publish(entries(2, 'b'));
    await recorder.until(() => recorder.texts.at(-1) === 'b1');
    expect(recorder.faults).toEqual([]);
    expect(recorder.lost).toEqual([{ kind: 'lost', from: 41, to: 40, reason: 'epoch' }]);
    expect(recorder.subscriber.epoch).not.toBe(epoch);
    const { offset, topics } = recorder.entries.at(-1)!;
    expect([offset < 40, topics]).toEqual([true, [{ topic: 'trades', seq: offset }]]);
  });

  it('reports a log that was deleted as trimmed', async () => {
    const { redis, publisher, recorder } = await open();
    await publisher.publish(entries(4, 'a'));
    await recorder.untilOffset(4);
    await cutOff(redis, [recorder]);
    await publisher.publish(entries(6, 'b', (index) => [`trades:m${index % 2}`]));
    await redis.command('DEL', '{sluice}:log');
    await redis.command('ACL', 'SETUSER', 'default', '+@all');
    await recorder.until(() => recorder.lost.length > 0);
    expect(recorder.lost).toEqual([{ kind: 'lost', from: 5, to: 10, reason: 'trimmed' }]);
    expect(recorder.subscriber.position('trades:m1')).toBe(3);
    await publisher.publish(entries(1, 'c', () => ['trades:m1']));
    await recorder.untilOffset(11);
    expect(recorder.faults).toEqual([]);
    expect(recorder.entries.at(-1)?.topics).toEqual([{ topic: 'trades:m1', seq: 4 }]);
  });

  it('continues after Redis was suspended for three seconds', async () => {
    const { redis, publisher, recorder } = await open();
    await publisher.publish(entries(3, 'a'));
    await recorder.untilOffset(3);
    redis.pause();
    const pausedAtMs = performance.now();
    const waiting = publisher.publish(entries(5, 'b'));
    await expect.poll(() => performance.now() - pausedAtMs, { timeout: 60_000 }).toBeGreaterThan(3_000);
    redis.resume();
    await waiting;
    await recorder.untilOffset(8);
    expect(recorder.faults).toEqual([]);
    expect(recorder.lost).toEqual([]);
    expect(recorder.texts).toEqual(['a0', 'a1', 'a2', 'b0', 'b1', 'b2', 'b3', 'b4']);
  });

  it('counts and ignores malformed messages, on the channel and in the log', async () => {
    const { redis, publisher, recorder } = await open();
    await publisher.publish(entries(2, 'a'));
    await recorder.untilOffset(2);
    const [message] = await readLog(redis);
    const cut = (message as Buffer).subarray(0, (message as Buffer).length - 1);
    const garbage = ['', 'x', '\u0001'.repeat(64), 'f'.repeat(5_000)].map((text) => Buffer.from(text));
    const client = rawClient(redis);
    for (const bytes of [...garbage, cut]) await client.publish(live, bytes);
    await publisher.publish(entries(1, 'b'));
    await recorder.untilOffset(3);
    expect(recorder.subscriber.counters.malformed).toBe(5);
    // In the log it is at the place of two entries.
    await client.xadd('{sluice}:log', '4-0', 'm', Buffer.from('garbage'));
    await client.set('{sluice}:offset', 5);
    await recorder.until(() => recorder.lost.length > 0);
    await publisher.publish(entries(1, 'c'));
    await recorder.untilOffset(6);
    expect(recorder.faults).toEqual([]);
    expect(recorder.lost).toEqual([{ kind: 'lost', from: 4, to: 5, reason: 'trimmed' }]);
    expect(recorder.texts).toEqual(['a0', 'a1', 'b0', 'c0']);
    expect(recorder.subscriber.counters.epochChanges).toBe(0);
  });

  it('ignores a well-formed message of an epoch that is not in the log', async () => {
    const { redis, publisher, recorder } = await open();
    await publisher.publish(entries(2, 'a'));
    await recorder.untilOffset(2);
    const foreign = Buffer.from((await readLog(redis))[0] as Buffer);
    foreign.write('another_one_', 1, 'latin1');
    const client = rawClient(redis);
    for (let round = 0; round < 3; round += 1) await client.publish(live, foreign);
    // Announcements arrive again: an entry came that was not read from the log.
    const followed = (): boolean => recorder.seen.some((seen) => seen.kind === 'entry' && !seen.replayed && seen.entry.offset > 2);
    let offset = 2;
    while (!followed()) {
      await publisher.publish([entry('b')]);
      offset += 1;
      await recorder.untilOffset(offset);
    }
    expect(recorder.faults).toEqual([]);
    expect(recorder.lost).toEqual([]);
    expect(recorder.texts.slice(2)).toEqual(Array.from({ length: offset - 2 }, () => 'b'));
    expect(recorder.subscriber.counters).toMatchObject({ epochChanges: 0, lostEntries: 0 });
  });

  it('starts at the positions of the oldest entry, although the counters are far ahead', async () => {
    const { redis, bus, publisher } = await open();
    // One message for each entry gives many pages of history, so late topics are not yet published at the beginning.
    for (let index = 0; index < 300; index += 1) await publisher.publish([entry(`e${index}`, ['trades', `trades:m${index % 150}`])]);
    await redis.command('XTRIM', '{sluice}:log', 'MINID', '=', '3');
    const subscriber = await bus.subscriber();
    const positions: number[][] = [];
    await subscriber.start({
      onEntry: ({ offset }) => {
        if (offset !== 3 && offset !== 150) return;
        positions.push(['trades', 'trades:m0', 'trades:m2', 'trades:m149'].map((topic) => subscriber.position(topic)));
      },
      onLost: () => {},
    });
    expect(positions).toEqual([
      [3, 1, 1, 0],
      [150, 1, 1, 1],
    ]);
    expect(subscriber.position('trades:m149')).toBe(2);
  });

  it('has no status of an ended process after the clock of Redis was set back', async () => {
    const { redis, bus } = await open();
    await bus.setStatus('ingest:alive', { slot: 2 }, 5_000);
    const store = "return redis.call('HSET', KEYS[1], ARGV[1], struct.pack('>I6', ARGV[2]) .. ARGV[3])";
    const hourLater = String(Date.now() + 3_600_000);
    for (const name of ['ingest:ended', 'mark']) {
      await redis.command('EVAL', store, '1', '{sluice}:status', name, hourLater, '{"slot":1}');
    }
    const expected = [
      { name: 'ingest:alive', value: { slot: 2 } },
      { name: 'mark', value: { slot: 1 } },
    ];
    expect(await bus.statuses()).toEqual(expected);
    await bus.setStatus('ingest:alive', { slot: 2 }, 5_000);
    expect(await redis.command('HEXISTS', '{sluice}:status', 'ingest:ended')).toContain('0');
    expect(await bus.statuses()).toEqual(expected);
  });

  it('loads its scripts again after SCRIPT FLUSH', async () => {
    const { redis, bus, publisher, recorder } = await open();
    await publisher.publish(entries(1, 'a'));
    await redis.command('SCRIPT', 'FLUSH');
    await publisher.publish(entries(1, 'b'));
    await redis.command('SCRIPT', 'FLUSH');
    await bus.setStatus('s', { a: 1 }, 60_000);
    expect(await bus.statuses()).toEqual([{ name: 's', value: { a: 1 } }]);
    await recorder.untilOffset(2);
    expect(recorder.texts).toEqual(['a0', 'b0']);
  });

  it('joins history and live without a gap or a duplicate if a publish happens before every piece of bytes it sends or receives', async () => {
    const { redis, publisher, recorder } = await open();
    await publisher.publish(entries(40, 'h', (index) => ['trades', `trades:m${index % 3}`]));
    let published = 0;
    let stepping = true;
    const proxy = await startProxy(redis.port, async () => {
      if (!stepping) return;
      published += 1;
      await publisher.publish([entry(`p${published}`, ['trades', `trades:m${published % 3}`])]);
      // Sometimes the connections are cut as well.
      if (published % 37 === 0) proxy.cut();
    });
    cleanups.push(() => proxy.close());
    stepping = false;
    const late = await connect(proxy.url);
    const subscribers = await Promise.all(Array.from({ length: 6 }, () => late.subscriber()));
    stepping = true;
    const recorders = await Promise.all(subscribers.map((subscriber) => record(subscriber)));
    stepping = false;
    const all = [recorder, ...recorders];
    const total = 40 + published;
    await publisher.publish([entry('end')]);
    await Promise.all(all.map((each) => each.untilOffset(total + 1)));
    expect(published).toBeGreaterThan(20);
    for (const each of all) {
      expect(each.faults).toEqual([]);
      expect(each.lost).toEqual([]);
      expect(each.texts).toEqual(recorder.texts);
    }
  });

  it('refuses a log of another version, at the start and when publishing', async () => {
    const { redis, publisher } = await open();
    await publisher.publish(entries(1, 'a'));
    await redis.command('SET', '{sluice}:version', '999');
    await expect(publisher.publish(entries(1, 'b'))).rejects.toMatchObject({ code: 'INCOMPATIBLE' });
    await expect(createBus({ redisUrls: [redis.url], log: silentLog })).rejects.toMatchObject({ code: 'INCOMPATIBLE' });
    expect(await redis.command('GET', '{sluice}:version')).toContain('999');
  });

  it('continues a log of the older version, and gives it the newer one when the holder of a lease publishes', async () => {
    const { redis, bus, publisher, recorder } = await open();
    await publisher.publish(entries(1, 'a'));
    await redis.command('SET', '{sluice}:version', '2');
    await publisher.publish(entries(1, 'b'));
    expect(await redis.command('GET', '{sluice}:version')).toContain('2');
    const lease = bus.lease('ingest');
    await vi.waitUntil(() => lease.held);
    await (await bus.publisher({ lease })).publish(entries(1, 'c'));
    expect(await redis.command('GET', '{sluice}:version')).toContain('3');
    await recorder.untilOffset(3);
    expect([recorder.texts, recorder.faults]).toEqual([['a0', 'b0', 'c0'], []]);
  });

  it('reports that Redis cannot be reached, without a secret', async () => {
    const { redis } = await open();
    const port = redis.port;
    await redis.kill();
    const failure = createBus({ redisUrls: [`redis://user:hunter2@127.0.0.1:${port}`], log: silentLog });
    await expect(failure).rejects.toMatchObject({ name: 'BusError', code: 'UNAVAILABLE' });
    await expect(failure).rejects.toThrow(`127.0.0.1:${port}`);
    await expect(failure).rejects.not.toThrow('hunter2');
    await expect(createBus({ redisUrls: ['redis://127.0.0.1:1', 'redis://127.0.0.1:2'], log: silentLog })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
    });
  });

  it('limits what waits while Redis is unavailable, and stores what it accepted in order', async () => {
    const { redis, publisher, recorder } = await open();
    await redis.kill();
    const accepted: Promise<void>[] = [];
    const size = 1_000;
    for (let call = 0; call < publishQueue.maxEntries / size; call += 1) accepted.push(publisher.publish(entries(size, `q${call}.`)));
    await expect(publisher.publish(entries(size, 'over'))).rejects.toMatchObject({ code: 'QUEUE_FULL' });
    await redis.restart();
    await Promise.all(accepted);
    await recorder.untilOffset(publishQueue.maxEntries);
    expect(recorder.faults).toEqual([]);
    expect(recorder.texts[0]).toBe('q0.0');
    expect(recorder.texts.at(-1)).toBe(`q${accepted.length - 1}.${size - 1}`);
  });

  it('waits while Redis is full, and rejects what is refused permanently', async () => {
    const { redis, publisher, recorder } = await open();
    await redis.command('CONFIG', 'SET', 'maxmemory', '1');
    const waiting = publisher.publish(entries(2, 'a'));
    await expect.poll(() => redis.command('INFO', 'errorstats'), { timeout: 60_000 }).toContain('errorstat_OOM');
    await redis.command('CONFIG', 'SET', 'maxmemory', '0');
    await waiting;
    await redis.command('ACL', 'SETUSER', 'default', '-xadd');
    await expect(publisher.publish(entries(400, 'b'))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await redis.command('ACL', 'SETUSER', 'default', '+@all');
    await publisher.publish(entries(1, 'c'));
    await recorder.untilOffset(3);
    expect(recorder.faults).toEqual([]);
    expect(recorder.texts).toEqual(['a0', 'a1', 'c0']);
  });

  it('reports how many entries of a long call are stored if the rest is refused', async () => {
    const { redis, publisher, recorder } = await open();
    const call = entries(20_000, 'a');
    const refused = publisher.publish(call).then(
      () => null,
      (error: unknown) => error as BusError,
    );
    await recorder.untilOffset(1);
    await redis.command('ACL', 'SETUSER', 'default', '-xadd');
    const error = await refused;
    expect(error).toBeInstanceOf(BusError);
    await redis.command('ACL', 'SETUSER', 'default', '+@all');
    await publisher.publish(call.slice(error?.stored));
    await recorder.untilOffset(call.length);
    expect(error?.stored).toBeGreaterThan(0);
    expect(recorder.faults).toEqual([]);
    expect(recorder.texts).toEqual(call.map((one) => Buffer.from(one.record).toString()));
  });

  it('rejects waiting calls when it closes before Redis is available again', async () => {
    const { redis, bus, publisher } = await open();
    await redis.kill();
    const waiting = Promise.allSettled([publisher.publish(entries(1, 'a')), publisher.publish(entries(300, 'b'))]);
    await bus.close();
    for (const outcome of await waiting) expect(outcome).toMatchObject({ status: 'rejected', reason: { name: 'BusError' } });
  });

  it('separates the logs of two databases of one Redis', async () => {
    const { redis, publisher, recorder } = await open();
    const other = await connect(`${redis.url}/1`);
    const otherRecorder = await record(await other.subscriber());
    await (await other.publisher()).publish(entries(3, 'other'));
    await publisher.publish(entries(2, 'own'));
    await Promise.all([recorder.untilOffset(2), otherRecorder.untilOffset(3)]);
    expect(recorder.texts).toEqual(['own0', 'own1']);
    expect(otherRecorder.texts).toEqual(['other0', 'other1', 'other2']);
    expect(recorder.subscriber.counters.refills + otherRecorder.subscriber.counters.refills).toBe(0);
  });

  it('leaves nothing open that keeps the process alive', async () => {
    const { redis } = await open();
    const script = `
      import { BusError } from '@sluice/shared/bus/bus-error.ts';
import { createBus } from '@sluice/shared/bus/create.ts';
      import { createLog } from '@sluice/shared/runtime/log/log.ts';
      const bus = await createBus({ redisUrls: [process.argv[1]], log: createLog({ level: 'silent', name: 'test' }) });
      const subscriber = await bus.subscriber();
      const publisher = await bus.publisher();
      let handOn;
      const got = new Promise((resolve) => (handOn = resolve));
      await subscriber.start({ onEntry: handOn, onLost() {} });
      await publisher.publish([{ topics: ['trades'], record: Buffer.from('1') }]);
      await got;
      await bus.close();
      process.stdout.write('closed');
    `;
    const child = spawn(process.execPath, [...loaderOptions, '--input-type=module', '-e', script, redis.url], {
      cwd: new URL('..', import.meta.url),
    });
    cleanups.push(() => child.kill('SIGKILL'));
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const [code] = (await once(child, 'exit')) as [number];
    expect(output).toBe('closed');
    expect(code).toBe(0);
  });

  function rawClient(redis: TestRedis): Redis {
    const client = new Redis(redis.url);
    cleanups.push(() => client.disconnect());
    return client;
  }

  /** The messages in the log. */
  async function readLog(redis: TestRedis): Promise<Buffer[]> {
    const reply = await rawClient(redis).xrangeBuffer('{sluice}:log', '-', '+');
    return reply.map(([, fields]) => fields[1] as Buffer);
  }

  /** Stores a message of one entry without announcing it. */
  async function writeLog(redis: TestRedis, offset: number, message: Buffer): Promise<void> {
    const client = rawClient(redis);
    await client
      .multi()
      .xadd('{sluice}:log', `${offset}-0`, 'm', message)
      .set('{sluice}:offset', offset)
      .hset('{sluice}:seq', 'trades', offset)
      .exec();
  }
});

function lastLink(recorder: Recorder): boolean | null {
  const last = recorder.seen.findLast((seen) => seen.kind === 'link');
  return last?.kind === 'link' ? last.up : null;
}
