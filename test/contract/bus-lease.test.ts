import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { busLimits, type Bus, type Lease } from '@sluice/shared/bus/bus.ts';
import { connectRedisBus } from '@sluice/shared/bus/redis/redis-bus.ts';
import { loaderOptions } from '../loader/options.ts';
import { startRedis, type TestRedis } from '../support/servers/redis.ts';
import { inProcessHarness, redisHarness, silentLog, type BusHarness } from './bus-harness.ts';
import { startProxy, type SteppingProxy } from './bus-proxy.ts';
import { entries, entry, record } from './bus-recorder.ts';

const fenced = { name: 'BusError', code: 'FENCED' };
/** Five times as long as a lease needs to expire, and the next claimant to ask. */
const takeoverMs = 10_000;
/** A lease that lasts this long has not expired when the next claimant gets it. */
const longMs = 60_000;

const implementations = [
  { name: 'in-process', start: inProcessHarness },
  { name: 'Redis', start: redisHarness },
] as const;

const textOf = ({ record: bytes }: { readonly record: Uint8Array }): string => Buffer.from(bytes).toString();

function until(lease: Lease, condition: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (!condition()) return;
      stop();
      resolve();
    };
    const stop = lease.onChange(look);
    look();
  });
}

const untilHeld = (lease: Lease): Promise<void> => until(lease, () => lease.held);

describe.each(implementations)('leases of the $name bus', ({ start }) => {
  let harness: BusHarness | null = null;
  afterEach(async () => {
    await harness?.close();
    harness = null;
  });

  async function open(): Promise<readonly [Bus, Bus, Bus]> {
    harness = await start();
    return [await harness.connect(), await harness.connect(), await harness.connect()];
  }

  it('have one holder at a time, with growing fences, and are passed on at once when it closes', async () => {
    const buses = await open();
    const leases = buses.map((bus) => bus.lease('one', longMs));
    const holders = (): number => leases.filter(({ held }) => held).length;
    const most: number[] = [];
    for (const lease of leases) lease.onChange(() => most.push(holders()));
    const fences: number[] = [];
    for (let left = 3; left > 0; left -= 1) {
      await Promise.race(leases.map(untilHeld));
      const holder = leases.findIndex(({ held }) => held);
      const [lease] = leases.splice(holder, 1) as [Lease];
      await Promise.all(leases.map((other) => until(other, () => other.holder === 'other')));
      fences.push(lease.fence);
      const closedAtMs = performance.now();
      await lease.close();
      expect(lease).toMatchObject({ held: false, holder: null });
      if (leases.length > 0) await Promise.race(leases.map(untilHeld));
      expect(performance.now() - closedAtMs).toBeLessThan(longMs / 2);
    }
    expect(Math.max(...most)).toBe(1);
    expect(fences[0]).toBeGreaterThan(0);
    expect(fences).toEqual([...new Set(fences)].toSorted((a, b) => a - b));
  });

  it('are separate for each name, and their names are bounded', async () => {
    const [bus, other] = await open();
    await Promise.all([bus.lease('one'), other.lease('two')].map(untilHeld));
    for (const name of ['', 'x'.repeat(busLimits.maxLeaseNameLength + 1)]) {
      expect(() => bus.lease(name)).toThrow(expect.objectContaining({ code: 'INVALID' }));
    }
  });

  it('let a publisher store only during the term in which it was opened', async () => {
    const [bus, other] = await open();
    const lease = bus.lease('one');
    await untilHeld(lease);
    const bound = await bus.publisher({ lease });
    const free = await bus.publisher();
    await bound.publish([entry('bound')]);
    const waiting = other.lease('one');
    await until(waiting, () => waiting.holder === 'other');
    await expect(other.publisher({ lease: waiting })).rejects.toMatchObject(fenced);
    await lease.close();
    await untilHeld(waiting);
    await expect(bound.publish([entry('late')])).rejects.toMatchObject(fenced);
    await waiting.close();
    // Granted again to the same process: another term.
    const again = bus.lease('one');
    await untilHeld(again);
    await expect(bound.publish(entries(300, 'later'))).rejects.toMatchObject(fenced);
    await free.publish([entry('free')]);
    await (await bus.publisher({ lease: again })).publish([entry('again')]);
    expect((await bus.tail(10)).map(textOf)).toEqual(['bound', 'free', 'again']);
  });

  it('let a publisher set a status only during the term in which it was opened', async () => {
    const [bus, other] = await open();
    const slotOf = async (): Promise<unknown> => (await bus.statuses()).find(({ name }) => name === 'mark')?.value['slot'];
    const lease = bus.lease('one');
    await untilHeld(lease);
    const bound = await bus.publisher({ lease });
    await bound.setStatus('mark', { slot: 1 }, 60_000);
    expect(await slotOf()).toBe(1);
    await expect(bound.setStatus('', {}, 60_000)).rejects.toMatchObject({ code: 'INVALID' });
    await lease.close();
    await expect(bound.setStatus('mark', { slot: 2 }, 60_000)).rejects.toMatchObject(fenced);
    const next = other.lease('one');
    await untilHeld(next);
    await (await other.publisher({ lease: next })).setStatus('mark', { slot: 3 }, 60_000);
    await expect(bound.setStatus('mark', { slot: 4 }, 60_000)).rejects.toMatchObject(fenced);
    await next.close();
    // Granted again to the same process: another term.
    const again = bus.lease('one');
    await untilHeld(again);
    await expect(bound.setStatus('mark', { slot: 5 }, 60_000)).rejects.toMatchObject(fenced);
    expect(await slotOf()).toBe(3);
    await (await bus.publisher()).setStatus('mark', { slot: 6 }, 60_000);
    expect(await slotOf()).toBe(6);
    await bound.close();
    await expect(bound.setStatus('mark', { slot: 7 }, 60_000)).rejects.toMatchObject({ code: 'CLOSED' });
  });

  it('start a new term with each new epoch, because the publisher has not seen that log', async () => {
    harness = await start({ maxTopics: 10 });
    const bus = await harness.connect();
    const lease = bus.lease('one');
    await untilHeld(lease);
    const { fence } = lease;
    const bound = await bus.publisher({ lease });
    await bound.publish(entries(10, 'a', (index) => [`trades:m${index}`]));
    const [overflow] = await Promise.allSettled([bound.publish([entry('b', ['trades:x'])])]);
    await expect(bound.publish([entry('c', ['trades:x'])])).rejects.toMatchObject(fenced);
    await until(lease, () => lease.held && lease.fence > fence);
    await (await bus.publisher({ lease })).publish([entry('d', ['trades:x'])]);
    // On Redis, the call that starts an epoch is itself refused.
    expect((await bus.tail(10)).map(textOf)).toEqual(overflow.status === 'fulfilled' ? ['b', 'd'] : ['d']);
  });

  it('refuse all calls that wait behind a refused one', async () => {
    const [bus] = await open();
    const lease = bus.lease('one');
    await untilHeld(lease);
    const bound = await bus.publisher({ lease });
    await bound.publish([entry('first')]);
    await lease.close();
    const outcomes = await Promise.allSettled(Array.from({ length: 20 }, (_, call) => bound.publish(entries(50, `${call}.`))));
    for (const outcome of outcomes) expect(outcome).toMatchObject({ status: 'rejected', reason: fenced });
    expect(await bus.tail(10)).toHaveLength(1);
  });
});

describe.each(implementations)('the tail of the $name log', ({ start }) => {
  let harness: BusHarness | null = null;
  afterEach(async () => {
    await harness?.close();
    harness = null;
  });

  it('contains the newest entries, as a subscriber receives them', async () => {
    harness = await start();
    const bus = await harness.connect();
    expect(await bus.tail(10)).toEqual([]);
    const publisher = await bus.publisher();
    const recorder = await record(await bus.subscriber());
    const topicsOf = (index: number): string[] => ['trades', `trades:m${index % 7}`];
    for (let call = 0; call < 150; call += 1) await publisher.publish(entries(1 + (call % 5), `${call}.`, topicsOf));
    await publisher.publish(entries(1_000, 'last', topicsOf));
    await recorder.untilOffset(1_450);
    for (const count of [1, 2, 63, 64, 65, 1_000, 1_003, 1_449, 1_450, 5_000]) {
      expect((await bus.tail(count)).map(plain)).toEqual(recorder.entries.slice(-count).map(plain));
    }
    expect(await bus.tail(0)).toEqual([]);
  });

  it('is bounded', async () => {
    harness = await start();
    const bus = await harness.connect();
    const publisher = await bus.publisher();
    for (let call = 0; call < 34; call += 1) await publisher.publish(entries(1_000, `${call}.`));
    const tail = await bus.tail(Number.MAX_SAFE_INTEGER);
    expect(tail).toHaveLength(busLimits.maxTailEntries);
    expect(textOf(tail.at(-1)!)).toBe('33.999');
    const texts = await bus.readTail(Number.MAX_SAFE_INTEGER, textOf);
    expect([texts.length, texts[0], texts.at(-1)]).toEqual([34_000, '0.0', '33.999']);
    expect(await bus.readTail(2, textOf)).toEqual(['33.998', '33.999']);
  });

  it('belongs to the current epoch', async () => {
    harness = await start({ maxTopics: 10 });
    const bus = await harness.connect();
    const publisher = await bus.publisher();
    await publisher.publish(entries(10, 'a', (index) => [`trades:m${index}`]));
    await publisher.publish([entry('b', ['trades:x'])]);
    expect((await bus.tail(10)).map(textOf)).toEqual(['b']);
  });
});

function plain(one: Awaited<ReturnType<Bus['tail']>>[number]): unknown {
  return [one.offset, one.topics, one.view, textOf(one)];
}

describe('a lease in Redis', () => {
  const cleanups: (() => unknown)[] = [];
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
  });

  async function open(): Promise<{ redis: TestRedis; bus: Bus }> {
    const redis = await startRedis();
    cleanups.push(() => redis.stop());
    return { redis, bus: await connect(redis.url) };
  }

  async function connect(url: string): Promise<Bus> {
    const bus = await connectRedisBus([url], silentLog);
    cleanups.push(() => bus.close());
    return bus;
  }

  /**
   * A connection that can be frozen: everything that it sends or receives then waits. It also freezes by itself if `before` returns true.
   */
  async function openFreezable(
    redis: TestRedis,
    before: () => Promise<boolean> = async () => false,
  ): Promise<{ bus: Bus; proxy: SteppingProxy; freeze(): void; thaw(): void }> {
    let gate = Promise.resolve();
    let pass = (): void => {};
    const freeze = (): void => {
      gate = new Promise((resolve) => (pass = resolve));
    };
    const proxy = await startProxy(redis.port, async () => {
      if (await before()) freeze();
      await gate;
    });
    const thaw = (): void => pass();
    cleanups.push(() => proxy.close(), thaw);
    return { bus: await connect(proxy.url), proxy, freeze, thaw };
  }

  /** A separate process that holds the lease and publishes; resolves when it does. */
  async function holdInChild(redis: TestRedis): Promise<{ child: ChildProcess; fence: number; refused: Promise<string> }> {
    const main = fileURLToPath(new URL('lease-child.ts', import.meta.url));
    const child = spawn(process.execPath, [...loaderOptions, main, redis.url]);
    cleanups.push(() => child.kill('SIGKILL'));
    let output = '';
    const said = (pattern: RegExp): Promise<string> =>
      new Promise((resolve) => {
        const look = (): void => {
          const found = pattern.exec(output)?.[1];
          if (found !== undefined) resolve(found);
        };
        child.stdout?.on('data', look);
        look();
      });
    child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
    return { child, fence: Number(await said(/held (\d+)\n/)), refused: said(/refused (.+)\n/) };
  }

  it('passes to the next claimant soon after its holder was killed', async () => {
    const { redis, bus } = await open();
    const { child, fence } = await holdInChild(redis);
    const lease = bus.lease('one');
    await until(lease, () => lease.holder === 'other');
    const killedAtMs = performance.now();
    child.kill('SIGKILL');
    await untilHeld(lease);
    expect(performance.now() - killedAtMs).toBeLessThan(takeoverMs);
    expect(lease.fence).toBeGreaterThan(fence);
  });

  it('passes on after the clock of Redis was set back, although the term of its last holder ends later by that clock', async () => {
    const { redis, bus } = await open();
    await redis.command('SET', '{sluice}:lease:one', '7', 'PX', '3600000');
    await untilHeld(bus.lease('one'));
  });

  it('is lost by a process that was suspended, which then stores nothing more', async () => {
    const { redis, bus } = await open();
    const { child, refused } = await holdInChild(redis);
    const lease = bus.lease('one');
    await until(lease, () => lease.holder === 'other');
    child.kill('SIGSTOP');
    await untilHeld(lease);
    const publisher = await bus.publisher({ lease });
    await publisher.publish([entry('mine')]);
    child.kill('SIGCONT');
    expect(await refused).toMatch(/^FENCED/);
    expect((await bus.tail(1)).map(textOf)).toEqual(['mine']);
    expect(lease.held).toBe(true);
  });

  it('is released by a holder that gets no answer before another one gets it, and running calls are refused', async () => {
    const { redis, bus } = await open();
    const slow = await openFreezable(redis);
    const first = slow.bus.lease('one');
    await untilHeld(first);
    const bound = await slow.bus.publisher({ lease: first });
    await bound.publish([entry('before')]);
    const second = bus.lease('one');
    await until(second, () => second.holder === 'other');
    let both = false;
    second.onChange(() => (both ||= second.held && first.held));
    slow.freeze();
    const late = bound.publish([entry('late')]);
    await untilHeld(second);
    expect(both).toBe(false);
    expect(first.held).toBe(false);
    await (await bus.publisher({ lease: second })).publish([entry('after')]);
    slow.thaw();
    await expect(late).rejects.toMatchObject(fenced);
    await until(first, () => first.holder === 'other');
    expect((await bus.tail(10)).map(textOf)).toEqual(['before', 'after']);
  });

  it('a batch counts as stored if it was stored before the lease was lost, even if its answer was lost', async () => {
    const { redis, bus } = await open();
    let armed = false;
    // The first bytes after the batch was stored, at the latest its answer, which then never arrives.
    const slow = await openFreezable(redis, async () => {
      if (!armed || (await redis.command('GET', '{sluice}:offset')) !== '$1\r\n2\r\n') return false;
      armed = false;
      return true;
    });
    const first = slow.bus.lease('one');
    await untilHeld(first);
    const bound = await slow.bus.publisher({ lease: first });
    await bound.publish([entry('before')]);
    armed = true;
    const stored = bound.publish([entry('stored')]);
    await untilHeld(bus.lease('one'));
    slow.proxy.cut();
    slow.thaw();
    await stored;
    expect(armed).toBe(false);
    expect((await bus.tail(10)).map(textOf)).toEqual(['before', 'stored']);
  });

  it('is lost and granted again with a higher fence after Redis lost its memory', async () => {
    const { redis, bus } = await open();
    const lease = bus.lease('one');
    await untilHeld(lease);
    const { fence } = lease;
    const bound = await bus.publisher({ lease });
    const holders: (string | null)[] = [];
    lease.onChange(() => holders.push(lease.holder));
    await redis.command('FLUSHALL');
    await expect(bound.publish([entry('late')])).rejects.toMatchObject(fenced);
    await until(lease, () => lease.held && lease.fence !== fence);
    expect(lease.fence).toBeGreaterThan(fence);
    expect(holders).toEqual([null, 'self']);
    await expect(bound.publish([entry('later')])).rejects.toMatchObject(fenced);
  });

  it('has no holder while Redis is unavailable, and is granted again afterwards', async () => {
    const { redis, bus } = await open();
    const [first, second] = [bus.lease('one'), (await connect(redis.url)).lease('one')];
    await untilHeld(first);
    await until(second, () => second.holder === 'other');
    await redis.kill();
    await Promise.all([first, second].map((lease) => until(lease, () => lease.holder === null)));
    expect([first.held, second.held]).toEqual([false, false]);
    await redis.restart();
    await Promise.race([first, second].map(untilHeld));
    await vi.waitFor(() => expect(new Set([first.holder, second.holder])).toEqual(new Set(['other', 'self'])), { timeout: 60_000 });
  });

  it('is released when its bus closes', async () => {
    const { redis, bus } = await open();
    await untilHeld(bus.lease('one', longMs));
    const next = (await connect(redis.url)).lease('one', longMs);
    await until(next, () => next.holder === 'other');
    const closedAtMs = performance.now();
    await bus.close();
    await untilHeld(next);
    expect(performance.now() - closedAtMs).toBeLessThan(longMs / 2);
    expect(() => bus.lease('one')).toThrow(expect.objectContaining({ code: 'CLOSED' }));
  });
});
