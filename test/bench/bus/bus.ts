import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Bus } from '@sluice/shared/bus/bus.ts';
import { createBus } from '@sluice/shared/bus/create.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import { startRedis } from '../../support/servers/redis.ts';
import { busEvent, publishEvents } from './bus-events.ts';
import type { BenchRow } from '../row.ts';

const warmupEvents = 50_000;
const measuredEvents = 200_000;
const latencyEvents = 10_000;
const latencyRate = 2_000;

/** The bus through one Redis on the loopback; events on 3 topics, with records of 600 bytes. */
export async function run(): Promise<BenchRow[]> {
  const throughput = await withBus(async (bus, url) => [...(await measurePublishing(bus)), ...(await measureFollowing(bus, url))]);
  return [...throughput, await withBus(measureLatency)];
}

async function withBus<T>(work: (bus: Bus, url: string) => Promise<T>): Promise<T> {
  const redis = await startRedis();
  try {
    const bus = await createBus({ redisUrls: [redis.url], log: createLog({ level: 'warn', name: 'bench' }) });
    const result = await work(bus, redis.url);
    await bus.close();
    return result;
  } finally {
    await redis.stop();
  }
}

interface Cost {
  readonly perSecond: number;
  /** CPU time of this process, user and system, for one event. */
  readonly cpuUs: number;
}

async function measure(count: number, work: () => Promise<unknown>): Promise<Cost> {
  const cpu = process.cpuUsage();
  const startedAtMs = performance.now();
  await work();
  const seconds = (performance.now() - startedAtMs) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  return { perSecond: count / seconds, cpuUs: (user + system) / count };
}

async function measurePublishing(bus: Bus): Promise<BenchRow[]> {
  const publisher = await bus.publisher();
  await publishEvents(publisher, warmupEvents);
  const { perSecond, cpuUs } = await measure(measuredEvents, () => publishEvents(publisher, measuredEvents));
  await publisher.close();
  return [
    {
      name: 'Bus: publish through Redis, one publisher',
      figure: `${Math.round(perSecond).toLocaleString('en-US')} events/s`,
      target: '≥ 25,000 events/s',
      pass: perSecond >= 25_000,
      note: 'one call of `publish` for each event; Redis runs on the other core',
    },
    {
      name: 'Bus: CPU time of the publisher',
      figure: `${cpuUs.toFixed(2)} µs/event`,
      target: '≤ 10 µs/event',
      pass: cpuUs <= 10,
      note: 'user and system time, at the rate above',
    },
  ];
}

async function measureFollowing(bus: Bus, url: string): Promise<BenchRow[]> {
  const subscriber = await bus.subscriber();
  let seen = 0;
  let expected = 0;
  let reached: () => void = () => {};
  const count = (): void => {
    seen += 1;
    if (seen === expected) reached();
  };
  const until = (total: number): Promise<void> =>
    new Promise((resolve) => {
      expected = total;
      reached = resolve;
    });
  let lost = 0;
  const replay = await measure(warmupEvents, () => subscriber.start({ onEntry: count, onLost: () => (lost += 1) }));
  const replayed = seen;
  await publishFromOutside(url, warmupEvents, until(replayed + warmupEvents));
  const live = await measure(measuredEvents, () => publishFromOutside(url, measuredEvents, until(seen + measuredEvents)));
  const { refills } = subscriber.counters;
  await subscriber.close();
  return [
    {
      name: 'Bus: CPU time of a subscriber',
      figure: `${live.cpuUs.toFixed(2)} µs/event`,
      target: '≤ 10 µs/event',
      pass: live.cpuUs <= 10 && lost === 0,
      note: `includes decoding and the callback; ${lost} events lost, ${refills} reads of the stored log because of missed messages; publisher, Redis and subscriber share the machine's cores`,
    },
    {
      name: 'Bus: reading the history at the start',
      figure: `${Math.round((replay.perSecond * replayed) / warmupEvents).toLocaleString('en-US')} events/s`,
      target: '≥ 25,000 events/s',
      pass: (replay.perSecond * replayed) / warmupEvents >= 25_000,
      note: `${replayed.toLocaleString('en-US')} events, with the positions of all topics`,
    },
  ];
}

/** Publishes from another process; resolves when `all` are published. */
async function publishFromOutside(url: string, count: number, all: Promise<void>): Promise<void> {
  const script = fileURLToPath(new URL('bus-publisher.ts', import.meta.url));
  const child = spawn(process.execPath, ['--import', 'tsx', script, url, String(count)], { stdio: ['ignore', 'ignore', 'inherit'] });
  const failed = once(child, 'exit').then(([code]: unknown[]) => {
    if (code !== 0) throw new Error(`The publisher ended with ${String(code)}.`);
    return all;
  });
  await Promise.race([all, failed]);
  await failed;
}

/** From the call of `publish` to `onEntry`, in one process, at a steady rate. */
async function measureLatency(bus: Bus): Promise<BenchRow> {
  const publisher = await bus.publisher();
  const subscriber = await bus.subscriber();
  const sentAtMs: number[] = [];
  const tookMs: number[] = [];
  let allSeen: () => void = () => {};
  const all = new Promise<void>((resolve) => {
    allSeen = resolve;
  });
  await subscriber.start({
    onEntry: (_, replayed) => {
      if (replayed) return;
      tookMs.push(performance.now() - (sentAtMs[tookMs.length] as number));
      if (tookMs.length === latencyEvents) allSeen();
    },
    onLost: () => {},
  });
  const startedAtMs = performance.now();
  const stored: Promise<void>[] = [];
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      const due = Math.min(latencyEvents, ((performance.now() - startedAtMs) * latencyRate) / 1000);
      while (sentAtMs.length < due) {
        sentAtMs.push(performance.now());
        stored.push(publisher.publish([busEvent(sentAtMs.length)]));
      }
      if (sentAtMs.length < latencyEvents) return;
      clearInterval(timer);
      resolve();
    }, 1);
  });
  await Promise.all(stored);
  await all;
  await subscriber.close();
  await publisher.close();
  tookMs.sort((a, b) => a - b);
  const [p50, p99] = [0.5, 0.99].map((part) => tookMs[Math.floor(latencyEvents * part)] as number) as [number, number];
  return {
    name: 'Bus: latency from publish() to onEntry, 2,000 events/s',
    figure: `p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms`,
    target: 'p50 ≤ 1 ms, p99 ≤ 5 ms',
    pass: p50 <= 1 && p99 <= 5,
  };
}
