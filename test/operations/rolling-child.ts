import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createBus } from '@sluice/shared/bus/create.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import { makeKey, openEmbeddedStore } from '../support/keys.ts';
import { runProgram, type RunningProgram } from '../support/processes.ts';
import { startRedis } from '../support/servers/redis.ts';
import { addressOf, entryOf, tradeEvent } from '../support/events/stream-events.ts';
import { ResumingClient } from './resuming-client.ts';

/**
 * Gateways that replace each other on one port, while clients connect all the time and streams continue. The result is printed as one line
 * of JSON. A separate program, so that it can run in its own network.
 */
export interface RollingResult {
  readonly handovers: number;
  /** Connections over HTTP that were started, and those of them without an answer, by the reason. */
  readonly connects: number;
  readonly failures: readonly string[];
  readonly exits: readonly { readonly code: number | null; readonly tookMs: number }[];
  readonly streams: number;
  /** Published events, and which of them each stream lacked or received twice; reported gaps. */
  readonly published: number;
  readonly lacking: number;
  readonly twice: number;
  readonly gaps: number;
  readonly closeCodes: Readonly<Record<string, number>>;
  /** Longest time that a stream was without a connection. */
  readonly longestPauseMs: number;
}

const connectors = 12;
const streams = 60;
const publishEveryMs = 10;

async function main(handovers: number): Promise<RollingResult> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-rolling-'));
  const log = createLog({ level: 'silent', name: 'test' });
  const redis = await startRedis();
  const store = await openEmbeddedStore(join(folder, 'data'));
  const { key } = await makeKey(store, { plan: 'enterprise' });
  await store.close();
  const bus = await createBus({ redisUrls: [redis.url], log });
  const publisher = await bus.publisher();
  const port = await freePort();
  const env = { REDIS_URL: redis.url, PORT: String(port), DATA_DIR: 'data', SHARE_PORT: 'true', TRADING: 'off' };
  const start = async (): Promise<RunningProgram> => {
    const gateway = runProgram('cli/gateway.ts', { folder, env });
    await gateway.logged('listening');
    return gateway;
  };
  let gateway = await start();
  const mint = addressOf(1);
  const clients = Array.from({ length: streams }, () => new ResumingClient(`ws://127.0.0.1:${port}/api/data`, key, mint));
  await Promise.all(clients.map((client) => client.subscribedAfter(0)));
  let published = 0;
  const publishing = setInterval(() => {
    published++;
    void publisher.publish([entryOf(tradeEvent(mint))]);
  }, publishEveryMs);
  const over = new AbortController();
  const counts = { connects: 0, failures: [] as string[] };
  const connecting = Array.from({ length: connectors }, () => connectAgainAndAgain(port, counts, over.signal));

  const exits: { code: number | null; tookMs: number }[] = [];
  for (let handover = 0; handover < handovers; handover++) {
    const next = await start();
    const beganMs = performance.now();
    const code = await gateway.stop();
    exits.push({ code, tookMs: Math.round(performance.now() - beganMs) });
    gateway = next;
    // The next handover must find each client connected, and the last one's close must be counted.
    await Promise.all(clients.map((client) => client.subscribedAfter(handover + 1)));
  }
  clearInterval(publishing);
  over.abort();
  await Promise.all(connecting);
  await Promise.all(clients.map((client) => client.reached(published)));
  for (const client of clients) client.close();
  gateway.child.kill('SIGKILL');
  await publisher.close();
  await bus.close();
  await redis.stop();
  rmSync(folder, { recursive: true, force: true });
  return {
    handovers,
    ...counts,
    exits,
    streams,
    published,
    lacking: sum(clients.map(({ lacking }) => lacking)),
    twice: sum(clients.map(({ twice }) => twice)),
    gaps: sum(clients.map(({ gaps }) => gaps)),
    closeCodes: tally(clients.flatMap(({ closeCodes }) => closeCodes)),
    longestPauseMs: Math.round(Math.max(...clients.map(({ longestPauseMs }) => longestPauseMs))),
  };
}

/** A connection, a request, its answer, and then all of it again. */
async function connectAgainAndAgain(port: number, counts: { connects: number; failures: string[] }, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    counts.connects++;
    const fault = await askOnce(port);
    if (fault !== null) counts.failures.push(fault);
    // Without a pause, they would take the processor from the gateways.
    await delay(5);
  }
}

/** Null: it was answered. */
function askOnce(port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let answer = '';
    let fault: string | null = null;
    socket.setTimeout(60_000, () => socket.destroy(new Error('no answer')));
    socket.on('connect', () => socket.write('GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'));
    socket.on('data', (chunk: Buffer) => {
      answer += chunk.toString('latin1');
      if (answer.endsWith('{"live":true}')) socket.destroy();
    });
    socket.on('error', (error: NodeJS.ErrnoException) => (fault = error.code ?? error.message));
    socket.on('close', () => resolve(answer.startsWith('HTTP/1.1 200 ') ? null : (fault ?? `closed after ${answer.length} bytes`)));
  });
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((a, b) => a + b, 0);
}

function tally(values: readonly number[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
}

const result = JSON.stringify(await main(Number(process.argv[2] ?? 2)));
process.stdout.write(`${result}\n`, () => process.exit(0));
