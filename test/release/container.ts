import assert from 'node:assert/strict';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parse } from 'yaml';
import { freePort } from '../support/free-port.ts';
import { startPostgres } from '../support/servers/postgres.ts';
import { startRedis } from '../support/servers/redis.ts';
import { startSimnet } from '../simnet/simnet.ts';
import { installLinters } from './linters.ts';

/**
 * `pnpm test:container`: installs linters, and checks the container file, the compose file, the units and the chart with them. Then runs the
 * steps of the container file and of the chart without a container engine, with the same version of Node.js. As root on Linux, the program
 * runs as the container's user, with the file system of this machine read-only and without capabilities.
 */
const root = join(import.meta.dirname, '../..');
const node = join(import.meta.dirname, '../node-versions/node_modules/node-24/bin/node');
const userId = 10_001;
const stepMs = 5 * 60_000;
const startMs = 60_000;

const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const { version } = JSON.parse(read('package.json')) as { readonly version: string };
const containerfile = read('operating/container/Containerfile').replaceAll(/ *\\\n */g, ' ');
const [, install = '', image = ''] = containerfile.split(/^FROM .*$/m);

const folder = mkdtempSync(join(tmpdir(), 'sluice-container-'));
const data = join(folder, 'data');
/** The paths of the container, below the folder. */
const place = (text: string): string => text.replaceAll('/opt/sluice', join(folder, 'opt/sluice')).replaceAll(/(?<![\w/])\/data\b/g, data);
const path = [join(node, '..'), process.env['PATH']].join(delimiter);

function run(command: readonly string[], env: NodeJS.ProcessEnv = {}): number | null {
  const [program = '', ...args] = command;
  const { status, stdout, stderr } = spawnSync(program, args, {
    cwd: folder,
    env: { ...env, PATH: path },
    encoding: 'utf8',
    timeout: stepMs,
  });
  if (status !== 0) console.log(`${command.join(' ')}\n${stdout}${stderr}`.trim());
  return status;
}

function installSteps(): void {
  const product = join(root, `release/sluice-${version}.tgz`);
  mkdirSync(join(folder, 'opt'));
  writeFileSync(join(folder, 'opt/sluice.tgz'), readFileSync(product));
  const steps = [...install.matchAll(/^RUN (.*)$/gm)].map(([, step = '']) => step);
  assert.equal(steps.length, 2);
  for (const step of steps) assert.equal(run(['sh', '-c', place(step)], process.env), 0, step);
  const modules = join(folder, 'opt/sluice/node_modules');
  const native = readdirSync(join(modules, 'uWebSockets.js')).filter((name) => name.endsWith('.node'));
  assert.deepEqual(native, [`uws_linux_${process.arch}_137.node`]);
  const bytes = readdirSync(modules, { recursive: true, encoding: 'utf8' })
    .map((name) => statSync(join(modules, name)))
    .reduce((sum, stats) => sum + (stats.isFile() ? stats.size : 0), 0);
  console.log(`installed: ${(bytes / 1e6).toFixed(1)} MB, with the native server`);
}

/** The environment of the image, on the loopback and at free ports. */
async function environment(): Promise<Readonly<Record<string, string>>> {
  const [, text = ''] = /^ENV (.*)$/m.exec(image) ?? [];
  const settings = Object.fromEntries(text.split(' ').map((each) => each.split('=') as [string, string]));
  assert.deepEqual(Object.keys(settings).toSorted(), ['DATA_DIR', 'HOST', 'METRICS_PORT']);
  const [port, metricsPort] = [await freePort(), await freePort()];
  return {
    ...settings,
    DATA_DIR: place(settings['DATA_DIR'] ?? ''),
    HOST: '127.0.0.1',
    PORT: `${port}`,
    METRICS_PORT: `${metricsPort}`,
    PATH: path,
  };
}

interface Running {
  readonly env: Readonly<Record<string, string>>;
  readonly child: ChildProcess;
  readonly output: () => string;
  readonly isHealthy: () => boolean;
  readonly waitFor: (text: string) => Promise<void>;
  /** Ends it as a container engine does. It must end without a fault. */
  readonly stop: () => Promise<void>;
}

interface RunOptions {
  /** As the image's user, with a read-only file system. */
  readonly isolated: boolean;
  /** Of the program, in place of the image's. */
  readonly command?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Mount a volume at the data folder; true by default. */
  readonly volume?: boolean;
}

/** Starts the image's program. */
async function start({ isolated, command: own, env: further = {}, volume = true }: RunOptions): Promise<Running> {
  const env = { ...(await environment()), ...further };
  const [, entry = ''] = /^ENTRYPOINT (.*)$/m.exec(image) ?? [];
  const [, defaults = ''] = /^CMD (.*)$/m.exec(image) ?? [];
  const command = [...(JSON.parse(entry) as string[]), ...(own ?? (JSON.parse(defaults) as string[]))].map(place);
  const asUser = ['setpriv', `--reuid=${userId}`, `--regid=${userId}`, '--clear-groups', '--no-new-privs', '--bounding-set=-all', '--'];
  const mount = volume ? `mount -t tmpfs -o mode=0700,uid=${userId},gid=${userId} tmpfs '${data}' && ` : '';
  const script = `${mount}mount -o remount,bind,ro / && cd '${data}' && exec "$@"`;
  const [program = '', ...args] = isolated ? ['unshare', '--mount', 'sh', '-c', script, 'sh', ...asUser, ...command] : command;
  const child = spawn(program, args, { cwd: data, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  const [, health = ''] = /^HEALTHCHECK .*?CMD (.*)$/m.exec(image) ?? [];
  return {
    env,
    child,
    output: () => output,
    isHealthy: () => spawnSync(node, (JSON.parse(health) as string[]).slice(1), { env }).status === 0,
    waitFor: async (text) => {
      for (const endMs = Date.now() + startMs; !output.includes(text); await delay(50)) {
        assert.ok(Date.now() < endMs && child.exitCode === null, `the program did not start:\n${output}`);
      }
    },
    stop: async () => {
      child.kill('SIGTERM');
      assert.equal(await ended, 0, output);
    },
  };
}

async function runImage(isolated: boolean): Promise<void> {
  const running = await start({ isolated });
  const { env, child, isHealthy } = running;
  try {
    assert.ok(!isHealthy());
    await running.waitFor('live events');
    assert.ok(isHealthy(), 'the health check fails');
    const status = (await (await fetch(`http://127.0.0.1:${env['PORT']}/status`)).json()) as { readonly version?: string };
    assert.ok(JSON.stringify(status).includes(version));
    if (isolated)
      assert.match(
        readFileSync(`/proc/${child.pid}/status`, 'utf8'),
        new RegExp(`^Uid:\\t${userId}\\t[^]*^CapBnd:\\t0+$[^]*^NoNewPrivs:\\t1$`, 'm'),
      );
  } finally {
    await running.stop();
  }
  assert.ok(!isHealthy());
}

/** The two services of the compose file, with the volumes that it gives them. Redis, PostgreSQL and a simulated node run next to them. */
async function runServices(isolated: boolean): Promise<void> {
  const { services: composed } = parse(read('operating/container/compose.yaml')) as {
    readonly services: Readonly<Record<string, { readonly volumes?: readonly string[] }>>;
  };
  const hasVolume = (name: string): boolean => composed[name]?.volumes?.some((volume) => /(^|:)\/data$/.test(volume)) === true;
  const redis = await startRedis();
  const postgres = await startPostgres();
  const simnet = await startSimnet({ slotMs: 200 });
  const services: Running[] = [];
  try {
    const env = { REDIS_URL: redis.url, SOLANA_RPC_URL: simnet.rpcUrl, SOLANA_WS_URL: simnet.wsUrl, LOG_LEVEL: 'info' };
    const ingest = await start({ isolated, env, command: ['ingest'], volume: hasVolume('ingest') });
    services.push(ingest);
    await ingest.waitFor('ingest_started');
    const stores = { DATABASE_URL: await postgres.newDatabase(), TRADING: 'off' };
    const gateway = await start({ isolated, env: { ...env, ...stores }, command: ['gateway'], volume: hasVolume('gateway') });
    services.push(gateway);
    await gateway.waitFor('gateway_started');
    const ready = async (): Promise<boolean> => (await fetch(`http://127.0.0.1:${gateway.env['PORT']}/readyz`)).ok;
    for (const endMs = Date.now() + startMs; !(await ready()); await delay(200)) {
      assert.ok(Date.now() < endMs, `the gateway is not ready:\n${gateway.output()}\n${ingest.output()}`);
    }
    for (const service of services) assert.ok(service.isHealthy(), `the health check fails:\n${service.output()}`);
  } finally {
    for (const service of services.toReversed()) await service.stop();
    await simnet.close();
    await postgres.stop();
    await redis.stop();
  }
}

/** The chart's first step in each pod: copies the files of a Secret, which are links, into the data folder. */
function copySecrets(): void {
  const [, script = ''] = /^ {12}- \|\n((?: {14}.*\n)+)/m.exec(read('operating/chart/templates/gateway.yaml')) ?? [];
  const [files, target] = [join(folder, 'files'), join(folder, 'pod')];
  mkdirSync(join(files, '..data'), { recursive: true });
  mkdirSync(target);
  writeFileSync(join(files, '..data/pepper'), 'a secret', { mode: 0o440 });
  symlinkSync('..data/pepper', join(files, 'pepper'));
  const text = script.replaceAll('/files', files).replaceAll('/data', target);
  for (let times = 0; times < 2; times++) assert.equal(run([node, '-e', text]), 0);
  assert.equal(readFileSync(join(target, 'sluice/pepper'), 'utf8'), 'a secret');
  assert.deepEqual(
    ['sluice', 'sluice/pepper'].map((name) => statSync(join(target, name)).mode & 0o777),
    [0o700, 0o600],
  );
}

/** Runs the suite of the files for operators with the linters. A linter that cannot be installed is skipped, and the reason is printed. */
async function lint(): Promise<void> {
  const { programs, faults } = await installLinters(join(folder, 'linters'));
  for (const fault of faults) console.log(`skipped: ${fault}`);
  const vitest = join(import.meta.dirname, '../node_modules/vitest/vitest.mjs');
  const { status } = spawnSync(process.execPath, [vitest, 'run', '--reporter=verbose', 'operations/deployment'], {
    cwd: join(import.meta.dirname, '..'),
    env: { ...process.env, PATH: [programs, process.env['PATH']].join(delimiter) },
    stdio: 'inherit',
  });
  assert.equal(status, 0, 'the linters found a fault');
}

async function runSteps(): Promise<void> {
  if (!existsSync(node)) {
    console.log('skipped: the steps of the container: there is no binary of Node.js 24 for this platform');
    return;
  }
  process.umask(0o022);
  chmodSync(folder, 0o755);
  mkdirSync(data, { mode: 0o700 });
  copySecrets();
  installSteps();
  const canIsolate = process.getuid?.() === 0 && run(['unshare', '--mount', 'true']) === 0;
  if (canIsolate) chownSync(data, userId, userId);
  else console.log('Not as root: runs as this user, with a file system that can be written.');
  await runImage(canIsolate);
  await runServices(canIsolate);
  console.log('The steps of the container work.');
}

try {
  await lint();
  await runSteps();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
