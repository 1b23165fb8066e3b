import { connectRedisBus } from '@sluice/shared/bus/redis/redis-bus.ts';
import { createInProcessBus } from '@sluice/shared/bus/in-process/in-process-bus.ts';
import type { Bus, BusEntry, BusPublisher } from '@sluice/shared/bus/bus.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import { startRedis, type TestRedis } from '../support/servers/redis.ts';
import { entries, type Recorder } from './bus-recorder.ts';

export interface Limits {
  readonly maxEntries?: number;
  readonly maxTopics?: number;
}

/** One log, and connections to it, of one implementation. */
export interface BusHarness {
  /** A separate connection, if the implementation has connections. */
  connect(): Promise<Bus>;
  /** Publishes while the recorders can neither receive nor read; resolves when they can again. */
  publishUnheard(bus: Bus, batch: readonly BusEntry[], recorders: readonly Recorder[]): Promise<void>;
  close(): Promise<void>;
}

export const silentLog = createLog({ level: 'silent', name: 'test' });

export async function inProcessHarness(limits: Limits = {}): Promise<BusHarness> {
  const bus = createInProcessBus(limits);
  return {
    connect: async () => bus,
    // One call is stored completely before any of it is delivered.
    publishUnheard: async (_, batch) => (await bus.publisher()).publish(batch),
    close: () => bus.close(),
  };
}

export async function redisHarness(limits: Limits = {}): Promise<BusHarness> {
  const redis = await startRedis();
  const buses: Bus[] = [];
  return {
    connect: async () => {
      const bus = await connectRedisBus([redis.url], silentLog, limits);
      buses.push(bus);
      return bus;
    },
    publishUnheard: async (bus, batch, recorders) => {
      const publisher = await bus.publisher();
      await cutOff(redis, recorders);
      await publisher.publish(batch);
      await redis.command('ACL', 'SETUSER', 'default', '+@all');
    },
    close: async () => {
      await Promise.all(buses.map((bus) => bus.close()));
      await redis.stop();
    },
  };
}

/** Ends all pub/sub connections, and prevents new ones and reads of history until the default user has all rights again. */
export async function cutOff(redis: TestRedis, recorders: readonly Recorder[]): Promise<void> {
  await redis.command('ACL', 'SETUSER', 'default', '-subscribe', '-xrange');
  const down = recorders.map((recorder) => {
    const before = recorder.seen.length;
    return recorder.until(() => recorder.seen.slice(before).some((seen) => seen.kind === 'link' && !seen.up));
  });
  await redis.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
  await Promise.all(down);
}

/** Publishes one call after the other until the returned function is called, which resolves with the number of stored entries. */
export function publishOn(publisher: BusPublisher, prefix: string): { stop(): Promise<number> } {
  const ending = new AbortController();
  let count = 0;
  const done = (async () => {
    while (!ending.signal.aborted) {
      const size = 1 + (count % 3);
      await publisher.publish(entries(size, `${prefix}${count}.`, (index) => ['trades', `trades:m${index}`]));
      count += size;
    }
    return count;
  })();
  return {
    stop: () => {
      ending.abort();
      return done;
    },
  };
}
