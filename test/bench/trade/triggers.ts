import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { until } from '../../support/until.ts';
import { canPin, end, loadCore } from '../children.ts';
import type { BenchRow } from '../row.ts';
import { answerIn, ask, at, open, orderOf, random, send, sorted, wallets, type Place } from './trade-http.ts';
import type { NodeReport } from './trade-node-child.ts';

/**
 * From a tick on the bus to the message at the node: met, stored as firing, quoted, built, simulated by the node, signed, stored, sent. Ticks are below
 * the price of the pools, so that what they meet still holds at the moment of the order.
 */
const singles = 400;
const burst = 1_000;
const warmUpOrders = 3_000;
const othersPerSecond = 50;
const othersAlone = 400;
/** Before the burst, and while it lasts. */
const othersBesides = 150;
const target = { p50Ms: 5, p99Ms: 15, firstMs: 10, lastMs: 2_000, others: 1.5 };
/** Far below the price of a new coin. */
const leastPrice = 1e-9;

/** Each tick is higher than the one before. */
let ticks = 0;
const priceOf = (tick: number): number => leastPrice * (1 + tick / 1_000);

async function publishTick(place: Place, mint: string, price: number): Promise<number> {
  return await new Promise((resolve) => {
    let output = '';
    const onData = (text: string): void => {
      output += text;
      const found = /^ticked (\S+)$/m.exec(output);
      if (found === null) return;
      place.gateway.stdout!.off('data', onData);
      resolve(Number(found[1]));
    };
    place.gateway.stdout!.on('data', onData);
    place.gateway.stdin!.write(`${mint} ${price}\n`);
  });
}

async function arm(place: Place, mint: string, i: number, value: number): Promise<void> {
  const publicKey = place.publicKeys[i % place.publicKeys.length]!;
  const body = { publicKey, mint, side: 'buy', amount: (10_000_000 + i) / 1e9, slippage: 25, minDepthSol: 0, holdMs: 0 };
  const response = await fetch(`http://127.0.0.1:${place.port}/trade/triggers`, {
    method: 'POST',
    headers: { authorization: `Bearer ${place.key}`, 'content-type': 'application/json', 'idempotency-key': `arm-${ticks}-${i}` },
    body: JSON.stringify({ ...body, when: { metric: 'priceSol', op: '>=', value } }),
  });
  if (response.status !== 200) throw new Error(`a trigger was not armed: ${await response.text()}`);
}

const arrivalsOf = async (place: Place): Promise<readonly number[]> =>
  sorted((await ask<NodeReport>(place.node, { op: 'report' })).arrivals.map(([, atMs]) => atMs));

async function warmUp(place: Place): Promise<void> {
  const chance = random(7);
  const all = Array.from({ length: warmUpOrders }, (_, i) =>
    orderOf(place, i, Math.floor(i / wallets) % 4, i < wallets * 4 || chance() < 0.5 ? 'buy' : 'sell'),
  );
  await send(place, all, 150, chance);
}

async function oneByOne(place: Place): Promise<BenchRow> {
  const tookMs: number[] = [];
  for (let i = 0; i < singles; i++) {
    const mint = place.mints[i % place.mints.length]!;
    const price = priceOf(++ticks);
    await arm(place, mint, i, price);
    await ask(place.node, { op: 'forget' });
    await pause(10);
    const tickedMs = await publishTick(place, mint, price);
    const [arrivedMs] = await until('the order of a trigger', async () => {
      const arrivals = await arrivalsOf(place);
      return arrivals.length > 0 && arrivals;
    });
    tookMs.push(arrivedMs! - tickedMs);
  }
  // The engine compiles the hot code during the first half.
  const measured = sorted(tookMs.slice(singles / 2));
  const [p50, p99] = [at(measured, 0.5), at(measured, 0.99)];
  return {
    name: 'Time from a published tick to sendTransaction at the node, of the trigger that it fires, with simulation',
    figure: `p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms`,
    target: `p50 ≤ ${target.p50Ms} ms, p99 ≤ ${target.p99Ms} ms`,
    pass: p50 <= target.p50Ms && p99 <= target.p99Ms,
    note: `${measured.length} purchases, one after the other, each stored as firing and as an order before it is sent`,
  };
}

async function atOnce(place: Place): Promise<BenchRow> {
  const mint = place.mints[0]!;
  const chance = random(11);
  const others = (count: number) => Array.from({ length: count }, (_, i) => orderOf(place, i, 1 + (i % 3), 'buy'));
  const answeredMs = (sent: Awaited<ReturnType<typeof send>>): readonly number[] => {
    const refused = sent.find(({ status }) => status !== 200);
    if (refused !== undefined) throw new Error(`another order was refused: ${refused.body}`);
    return sorted(sent.map((one) => one.answeredMs - one.atMs));
  };
  const alone = answeredMs(await send(place, others(othersAlone), othersPerSecond, chance));
  const price = priceOf(++ticks);
  for (let i = 0; i < burst; i += 20) await Promise.all(Array.from({ length: 20 }, (_, j) => arm(place, mint, i + j, price)));
  await pause(2_000);
  await ask(place.node, { op: 'forget' });
  const besides = send(place, others(othersBesides), othersPerSecond, chance);
  await pause(1_500);
  const tickedMs = await publishTick(place, mint, price);
  const sentBesides = await besides;
  const signatures = new Set(sentBesides.map((one) => answerIn(one).signature));
  const arrivals = await until('all orders', async () => {
    const { arrivals: all } = await ask<NodeReport>(place.node, { op: 'report' });
    const own = all.filter(([signature]) => !signatures.has(signature));
    return own.length >= burst && sorted(own.map(([, atMs]) => atMs));
  });
  const [firstMs, lastMs] = [arrivals[0]! - tickedMs, arrivals.at(-1)! - tickedMs];
  const during = answeredMs(sentBesides.filter((one) => one.atMs >= tickedMs - 5 && one.atMs <= tickedMs + lastMs));
  const [p99Alone, p99During] = [at(alone, 0.99), at(during, 0.99)];
  return {
    name: `${burst.toLocaleString('en-US')} triggers of one key that fire on one tick`,
    figure: `first sent after ${firstMs.toFixed(1)} ms, last after ${Math.round(lastMs).toLocaleString('en-US')} ms; other orders answered: p99 ${p99Alone.toFixed(1)} ms before, ${p99During.toFixed(1)} ms meanwhile`,
    target: `first ≤ ${target.firstMs} ms, last ≤ ${target.lastMs.toLocaleString('en-US')} ms, p99 of others at most 50 % longer`,
    pass: firstMs <= target.firstMs && lastMs <= target.lastMs && p99During <= p99Alone * target.others,
    note: `${during.length} other orders meanwhile, ${othersPerSecond} a second; at most 4 orders of a key at once`,
  };
}

export async function run(): Promise<BenchRow[]> {
  if (canPin) spawnSync('taskset', ['-pc', loadCore, String(process.pid)]);
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  const place = await open(dataDir);
  try {
    await warmUp(place);
    return [await oneByOne(place), await atOnce(place)];
  } finally {
    await end(place.load, 'SIGKILL');
    await end(place.gateway, 'SIGTERM');
    await end(place.node, 'SIGKILL');
    rmSync(dataDir, { recursive: true, force: true });
  }
}
