import { fork, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nodeFlags } from '../../support/command-line.ts';
import { canPin, end, loadCore, serverCore } from '../children.ts';
import type { BenchRow } from '../row.ts';
import type { TradeLoadOrder, TradeSent } from './trade-load-child.ts';
import type { NodeReport, ToNode } from './trade-node-child.ts';

/**
 * Orders through HTTP, from the bytes of the request to the message at the node: read, quoted, built, signed by the signing process,
 * simulated by the node, stored durably, sent. Warm: the wallets and coins have traded before.
 */
export const wallets = 64;
const coins = 32;
/** Coins that one wallet trades. */
export const coinsAWallet = 4;
const connections = 64;
const perSecond = 200;
const measuredMs = 20_000;
/** Until the engine has compiled the hot code: a gateway runs for weeks. */
const warmUpPerSecond = 200;
const warmUpOrders = 8_000;
/** Before the first request of a measurement is due. */
const settleMs = 1_000;
const rounds = 10;
const atOnce = 100;
const targetP50Ms = 3;
const targetP99Ms = 10;
const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

export interface Place {
  readonly node: ChildProcess;
  readonly load: ChildProcess;
  readonly gateway: ChildProcess;
  readonly port: number;
  readonly key: string;
  readonly mints: readonly string[];
  readonly publicKeys: readonly string[];
}

export async function ask<T>(child: ChildProcess, message: ToNode | TradeLoadOrder | null): Promise<T> {
  return await new Promise((resolve, reject) => {
    const onExit = (code: number | null): void => reject(new Error(`a process of the benchmark ended with ${code}`));
    child.once('exit', onExit);
    child.once('message', (answer) => {
      child.off('exit', onExit);
      resolve(answer as T);
    });
    if (message !== null) child.send(message);
  });
}

/** On its own core, with its signing process. */
export async function startGateway(args: readonly string[]): Promise<{ readonly process: ChildProcess; readonly output: string }> {
  // For a profile of it: `BENCH_GATEWAY_FLAGS=--cpu-prof`.
  const flags = (process.env['BENCH_GATEWAY_FLAGS'] ?? '').split(' ').filter((flag) => flag !== '');
  const node = [process.execPath, ...nodeFlags('cli/gateway.ts'), ...flags, '--import', 'tsx', here('trade-gateway-child.ts'), ...args];
  const [command, ...rest] = canPin ? ['taskset', '-c', serverCore, ...node] : node;
  const child = spawn(command!, rest, { stdio: ['pipe', 'pipe', 'inherit'] });
  return await new Promise((resolve, reject) => {
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (output.includes('listening ')) resolve({ process: child, output });
    });
    child.once('exit', (code) => reject(new Error(`the gateway ended with ${code}`)));
  });
}

export async function open(
  dataDir: string,
  ...gatewayArgs: readonly string[]
): Promise<Place & { readonly rpcUrl: string; readonly wsUrl: string }> {
  // Real nodes do not pause to collect garbage, so this one collects young objects in small pieces, and old ones not at all.
  const nodeHeap = [
    '--no-allocation-site-pretenuring',
    '--min-semi-space-size=2',
    '--max-semi-space-size=4',
    '--initial-old-space-size=4096',
  ];
  const node = fork(here('trade-node-child.ts'), [String(coins)], { execArgv: [...nodeHeap, '--import', 'tsx'] });
  const { rpcUrl, wsUrl, mints } = await ask<{ rpcUrl: string; wsUrl: string; mints: readonly string[] }>(node, null);
  const { process: gateway, output } = await startGateway([dataDir, rpcUrl, wsUrl, String(wallets), ...gatewayArgs]);
  const publicKeys = /^wallets (\S+)$/m.exec(output)![1]!.split(',');
  await ask(node, { op: 'fund', wallets: publicKeys });
  const load = fork(here('trade-load-child.ts'), [], { execArgv: ['--import', 'tsx'] });
  return { node, load, gateway, ...placeIn(output), mints, publicKeys, rpcUrl, wsUrl };
}

/** The address of a gateway, and a key of it. */
export function placeIn(output: string): Pick<Place, 'port' | 'key'> {
  const port = Number(/^listening http:\/\/127\.0\.0\.1:(\d+)$/m.exec(output)![1]);
  return { port, key: /^key (\S+)$/m.exec(output)![1]! };
}

/** Its own generator, so that every run sends the same requests. */
export function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

export interface Order {
  readonly side: 'buy' | 'sell';
  readonly publicKey: string;
  readonly mint: string;
  readonly amount: number;
}

function requestOf({ key, port }: Place, { side, ...body }: Order, idempotencyKey: string): string {
  const json = JSON.stringify({ ...body, slippage: 25 });
  return `POST /trade/${side} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nIdempotency-Key: ${idempotencyKey}\r\nContent-Length: ${Buffer.byteLength(json)}\r\n\r\n${json}`;
}

let orders = 0;

/** The next order of one wallet for one of its coins; all orders differ. */
export function orderOf({ publicKeys, mints }: Place, walletIndex: number, turn: number, side: Order['side']): Order {
  orders++;
  const publicKey = publicKeys[walletIndex % publicKeys.length]!;
  const mint = mints[((walletIndex % publicKeys.length) + turn * 7) % mints.length]!;
  const amount = side === 'buy' ? (10_000_000 + orders) / 1e9 : (1_000_000 + orders) / 1e6;
  return { side, publicKey, mint, amount };
}

export async function send(
  place: Place,
  list: readonly Order[],
  ratePerSecond: number,
  chance: () => number,
): Promise<readonly TradeSent[]> {
  // The requests reach the other process and are parsed there before the first is due.
  let atMs = settleMs;
  // At random times, as from many independent callers.
  const dueMs = list.map(() => (atMs += (-Math.log(1 - chance()) * 1_000) / ratePerSecond));
  const requests = list.map((order, i) => requestOf(place, order, `bench-${orders}-${i}`));
  return await ask<readonly TradeSent[]>(place.load, { port: place.port, connections, requests, dueMs });
}

export const sorted = (values: readonly number[]): readonly number[] => values.toSorted((a, b) => a - b);
export const at = (values: readonly number[], fraction: number): number =>
  values[Math.min(values.length - 1, Math.floor(values.length * fraction))] ?? NaN;
const text = (values: readonly number[]): string => `p50 ${at(values, 0.5).toFixed(2)} ms, p99 ${at(values, 0.99).toFixed(2)} ms`;

/** User and system time of a process so far, in milliseconds. */
function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  // utime and stime, in ticks of 10 ms.
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** The only child of a process. */
function childOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0]);
}

interface OrderAnswer {
  readonly signature: string;
  readonly orderId: string;
  readonly timing: Readonly<Record<string, number>>;
}

export const answerIn = ({ body }: TradeSent): OrderAnswer => JSON.parse(body) as OrderAnswer;

async function latency(place: Place): Promise<BenchRow> {
  const chance = random(7);
  const first = Array.from({ length: wallets * coinsAWallet }, (_, i) => orderOf(place, i, Math.floor(i / wallets), 'buy'));
  await send(place, first, warmUpPerSecond / 2, chance);
  const any = (): Order =>
    orderOf(place, Math.floor(chance() * wallets), Math.floor(chance() * coinsAWallet), chance() < 0.5 ? 'buy' : 'sell');
  await send(place, Array.from({ length: warmUpOrders }, any), warmUpPerSecond, chance);
  await ask(place.node, { op: 'forget' });
  const usedMs = cpuMs(place.gateway.pid!);
  const signer = childOf(place.gateway.pid!);
  const signerUsedMs = cpuMs(signer);
  const nodeUsedMs = cpuMs(place.node.pid!);
  const all = await send(place, Array.from({ length: (perSecond * measuredMs) / 1_000 }, any), perSecond, chance);
  const sent = all.filter(({ status }) => status === 200);
  const refused = all.find(({ status }) => status !== 200);
  if (refused !== undefined) console.error(`  ${all.length - sent.length} orders were refused, one with ${refused.status} ${refused.body}`);
  const spentMs = (cpuMs(place.gateway.pid!) - usedMs) / sent.length;
  const signerSpentMs = (cpuMs(signer) - signerUsedMs) / sent.length;
  const nodeSpentMs = (cpuMs(place.node.pid!) - nodeUsedMs) / sent.length;
  const report = await ask<NodeReport>(place.node, { op: 'report' });
  const arrivals = new Map(report.arrivals);
  const toNode = sorted(sent.map((one) => arrivals.get(answerIn(one).signature)! - one.atMs));
  if (toNode.some(Number.isNaN)) throw new Error('an order was answered, but its message did not arrive at the node');
  const steps = ['quoteMs', 'buildMs', 'signMs', 'simulateMs', 'storeMs', 'sendMs', 'totalMs'].map((name) => {
    const values = sorted(sent.map((one) => answerIn(one).timing[name] ?? NaN));
    return `${name.slice(0, -2)} ${at(values, 0.5).toFixed(2)}/${at(values, 0.99).toFixed(2)}`;
  });
  const p50 = at(toNode, 0.5);
  const p99 = at(toNode, 0.99);
  return {
    name: `Time from the HTTP request of an order to sendTransaction at the node, with simulation, ${perSecond} orders/s`,
    figure: `p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms; of this, the node’s own time for the simulation: ${text(sorted(report.simulationsMs))}`,
    target: `p50 ≤ ${targetP50Ms} ms, p99 ≤ ${targetP99Ms} ms`,
    pass: refused === undefined && p50 <= targetP50Ms && p99 <= targetP99Ms,
    note: `${sent.length.toLocaleString('en-US')} purchases and sales at random times, each with an Idempotency-Key, of ${wallets} custodial wallets for ${coins} coins on curves and pools${canPin ? '; gateway and signing process on core 0, node and clients on core 1' : ''}; CPU time for each order, including following it to its end: gateway ${spentMs.toFixed(2)} ms, signing process ${signerSpentMs.toFixed(2)} ms, node ${nodeSpentMs.toFixed(2)} ms; ${report.landed} landed and ${report.failed} failed when the run ended; response time ${text(sorted(sent.map((one) => one.answeredMs - one.atMs)))}; steps p50/p99 in ms: ${steps.join(', ')}`,
  };
}

async function idempotency(place: Place): Promise<BenchRow> {
  const counts: number[] = [];
  const answers = { same: 0, inProgress: 0 };
  for (let round = 0; round < rounds; round++) {
    await ask(place.node, { op: 'forget' });
    const request = requestOf(place, orderOf(place, round, 0, 'buy'), `once-${round}`);
    const requests = Array.from({ length: atOnce }, () => request);
    const sent = await ask<readonly TradeSent[]>(place.load, {
      port: place.port,
      connections: atOnce,
      requests,
      dueMs: requests.map(() => 0),
    });
    const done = sent.filter(({ status }) => status === 200);
    const ids = new Set(done.map((one) => answerIn(one).orderId));
    const others = sent.filter(({ status, body }) => status === 409 && body.includes('IDEMPOTENCY_IN_PROGRESS'));
    if (ids.size !== 1 || done.length + others.length !== atOnce) throw new Error('the answers belong to more than one order');
    answers.same += done.length;
    answers.inProgress += others.length;
    counts.push((await ask<NodeReport>(place.node, { op: 'report' })).arrivals.length);
  }
  const isOne = counts.every((count) => count === 1);
  return {
    name: `${atOnce} requests at once with one Idempotency-Key`,
    figure: `transactions sent in each of ${rounds} runs: ${counts.join(', ')}`,
    target: 'exactly 1 in each run',
    pass: isOne,
    note: `on ${atOnce} connections; ${answers.same} answers returned the order, ${answers.inProgress} reported that it was in progress`,
  };
}

export async function run(): Promise<BenchRow[]> {
  // Children inherit it: node and load share the other core.
  if (canPin) spawnSync('taskset', ['-pc', loadCore, String(process.pid)]);
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  const place = await open(dataDir);
  try {
    return [await latency(place), await idempotency(place)];
  } finally {
    await end(place.load, 'SIGKILL');
    await end(place.gateway, 'SIGTERM');
    await end(place.node, 'SIGKILL');
    rmSync(dataDir, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(await run());
