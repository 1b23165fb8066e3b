import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { runProgram, type CommandResult } from '../support/command-line.ts';
import { startPostgres } from '../support/servers/postgres.ts';
import { startRedis } from '../support/servers/redis.ts';

const testTimeoutMs = 180_000;
const root = fileURLToPath(new URL('../..', import.meta.url));
const [gateway, ingest] = ['cli/gateway.ts', 'ingest/src/main.ts'];
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-processes-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Runs the program without logs, so that its output is only its plain messages. */
function run(program: string, env: Readonly<Record<string, string>>): Promise<CommandResult> {
  return runProgram(program, [], { folder, env: { LOG_LEVEL: 'silent', ...env } });
}

function namesIn(stderr: string): readonly string[] {
  return [...stderr.matchAll(/^ {2}(\S+): /gm)].map(([, name = '']) => name);
}

describe('a separate process', { timeout: testTimeoutMs }, () => {
  it('names every fault at once, including those of its own settings', async () => {
    const wrong = { PORT: 'abc', TRADING: 'x' };
    const [ofGateway, ofIngest, quiet] = await Promise.all([run(gateway, wrong), run(ingest, wrong), run(gateway, {})]);
    expect(ofGateway).toMatchObject({ code: 1, stdout: '' });
    expect(namesIn(ofGateway.stderr)).toEqual(['PORT', 'TRADING', 'REDIS_URL']);
    expect(ofIngest).toMatchObject({ code: 1, stdout: '' });
    expect(namesIn(ofIngest.stderr)).toEqual(['PORT', 'TRADING', 'SOLANA_RPC_URL', 'REDIS_URL']);
    expect(namesIn(quiet.stderr)).toEqual(['REDIS_URL']);
  });

  it('reports in one line that Redis cannot be reached, without the password', async () => {
    const env = { REDIS_URL: 'redis://user:hunter2@127.0.0.1:1', SOLANA_RPC_URL: 'http://127.0.0.1:1', PORT: '0' };
    for (const outcome of await Promise.all([run(gateway, env), run(ingest, env)])) {
      expect(outcome).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(/^REDIS_URL: .+\n$/) });
      expect(outcome.stderr).not.toContain('hunter2');
    }
  });

  it('reports in one line that PostgreSQL cannot be reached, without the password', async () => {
    const env = { REDIS_URL: 'redis://127.0.0.1:1', DATABASE_URL: 'postgres://user:hunter2@127.0.0.1:1/sluice', PORT: '0' };
    const outcome = await run(gateway, env);
    expect(outcome).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(/^DATABASE_URL: .+\n$/) });
    expect(outcome.stderr).not.toContain('hunter2');
  });

  it('ends at once if Redis cannot be reached, although PostgreSQL can', async () => {
    const postgres = await startPostgres();
    try {
      const env = { REDIS_URL: 'redis://127.0.0.1:1', DATABASE_URL: await postgres.newDatabase(), PORT: '0' };
      const outcome = await run(gateway, env);
      expect(outcome).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(/^REDIS_URL: .+\n$/) });
    } finally {
      await postgres.stop();
    }
  });

  it('reports in one line that it cannot listen on the address', async () => {
    const redis = await startRedis();
    try {
      const outcome = await run(gateway, { REDIS_URL: redis.url, HOST: '203.0.113.7' });
      expect(outcome).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(/^HOST: .*203\.0\.113\.7.*\n$/) });
    } finally {
      await redis.stop();
    }
  });
});

describe('pnpm start', { timeout: testTimeoutMs }, () => {
  it('ends completely when its process group gets the signal', async () => {
    // An empty value counts as not set, and excludes a developer's own `.env`.
    const settings = { DATA_DIR: folder, HOST: '', PORT: '0', REDIS_URL: '', SOLANA_RPC_URL: '', SOLANA_WS_URL: '', LOG_LEVEL: 'info' };
    const child = spawn('npx', ['-y', 'pnpm@12', 'start'], { cwd: root, env: { ...process.env, ...settings }, detached: true });
    const group = -Number(child.pid);
    onTestFinished(() => {
      if (child.exitCode === null && child.signalCode === null) process.kill(group, 'SIGKILL');
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (output += text));
    const closed = new Promise<void>((resolve) => void child.on('close', () => resolve()));
    await vi.waitFor(() => expect(output).toContain('sluice watch trades'), { timeout: testTimeoutMs / 2, interval: 50 });
    await vi.waitFor(() => expect(output).toContain('"pid":'), { timeout: 60_000, interval: 20 });
    const url = /dashboard +(http:\S+?)\/#/.exec(output)?.[1] ?? '';
    const own = Number(/"pid":(\d+)/.exec(output)?.[1]);
    expect((await fetch(url)).status).toBe(200);
    expect(isAlive(own)).toBe(true);

    process.kill(group, 'SIGTERM');
    await closed;
    await vi.waitFor(() => expect(isAlive(own)).toBe(false), { timeout: 60_000, interval: 20 });
    expect(output).toContain('gateway_ended');
    await expect(fetch(url)).rejects.toThrow('fetch failed');
  });
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
