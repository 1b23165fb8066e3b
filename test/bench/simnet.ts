import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { WebSocket } from 'ws';
import { startRpcServer } from '../simnet/rpc/server.ts';
import type { TransactionRecord } from '../simnet/chain.ts';
import type { BenchRow } from './row.ts';
import { ScriptedChain, scriptedRecord, seededKeypair } from '../simnet/scripted-chain.ts';

const subscribers = 2;
const slotMs = 200;
const perSlot = 400;
const slots = 50;
/** Marks the process with the subscribers. */
const subscriberFlag = '--subscribers';
const program = seededKeypair('measured program').publicKey;

interface Report {
  readonly received: number;
  readonly bytes: number;
}

/** The other process: counts frames, and returns the count on request. */
async function subscribe(url: string): Promise<void> {
  let received = 0;
  let bytes = 0;
  for (let index = 0; index < subscribers; index++) {
    const socket = new WebSocket(url);
    socket.on('message', (data) => {
      const frame = data as Buffer;
      if (frame.length < 200) return;
      received++;
      bytes += frame.length;
    });
    await new Promise((resolve) => socket.once('open', resolve));
    const params = index === 0 ? ['all'] : [{ mentions: [program] }];
    socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'logsSubscribe', params: [...params, { commitment: 'processed' }] }));
  }
  process.on('message', () => process.send?.({ received, bytes } satisfies Report));
  process.send?.('ready');
}

/** Records with 13 log lines, one of them with an event of 510 characters, as in a pump buy. */
function records(): readonly TransactionRecord[] {
  const noise = Array.from({ length: 10 }, (_unused, index) => `Program log: Instruction: line ${index} of a transaction of usual length`);
  return Array.from({ length: perSlot }, (_unused, index) => {
    const record = scriptedRecord(`measured ${index}`, program, [randomBytes(372)]);
    return { ...record, logs: [...record.logs.slice(0, 1), ...noise, ...record.logs.slice(1)] };
  });
}

/** Transactions in slots of 200 ms to subscribers in another process, then as fast as possible. */
export async function run(): Promise<readonly BenchRow[]> {
  const chain = new ScriptedChain();
  const server = await startRpcServer({ chain, host: '127.0.0.1', port: 0 });
  const child = fork(fileURLToPath(import.meta.url), [subscriberFlag, `ws://127.0.0.1:${server.port}`], { execArgv: ['--import', 'tsx'] });
  const message = <T>(): Promise<T> => new Promise((resolve) => child.once('message', (value) => resolve(value as T)));
  await message();
  while (server.subscriptions('logs') < subscribers) await new Promise((resolve) => setImmediate(resolve));
  const report = async (): Promise<Report> => {
    child.send('report');
    return message<Report>();
  };
  const batch = records();
  const lags: number[] = [];
  const cpu = process.cpuUsage();
  const fromMs = performance.now();
  for (let slot = 0; slot < slots; slot++) {
    chain.freeze(batch);
    const frozenMs = performance.now();
    const due = fromMs + (slot + 1) * slotMs;
    while ((await report()).received < (slot + 1) * perSlot * subscribers) await new Promise((resolve) => setTimeout(resolve, 1));
    lags.push(performance.now() - frozenMs);
    if (performance.now() < due) await new Promise((resolve) => setTimeout(resolve, due - performance.now()));
  }
  const seconds = (performance.now() - fromMs) / 1_000;
  const used = process.cpuUsage(cpu);
  const paced = await report();
  lags.sort((a, b) => a - b);
  const flatFromMs = performance.now();
  for (let slot = 0; slot < slots; slot++) {
    chain.freeze(batch);
    await new Promise((resolve) => setImmediate(resolve));
  }
  while ((await report()).received < 2 * slots * perSlot * subscribers) await new Promise((resolve) => setTimeout(resolve, 1));
  const flatSeconds = (performance.now() - flatFromMs) / 1_000;
  const rows: BenchRow[] = [
    {
      name: `Simulated node, logs notifications of ${(perSlot * 1_000) / slotMs} transactions/s to ${subscribers} subscribers`,
      figure: `from the start of a slot to its last frame p50 ${lags[Math.floor(lags.length / 2)]?.toFixed(1)} ms, max ${lags.at(-1)?.toFixed(1)} ms; ${((used.user + used.system) / paced.received).toFixed(1)} µs of CPU time for each notification`,
      target: 'all frames of a slot sent before the next slot',
      pass: (lags.at(-1) ?? slotMs) < slotMs && server.stats().slowReadersCut === 0,
      note: `${Math.round((slots * perSlot) / seconds)} transactions/s, ${Math.round(paced.bytes / paced.received)} bytes for each frame; at full speed ${Math.round((slots * perSlot) / flatSeconds)}/s`,
    },
  ];
  child.kill();
  await server.close();
  return rows;
}

const [flag, url] = process.argv.slice(2);
if (flag === subscriberFlag && url !== undefined) await subscribe(url);
