import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tradesTopic } from '@sluice/shared/wire/stream/topics.ts';
import { lastLine, run } from '../pumpportal/install.ts';
import { StreamClient } from '../support/clients/stream-client.ts';
import { addressOf, entryOf, tradeEvent } from '../support/events/stream-events.ts';
import { goodKey, startTestGateway, type TestGateway } from '../support/gateway.ts';

/**
 * `pnpm test:frame-limits`: clients with the default limits of their libraries follow 1,000 mints: coder/websocket (Go) reads messages of at most
 * 32 KiB, websockets (Python) of at most 1 MiB. They are installed from the Go proxy and PyPI; without Go, Python 3.11 or the registry a client is
 * skipped, and the reason is printed.
 */
const programs = fileURLToPath(new URL('programs/', import.meta.url));
const withinMs = 300_000;
const mints = Array.from({ length: 1_000 }, (_, at) => addressOf(at));
const perMint = 5;

interface Client {
  readonly name: string;
  /** Prepares a folder with the programs. Returns the command that runs the program, or why there is none. */
  install(folder: string): Promise<readonly string[] | string>;
}

const clients: readonly Client[] = [
  {
    name: 'coder/websocket 1.8.14 (Go)',
    install: async (folder) => {
      writeFileSync(join(folder, 'go.mod'), 'module frames\n\ngo 1.23\n\nrequire github.com/coder/websocket v1.8.14\n');
      writeFileSync(
        join(folder, 'go.sum'),
        'github.com/coder/websocket v1.8.14 h1:9L0p0iKiNOibykf283eHkKUHHrpG7f65OE3BhhO7v9g=\n' +
          'github.com/coder/websocket v1.8.14/go.mod h1:NX3SzP+inril6yawo5CQXx8+fk145lPDC6pumgx0mVg=\n',
      );
      const built = await run('go', ['build', '-o', 'client', '.'], folder, withinMs);
      return built.code === 0 ? [join(folder, 'client')] : lastLine(built);
    },
  },
  {
    name: 'websockets 15.0.1 (Python)',
    install: async (folder) => {
      const python = join(folder, 'venv/bin/python');
      const steps: readonly (readonly [string, readonly string[]])[] = [
        ['python3', ['-c', 'import sys; sys.exit("Python 3.11 is needed" if sys.version_info < (3, 11) else 0)']],
        ['python3', ['-m', 'venv', 'venv']],
        [python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', 'websockets==15.0.1']],
      ];
      for (const [command, args] of steps) {
        const ran = await run(command, args, folder, withinMs);
        if (ran.code !== 0) return lastLine(ran);
      }
      return [python, 'default_limits.py'];
    },
  },
];

/** A reply, a snapshot, a list and a resume, all of 1,000 mints. */
async function writeCommands(file: string, { host }: TestGateway): Promise<void> {
  const own = await new StreamClient(`ws://${host}/api/data?api-key=${goodKey}`).open();
  const { positions } = await own.ask({ op: 'subscribe', channel: 'trades', mints });
  own.close();
  const since = Object.fromEntries(mints.map((mint) => [tradesTopic(mint), { epoch: positions![tradesTopic(mint)]!.epoch, seq: 0 }]));
  const commands = [
    { op: 'subscribe', channel: 'trades', mints, snapshot: true },
    { op: 'list' },
    { op: 'unsubscribe', channel: 'trades' },
    { op: 'subscribe', channel: 'trades', mints, since },
  ];
  writeFileSync(file, JSON.stringify(commands.map((command, at) => ({ id: `c${at}`, ...command }))));
}

async function main(): Promise<number> {
  const root = mkdtempSync(join(tmpdir(), 'sluice-frames-'));
  const server = await startTestGateway();
  let failed = 0;
  try {
    await server.publish(mints.flatMap((mint) => Array.from({ length: perMint }, () => entryOf(tradeEvent(mint)))));
    const commands = join(root, 'commands.json');
    await writeCommands(commands, server);
    for (const [at, client] of clients.entries()) {
      const { name } = client;
      const folder = join(root, String(at));
      mkdirSync(folder);
      cpSync(programs, folder, { recursive: true });
      const command = await client.install(folder);
      if (typeof command === 'string') {
        process.stdout.write(`skipped: ${name}: ${command}\n`);
        continue;
      }
      for (const query of ['', '&batch=1']) {
        const url = `ws://${server.host}/api/data?api-key=${goodKey}${query}`;
        const args = [...command.slice(1), url, commands, String(mints.length * perMint)];
        const ran = await run(command[0]!, args, folder, withinMs, { NO_PROXY: '127.0.0.1', no_proxy: '127.0.0.1' });
        process.stdout.write(`${ran.code === 0 ? 'passed' : 'FAILED'}: ${name}${query === '' ? '' : ' with batch=1'}: ${lastLine(ran)}\n`);
        if (ran.code !== 0) failed++;
      }
    }
  } finally {
    await server.close();
    rmSync(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 500 });
  }
  return failed === 0 ? 0 : 1;
}

process.exitCode = await main();
