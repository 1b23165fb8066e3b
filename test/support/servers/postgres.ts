import { freePort } from '../free-port.ts';
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, existsSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { openPostgres } from '@sluice/gateway/store/sql/postgres.ts';
import { unwatchServer, watchServer } from './watcher.ts';

/** A real PostgreSQL for one test, on a free port of the loopback, in its own directory, with a password. */
export interface TestPostgres {
  readonly port: number;
  /** Its address with the user and password of the tests; the database is new and empty. */
  newDatabase(): Promise<string>;
  /** Removes a database and cuts the connections to it. Does nothing while the server is not running. */
  dropDatabase(url: string): Promise<void>;
  /** Ends it and removes its directory. */
  stop(): Promise<void>;
  /** Ends it at once, like a crash: every connection breaks. */
  kill(): Promise<void>;
  /** Starts it again on the same port and directory, after `kill`. */
  restart(): Promise<void>;
}

/** What tests of several files may do with one server. */
export type SharedPostgres = Pick<TestPostgres, 'newDatabase' | 'dropDatabase'>;

const startTimeoutMs = 60_000;
const pollMs = 20;
/** Tries another port if the free one was taken meanwhile. */
const maxStarts = 3;
const user = 'sluice';

let shared: Promise<TestPostgres> | null = null;

/** A PostgreSQL for all tests of this process, which ends with it. For tests that neither end it nor change its settings. */
export const sharedPostgres = (): Promise<SharedPostgres> => (shared ??= startPostgres());

/** Starts a PostgreSQL that is ready for clients. Throws a clear error if it is not installed. */
export async function startPostgres(): Promise<TestPostgres> {
  const programs = programFolder();
  const owner = unprivileged();
  const directory = mkdtempSync(join(tmpdir(), 'sluice-postgres-'));
  try {
    if (owner !== null) chownSync(directory, owner.uid, owner.gid);
    const data = join(directory, 'data');
    const password = randomBytes(12).toString('hex');
    const passwordFile = join(directory, 'password');
    writeFileSync(passwordFile, password);
    if (owner !== null) chownSync(passwordFile, owner.uid, owner.gid);
    const form = ['--encoding=UTF8', '--locale=C', '--no-sync', '--auth=scram-sha-256', `--username=${user}`, `--pwfile=${passwordFile}`];
    await promisify(execFile)(join(programs, 'initdb'), ['-D', data, ...form], { ...owner, cwd: directory });
    for (let start = 1; ; start += 1) {
      const port = await freePort();
      const server: Server = { programs, owner, directory, port, url: `postgres://${user}:${password}@127.0.0.1:${port}` };
      const running = await launch(server);
      if (running !== null) return handle(server, running);
      if (start === maxStarts) throw new Error(`PostgreSQL did not start in ${maxStarts} tries.`);
    }
  } catch (error) {
    rmSync(directory, { recursive: true, force: true });
    throw error;
  }
}

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

interface Server {
  readonly programs: string;
  readonly owner: Owner | null;
  readonly directory: string;
  readonly port: number;
  /** Without a database name. */
  readonly url: string;
}

function handle(server: Server, first: ChildProcess): TestPostgres {
  let running: ChildProcess | null = first;
  let databases = 0;
  const end = async (how: NodeJS.Signals): Promise<void> => {
    if (running === null) return;
    const child = running;
    running = null;
    if (!hasExited(child)) {
      const exited = new Promise((resolve) => child.once('exit', resolve));
      // The tests wait for its end, so until then it may keep the process alive.
      child.ref();
      child.kill(how);
      await exited;
    }
    unwatchServer(child.pid as number);
  };
  return {
    port: server.port,
    newDatabase: async () => {
      const name = `test_${++databases}`;
      const admin = await openPostgres(`${server.url}/postgres`);
      // The disk of a busy machine may need longer than the product's time for a statement.
      for (let attempt = 1; ; attempt++) {
        try {
          await admin.run(`CREATE DATABASE ${name}`);
          break;
        } catch (error) {
          if (attempt === 3) throw error;
        }
      }
      await admin.close();
      return `${server.url}/${name}`;
    },
    dropDatabase: async (url) => {
      if (running === null) return;
      const admin = await openPostgres(`${server.url}/postgres`);
      await admin.run(`DROP DATABASE ${new URL(url).pathname.slice(1)} WITH (FORCE)`);
      await admin.close();
    },
    // SIGINT cuts every connection and ends cleanly. SIGQUIT ends at once, and the next start recovers.
    stop: async () => {
      await end('SIGINT');
      rmSync(server.directory, { recursive: true, force: true });
    },
    kill: () => end('SIGQUIT'),
    restart: async () => {
      running = await launch(server);
      if (running === null) throw new Error(`PostgreSQL did not start again on port ${server.port}.`);
    },
  };
}

/** Null if the process ended before it answered (its port was in use). */
async function launch({ programs, owner, directory, port, url }: Server): Promise<ChildProcess | null> {
  const settings = [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'shared_buffers=16MB',
    'max_connections=80',
    'fsync=off',
    'log_min_messages=fatal',
  ];
  const args = ['-D', join(directory, 'data'), ...settings.flatMap((setting) => ['-c', setting])];
  const child = spawn(join(programs, 'postgres'), args, { ...owner, cwd: directory, stdio: ['ignore', 'ignore', 'pipe'] });
  let output = '';
  child.stderr.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-4096)));
  // Neither the process nor its pipe keeps the test process alive.
  child.unref();
  (child.stderr as Socket).unref();
  const failure: Error[] = [];
  child.once('error', (error) => failure.push(error));
  if (child.pid !== undefined) watchServer(child.pid, 'QUIT', directory);
  const deadlineMs = performance.now() + startTimeoutMs;
  while (!hasExited(child) && failure.length === 0 && performance.now() < deadlineMs) {
    // Only our own server knows our password, so another server on this port is not mistaken for it.
    if ((await listens(port)) && (await letsIn(url))) return child;
    await delay(pollMs);
  }
  const ended = hasExited(child);
  child.kill('SIGKILL');
  if (child.pid !== undefined) unwatchServer(child.pid);
  if (failure[0] !== undefined) throw failure[0];
  if (!ended) throw new Error(`PostgreSQL did not answer within ${startTimeoutMs} ms: ${output}`);
  return null;
}

async function letsIn(url: string): Promise<boolean> {
  try {
    const db = await openPostgres(`${url}/postgres`);
    await db.close();
    return true;
  } catch {
    return false;
  }
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

/** The folder of both programs: in PATH, or where Debian and Ubuntu install them; the newest version. */
function programFolder(): string {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian).toSorted((a, b) => Number(b) - Number(a)) : [];
  const folders = [...(process.env['PATH'] ?? '').split(':'), ...versions.map((version) => join(debian, version, 'bin'))];
  for (const folder of folders) {
    if (folder === '' || !existsSync(join(folder, 'postgres'))) continue;
    const real = dirname(realpathSync(join(folder, 'postgres')));
    if (existsSync(join(real, 'initdb'))) return real;
  }
  throw new Error('PostgreSQL is not installed (Debian and Ubuntu: apt-get install postgresql).');
}

/** PostgreSQL does not run as root. Use the user that its package creates, or nobody. Null: we are not root. */
function unprivileged(): Owner | null {
  if (process.getuid?.() !== 0) return null;
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  for (const name of ['postgres', 'nobody']) {
    const entry = users.find(([candidate]) => candidate === name);
    if (entry !== undefined) return { uid: Number(entry[2]), gid: Number(entry[3]) };
  }
  throw new Error('PostgreSQL does not run as root, and there is neither a user postgres nor nobody.');
}

function hasExited(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}
