import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import { runProgram, sluice, startProgram } from '../support/command-line.ts';

/** What the contract gives a warm start. */
const startTimeoutMs = 20_000;
const testTimeoutMs = 60_000;
let folder: string;
const children: ChildProcess[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-start-'));
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

interface Started {
  readonly child: ChildProcess;
  readonly block: string;
  readonly url: string;
  readonly key: string;
  readonly wallet: string;
  readonly ended: Promise<number | null>;
  stdout(): string;
}

/** Starts everything on a free port and resolves with what the block says. */
function start(): Promise<Started> {
  const child = startProgram('cli/start.ts', [], { folder, env: { PORT: '0', LOG_LEVEL: 'warn' } });
  children.push(child);
  const ended = new Promise<number | null>((resolve) => void child.on('close', resolve));
  let [stdout, stderr] = ['', ''];
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`nothing printed in time: ${stdout}${stderr}`)), startTimeoutMs);
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
      const find = (pattern: RegExp): string => pattern.exec(stdout)?.[1] ?? '';
      if (!stdout.includes('sluice watch trades')) return;
      clearTimeout(timer);
      resolve({
        child,
        block: stdout,
        url: find(/dashboard +(http:\S+)\//),
        key: find(/(sluice_\w+)/),
        wallet: find(/wallet +(\w+)/),
        ended,
        stdout: () => stdout,
      });
    });
    void ended.then((code) => reject(new Error(`ended with ${code}: ${stderr}`)));
  });
}

/** Subscribes to trades and gives the first frame. */
function firstTrade({ url, key }: Started): Promise<Readonly<Record<string, unknown>>> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/api/data`, { headers: { authorization: `Bearer ${key}` } });
    socket.on('open', () => socket.send(JSON.stringify({ id: 1, op: 'subscribe', channel: 'trades' })));
    socket.on('error', reject);
    socket.on('close', (code) => reject(new Error(`closed with ${code}`)));
    socket.on('message', (data: Buffer) => {
      const message = JSON.parse(data.toString('utf8')) as Readonly<Record<string, unknown>>;
      if (message['topic'] !== 'trades') return;
      socket.terminate();
      resolve(message['data'] as Readonly<Record<string, unknown>>);
    });
  });
}

describe('start', () => {
  it('runs everything on a simulated chain and says so, with a key and a wallet that work', { timeout: testTimeoutMs }, async () => {
    const started = await start();
    expect(started.block).toContain('SIMULATED');
    const page = await fetch(`${started.url}/`);
    expect(page.status).toBe(200);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(await page.text()).toContain('<title>sluice</title>');
    expect(await firstTrade(started)).toMatchObject({ type: 'trade', simulated: true });
    await vi.waitFor(
      async () => expect(await (await fetch(`${started.url}/status`)).json()).toMatchObject({ cluster: { simulated: true } }),
      {
        timeout: 5000,
        interval: 100,
      },
    );
    const wallets = await sluice(['wallets', 'list', '--json'], { folder });
    expect(JSON.parse(wallets.stdout)).toMatchObject([{ publicKey: started.wallet }]);
    const watch = await sluice(['doctor', '--json'], { folder, env: { PORT: new URL(started.url).port } });
    expect(JSON.parse(watch.stdout)).toMatchObject({
      ok: true,
      checks: expect.arrayContaining([expect.objectContaining({ name: 'gateway', state: 'ok' })]),
    });
    started.child.kill('SIGTERM');
    expect(await started.ended).toBe(0);
    expect(started.stdout()).toBe(started.block);
  });

  it('keeps the wallet for the next start, and ends the key of the one before', { timeout: testTimeoutMs }, async () => {
    const first = await start();
    first.child.kill('SIGINT');
    expect(await first.ended).toBe(0);
    const second = await start();
    expect(second.wallet).toBe(first.wallet);
    expect(second.key).not.toBe(first.key);
    // Within a second: until then the old key may still open a socket, which is then closed.
    await vi.waitFor(() => expect(firstTrade({ ...second, key: first.key })).rejects.toThrow('401'), { timeout: 2000, interval: 50 });
    expect(await firstTrade(second)).toMatchObject({ type: 'trade' });
  });

  it('is stopped by wrong settings, all of them named at once', async () => {
    const env = { PORT: '99999', LOG_LEVEL: 'loud', SOLANA_RPC_URL: 'here', TLS_CERT_FILE: 'no-such-file' };
    const { code, stdout, stderr } = await runProgram('cli/start.ts', [], { folder, env });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    for (const name of [...Object.keys(env), 'TLS_KEY_FILE']) expect(stderr).toMatch(new RegExp(`^ {2}${name}: `, 'm'));
  });

  it('ends where its port is taken, and leaves the keys of the one that has it', { timeout: testTimeoutMs }, async () => {
    const server = createServer();
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const { code, stdout, stderr } = await runProgram('cli/start.ts', [], { folder, env: { PORT: String(port), LOG_LEVEL: 'warn' } });
    server.close();
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('EADDRINUSE');
    const keys = await sluice(['keys', 'list', '--json'], { folder });
    expect(JSON.parse(keys.stdout)).toEqual([]);
  });
});
