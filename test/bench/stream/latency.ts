import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { programId } from '@sluice/venues/pump/curve/program.ts';
import { buyFrame, creationFrame, firstBuySlot } from '../../ingest/log-frames.ts';
import { signatureOf } from '../../ingest/pump-frames.ts';
import { startScriptedNode, type Answer, type ScriptedNode } from '../../ingest/scripted-node.ts';
import { until } from '../../support/until.ts';
import { runProgram, type RunningProgram } from '../../support/processes.ts';
import { makeKey, openEmbeddedStore } from '../../support/keys.ts';
import { startRedis } from '../../support/servers/redis.ts';
import { end } from '../children.ts';
import type { BenchRow } from '../row.ts';
import { ms, percentile, startLoad, startServer, type Load, type Server } from './stream-rig.ts';

const eventsPerSecond = 2_000;
/** Coins that trade; all of them are known before the measurement begins. */
const coins = 2_000;
const warmUpMs = 8_000;
const referenceWarmUpMs = 2_000;
const measureMs = 10_000;
/** The length of a slot. In bursts, all transactions of a slot are sent at once, at the same mean rate. */
const slotMs = 200;
const perSlot = (eventsPerSecond * slotMs) / 1000;
/** One of this many transactions creates a coin, and the last one of a slot does. */
const perCreation = 100;
/** The confirmed slot is this far behind the newest one. */
const confirmedAfterSlots = 2;

interface Transaction {
  readonly signature: string;
  readonly slot: number;
  readonly frame: Buffer;
}

/** A node that reports transactions, and lists them once they are confirmed. Ingest compares both, as it does in production. */
class ReportingNode {
  readonly node: ScriptedNode;
  readonly #sent: Transaction[] = [];
  readonly #places = new Map<string, number>();

  constructor(node: ScriptedNode) {
    this.node = node;
    node.reportsSlots = false;
    node.slot = firstBuySlot;
    const { onCall } = node;
    node.onCall = (method, params) => this.#answer(method, params) ?? onCall(method, params);
  }

  send(transaction: Transaction): void {
    const { node } = this;
    while (node.slot < transaction.slot) {
      node.slot++;
      node.notify('slotNotification', 'slotSubscribe', { slot: node.slot, parent: node.slot - 1, root: node.slot - 32 });
    }
    this.#places.set(transaction.signature, this.#sent.push(transaction) - 1);
    node.send(transaction.frame);
  }

  #answer(method: string, params: readonly unknown[]): Answer | null {
    const confirmed = this.node.slot - confirmedAfterSlots;
    if (method === 'getSlot') return { result: confirmed };
    if (method === 'getFirstAvailableBlock') return { result: firstBuySlot - confirmedAfterSlots };
    if (method === 'getBlocks') {
      const [from, to] = params as [number, number];
      return { result: Array.from({ length: to - from + 1 }, (_, index) => from + index) };
    }
    if (method !== 'getSignaturesForAddress') return null;
    const { before, limit } = params[1] as { before?: string; limit: number };
    if (params[0] !== programId) return { result: [] };
    let last = before === undefined ? this.#sent.length : this.#places.get(before)!;
    while (last > 0 && this.#sent[last - 1]!.slot > confirmed) last--;
    const rows = this.#sent.slice(Math.max(0, last - limit), last).toReversed();
    return { result: rows.map(({ signature, slot }) => ({ signature, slot, err: null, memo: null, confirmationStatus: 'confirmed' })) };
  }
}

/** Sends transactions as a Poisson stream would arrive; `due` grows by exponential steps. Returns how many. */
async function sendPoisson(node: ReportingNode, transactions: readonly Transaction[], forMs: number): Promise<number> {
  const startedMs = performance.now();
  let dueMs = 0;
  let next = 0;
  for (;;) {
    const sinceMs = performance.now() - startedMs;
    for (; dueMs < sinceMs && dueMs < forMs; dueMs += (-Math.log(1 - Math.random()) * 1000) / eventsPerSecond) {
      node.send(transactions[next++]!);
    }
    if (sinceMs >= forMs) return next;
    await pause(1);
  }
}

async function sendSlots(node: ReportingNode, transactions: readonly Transaction[], forMs: number): Promise<number> {
  const startedMs = performance.now();
  let slot = 0;
  for (; slot * slotMs < forMs; slot++) {
    for (const transaction of transactions.slice(slot * perSlot, (slot + 1) * perSlot)) node.send(transaction);
    await pause(Math.max(0, startedMs + (slot + 1) * slotMs - performance.now()));
  }
  return slot * perSlot;
}

interface Targets {
  readonly p50: number;
  readonly p99: number;
  /** The p99 of creations. */
  readonly creations: number;
}

interface Run {
  readonly name: string;
  readonly send: typeof sendSlots;
  readonly targets: Targets;
}

const runs: readonly Run[] = [
  { name: `${eventsPerSecond} events/s one by one`, send: sendPoisson, targets: { p50: 0.6, p99: 6, creations: Infinity } },
  { name: `${perSlot} transactions of one slot at once, every ${slotMs} ms`, send: sendSlots, targets: { p50: 10, p99: 25, creations: 5 } },
];

let made = 0;
/**
 * Buys of the same coins again and again, and creations. They are made before the programs start, because it takes seconds. There are a fifth more than
 * the mean, because the number that random times give varies.
 */
function transactionsFor(forMs: number): Transaction[] {
  return Array.from({ length: (eventsPerSecond * forMs * 1.2) / 1000 }, () => {
    const index = made++;
    const [signature, slot] = [signatureOf(`transaction ${index}`), firstBuySlot + Math.floor(index / perSlot)];
    const frame =
      index % perCreation === perCreation - 1 ? creationFrame(signature, slot, `new ${index}`) : buyFrame(signature, slot, index % coins);
    return { signature, slot, frame };
  });
}

/** What sends to subscribers, and its subscribers. */
interface Way {
  readonly node: ReportingNode;
  readonly trades: Load;
  readonly creations: Load;
}

async function subscribers(port: number, path: string): Promise<Pick<Way, 'trades' | 'creations'>> {
  const order = (channel: string, type: string) => ({
    port,
    path,
    sockets: 1,
    command: `{"id":1,"op":"subscribe","channel":"${channel}"}`,
    keys: [],
    sampleEvery: 1,
    mark: `{"type":"${type}"`,
    timeMark: '"received":',
  });
  return { trades: await startLoad(order('trades', 'trade')), creations: await startLoad(order('newTokens', 'newToken')) };
}

interface Measured {
  readonly trades: readonly number[];
  readonly creations: readonly number[];
}

/** Sends and waits until everything has arrived. */
async function play(
  { node, trades, creations }: Way,
  send: Run['send'],
  transactions: readonly Transaction[],
  forMs: number,
): Promise<Measured> {
  const before = (await trades.count()).events + (await creations.count()).events;
  const sent = await send(node, transactions, forMs);
  const latencies: { trades: number[]; creations: number[] } = { trades: [], creations: [] };
  await until(
    'the events arrive',
    async () => {
      const [ofTrades, ofCreations] = [await trades.count(), await creations.count()];
      latencies.trades.push(...ofTrades.latencyMs);
      latencies.creations.push(...ofCreations.latencyMs);
      return ofTrades.events + ofCreations.events - before >= sent;
    },
    10_000,
  );
  return latencies;
}

async function measure(
  way: Way,
  warm: readonly Transaction[],
  warmMs: number,
  measured: readonly (readonly Transaction[])[],
): Promise<Measured[]> {
  await play(way, sendPoisson, warm, warmMs);
  const all: Measured[] = [];
  for (const [index, { send }] of runs.entries()) all.push(await play(way, send, measured[index]!, measureMs));
  return all;
}

/** An address that a program prints or logs. */
const portOf = (url: unknown): number => Number(new URL(String(url)).port);

/** A scripted node → ingest process → Redis → gateway process → subscribers, all on this machine. */
async function measureProduct(): Promise<Measured[]> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-latency-'));
  const store = await openEmbeddedStore(join(folder, 'data'));
  const { key } = await makeKey(store, { plan: 'enterprise', scopes: ['stream'], label: 'latency' });
  await store.close();
  const [warm, measured] = [transactionsFor(warmUpMs), runs.map(() => transactionsFor(measureMs))];
  const [redis, node] = [await startRedis(), await startScriptedNode()];
  const programs: RunningProgram[] = [];
  const loads: Load[] = [];
  try {
    // Other sources would have connections with other subscriptions.
    const env = { REDIS_URL: redis.url, DATA_DIR: join(folder, 'data'), LOG_LEVEL: 'info', SOURCES: 'logs' };
    const ingest = runProgram('ingest/src/main.ts', { folder, env: { ...env, SOLANA_RPC_URL: node.httpUrl, SOLANA_WS_URL: node.wsUrl } });
    programs.push(ingest);
    const gateway = runProgram('cli/gateway.ts', { folder, env: { ...env, PORT: '0' } });
    programs.push(gateway);
    const way = { node: new ReportingNode(node) };
    await ingest.logged('endpoint_state');
    const { url } = await gateway.logged('listening');
    const clients = await subscribers(portOf(url), `/api/data?api-key=${key}`);
    loads.push(clients.trades, clients.creations);
    return await measure({ ...way, ...clients }, warm, warmUpMs, measured);
  } finally {
    for (const load of loads) await end(load.process);
    for (const program of programs) await program.stop();
    await redis.stop();
    await node.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The same with the smallest programs that pass notifications on. */
async function measureReference(): Promise<Measured[]> {
  const [warm, measured] = [transactionsFor(referenceWarmUpMs), runs.map(() => transactionsFor(measureMs))];
  const [redis, node] = [await startRedis(), await startScriptedNode()];
  const servers: Server[] = [];
  const loads: Load[] = [];
  try {
    const forward = await startServer('test/bench/reference/forward.ts', [redis.url], {}, [], false);
    servers.push(forward);
    servers.push(await startServer('test/bench/reference/relay.ts', [node.wsUrl, redis.url], {}, [], false));
    const clients = await subscribers(forward.port, '/');
    loads.push(clients.trades, clients.creations);
    return await measure({ node: new ReportingNode(node), ...clients }, warm, referenceWarmUpMs, measured);
  } finally {
    for (const load of loads) await end(load.process);
    for (const server of servers) await end(server.process);
    await redis.stop();
    await node.close();
  }
}

const figureOf = ({ trades, creations }: Measured): string =>
  `p50 ${ms(percentile(trades, 0.5))}, p99 ${ms(percentile(trades, 0.99))}; creations p99 ${ms(percentile(creations, 0.99))}`;

export async function run(): Promise<readonly BenchRow[]> {
  const own = await measureProduct();
  const reference = await measureReference();
  return runs.map(({ name, targets }, index) => {
    const { trades, creations } = own[index]!;
    const isJudged = targets.creations < Infinity;
    return {
      name: `Latency from the arrival of a notification at ingest to a subscriber, through Redis, ${name}`,
      figure: figureOf(own[index]!),
      target: `p50 ≤ ${targets.p50} ms, p99 ≤ ${targets.p99} ms${isJudged ? `; creations p99 ≤ ${targets.creations} ms` : ''}`,
      pass:
        percentile(trades, 0.5) <= targets.p50 &&
        percentile(trades, 0.99) <= targets.p99 &&
        (!isJudged || percentile(creations, 0.99) <= targets.creations),
      note: `${trades.length} buys of ${coins} coins and ${creations.length} creations in ${measureMs / 1000} s; ingest, gateway, Redis, node and subscribers on one machine; the smallest programs that pass a notification on undecoded: ${figureOf(reference[index]!)}`,
    };
  });
}
