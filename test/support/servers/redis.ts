import { freePort } from '../free-port.ts';
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { unwatchServer, watchServer } from './watcher.ts';

/** A real redis-server for one test, on a free port of the loopback, in its own directory. */
export interface TestRedis {
  readonly url: string;
  readonly port: number;
  /** The current process; another one after `restart`. */
  readonly pid: number;
  /** Ends it and removes its directory. */
  stop(): Promise<void>;
  /** SIGKILL: nothing is saved beyond what was saved before. */
  kill(): Promise<void>;
  /** Starts it again on the same port and directory, after `kill`. */
  restart(): Promise<void>;
  /** Removes this many bytes from the end of its append-only file, after `kill`, like a disk that lost its last writes. */
  cutFile(bytes: number): void;
  /** SIGSTOP: connections stay open, nothing answers. */
  pause(): void;
  /** SIGCONT. */
  resume(): void;
  /** One command over its own connection; returns the reply as text. */
  command(...args: readonly string[]): Promise<string>;
}

export interface TestRedisOptions {
  /** Appends every write to a file before the answer; by default nothing is stored. */
  readonly appendOnly?: boolean;
  /** A node that may join a cluster. */
  readonly cluster?: boolean;
  /** Further settings in the form of the command line of `redis-server`: `--maxmemory 10mb` is `['--maxmemory', '10mb']`. */
  readonly args?: readonly string[];
}

/** Time limit of a start. */
const startTimeoutMs = 60_000;
const pollMs = 10;
/** Tries another port if the free one was taken meanwhile. */
const maxStarts = 3;

/** Signals a process that may have ended already. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Starts a Redis that is ready. Throws a clear error if `redis-server` is not installed. */
export async function startRedis(options: TestRedisOptions = {}): Promise<TestRedis> {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-redis-'));
  try {
    for (let start = 1; ; start += 1) {
      const port = await freePort();
      const child = await launch(port, directory, options);
      if (child !== null) return handle(port, directory, options, child);
      if (start === maxStarts) throw new Error(`redis-server did not start in ${maxStarts} tries.`);
    }
  } catch (error) {
    rmSync(directory, { recursive: true, force: true });
    throw error;
  }
}

/** Waits until the replica has everything that its primary wrote. */
export async function isLevel(primary: TestRedis, replica: TestRedis): Promise<boolean> {
  const offsetOf = async (redis: TestRedis, field: string): Promise<string | undefined> =>
    new RegExp(`${field}:(\\d+)`).exec(await redis.command('INFO', 'replication'))?.[1];
  const [written, had] = [await offsetOf(primary, 'master_repl_offset'), await offsetOf(replica, 'slave_repl_offset')];
  return written !== undefined && written === had;
}

function handle(port: number, directory: string, options: TestRedisOptions, first: ChildProcess): TestRedis {
  let child = first;
  const kill = async (): Promise<void> => {
    if (!hasExited(child)) {
      const exited = new Promise((resolve) => child.once('exit', resolve));
      // The tests wait for its end, so until then it may keep the process alive.
      child.ref();
      signal(child.pid as number, 'SIGKILL');
      await exited;
    }
    unwatchServer(child.pid as number);
  };
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    get pid() {
      return child.pid as number;
    },
    stop: async () => {
      await kill();
      // A child process that writes its file for a replica may end a moment later.
      rmSync(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 20 });
    },
    kill,
    restart: async () => {
      const next = await launch(port, directory, options);
      if (next === null) throw new Error(`redis-server did not start again on port ${port}.`);
      child = next;
    },
    cutFile: (bytes) => {
      const folder = join(directory, 'appendonlydir');
      // Two files exist while it rewrites the file; their numbers grow.
      const [file] = readdirSync(folder)
        .filter((name) => name.endsWith('.incr.aof'))
        .toSorted((a, b) => b.localeCompare(a, 'en', { numeric: true }));
      if (file === undefined) throw new Error('Redis has no append-only file.');
      const path = join(folder, file);
      truncateSync(path, Math.max(0, statSync(path).size - bytes));
    },
    pause: () => signal(child.pid as number, 'SIGSTOP'),
    resume: () => signal(child.pid as number, 'SIGCONT'),
    command: (...args) => command(port, args),
  };
}

/** Null if the process ended before it answered (its port was in use). */
async function launch(port: number, directory: string, options: TestRedisOptions): Promise<ChildProcess | null> {
  const args = [
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--dir',
    directory,
    '--save',
    '',
    '--daemonize',
    'no',
    '--loglevel',
    'warning',
  ];
  if (options.appendOnly === true) args.push('--appendonly', 'yes', '--appendfsync', 'always');
  if (options.cluster === true) args.push('--cluster-enabled', 'yes', '--cluster-config-file', `nodes-${port}.conf`);
  const child = spawn('redis-server', [...args, ...(options.args ?? [])], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  const keepOutput = (chunk: Buffer): void => {
    output = (output + chunk.toString()).slice(-4096);
  };
  child.stdout.on('data', keepOutput);
  child.stderr.on('data', keepOutput);
  // Neither the process nor its pipes keep the test process alive.
  child.unref();
  (child.stdout as Socket).unref();
  (child.stderr as Socket).unref();
  const failed = new Promise<Error | null>((resolve) => {
    child.once('error', resolve);
    child.once('exit', () => resolve(null));
  });
  if (child.pid !== undefined) watchServer(child.pid, 'KILL', directory);
  const failure = await Promise.race([failed, answers(port, () => hasExited(child))]);
  if (failure === 'ready' && !hasExited(child)) return child;
  child.kill('SIGKILL');
  if (child.pid !== undefined) unwatchServer(child.pid);
  if (failure instanceof Error) {
    const missing = (failure as NodeJS.ErrnoException).code === 'ENOENT';
    throw missing
      ? new Error('redis-server is not installed (Debian and Ubuntu: apt-get install redis-server).', { cause: failure })
      : failure;
  }
  if (failure === 'timeout') throw new Error(`redis-server did not answer within ${startTimeoutMs} ms: ${output}`);
  return null;
}

function hasExited(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

async function answers(port: number, gaveUp: () => boolean): Promise<'ready' | 'timeout' | null> {
  const deadlineMs = performance.now() + startTimeoutMs;
  while (performance.now() < deadlineMs) {
    if (gaveUp()) return null;
    const reply = await command(port, ['PING']).catch((error: Error) => error);
    if (reply === '+PONG\r\n') return 'ready';
    await delay(pollMs);
  }
  return 'timeout';
}

/** Sends one command and resolves with the raw reply, if it arrives in one piece that ends a line. */
function command(port: number, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let reply = '';
    socket.setTimeout(startTimeoutMs, () => socket.destroy(new Error('Redis did not answer.')));
    socket.once('error', reject);
    socket.on('data', (chunk) => {
      reply += chunk.toString('latin1');
      if (!reply.endsWith('\r\n')) return;
      resolve(reply);
      socket.destroy();
    });
    socket.once('close', () => reject(new Error('Redis closed the connection.')));
    socket.write(`*${args.length}\r\n${args.map((arg) => `$${Buffer.byteLength(arg)}\r\n${arg}\r\n`).join('')}`);
  });
}
