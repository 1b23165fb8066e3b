import type { BusEntry } from '@sluice/shared/bus/bus.ts';
import { ResumingClient, type Subscription, type Witness } from '../../chaos/resuming-client.ts';
import { until } from '../../support/gateway.ts';
import { addressOf, entryOf, priceEvent } from '../../support/events/stream-events.ts';
import type { BenchRow } from '../row.ts';
import { ms, percentile, play, startLoad, tradesOf, type Server } from '../stream/stream-rig.ts';
import { end } from '../children.ts';
import { onStage, type Stage, type Subject } from '../stream/stream-stage.ts';

const warmUpMs = 2_000;
const measureMs = 8_000;
const slotMs = 200;
const evenMs = 2;
/** The topic that stalled clients follow gets prices; the others get one trade for this many prices. */
const pricesPerSecond = 1_500;
const pricesPerTrade = 30;

async function metric({ port }: Server, name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return Number(new RegExp(`^\\S*${name} (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN);
}

/** 950 clients that read, and 50 on a busy topic that read or stall: what the 950 notice. */
async function besideStalled({ startGateway }: Stage, stalled: boolean): Promise<{ readonly p99: number; readonly closedMs: number }> {
  const [readers, others] = [950, 50];
  const { server, path, publish, stop: stopServer } = await startGateway();
  const order = { port: server.port, path, keys: [addressOf(1)], sampleEvery: 16 };
  const load = await startLoad({ ...order, sockets: readers, command: '{"id":1,"op":"subscribe","channel":"trades"}' });
  const other = await startLoad({
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
    const trades = tradesOf(256);
    const price = entryOf(priceEvent(addressOf(1)));
    // One trade for all clients after this many prices for the few.
    const make = (n: number): BusEntry => (n % pricesPerTrade === 0 ? trades(n / pricesPerTrade) : price);
    await play(warmUpMs, pricesPerSecond, evenMs, publish, make);
    await load.count();
    await play(measureMs, pricesPerSecond, evenMs, publish, make);
    const { latencyMs } = await load.count();
    clearInterval(watching);
    if (stalled && closedAtMs === 0) throw new Error('a stalled client was not closed');
    return { p99: percentile(latencyMs, 0.99), closedMs: fullAtMs === 0 ? 0 : closedAtMs - fullAtMs };
  } finally {
    await end(load.process);
    await end(other.process);
    await stopServer();
  }
}

async function stalledRow(stage: Stage): Promise<BenchRow> {
  // In alternate turns; the lower value of two counts, because the rest of the machine can only add time.
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
    name: '50 stalled consumers among 1,000: time until they are closed, and latency of the others',
    figure: `closed at most ${ms(Math.max(0, stalled.closedMs))} after the limit; p99 of the others ${ms(stalled.p99)} (${ms(reading.p99)} without stalled consumers)`,
    target: 'closed at most 2 s after the limit, p99 of the others at most 10 % higher',
    pass: stalled.closedMs <= 2_000 && more <= 0.1,
    note: `950 consumers follow all trades at ${pricesPerSecond / pricesPerTrade} events/s; 50 follow one price at ${pricesPerSecond.toLocaleString('en')} events/s, in two runs in which they read and two in which they do not read`,
  };
}

/** A gateway is killed: the time from the kill to the other gateway's reply, with `since`. */
async function resumeRow(stage: Stage): Promise<BenchRow> {
  const [count, kills] = [400, 3];
  const faults: string[] = [];
  const witness: Witness = {
    onFollow: () => undefined,
    onFrame: () => undefined,
    onGap: (client, gap) => faults.push(`${client}: ${JSON.stringify(gap)}`),
    onFault: (client, what) => faults.push(`${client}: ${what}`),
  };
  const servers = [await stage.startGateway(), await stage.startGateway()];
  const hostOf = ({ server }: Subject): string => `127.0.0.1:${server.port}`;
  const hosts = servers.map(hostOf);
  const clients = Array.from({ length: count }, (_, n) => {
    const subscriptions: readonly Subscription[] = [{ channel: 'trades', mints: [addressOf(n % 256)] }];
    return new ResumingClient({
      name: `c${n}`,
      hosts,
      apiKey: stage.key,
      format: 'json',
      batch: false,
      subscriptions,
      witness,
      random: Math.random,
    });
  });
  const trades = tradesOf(256);
  const disconnectedMs: number[] = [];
  const over = new AbortController();
  const market = (async () => {
    while (!over.signal.aborted) await play(1_000, 500, slotMs, servers[0]!.publish, trades);
  })();
  try {
    for (const client of clients) client.start();
    for (let kill = 0; kill < kills; kill++) {
      await until('all to follow', () => clients.every((client) => client.isFollowing), 20_000);
      const victim = kill % 2;
      const there = clients.filter(({ host }) => host === hosts[victim]);
      const killedAtMs = performance.now();
      await servers[victim]!.stop();
      const waiting = new Set(there);
      await until(
        'all to be at the other',
        () => {
          for (const client of waiting) {
            if (client.host !== hosts[1 - victim] || !client.isFollowing) continue;
            waiting.delete(client);
            disconnectedMs.push(performance.now() - killedAtMs);
          }
          return waiting.size === 0;
        },
        20_000,
      );
      servers[victim] = await stage.startGateway();
      hosts[victim] = hostOf(servers[victim]);
    }
  } finally {
    over.abort();
    await market;
    for (const client of clients) client.close();
    for (const server of servers) await server.stop();
  }
  const p99 = percentile(disconnectedMs, 0.99);
  return {
    name: 'Time until the clients of a killed gateway have resumed on another one',
    figure: `p99 ${ms(p99)}, ${faults.length} gaps or faults`,
    target: 'p99 ≤ 3 s, no gaps or faults',
    pass: p99 <= 3_000 && faults.length === 0,
    note: `${disconnectedMs.length} clients in ${kills} kills of one of two gateways under 500 events/s, from SIGKILL to the reply with \`recovered\``,
  };
}

/** What clients notice when a gateway dies, and when other clients do not read. */
export function run(): Promise<BenchRow[]> {
  return onStage(async (stage) => [await resumeRow(stage), await stalledRow(stage)]);
}
