import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startRedis } from '../../support/servers/redis.ts';
import type { BenchRow } from '../row.ts';
import { sharedClockMs, type NodeReport } from './trade-node-child.ts';
import {
  ask,
  at,
  coinsAWallet,
  open,
  orderOf,
  placeIn,
  random,
  send,
  sorted,
  startGateway,
  answerIn,
  wallets,
  type Order,
  type Place,
} from './trade-http.ts';
import { end } from '../children.ts';

/**
 * Two gateways on one Redis. Orders go to the gateway that holds the trading role, and to the other one, which hands them over. The turns
 * alternate, so that both see the same machine.
 */
const perSecond = 50;
const ordersOfTurn = 250;
const turns = 4;
const warmUpOrders = 1_000;
const targetHopMs = 2;
const takeovers = 10;
const targetTakeoverMs = 2_000;

interface Measured {
  readonly toNodeMs: number[];
  readonly answeredMs: number[];
}

async function measure(place: Place, orders: readonly Order[], chance: () => number, into: Measured): Promise<void> {
  await ask(place.node, { op: 'forget' });
  const all = await send(place, orders, perSecond, chance);
  const refused = all.find(({ status }) => status !== 200);
  if (refused !== undefined) throw new Error(`an order was refused with ${refused.status} ${refused.body}`);
  const { arrivals } = await ask<NodeReport>(place.node, { op: 'report' });
  const atMs = new Map(arrivals);
  for (const one of all) {
    into.toNodeMs.push(atMs.get(answerIn(one).signature)! - one.atMs);
    into.answeredMs.push(one.answeredMs - one.atMs);
  }
}

async function compare(holder: Place, other: Place): Promise<BenchRow> {
  const chance = random(11);
  const any = (): Order =>
    orderOf(holder, Math.floor(chance() * wallets), Math.floor(chance() * coinsAWallet), chance() < 0.5 ? 'buy' : 'sell');
  const some = (count: number): readonly Order[] => Array.from({ length: count }, any);
  const first = Array.from({ length: wallets * coinsAWallet }, (_, i) => orderOf(holder, i, Math.floor(i / wallets), 'buy'));
  await send(holder, first, perSecond, chance);
  for (const place of [holder, other]) await send(place, some(warmUpOrders), 2 * perSecond, chance);
  const direct: Measured = { toNodeMs: [], answeredMs: [] };
  const handed: Measured = { toNodeMs: [], answeredMs: [] };
  for (let turn = 0; turn < turns; turn++) {
    await measure(holder, some(ordersOfTurn), chance, direct);
    await measure(other, some(ordersOfTurn), chance, handed);
  }
  const figures = [direct.toNodeMs, handed.toNodeMs, direct.answeredMs, handed.answeredMs].map(sorted);
  const text = figures.map((values) => `p50 ${at(values, 0.5).toFixed(2)} ms, p99 ${at(values, 0.99).toFixed(2)} ms`);
  const hopMs = at(figures[1]!, 0.5) - at(figures[0]!, 0.5);
  return {
    name: `Order to a gateway without the trading role, ${perSecond} orders/s`,
    figure: `to sendTransaction at the node ${text[1]}; to the gateway with the role ${text[0]}: handing over costs ${hopMs.toFixed(2)} ms at p50`,
    target: `handing over ≤ ${targetHopMs} ms at p50`,
    pass: hopMs <= targetHopMs,
    note: `${turns * ordersOfTurn} orders to each gateway, in alternate runs of ${ordersOfTurn}; two gateways, one Redis and one store on one machine; response time ${text[3]}, of the gateway with the role ${text[2]}`,
  };
}

/** Kills the gateway with the role again and again. Each time, an order that the other gateway received just before is answered by it. */
async function measureTakeovers(holder: Place, other: Place, startOther: () => Promise<Place>): Promise<BenchRow> {
  const chance = random(12);
  const answeredMs: number[] = [];
  let [current, next] = [holder, other];
  for (let i = 0; i < takeovers; i++) {
    const order = orderOf(holder, i % wallets, Math.floor(i / wallets), 'buy');
    const warm = await send(next, [order], perSecond, chance);
    if (warm[0]!.status !== 200) throw new Error(`an order was refused with ${warm[0]!.status} ${warm[0]!.body}`);
    const killed = end(current.gateway, 'SIGKILL');
    const atMs = sharedClockMs();
    const [sent] = await send(next, [order], perSecond, chance);
    await killed;
    if (sent!.status !== 200) throw new Error(`an order was refused with ${sent!.status} ${sent!.body}`);
    answeredMs.push(sent!.answeredMs - atMs);
    [current, next] = [next, await startOther()];
  }
  await end(current.gateway, 'SIGTERM');
  await end(next.gateway, 'SIGTERM');
  const all = sorted(answeredMs);
  return {
    name: 'Order to a gateway without the trading role, when the gateway with the role is killed',
    figure: `answered after p50 ${at(all, 0.5).toFixed(0)} ms, at most ${all.at(-1)!.toFixed(0)} ms`,
    target: `p50 ≤ ${targetTakeoverMs} ms`,
    pass: at(all, 0.5) <= targetTakeoverMs,
    note: `${takeovers} times, from SIGKILL to the answer of the next gateway that the order was sent; a lease lasts one second`,
  };
}

export async function run(): Promise<BenchRow[]> {
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  const redis = await startRedis();
  const holder = await open(dataDir, redis.url);
  const started: Place[] = [holder];
  const startOther = async (): Promise<Place> => {
    const { process: gateway, output } = await startGateway([dataDir, holder.rpcUrl, holder.wsUrl, '0', redis.url]);
    const other = { ...holder, gateway, ...placeIn(output) };
    started.push(other);
    // The other gateway knows the keys of the first one a moment later.
    await pause(1_000);
    return other;
  };
  try {
    const other = await startOther();
    return [await compare(holder, other), await measureTakeovers(holder, other, startOther)];
  } finally {
    await end(holder.load, 'SIGKILL');
    for (const { gateway } of started) await end(gateway, 'SIGTERM');
    await end(holder.node, 'SIGKILL');
    await redis.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(await run());
