import { setImmediate as turn } from 'node:timers/promises';
import type { WebSocket } from 'ws';
import { programId } from '@sluice/venues/pump/curve/program.ts';
import { curveAccountBytes } from '../../ingest/pump-frames.ts';
import { buyFrames, firstBuySlot } from '../../ingest/log-frames.ts';
import { accountAnswers, accountJson, startScriptedNode } from '../../ingest/scripted-node.ts';
import { startRedis } from '../../support/servers/redis.ts';
import { noTarget, type BenchRow } from '../row.ts';
import { ask, pinToOthers, startMeasured, until, type Keeper } from './measured.ts';

const coins = 10_000;
const passes = 8;
const countingTarget = 25_000;
const redisTarget = 40_000;
/** Bytes on their way to the measured process before the sender waits. */
const maxAheadBytes = 4 * 1024 * 1024;

async function send(socket: WebSocket, frames: readonly Buffer[]): Promise<void> {
  for (const frame of frames) {
    socket.send(frame, { binary: false });
    while (socket.bufferedAmount > maxAheadBytes) await turn();
  }
}

interface IngestFigure {
  readonly coldPerSecond: number;
  /** By the process's own CPU time, user and system. */
  readonly cpuPerSecond: number;
  /** By the clock, including everything else that ran on the machine. */
  readonly wallPerSecond: number;
  readonly bytesPerNotification: number;
}

/** Whole JSON-RPC frames over a WebSocket in, published bytes out; the best of several passes over the same coins. */
async function measure(redisUrl: string | null, keeper: Keeper): Promise<IngestFigure> {
  const node = await startScriptedNode();
  node.slot = firstBuySlot;
  // Every curve has its account from the chain: the process reads each coin's supply once.
  const account = accountJson(programId, curveAccountBytes());
  node.onCall = (method, params) =>
    method === 'getMultipleAccounts'
      ? { result: { context: { slot: 1 }, value: (params[0] as string[]).map(() => account) } }
      : accountAnswers(new Map())(method, params);
  const child = startMeasured(node, { redisUrl, keeper, pinned: true });
  try {
    const ready = await until(child, ({ stats }) => stats.endpointsUp === 1);
    const [socket] = node.subscriptions.keys();
    if (socket === undefined) throw new Error('The measured process is not connected.');
    let before = ready;
    let coldPerSecond = 0;
    let cpuPerSecond = 0;
    let wallPerSecond = 0;
    for (let pass = 0; pass <= passes; pass++) {
      const frames = buyFrames(coins, `pass ${pass}`);
      before = await ask(child);
      const startedMs = performance.now();
      await send(socket, frames);
      const expected = (pass + 1) * coins * 2;
      const after = await until(child, ({ stats }) => stats.publisher.published >= expected);
      const wall = coins / ((performance.now() - startedMs) / 1000);
      const cpu = coins / ((after.cpuUs - before.cpuUs) / 1_000_000);
      // The first pass meets every coin for the first time and runs code that is not compiled yet.
      if (pass === 0) coldPerSecond = cpu;
      else {
        cpuPerSecond = Math.max(cpuPerSecond, cpu);
        wallPerSecond = Math.max(wallPerSecond, wall);
      }
      before = after;
    }
    return { coldPerSecond, cpuPerSecond, wallPerSecond, bytesPerNotification: before.bytes / ((passes + 1) * coins) };
  } finally {
    child.kill();
    await node.close();
  }
}

function row(name: string, figure: IngestFigure, target: number | null): BenchRow {
  return {
    name,
    figure: `${Math.round(figure.cpuPerSecond).toLocaleString('en')} notifications per second of CPU time`,
    target: target === null ? noTarget : `>= ${target.toLocaleString('en')}`,
    pass: target === null || figure.cpuPerSecond >= target,
    note: `${Math.round(figure.wallPerSecond).toLocaleString('en')}/s of wall-clock time; ${Math.round(figure.coldPerSecond).toLocaleString('en')} per second of CPU time in the first pass, when all ${coins.toLocaleString('en')} coins are new`,
  };
}

async function throughRedis(keeper: Keeper): Promise<IngestFigure> {
  const redis = await startRedis();
  try {
    pinToOthers(redis.pid);
    return await measure(redis.url, keeper);
  } finally {
    await redis.stop();
  }
}

/** Ingest on one core: a pump buy's notification in, its trade and its price as JSON and MessagePack out. */
export async function run(): Promise<BenchRow[]> {
  pinToOthers(process.pid);
  const rows = [row('Ingest, with a bus that only counts events', await measure(null, 'other'), countingTarget)];
  rows.push(row('Ingest through Redis', await throughRedis('other'), redisTarget));
  rows.push(row("Ingest through Redis, with the thread that computes the market's state", await throughRedis('self'), null));
  return rows;
}
