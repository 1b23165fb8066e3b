import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { Sluice } from '@sluice/client';
import { exampleRecording } from '../../compile/programs.mjs';
import { startRedis } from '../support/servers/redis.ts';
import { faultsOf, typeFaults } from './check.ts';
import { runHandshakes, runHttp, StreamDialogue, type Place } from './dialogues.ts';
import { blocksIn, documentFiles, placeOf, type Block } from './find.ts';
import { freePort } from '../support/free-port.ts';
import { runSamples } from './samples.ts';
import { createSandbox, type Sandbox } from './sandbox.ts';
import { kill, pause, Shell } from './shell.ts';
import { Terminal, type TerminalSetup } from './terminal.ts';

/**
 * `pnpm test:docs [filter]`: runs every code block of the documents and the samples of `/docs`, in a clone of the project in a temporary folder,
 * against a `start` in it. The filter is part of a file name, or `samples`.
 * Without Python 3.11 or PyPI, the blocks in Python are skipped, with the reason.
 */
const startMs = 180_000;
const root = join(import.meta.dirname, '../..');
const print = (text: string): void => void process.stdout.write(`${text}\n`);

/** Runs a program of the clone until it has printed all of these; returns what they captured. */
async function startUntil(sandbox: Sandbox, args: readonly string[], patterns: readonly RegExp[], env: NodeJS.ProcessEnv = {}) {
  const child = spawn('npx', ['-y', 'pnpm@12', ...args], {
    cwd: sandbox.clone,
    env: { ...sandbox.env, ...env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  for (const endMs = Date.now() + startMs; Date.now() < endMs && child.exitCode === null; await pause(50)) {
    const found = patterns.map((pattern) => pattern.exec(output)?.[1]);
    if (found.every((each) => each !== undefined)) return { child, found };
  }
  kill(child, 'SIGKILL');
  throw new Error(`${args.join(' ')} did not start:\n${output}`);
}

function ended(child: ChildProcess): Promise<void> {
  const runs = child.exitCode === null && child.signalCode === null;
  return new Promise((resolve) => (runs ? child.once('exit', () => resolve()) : resolve()));
}

/** Two tokens that are traded, the first for SOL on the curve. */
async function tradedMints({ url, apiKey }: Pick<Place, 'url' | 'apiKey'>): Promise<readonly [string, string]> {
  const sluice = new Sluice({ url, apiKey });
  const seen = new Set<string>();
  for await (const event of sluice.subscribe('newTokens', { filter: { pool: 'pump' } })) {
    if (event.type !== 'newToken' || event.traits.length > 0 || !event.quoteMint.startsWith('So1111')) continue;
    seen.add(event.mint);
    if (seen.size === 2) break;
  }
  sluice.close();
  const [first = '', second = ''] = seen;
  return [first, second];
}

/** Returns why Python cannot be used, or null. */
async function pythonFault({ folder, env }: Sandbox): Promise<string | null> {
  const shell = new Shell(folder, env, join(folder, 'python.state'));
  const packages = 'httpx==0.28.1 websockets==15.0.1 hatchling==1.27.0';
  const commands = [
    `python3 -c 'import sys; sys.exit("Python 3.11 is needed" if sys.version_info < (3, 11) else 0)'`,
    'python3 -m venv python',
    `python/bin/pip install --quiet --disable-pip-version-check ${packages}`,
  ];
  for (const command of commands) {
    const { ok, output } = await shell.run(command);
    if (!ok) return output.trim().split('\n').at(-1) ?? command;
  }
  return null;
}

interface World {
  readonly place: Place;
  readonly terminal: Terminal;
  /** One connection for all blocks of a document. */
  readonly stream: () => StreamDialogue;
}

async function runBlock(block: Block, { place, terminal, stream }: World): Promise<readonly string[]> {
  switch (block.kind) {
    case 'sh':
      return terminal.runCommands(block);
    case 'js':
    case 'ts':
    case 'python':
    case 'html':
    case 'env':
      return terminal.runProgram(block);
    case 'stream':
      return stream().run(block);
    case 'http':
      return runHttp(block, place);
    case 'handshake':
      return runHandshakes(block, place);
    case 'sysctl':
      return terminal.readSettings(block);
    default:
      return block.note === 'mcp' ? terminal.runAgent(block) : [];
  }
}

async function runDocument(file: string, setup: TerminalSetup): Promise<number> {
  const startedMs = Date.now();
  const blocks = blocksIn(root, file);
  const { place } = setup;
  const terminal = new Terminal(file, setup);
  const opened: StreamDialogue[] = [];
  const stream = (): StreamDialogue => {
    if (opened.length === 0) opened.push(new StreamDialogue(place));
    return opened[0]!;
  };
  let failed = 0;
  for (const block of blocks) {
    const faults = await runBlock(block, { place, terminal, stream }).catch((error: unknown) => [String(error)]);
    if (faults.length > 0) failed++;
    for (const fault of faults) print(`FAIL ${placeOf(block)}: ${fault}`);
  }
  opened[0]?.close();
  print(`${failed === 0 ? 'ok  ' : 'FAIL'} ${file}: ${blocks.length} blocks (${((Date.now() - startedMs) / 1000).toFixed(0)} s)`);
  return failed;
}

async function main(filter: string): Promise<number> {
  const files = documentFiles(root).filter((file) => file.includes(filter));
  const blocks = files.flatMap((file) => blocksIn(root, file));
  const wrong = [...blocks.flatMap(faultsOf), ...typeFaults(blocks)];
  for (const fault of wrong) print(`FAIL ${fault}`);
  if (wrong.length > 0) return 1;

  const folder = mkdtempSync(join(tmpdir(), 'sluice-documents-'));
  const children: ChildProcess[] = [];
  const redis = await startRedis();
  try {
    const port = await freePort();
    const sandbox = createSandbox(folder, port);
    const startedMs = Date.now();
    const block = [/(http:\/\/127\.0\.0\.1:\d+)/, /(sluice_\w+)\n/, /wallet +(\w{32,44})\n/, /live events +(.*)\n/, /chain RPC +(\S+)\n/];
    const started = await startUntil(sandbox, ['start'], block, { SIMNET_SPEED: '2' });
    children.push(started.child);
    print(`npx -y pnpm@12 start: ${((Date.now() - startedMs) / 1000).toFixed(1)} s`);
    const [url = '', apiKey = '', wallet = '', , startedRpcUrl = ''] = started.found;
    const simnet = await startUntil(sandbox, ['sluice', 'simnet', '--port', '0'], [/SOLANA_RPC_URL=(\S+)/]);
    children.push(simnet.child);
    const python = await pythonFault(sandbox);
    if (python !== null) print(`skipped: the blocks in Python: ${python}`);
    const release = await new Shell(sandbox.clone, sandbox.env, join(folder, 'release.state')).run('npx -y pnpm@12 release');
    if (!release.ok) throw new Error(release.output);
    const recording = brotliDecompressSync(readFileSync(join(root, exampleRecording)));
    writeFileSync(join(sandbox.clone, 'recorded.jsonl'), recording);
    mkdirSync(join(folder, 'opt'));
    // The tokens of the document before may not be traded any more.
    const placeNow = async (): Promise<Place> => ({ url, apiKey, wallet, mints: await tradedMints({ url, apiKey }) });
    const pagePort = await freePort();
    const apart = { PORT: '0', DATA_DIR: join(folder, 'apart'), SHARE_PORT: 'false' };
    const setup = { sandbox, redisUrl: redis.url, nodeUrl: simnet.found[0]!, startedRpcUrl, pagePort, apart, hasPython: python === null };
    let failed = 0;
    let count = blocks.length;
    for (const file of files) failed += await runDocument(file, { ...setup, place: await placeNow() });
    if ('samples'.includes(filter)) {
      const samples = await runSamples(sandbox, await placeNow(), python === null);
      for (const fault of samples.faults) print(`FAIL ${fault}`);
      print(`${samples.faults.length === 0 ? 'ok  ' : 'FAIL'} /docs: ${samples.count} samples`);
      failed += samples.faults.length;
      count += samples.count;
    }
    print(`${count - failed} blocks passed, ${failed} failed`);
    return failed === 0 ? 0 : 1;
  } finally {
    for (const child of children) kill(child, 'SIGTERM');
    await redis.stop();
    await Promise.all(children.map(ended));
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 500 });
  }
}

process.exitCode = await main(process.argv.slice(2).find((argument) => argument !== '--') ?? '');
