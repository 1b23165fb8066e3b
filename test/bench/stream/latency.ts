import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { programId } from '@sluice/venues/pump/curve/program.ts';
import { buyFrame, firstBuySlot } from '../../ingest/log-frames.ts';
import { signatureOf } from '../../ingest/pump-frames.ts';
import { startScriptedNode, type Answer, type ScriptedNode } from '../../ingest/scripted-node.ts';
import { until } from '../../support/gateway.ts';
import { runProgram, type RunningProgram } from '../../support/processes.ts';
import { makeKey, openEmbeddedStore } from '../../support/keys.ts';
import { startRedis } from '../../support/servers/redis.ts';
import { noTarget, type BenchRow } from '../row.ts';

const eventsPerSecond = 2_000;
/** Coins that trade; all of them are known before the measurement begins. */
const coins = 2_000;
const warmUpMs = 8_000;
const measureMs = 10_000;
const p50TargetMs = 1.5;
const p99TargetMs = 8;
/** The length of a slot. In bursts, all transactions of a slot are sent at once, at the same mean rate. */
const slotMs = 200;
const perSlot = (eventsPerSecond * slotMs) / 1000;
/** The confirmed slot is this far behind the newest one. */
const confirmedAfterSlots = 2;

const nowUs = (): number => (performance.timeOrigin + performance.now()) * 1000;

interface Buy {
  readonly signature: string;
  readonly slot: number;
  readonly frame: Buffer;
}

/** A node that reports buys, and lists them once they are confirmed. Ingest compares both, as it does in production. */
class BuyingNode {
  readonly node: ScriptedNode;
  readonly #sent: Buy[] = [];
  readonly #places = new Map<string, number>();

  constructor(node: ScriptedNode) {
    this.node = node;
    node.reportsSlots = false;
    node.slot = firstBuySlot;
    const { onCall } = node;
    node.onCall = (method, params) => this.#answer(method, params) ?? onCall(method, params);
  }

  send(buy: Buy): void {
    const { node } = this;
    while (node.slot < buy.slot) {
      node.slot++;
      node.notify('slotNotification', 'slotSubscribe', { slot: node.slot, parent: node.slot - 1, root: node.slot - 32 });
    }
    this.#places.set(buy.signature, this.#sent.push(buy) - 1);
    node.send(buy.frame);
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
    let end = before === undefined ? this.#sent.length : this.#places.get(before)!;
    while (end > 0 && this.#sent[end - 1]!.slot > confirmed) end--;
    const rows = this.#sent.slice(Math.max(0, end - limit), end).toReversed();
    return { result: rows.map(({ signature, slot }) => ({ signature, slot, err: null, memo: null, confirmationStatus: 'confirmed' })) };
  }
}

/** Sends buys as a Poisson stream would arrive; `due` grows by exponential steps. */
async function sendPoisson(node: BuyingNode, buys: readonly Buy[], forMs: number): Promise<void> {
  const startedMs = performance.now();
  let dueMs = 0;
  let next = 0;
  for (;;) {
    const sinceMs = performance.now() - startedMs;
    for (; dueMs < sinceMs && dueMs < forMs; dueMs += (-Math.log(1 - Math.random()) * 1000) / eventsPerSecond) node.send(buys[next++]!);
    if (sinceMs >= forMs) return;
    await pause(1);
  }
}

async function sendSlots(node: BuyingNode, buys: readonly Buy[], forMs: number): Promise<void> {
  const startedMs = performance.now();
  for (let slot = 0; slot * slotMs < forMs; slot++) {
    for (const buy of buys.slice(slot * perSlot, (slot + 1) * perSlot)) node.send(buy);
    await pause(Math.max(0, startedMs + (slot + 1) * slotMs - performance.now()));
  }
}

/** Frames at a subscriber of all trades, with the time since the notification arrived at ingest. */
class Listener {
  readonly latenciesUs: number[] = [];
  measuring = false;
  lastSeq = 0;
  received = 0;
  readonly #socket: WebSocket;
  #closing = false;

  constructor(url: string) {
    this.#socket = new WebSocket(url);
    this.#socket.on('error', (error) => console.error(error.message));
    this.#socket.on(
      'close',
      (code, reason) => this.#closing || console.error(`The gateway closed the subscriber: ${code} ${reason.toString()}`),
    );
    this.#socket.on('open', () => this.#socket.send('{"id":1,"op":"subscribe","channel":"trades"}'));
    this.#socket.on('message', (data: Buffer) => {
      const arrivedUs = nowUs();
      const text = data.toString('latin1', 0, 900);
      const at = text.indexOf('"received":');
      if (at < 0) return;
      const seqAt = text.indexOf('"seq":') + 6;
      const seq = Number.parseInt(text.slice(seqAt, seqAt + 16), 10);
      if (this.lastSeq > 0 && seq !== this.lastSeq + 1) throw new Error(`A gap in the stream: ${this.lastSeq} → ${seq}`);
      this.lastSeq = seq;
      this.received++;
      if (this.measuring) this.latenciesUs.push(arrivedUs - Number.parseInt(text.slice(at + 11, at + 29), 10));
    });
  }

  get open(): boolean {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  /** Percentiles in milliseconds since the last call. */
  take(): { readonly count: number; readonly p50: number; readonly p99: number } {
    const sorted = this.latenciesUs.splice(0).toSorted((a, b) => a - b);
    const at = (share: number): number => (sorted[Math.floor(sorted.length * share)] ?? Number.NaN) / 1000;
    return { count: sorted.length, p50: at(0.5), p99: at(0.99) };
  }

  close(): void {
    this.#closing = true;
    this.#socket.terminate();
  }
}

const runs = [
  { name: 'at random times', send: sendPoisson, judged: true },
  { name: `in bursts every ${slotMs} ms`, send: sendSlots, judged: false },
] as const;

/**
 * Buys of the same coins again and again, for the warm-up and for each run. They are made before the programs start: it takes seconds, in
 * which this process does not read, and the gateway closes a subscriber that does not read.
 */
function makeBuys(): { readonly warm: readonly Buy[]; readonly measured: readonly (readonly Buy[])[] } {
  let made = 0;
  // A fifth more than the mean, because the number that random times give varies.
  const buysFor = (forMs: number): Buy[] =>
    Array.from({ length: (eventsPerSecond * forMs * 1.2) / 1000 }, () => {
      const index = made++;
      const [signature, slot] = [signatureOf(`buy ${index}`), firstBuySlot + Math.floor(index / perSlot)];
      return { signature, slot, frame: buyFrame(signature, slot, index % coins) };
    });
  return { warm: buysFor(warmUpMs), measured: runs.map(() => buysFor(measureMs)) };
}

async function measureBoth(
  node: BuyingNode,
  listener: Listener,
  { warm, measured }: ReturnType<typeof makeBuys>,
): Promise<readonly BenchRow[]> {
  await sendPoisson(node, warm, warmUpMs);
  const rows: BenchRow[] = [];
  for (const [index, { name, send, judged }] of runs.entries()) {
    listener.measuring = true;
    const before = listener.received;
    await send(node, measured[index]!, measureMs);
    await until('the events arrive', () => listener.received - before >= (eventsPerSecond * measureMs * 0.9) / 1000, 10_000);
    await pause(200);
    listener.measuring = false;
    const { count, p50, p99 } = listener.take();
    rows.push({
      name: `Latency from a notification at ingest to a frame at a subscriber, through Redis, ${eventsPerSecond} events/s ${name}`,
      figure: `p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms`,
      target: judged ? `p50 ≤ ${p50TargetMs} ms, p99 ≤ ${p99TargetMs} ms` : noTarget,
      pass: !judged || (p50 <= p50TargetMs && p99 <= p99TargetMs),
      note: `${count} events of ${coins} coins in ${measureMs / 1000} s; ingest, gateway, Redis, node and subscriber on one machine`,
    });
  }
  return rows;
}

/** A scripted node → ingest process → Redis → gateway process → subscriber, all on this machine. */
export async function run(): Promise<readonly BenchRow[]> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-latency-'));
  const store = await openEmbeddedStore(join(folder, 'data'));
  const { key } = await makeKey(store, { plan: 'enterprise', scopes: ['stream'], label: 'latency' });
  await store.close();
  const buys = makeBuys();
  const redis = await startRedis();
  const node = await startScriptedNode();
  const buying = new BuyingNode(node);
  const programs: RunningProgram[] = [];
  let listener: Listener | null = null;
  try {
    const env = { REDIS_URL: redis.url, DATA_DIR: join(folder, 'data'), LOG_LEVEL: 'info' };
    const ingest = runProgram('ingest/src/main.ts', { folder, env: { ...env, SOLANA_RPC_URL: node.httpUrl, SOLANA_WS_URL: node.wsUrl } });
    programs.push(ingest);
    const gateway = runProgram('cli/gateway.ts', { folder, env: { ...env, PORT: '0' } });
    programs.push(gateway);
    await ingest.logged('endpoint_state');
    const { url } = await gateway.logged('listening');
    const opened = new Listener(`${String(url).replace('http', 'ws')}/api/data?api-key=${key}`);
    listener = opened;
    await until('the subscriber is connected', () => opened.open, 5_000);
    return await measureBoth(buying, opened, buys);
  } finally {
    listener?.close();
    for (const program of programs) await program.stop();
    await redis.stop();
    await node.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
