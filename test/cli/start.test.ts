import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import { startSimnet } from '../simnet/simnet.ts';
import { until } from '../support/until.ts';
import { environment, nodeArguments, runProgram, sluice, startProgram } from '../support/command-line.ts';

/** The time limit of a warm start. */
const startTimeoutMs = 60_000;
const testTimeoutMs = 180_000;
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

/** Starts `start` with both outputs in one pipe, which shows their order. */
function startMerged(env: Readonly<Record<string, string>>): ChildProcess {
  const command = ['-c', 'exec "$@" 2>&1', 'sh', process.execPath, ...nodeArguments('cli/start.ts')];
  return spawn('sh', command, { cwd: folder, env: environment({ folder, env }) });
}

/** Starts everything on a free port and resolves with the values of the printed block. */
function start(child = startProgram('cli/start.ts', [], { folder, env: { PORT: '0' } })): Promise<Started> {
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
        url: find(/dashboard +(http:\S+)\/#/),
        key: find(/(sluice_\w+)/),
        wallet: find(/wallet +(\w+)/),
        ended,
        stdout: () => stdout,
      });
    });
    void ended.then((code) => reject(new Error(`ended with ${code}: ${stderr}`)));
  });
}

/** The file of the key of the embedded start. */
function keyFile(): string {
  return join(folder, '.data', 'simnet-api-key');
}

/** Subscribes to trades and returns the first frame. A raw socket, because the client library would not show the status of the handshake. */
function firstTrade({ url, key }: Pick<Started, 'url' | 'key'>): Promise<Readonly<Record<string, unknown>>> {
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

/** Uses the token of a sign-in link as the dashboard does; returns the status of the answer. */
async function signIn(url: string, token: string): Promise<number> {
  const headers = { origin: url, 'content-type': 'application/json' };
  const answer = await fetch(`${url}/dashboard/sign-in/link`, { method: 'POST', headers, body: JSON.stringify({ token }) });
  return answer.status;
}

const hasScript = spawnSync('script', ['--version']).status === 0;

it.skipIf(!hasScript)(
  `prints the log of its threads as that of the main one on a terminal, and each halt once${hasScript ? '' : ' (SKIPPED: no script command)'}`,
  async () => {
    const command = [process.execPath, ...nodeArguments('cli/start.ts')].map((word) => `'${word}'`).join(' ');
    const env = environment({ folder, env: { PORT: '0' } });
    const terminal = spawn('script', ['-qefc', command, '/dev/null'], { cwd: folder, env, stdio: ['pipe', 'pipe', 'pipe'] });
    const started = await start(terminal);
    const halts = (): number => started.stdout().split('trading_halted').length - 1;
    for (const times of [1, 2, 3]) {
      expect(await sluice(['trading', 'halt'], { folder })).toMatchObject({ code: 0 });
      await until('the halt is logged', () => halts() >= times);
      expect(await sluice(['trading', 'resume'], { folder })).toMatchObject({ code: 0 });
      await until('trading is resumed', async () => (await statusOf(started)).includes('"halted":false'));
    }
    expect(halts()).toBe(3);
    expect(started.stdout()).not.toContain('{"level"');
  },
  testTimeoutMs,
);

async function statusOf({ url }: Started): Promise<string> {
  return await (await fetch(`${url}/status`)).text();
}

describe('start', () => {
  it('runs everything on a simulated chain and reports that, with a key and a wallet that work', { timeout: testTimeoutMs }, async () => {
    const started = await start(startMerged({ PORT: '0', LOG_LEVEL: 'info' }));
    expect(started.block).toMatch(/^\nsluice is running on a SIMULATED chain/);
    await vi.waitFor(() => expect(started.stdout()).toMatch(/"name":"orders".*"msg":"order_follower_started"/), {
      timeout: 60_000,
      interval: 20,
    });
    expect(started.stdout()).toContain('"msg":"gateway_started"');
    const page = await fetch(`${started.url}/`);
    expect(page.status).toBe(200);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(await page.text()).toContain('<title>sluice</title>');
    expect(await firstTrade(started)).toMatchObject({ type: 'trade', simulated: true });
    await vi.waitFor(
      async () => expect(await (await fetch(`${started.url}/status`)).json()).toMatchObject({ cluster: { simulated: true } }),
      {
        timeout: 60_000,
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
    const token = /dashboard +\S+#sign-in=(\S+)/.exec(started.block)?.[1] ?? '';
    expect([await signIn(started.url, token), await signIn(started.url, token)]).toEqual([200, 401]);
    started.child.kill('SIGTERM');
    expect(await started.ended).toBe(0);
  });

  it('stores the wallet and the key for the next start, and creates the key again if it is lost', { timeout: testTimeoutMs }, async () => {
    const first = await start(startMerged({ PORT: '0' }));
    first.child.kill('SIGINT');
    expect(await first.ended).toBe(0);
    expect(first.stdout()).toContain('LOG_LEVEL=info shows the whole log');
    // Without a level, only warnings and errors (from 40 on) follow the block.
    expect(first.stdout()).not.toMatch(/"level":[123]0/);
    expect(statSync(keyFile()).mode & 0o777).toBe(0o600);

    const second = await start();
    expect([second.wallet, second.key]).toEqual([first.wallet, first.key]);
    const refused = await runProgram('cli/start.ts', [], { folder, env: { PORT: '0', LOG_LEVEL: 'silent' } });
    expect(refused).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(/^DATA_DIR: another start uses .*\n$/) });
    expect(await firstTrade(second)).toMatchObject({ type: 'trade' });
    await sluice(['keys', 'revoke', second.key.split('_')[1] ?? ''], { folder });
    second.child.kill('SIGKILL');
    await second.ended;

    const third = await start();
    expect(third.key, 'after it was revoked').not.toBe(second.key);
    third.child.kill('SIGTERM');
    await third.ended;
    writeFileSync(keyFile(), 'damaged');
    const fourth = await start();
    expect(fourth.key, 'after its file was damaged').not.toBe(third.key);
    expect(await firstTrade(fourth)).toMatchObject({ type: 'trade' });
    await expect(firstTrade({ ...fourth, key: first.key })).rejects.toThrow('401');
    fourth.child.kill('SIGTERM');
    await fourth.ended;
    await expectNoKeyOnARealCluster(fourth);
  });

  /** `simulated` ran before with the same data folder, on the same port. */
  async function expectNoKeyOnARealCluster(simulated: Started): Promise<void> {
    const node = await startSimnet({ market: false });
    try {
      const env = { SOLANA_RPC_URL: node.rpcUrl, PORT: new URL(simulated.url).port, LOG_LEVEL: 'warn' };
      const child = startProgram('cli/start.ts', [], { folder, env });
      children.push(child);
      let stdout = '';
      child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text));
      await vi.waitFor(() => expect(stdout).toContain('sluice is running.'), { timeout: startTimeoutMs, interval: 50 });
      expect(stdout).not.toContain('sluice_');
      expect(existsSync(keyFile())).toBe(false);
      await expect(firstTrade(simulated)).rejects.toThrow('401');
    } finally {
      await node.close();
    }
  }

  it('trades on paper with the prices of a real cluster, without passphrase or coins', { timeout: testTimeoutMs }, async () => {
    const node = await startSimnet({ seed: 3 });
    try {
      const env = { SOLANA_RPC_URL: node.rpcUrl, SOLANA_WS_URL: node.wsUrl, TRADING: 'paper', PORT: '0', LOG_LEVEL: 'warn' };
      const child = startProgram('cli/start.ts', [], { folder, env });
      children.push(child);
      let stdout = '';
      child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text));
      await until('the block', () => stdout.includes('API keys'), startTimeoutMs);
      expect(stdout).toContain('trades ON PAPER');
      const [url, publicKey] = [/dashboard +(http:\S+)\/\n/, /wallet +(\w+)/].map((pattern) => pattern.exec(stdout)?.[1] ?? '');
      // Nobody is signed in. The block names the command that prints a link to this gateway, with the settings of this process.
      expect(stdout).toMatch(new RegExp(`sign in +PORT=${new URL(url!).port} npx -y pnpm@12 sluice accounts link\\n`));
      const link = await sluice(['accounts', 'link'], { folder, env: { PORT: new URL(url!).port } });
      expect(link.stdout).toContain(`${url}/#sign-in=`);
      // The commands of the same settings see the same wallet, and make further ones without a passphrase.
      expect(JSON.parse((await sluice(['wallets', 'list', '--json'], { folder, env })).stdout)).toMatchObject([{ publicKey }]);
      expect(await sluice(['wallets', 'create', '--label', 'second'], { folder, env })).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('on paper'),
      });
      expect(JSON.parse((await sluice(['wallets', 'list', '--json'], { folder, env: { ...env, TRADING: 'off' } })).stdout)).toEqual([]);
      const made = await sluice(['keys', 'create', '--plan', 'enterprise', '--json'], { folder, env });
      const { key } = JSON.parse(made.stdout) as { readonly key: string };
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
      const ask = async (path: string, body?: object): Promise<Record<string, unknown>> => {
        const init = body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) };
        return (await (await fetch(`${url}${path}`, init)).json()) as Record<string, unknown>;
      };
      const solOf = async (): Promise<unknown> =>
        ((await ask(`/portfolio/${publicKey}`))['sol'] as { readonly amount: string } | undefined)?.amount;
      await until('the balance', async () => (await solOf()) === '10000000000', startTimeoutMs);
      const { mint } = await until('a trade in SOL', async () => {
        const trade = await firstTrade({ url: url!, key });
        return trade['pool'] === 'pump' && trade['solAmount'] !== null && trade;
      });
      const port = new URL(url!).port;
      const set = await sluice(['wallets', 'paper', publicKey!, '25.5', '--reset'], { folder, env: { ...env, PORT: port } });
      expect(set).toMatchObject({ code: 0, stdout: expect.stringContaining('25.5 SOL on paper. It has no tokens') });
      expect(await solOf()).toBe('25500000000');
      const terms = { publicKey, mint, slippage: 50 };
      const bought = await until('a purchase', async () => {
        const order = await ask('/trade/buy', { ...terms, amount: 0.1 });
        return order['paper'] === true && order;
      });
      expect(bought).toMatchObject({ status: 'finalized', signature: null });
      await until('half to be sold', async () => (await ask('/trade/sell', { ...terms, amount: '50%' }))['paper'] === true);
      await until('all to be sold', async () => (await ask('/trade/sell', { ...terms, sellAll: true }))['paper'] === true);
      expect(await ask(`/portfolio/${publicKey}`)).toMatchObject({ holdings: [], emptyAccounts: 1, paper: { startUiAmount: 25.5 } });
      expect(existsSync(join(folder, '.data', 'simnet-passphrase'))).toBe(false);
      child.kill('SIGTERM');
    } finally {
      await node.close();
    }
  });

  it.each([
    ['DATA_DIR', '/proc/x'],
    ['DATA_DIR', '/sys'],
    ['HOST', '999.1.1.1'],
    ['HOST', '203.0.113.7'],
    ['REDIS_URL', 'redis://127.0.0.1:1'],
    ['PORTT', '1'],
  ])('reports in one line that %s=%s is not allowed, at any log level', async (name, value) => {
    const { code, stdout, stderr } = await runProgram('cli/start.ts', [], {
      folder,
      env: { PORT: '0', LOG_LEVEL: 'silent', [name]: value },
    });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr.replace(/^These settings are wrong:\n {2}/, '')).toMatch(new RegExp(`^${name}: .*\\n$`));
  });

  it('reports in one line that the store is not a database', async () => {
    mkdirSync(join(folder, '.data'));
    writeFileSync(join(folder, '.data/sluice.db'), 'garbage '.repeat(1000));
    const outcomes = await Promise.all([
      runProgram('cli/start.ts', [], { folder, env: { PORT: '0', LOG_LEVEL: 'silent' } }),
      sluice(['keys', 'list'], { folder }),
    ]);
    for (const outcome of outcomes) {
      expect(outcome).toEqual({
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(/^DATA_DIR: the store .*not a database\. .*restore a backup.*\n$/),
      });
    }
  });

  it('refuses an unknown name in .env', async () => {
    writeFileSync(join(folder, '.env'), 'COLOUR=red\nPRT=1\n');
    const { code, stderr } = await runProgram('cli/start.ts', [], { folder });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^ {2}COLOUR: .*\n {2}PRT: .*did you mean PORT/m);
  });

  it('stops if settings are wrong, and names all of them at once', async () => {
    const env = { PORT: '99999', LOG_LEVEL: 'loud', SOLANA_RPC_URL: 'here', TLS_CERT_FILE: 'no-such-file' };
    const { code, stdout, stderr } = await runProgram('cli/start.ts', [], { folder, env });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    for (const name of [...Object.keys(env), 'TLS_KEY_FILE']) expect(stderr).toMatch(new RegExp(`^ {2}${name}: `, 'm'));
  });

  it('ends if its port is in use, and does not change the keys of the process that uses it', { timeout: testTimeoutMs }, async () => {
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
