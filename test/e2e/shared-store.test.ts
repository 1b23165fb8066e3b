import type { ChildProcess } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { runProgram as runToEnd, sluice } from '../support/command-line.ts';
import { sharedPostgres, type SharedPostgres } from '../support/servers/postgres.ts';
import { runProgram } from '../support/processes.ts';
import { startRedis, type TestRedis } from '../support/servers/redis.ts';

const testTimeoutMs = 180_000;
let folder: string;
let redis: TestRedis;
let postgres: SharedPostgres;
let env: Readonly<Record<string, string>>;
const children: ChildProcess[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-shared-'));
  [redis, postgres] = await Promise.all([startRedis(), sharedPostgres()]);
  env = { REDIS_URL: redis.url, DATABASE_URL: await postgres.newDatabase(), PORT: '0', LOG_LEVEL: 'info' };
});
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  await redis.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** A machine with its own data folder. */
function machine(name: string): Readonly<Record<string, string>> {
  return { ...env, DATA_DIR: join(folder, name) };
}

async function startGateway(name: string): Promise<string> {
  const gateway = runProgram('cli/gateway.ts', { folder, env: machine(name) });
  children.push(gateway.child);
  return String((await gateway.logged('listening', testTimeoutMs / 2))['url']);
}

async function json<T>(name: string, ...args: readonly string[]): Promise<T> {
  const { code, stdout, stderr } = await sluice([...args, '--json'], { folder, env: machine(name) });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout) as T;
}

interface Held {
  readonly socket: WebSocket;
  /** The close code, and when it arrived. */
  readonly closed: Promise<{ readonly code: number; readonly atMs: number }>;
}

/** A raw socket: the client library would hide when it is closed. */
function hold(url: string, key: string): Promise<Held> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/api/data`, { headers: { authorization: `Bearer ${key}` } });
  onTestFinished(() => socket.terminate());
  const closed = new Promise<{ code: number; atMs: number }>((resolve) => {
    socket.on('close', (code) => resolve({ code, atMs: performance.now() }));
  });
  return new Promise((resolve, reject) => {
    socket.once('open', () => resolve({ socket, closed }));
    socket.once('error', reject);
  });
}

describe('gateways on two machines, with one PostgreSQL', () => {
  it('accept the same keys, and close the sockets of a revoked key within a second', { timeout: testTimeoutMs }, async () => {
    const { id, key } = await json<{ readonly id: string; readonly key: string }>('first', 'keys', 'create', '--plan', 'standard');

    // The second machine does not have the pepper: it does not start, and says what to do.
    const refused = await runToEnd('cli/gateway.ts', [], { folder, env: { ...machine('second'), LOG_LEVEL: 'silent' } });
    expect(refused).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^DATA_DIR: .*copy DATA_DIR\/pepper from the first machine.*\n$/),
    });
    expect(refused.stderr).not.toContain(new URL(env['DATABASE_URL'] ?? '').password);
    mkdirSync(join(folder, 'second'), { recursive: true });
    copyFileSync(join(folder, 'first', 'pepper'), join(folder, 'second', 'pepper'));

    const urls = await Promise.all([startGateway('first'), startGateway('second')]);
    const held = await Promise.all(urls.map((url) => hold(url, key)));

    // A key that was created on one machine is accepted on the other at once.
    const fresh = await json<{ readonly id: string; readonly key: string }>('second', 'keys', 'create', '--plan', 'standard');
    const others = await Promise.all(urls.map((url) => hold(url, fresh.key)));

    const closed = Promise.all(held.map((one) => one.closed));
    expect(await json('second', 'keys', 'revoke', id)).toEqual({ id, revoked: true });
    // The command ended after it wrote, so the measured time is shorter than the whole, by the end of one process.
    const commandEndedAtMs = performance.now();
    for (const { code, atMs } of await closed) {
      expect(code).toBe(4501);
      expect(atMs - commandEndedAtMs).toBeLessThan(10_000);
    }
    for (const url of urls) await expect(hold(url, key)).rejects.toThrow('401');
    expect(others.map(({ socket }) => socket.readyState)).toEqual([WebSocket.OPEN, WebSocket.OPEN]);

    // Both machines recorded when the keys were used, at the latest when their gateways ended.
    for (const child of children.splice(0)) {
      const ended = new Promise((resolve) => child.once('close', resolve));
      child.kill('SIGTERM');
      await ended;
    }
    const listed = await json<readonly { readonly id: string; readonly lastUsedAtMs: number | null }[]>('first', 'keys', 'list');
    expect(listed).toHaveLength(2);
    for (const one of listed) expect(one.lastUsedAtMs, one.id).not.toBeNull();
    const doctor = await sluice(['doctor'], { folder, env: { ...machine('first'), PORT: '1' } });
    expect(doctor.stdout).toMatch(/^ok {4}store +PostgreSQL, 1 key$/m);
  });
});
