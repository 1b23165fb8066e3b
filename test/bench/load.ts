import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Bus, BusEntry, BusPublisher } from '@sluice/shared/bus/bus.ts';
import { createBus } from '@sluice/shared/bus/create.ts';
import { createLog } from '@sluice/shared/log/log.ts';
import { ResumingClient, type Subscription, type Witness } from '../chaos/resuming-client.ts';
import { nodeFlags } from '../support/command-line.ts';
import { until } from '../support/gateway.ts';
import { makeKey, openEmbeddedStore } from '../support/keys.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { addressOf, entryOf, priceEvent, tradeEvent } from '../support/stream-events.ts';
import type { BenchRow } from './row.ts';
import { cpuUs, gatewayMain, leaveServerCore, startLoad, startServer, stop, type Load, type Server } from './stream-rig.ts';

/** Events of the market come by the slot. */
const slotMs = 200;
const measureMs = 8_000;
const warmUpMs = 2_000;
/** What those who stall follow; and one trade for the others in so many. */
const pricesPerSecond = 1_500;
const pricesPerTrade = 30;

interface Stage {
  readonly redis: TestRedis;
  readonly bus: Bus;
  readonly publisher: BusPublisher;
  readonly key: string;
  readonly startGateway: () => Promise<Server>;
}

const at = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
const p99Of = (values: readonly number[]): number =>
  at(
    values.toSorted((a, b) => a - b),
    0.99,
  );
const ms = (value: number): string => `${value < 10 ? value.toFixed(2) : Math.round(value)} ms`;

/** The time of publishing is that of the call. */
const tradeOf = (mint: number): BusEntry => entryOf(tradeEvent(addressOf(mint), { trader: addressOf(20_000 + (mint % 1_000)) }));

/** Publishes `perSecond` events, those of a slot at once, or where `slots` is false evenly; resolves with how many. */
async function play(
  publisher: BusPublisher,
  durationMs: number,
  perSecond: number,
  slots: boolean,
  make: (n: number) => BusEntry,
): Promise<number> {
  const stepMs = slots ? slotMs : 2;
  const startMs = performance.now();
  let sent = 0;
  for (let step = 1; performance.now() - startMs < durationMs; step++) {
    const due = Math.round((step * stepMs * perSecond) / 1_000);
    const batch = Array.from({ length: due - sent }, (_, i) => make(sent + i));
    if (batch.length > 0) void publisher.publish(batch);
    sent = due;
    await delay(Math.max(0, startMs + step * stepMs - performance.now()));
  }
  return sent;
}

async function arrived(load: Load, expected: number): Promise<Awaited<ReturnType<Load['count']>>> {
  const latencyMs: number[] = [];
  return await until(
    'all events to arrive',
    async () => {
      const count = await load.count();
      latencyMs.push(...count.latencyMs);
      return count.events >= expected && { ...count, latencyMs };
    },
    20_000,
  );
}

/** Many connections on one topic, at a rate of deliveries that is to be kept up with. */
async function manyOnOne({ publisher, startGateway, key }: Stage, batch: boolean): Promise<BenchRow> {
  const sockets = 10_000;
  const eventsPerSecond = batch ? 65 : 32.5;
  const target = batch ? 600_000 : 300_000;
  const server = await startGateway();
  const load = await startLoad({
    port: server.port,
    path: `/api/data?api-key=${key}${batch ? '&batch=1' : ''}`,
    sockets,
    command: '{"id":1,"op":"subscribe","channel":"trades"}',
    keys: [],
  });
  try {
    const make = (n: number): BusEntry => tradeOf(n % 256);
    const warm = await play(publisher, warmUpMs, eventsPerSecond, true, make);
    await arrived(load, warm * sockets);
    const [cpuBefore, startMs] = [cpuUs(server.process.pid!), performance.now()];
    const sent = await play(publisher, measureMs, eventsPerSecond, true, make);
    const { closed, latencyMs } = await arrived(load, (warm + sent) * sockets);
    const seconds = (performance.now() - startMs) / 1_000;
    const perSecond = Math.round((sent * sockets) / seconds);
    const share = (cpuUs(server.process.pid!) - cpuBefore) / 1e6 / seconds;
    const p99 = p99Of(latencyMs);
    return {
      name: `10,000 connections on one topic${batch ? ', `?batch=1`' : ''}, through Redis`,
      figure: `${perSecond.toLocaleString('en')} events/s, p99 ${ms(p99)}`,
      target: `≥ ${target.toLocaleString('en')} events/s, p99 ≤ 200 ms`,
      pass: perSecond >= target && p99 <= 200 && closed === 0,
      note: `events in slots of ${slotMs} ms; ${Math.round(share * 100)} % of one core, publishing to the client's read; the clients, Redis and the publisher share the other core`,
    };
  } finally {
    await stop(load.process);
    await stop(server.process);
  }
}

/** Many connections, each on a few of many mints. */
async function manyOnMints({ publisher, startGateway, key }: Stage): Promise<BenchRow> {
  const [sockets, mints, each, eventsPerSecond] = [1_000, 10_000, 50, 2_000];
  const server = await startGateway();
  const lists = Array.from({ length: sockets }, (_, n) =>
    Array.from({ length: each }, (__, i) => addressOf((n * each + i) % mints)).join('","'),
  );
  const load = await startLoad({
    port: server.port,
    path: `/api/data?api-key=${key}`,
    sockets,
    command: '{"id":1,"op":"subscribe","channel":"trades","mints":["#"]}',
    keys: lists,
  });
  try {
    const make = (n: number): BusEntry => tradeOf((n * 7) % mints);
    const copies = (sockets * each) / mints;
    const warm = await play(publisher, warmUpMs, eventsPerSecond, false, make);
    await arrived(load, warm * copies);
    const [cpuBefore, startMs] = [cpuUs(server.process.pid!), performance.now()];
    const sent = await play(publisher, measureMs, eventsPerSecond, false, make);
    const { latencyMs } = await arrived(load, (warm + sent) * copies);
    const share = (cpuUs(server.process.pid!) - cpuBefore) / 1e3 / (performance.now() - startMs);
    const p99 = p99Of(latencyMs);
    return {
      name: '1,000 connections, each on 50 of 10,000 mints, 2,000 events/s',
      figure: `p99 ${ms(p99)}, ${Math.round(share * 100)} % of one core`,
      target: 'p99 ≤ 3 ms, < 35 % of one core',
      pass: p99 <= 3 && share < 0.35,
      note: `publishing to the client's read, through Redis; ${latencyMs.length} samples`,
    };
  } finally {
    await stop(load.process);
    await stop(server.process);
  }
}

async function metric({ port }: Server, name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return Number(new RegExp(`^\\S*${name} (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN);
}

/** 950 who read, and 50 beside them on a busy topic who read too, or don't: what the 950 notice of it. */
async function besideStalled(
  { publisher, startGateway, key }: Stage,
  stalled: boolean,
): Promise<{ readonly p99: number; readonly closedMs: number }> {
  const [readers, others] = [950, 50];
  const server = await startGateway();
  const order = { port: server.port, path: `/api/data?api-key=${key}`, keys: [addressOf(1)] };
  const load = await startLoad({ ...order, sockets: readers, command: '{"id":1,"op":"subscribe","channel":"trades"}' });
  const beside = await startLoad({
    ...order,
    sockets: others,
    command: '{"id":1,"op":"subscribe","channel":"prices","mints":["#"]}',
    stalled: stalled ? others : 0,
  });
  try {
    let fullAtMs = 0;
    let closedAtMs = 0;
    const look = async (): Promise<void> => {
      const [buffered, closes] = await Promise.all([metric(server, 'buffered_bytes'), metric(server, 'slow_closes_total')]);
      if (fullAtMs === 0 && buffered >= others * 2 * 1024 * 1024) fullAtMs = performance.now();
      if (closedAtMs === 0 && closes >= others) closedAtMs = performance.now();
    };
    const watching = setInterval(() => {
      void look();
    }, 100);
    const price = entryOf(priceEvent(addressOf(1)));
    // One trade for all in so many events, the prices for the few.
    const make = (n: number): BusEntry => (n % pricesPerTrade === 0 ? tradeOf(n % 256) : price);
    await play(publisher, warmUpMs, pricesPerSecond, false, make);
    await load.count();
    await play(publisher, measureMs, pricesPerSecond, false, make);
    const { latencyMs } = await load.count();
    clearInterval(watching);
    if (stalled && closedAtMs === 0) throw new Error('who stalled was not closed');
    return { p99: p99Of(latencyMs), closedMs: fullAtMs === 0 ? 0 : closedAtMs - fullAtMs };
  } finally {
    await stop(load.process);
    await stop(beside.process);
    await stop(server.process);
  }
}

async function stalledRow(stage: Stage): Promise<BenchRow> {
  // Turn by turn, the lower of two each: whatever else the machine does only adds.
  const turns = [];
  for (let turn = 0; turn < 2; turn++)
    turns.push({ reading: await besideStalled(stage, false), stalled: await besideStalled(stage, true) });
  const reading = { p99: Math.min(...turns.map((turn) => turn.reading.p99)) };
  const stalled = {
    p99: Math.min(...turns.map((turn) => turn.stalled.p99)),
    closedMs: Math.max(...turns.map((turn) => turn.stalled.closedMs)),
  };
  const more = stalled.p99 / reading.p99 - 1;
  return {
    name: '50 stalled among 1,000 consumers',
    figure: `closed within ${ms(Math.max(0, stalled.closedMs))} of the limit; others' p99 ${ms(stalled.p99)} against ${ms(reading.p99)}`,
    target: "closed within 2 s of the limit, others' p99 + ≤ 10 %",
    pass: stalled.closedMs <= 2_000 && more <= 0.1,
    note: `950 on all trades at ${pricesPerSecond / pricesPerTrade} events/s; the 50 on one price at ${pricesPerSecond.toLocaleString('en')} events/s, reading and not, two turns each`,
  };
}

/** A gateway is killed under its clients: from the kill to the reply of the other one, `since` honoured. */
async function resumeRow({ publisher, startGateway, key }: Stage): Promise<BenchRow> {
  const [count, kills] = [400, 3];
  const faults: string[] = [];
  const witness: Witness = {
    onFollow: () => undefined,
    onFrame: () => undefined,
    onGap: (client, gap) => faults.push(`${client}: ${JSON.stringify(gap)}`),
    onFault: (client, what) => faults.push(`${client}: ${what}`),
  };
  const servers = [await startGateway(), await startGateway()];
  const hosts = servers.map(({ port }) => `127.0.0.1:${port}`);
  const clients = Array.from({ length: count }, (_, n) => {
    const subscriptions: readonly Subscription[] = [{ channel: 'trades', mints: [addressOf(n % 256)] }];
    return new ResumingClient({
      name: `c${n}`,
      hosts,
      apiKey: key,
      format: 'json',
      batch: false,
      subscriptions,
      witness,
      random: Math.random,
    });
  });
  const awayMs: number[] = [];
  const over = new AbortController();
  const market = (async () => {
    while (!over.signal.aborted) await play(publisher, 1_000, 500, true, (n) => tradeOf(n % 256));
  })();
  try {
    for (const client of clients) client.start();
    for (let kill = 0; kill < kills; kill++) {
      await until('all to follow', () => clients.every((client) => client.isFollowing), 20_000);
      const victim = kill % 2;
      const there = clients.filter(({ host }) => host === hosts[victim]);
      const killedAtMs = performance.now();
      await stop(servers[victim]!.process);
      const waiting = new Set(there);
      await until(
        'all to be at the other',
        () => {
          for (const client of waiting) {
            if (client.host !== hosts[1 - victim] || !client.isFollowing) continue;
            waiting.delete(client);
            awayMs.push(performance.now() - killedAtMs);
          }
          return waiting.size === 0;
        },
        20_000,
      );
      servers[victim] = await startGateway();
      hosts[victim] = `127.0.0.1:${servers[victim].port}`;
    }
  } finally {
    over.abort();
    await market;
    for (const client of clients) client.close();
    for (const server of servers) await stop(server.process);
  }
  const p99 = p99Of(awayMs);
  return {
    name: 'gateway killed: clients resumed on another',
    figure: `p99 ${ms(p99)}, ${faults.length} gaps or faults`,
    target: 'p99 ≤ 3 s, none',
    pass: p99 <= 3_000 && faults.length === 0,
    note: `${awayMs.length} clients in ${kills} kills of one of two gateways under 500 events/s, from SIGKILL to the reply with \`recovered\``,
  };
}

/** What many clients do to a gateway's stream, through Redis. */
export function run(): Promise<BenchRow[]> {
  return onStage(async (stage) => [await manyOnMints(stage), await manyOnOne(stage, false), await manyOnOne(stage, true)]);
}

/** What clients notice of gateways that die, and of others that don't read. */
export function runContinuity(): Promise<BenchRow[]> {
  return onStage(async (stage) => [await resumeRow(stage), await stalledRow(stage)]);
}

async function onStage(measure: (stage: Stage) => Promise<BenchRow[]>): Promise<BenchRow[]> {
  leaveServerCore();
  const redis = await startRedis();
  // Redis as a test starts it keeps no process from ending, not even while it is being stopped.
  const awake = setInterval(() => undefined, 1_000);
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  try {
    const store = await openEmbeddedStore(dataDir);
    const { key } = await makeKey(store, { plan: 'enterprise', scopes: ['stream'], label: 'bench' });
    await store.close();
    const bus = await createBus({ redisUrls: [redis.url], log: createLog({ level: 'silent', name: 'bench' }) });
    const env = { REDIS_URL: redis.url, DATA_DIR: dataDir, HOST: '127.0.0.1', PORT: '0', LOG_LEVEL: 'info', TRADING: 'off' };
    const stage = {
      redis,
      bus,
      publisher: await bus.publisher(),
      key,
      startGateway: () => startServer(gatewayMain, [], env, nodeFlags('gateway/src/main.ts')),
    };
    const rows = await measure(stage);
    await bus.close();
    return rows;
  } finally {
    await redis.stop();
    clearInterval(awake);
    rmSync(dataDir, { recursive: true, force: true });
  }
}
