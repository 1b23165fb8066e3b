import { fork, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startRedis } from '../../support/servers/redis.ts';
import type { HttpLoadOrder, HttpLoadReport } from './http-load-child.ts';
import { canPin, end, loadCore, serverCore } from '../children.ts';
import type { BenchRow } from '../row.ts';

const connections = 64;
const turnMs = 1_500;
const turns = 9;
const warmUpMs = 2_000;
const openPerSecond = 3_000;
const openMs = 10_000;
const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

interface Server {
  readonly process: ChildProcess;
  readonly port: number;
  /** What the program printed before its address. */
  readonly output: string;
}

/** Starts a program on the server's core; it prints its address in a line with `http://127.0.0.1:<port>`. */
async function startServer(script: string, args: readonly string[]): Promise<Server> {
  const node = [process.execPath, '--import', 'tsx', here(script), ...args];
  const [command, ...rest] = canPin ? ['taskset', '-c', serverCore, ...node] : node;
  const child = spawn(command!, rest, { stdio: ['ignore', 'pipe', 'inherit'] });
  return await new Promise((resolve, reject) => {
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      const port = /http:\/\/127\.0\.0\.1:(\d+)/.exec(output)?.[1];
      if (port !== undefined) resolve({ process: child, port: Number(port), output });
    });
    child.once('exit', (code) => reject(new Error(`${script} ended with ${code}`)));
  });
}

/** Sends one request and returns the answer's bytes. */
function ask(port: number, request: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(request));
    socket.on('error', reject);
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk;
      const head = text.indexOf('\r\n\r\n');
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1]);
      if (head === -1 || text.length < head + 4 + length) return;
      socket.destroy();
      resolve(text);
    });
  });
}

/** Headers that the native server writes by itself. */
const nativeHeaders: ReadonlySet<string> = new Set(['date', 'uwebsockets', 'content-length']);

/** The gateway's answer in the form that the plain server reads. */
function plainAnswer(text: string): string {
  const head = text.indexOf('\r\n\r\n');
  const [line = '', ...lines] = text.slice(0, head).split('\r\n');
  const headers = lines
    .map((header) => [header.slice(0, header.indexOf(':')), header.slice(header.indexOf(':') + 2)] as const)
    .filter(([name]) => !nativeHeaders.has(name.toLowerCase()));
  if (!line.includes(' 200 ')) throw new Error(`the gateway answers ${line}`);
  return JSON.stringify({ status: line.slice('HTTP/1.1 '.length), headers, body: text.slice(head + 4) });
}

/** User and system time of a process so far, in microseconds. */
function cpuUs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  // utime and stime, in ticks of 10 ms.
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

function startLoad(): { run(order: HttpLoadOrder): Promise<HttpLoadReport>; process: ChildProcess } {
  const child = fork(here('http-load-child.ts'), [], { execArgv: ['--import', 'tsx'] });
  return {
    process: child,
    run: (order) =>
      new Promise((resolve, reject) => {
        const onExit = (code: number | null): void => reject(new Error(`the load ended with ${code}`));
        child.once('exit', onExit);
        child.once('message', (report) => {
          child.off('exit', onExit);
          resolve(report as HttpLoadReport);
        });
        child.send(order);
      }),
  };
}

interface Measured {
  readonly perSecond: number;
  readonly cpuUsPerAnswer: number;
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

/** Both servers in turns, so that the rest of the machine affects them equally. */
async function compare(
  servers: readonly [Server, Server],
  request: string,
  depth: number,
): Promise<{ readonly own: readonly Measured[]; readonly plain: readonly Measured[] }> {
  const load = startLoad();
  const measure = async ({ port, process: { pid } }: Server, durationMs: number): Promise<Measured> => {
    const before = cpuUs(pid!);
    const report = await load.run({ port, request, connections, durationMs, load: { kind: 'closed', depth } });
    if (report.refused > 0) throw new Error(`${report.refused} of ${report.answers} answers did not have status 200`);
    return { perSecond: (report.answers / report.elapsedMs) * 1_000, cpuUsPerAnswer: (cpuUs(pid!) - before) / report.answers };
  };
  try {
    for (const server of servers) await measure(server, warmUpMs);
    const own: Measured[] = [];
    const plain: Measured[] = [];
    for (let turn = 0; turn < turns; turn++) {
      own.push(await measure(servers[0], turnMs));
      plain.push(await measure(servers[1], turnMs));
    }
    return { own, plain };
  } finally {
    await end(load.process);
  }
}

function ratioRow(name: string, { own, plain }: Awaited<ReturnType<typeof compare>>, how: string): BenchRow {
  const byRate = median(own.map(({ perSecond }, i) => perSecond / plain[i]!.perSecond));
  const byCpu = median(own.map(({ cpuUsPerAnswer }, i) => plain[i]!.cpuUsPerAnswer / cpuUsPerAnswer));
  const rate = (measured: readonly Measured[]): string =>
    Math.round(median(measured.map(({ perSecond }) => perSecond))).toLocaleString('en');
  const cpu = (measured: readonly Measured[]): string => median(measured.map(({ cpuUsPerAnswer }) => cpuUsPerAnswer)).toFixed(2);
  return {
    name,
    figure: `${(byRate * 100).toFixed(0)} % of its request rate (${rate(own)}/s against ${rate(plain)}/s), ${(byCpu * 100).toFixed(0)} % of its requests per CPU time (${cpu(own)} µs against ${cpu(plain)} µs)`,
    target: '≥ 60 %',
    pass: Math.min(byRate, byCpu) >= 0.6,
    note: how,
  };
}

async function throughput(folder: string): Promise<BenchRow[]> {
  const own = await startServer('http-child.ts', [join(folder, 'throughput'), '-']);
  try {
    const request = requestOf(own);
    const file = join(folder, 'answer.json');
    writeFileSync(file, plainAnswer(await ask(own.port, request)));
    const plain = await startServer('../reference/plain-http.ts', [file]);
    try {
      const pinned = canPin ? '; servers on core 0, clients on core 1' : '';
      const how = `a bare uWebSockets.js handler that returns the same status, headers and bytes; both servers in alternate runs of ${turnMs / 1_000} s, median of ${turns}; ${connections} connections`;
      return [
        ratioRow(
          'Read of a warm token with authentication and rate limit, compared with a bare handler',
          await compare([own, plain], request, 1),
          `${how}${pinned}`,
        ),
        ratioRow(
          'Read of a warm token, 16 requests at once on each connection, compared with a bare handler',
          await compare([own, plain], request, 16),
          `${how}, each with 16 requests in progress${pinned}`,
        ),
      ];
    } finally {
      await end(plain.process);
    }
  } finally {
    await end(own.process);
  }
}

function requestOf({ output }: Server): string {
  const key = /^key (\S+)$/m.exec(output)![1];
  const path = /^path (\S+)$/m.exec(output)![1];
  return `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${key}\r\nAccept: application/json\r\nUser-Agent: sluice-bench\r\n\r\n`;
}

async function latencyWithRedis(folder: string): Promise<BenchRow> {
  const redis = await startRedis();
  try {
    const own = await startServer('http-child.ts', [join(folder, 'redis'), redis.url]);
    const load = startLoad();
    try {
      const order: HttpLoadOrder = {
        port: own.port,
        request: requestOf(own),
        connections,
        durationMs: warmUpMs,
        load: { kind: 'open', perSecond: openPerSecond },
      };
      await load.run(order);
      const { latenciesMs, lateMs, refused, answers } = await load.run({ ...order, durationMs: openMs });
      if (refused > 0) throw new Error(`${refused} of ${answers} answers did not have status 200`);
      const at = (fraction: number, sorted = latenciesMs): number =>
        sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * fraction))]!;
      return {
        name: `Read with the rate limit in Redis, ${openPerSecond.toLocaleString('en')} requests/s`,
        figure: `p50 ${at(0.5).toFixed(2)} ms, p99 ${at(0.99).toFixed(2)} ms`,
        target: 'p99 ≤ 3 ms',
        pass: at(0.99) <= 3,
        note: `${openMs / 1_000} s at a constant request rate (open loop), on ${connections} connections; maximum ${latenciesMs.at(-1)!.toFixed(1)} ms; the clients sent requests up to ${at(0.99, lateMs).toFixed(1)} ms late (p99), which is not included in the latency`,
      };
    } finally {
      await end(load.process);
      await end(own.process);
    }
  } finally {
    await redis.stop();
  }
}

/** The cost of a read next to the smallest possible handler, and its latency while Redis counts requests. */
export async function run(): Promise<BenchRow[]> {
  // Children inherit it: the load and Redis share the other core.
  if (canPin) spawnSync('taskset', ['-pc', loadCore, String(process.pid)]);
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  // A Redis of the tests does not keep a process alive, not even while it is being stopped.
  const awake = setInterval(() => undefined, 1_000);
  try {
    return [...(await throughput(folder)), await latencyWithRedis(folder)];
  } finally {
    clearInterval(awake);
    rmSync(folder, { recursive: true, force: true });
  }
}
