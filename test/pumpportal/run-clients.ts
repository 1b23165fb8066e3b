import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WebSocket } from 'ws';
import { startProgram } from '../support/command-line.ts';
import { publicClients, type PublicClient } from './clients.ts';
import { install, lastLine, run } from './install.ts';

/**
 * `pnpm test:pumpportal [filter]`: runs public PumpPortal clients from npm and PyPI against `start`, unmodified but for the host. They are
 * installed into a temporary folder. A client that cannot be installed is skipped, and the reason is printed.
 */
const startWithinMs = 60_000;
const programWithinMs = 90_000;
/** If fewer have run, the run proves nothing. */
const leastClients = 5;
const print = (text: string): void => void process.stdout.write(`${text}\n`);

interface Started {
  readonly child: ChildProcess;
  readonly host: string;
  readonly key: string;
  readonly wallet: string;
}

/** Starts everything on a fast simulated market, and reads the printed block. */
function start(folder: string): Promise<Started> {
  const child = startProgram('cli/start.ts', [], { folder, env: { PORT: '0', LOG_LEVEL: 'warn', SIMNET_SPEED: '5' } });
  let output = '';
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no block in time:\n${output}`)), startWithinMs);
    const read = (text: string): void => {
      output += text;
      const find = (pattern: RegExp): string | undefined => pattern.exec(output)?.[1];
      const [host, key, wallet] = [find(/http:\/\/(127\.0\.0\.1:\d+)/), find(/(sluice_\w+)\n/), find(/wallet +(\w{32,44})\n/)];
      if (host === undefined || key === undefined || wallet === undefined) return;
      clearTimeout(timer);
      resolve({ child, host, key, wallet });
    };
    child.stdout?.setEncoding('utf8').on('data', read);
    child.stderr?.setEncoding('utf8').on('data', read);
    child.once('close', (code) => reject(new Error(`ended with ${code}:\n${output}`)));
  });
}

/** The mint of a coin that is traded against SOL. */
function newMint(host: string): Promise<string> {
  const socket = new WebSocket(`ws://${host}/api/data`);
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('no new token in time')), startWithinMs);
    socket.on('open', () => socket.send('{"method":"subscribeNewToken"}'));
    socket.on('error', reject);
    socket.on('message', (data: Buffer) => {
      const event = JSON.parse(data.toString()) as {
        readonly mint?: string;
        readonly quoteMint?: string;
        readonly is_mayhem_mode?: boolean;
      };
      if (event.mint === undefined || event.quoteMint !== undefined || event.is_mayhem_mode === true) return;
      clearTimeout(timer);
      socket.close();
      resolve(event.mint);
    });
  });
}

type Result = { readonly outcome: 'passed' | 'failed' | 'skipped'; readonly detail: string };

async function check(client: PublicClient, folder: string, { host, key, wallet }: Started): Promise<Result> {
  const installed = await install(client, folder, host);
  if (typeof installed === 'string') return { outcome: 'skipped', detail: installed };
  const env = {
    PUMPPORTAL_HOST: host,
    API_KEY: key,
    WALLET: wallet,
    MINT: await newMint(host),
    NO_PROXY: '127.0.0.1',
    no_proxy: '127.0.0.1',
  };
  const ran = await run(installed.command, installed.args, folder, programWithinMs, env);
  return { outcome: ran.code === 0 ? 'passed' : 'failed', detail: ran.code === 0 ? lastLine(ran) : ran.output.trim().slice(-1_000) };
}

async function main(filter: string): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-pumpportal-'));
  const counts = { passed: 0, failed: 0, skipped: 0 };
  const chosen = publicClients.filter(({ packages }) => packages[0].includes(filter));
  let started: Started | null = null;
  try {
    started = await start(folder);
    for (const [index, client] of chosen.entries()) {
      const { outcome, detail } = await check(client, join(folder, `client-${index}`), started);
      counts[outcome]++;
      print(`${outcome.padEnd(8)}${client.registry.padEnd(6)}${client.packages.join(', ')}: ${detail}`);
    }
  } finally {
    started?.child.kill('SIGTERM');
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 500 });
  }
  const ran = counts.passed + counts.failed;
  if (filter === '' && ran < leastClients) print(`Only ${ran} clients could be installed, and ${leastClients} are needed.`);
  print(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
  return counts.failed === 0 && (filter !== '' || ran >= leastClients) ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2).find((argument) => argument !== '--') ?? '');
