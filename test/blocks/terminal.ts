import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Sluice } from '@sluice/client';
import { transformSync } from 'esbuild';
import { alreadyRuns, endless, notRun, type Endless } from './commands.ts';
import type { Place } from './dialogues.ts';
import { commandsOf, type Block } from './find.ts';
import { followPage } from './page.ts';
import type { Sandbox } from './sandbox.ts';
import { pause, Shell, type Outcome } from './shell.ts';

export interface TerminalSetup {
  readonly sandbox: Sandbox;
  readonly place: Place;
  readonly redisUrl: string;
  /** Of another simulated chain than that of `start`. */
  readonly nodeUrl: string;
  /** Of the chain of `start`. */
  readonly startedRpcUrl: string;
  /** For the page that a tutorial serves. */
  readonly pagePort: number;
  /** Settings of a process that must not meet the running `start`, with a data folder. */
  readonly apart: NodeJS.ProcessEnv;
  readonly hasPython: boolean;
}

/** The readers of these documents already have a key. */
const forPrograms = /^clients?\//;
const agentMs = 30_000;

/** The terminal of somebody who follows one document. */
export class Terminal {
  readonly #shell: Shell;
  readonly #setup: TerminalSetup;
  readonly #isSkipped: (text: string) => boolean;

  constructor(file: string, setup: TerminalSetup) {
    const { sandbox, place } = setup;
    const env = forPrograms.test(file) ? { ...sandbox.env, SLUICE_API_KEY: place.apiKey } : sandbox.env;
    const folder = file === 'client/README.md' ? join(sandbox.folder, 'app') : sandbox.clone;
    this.#shell = new Shell(folder, env, join(sandbox.folder, `${file.replaceAll('/', '-')}.state`));
    this.#setup = setup;
    this.#isSkipped = (text) => !setup.hasPython && /\bpip\b|python/.test(text);
  }

  async runCommands(block: Block): Promise<readonly string[]> {
    const faults: string[] = [];
    for (const command of commandsOf(block)) {
      if (alreadyRuns.test(command) || notRun.some((each) => each.command.test(command)) || this.#isSkipped(command)) continue;
      const { ok, output } = await this.#runCommand(command);
      if (!ok) faults.push(`${command}\n${output.trim().split('\n').slice(-15).join('\n')}`);
    }
    return faults;
  }

  /** Saves a program under its name. One without a name runs at once. */
  async runProgram({ kind, note, text }: Block): Promise<readonly string[]> {
    if (kind === 'python' && !this.#setup.hasPython) return [];
    const filled = await this.#filled(text);
    const name = note === '' ? (kind === 'python' ? 'sample.py' : 'sample.mjs') : note;
    const program = kind === 'ts' ? transformSync(filled, { loader: 'ts' }).code : filled;
    writeFileSync(join(await this.#shell.folder, name), program);
    if (note !== '') return [];
    const { ok, output } = await this.#shell.run(`${kind === 'python' ? 'python3' : 'node'} ${name}`);
    return ok ? [] : [output];
  }

  /** Starts the server that the configuration of an agent names, and asks for its tools. */
  async runAgent({ text }: Block): Promise<readonly string[]> {
    const { mcpServers } = JSON.parse(await this.#filled(text)) as {
      readonly mcpServers: Readonly<
        Record<string, { readonly command: string; readonly args: readonly string[]; readonly env: NodeJS.ProcessEnv }>
      >;
    };
    const requests = [
      {
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'a', version: '0' } },
      },
      { jsonrpc: '2.0', id: 2, method: 'tools/list' },
    ];
    const input = requests.map((each) => JSON.stringify(each)).join('\n');
    const faults: string[] = [];
    for (const { command, args, env } of Object.values(mcpServers)) {
      const exports = Object.entries(env).map(([name, value]) => `${name}='${value}'`);
      const line = `(echo '${input}'; sleep 5) | ${exports.join(' ')} timeout ${agentMs / 1000} ${command} ${args.join(' ')}`;
      const { ok, output } = await this.#shell.run(line);
      if (!ok || !output.includes('"tools"')) faults.push(output);
    }
    return faults;
  }

  /** The kernel knows each setting. Another system, or an older kernel, may lack some. */
  async readSettings({ text }: Block): Promise<readonly string[]> {
    const names = [...text.matchAll(/^([\w.]+) = [\d ]+(?:#.*)?$/gm)].map(([, name = '']) => name);
    if (names.length !== text.trim().split('\n').length) return ['not every line is `name = numbers`'];
    if (!existsSync('/proc/sys/net')) return [];
    const unknown = names.filter((name) => !existsSync(`/proc/sys/${name.replaceAll('.', '/')}`));
    return unknown.length === 0 ? [] : [`this kernel does not know ${unknown.join(', ')}`];
  }

  async #runCommand(command: string): Promise<Outcome> {
    const filled = await this.#filled(command);
    const special = endless.find((each) => each.command.test(command));
    return special === undefined ? this.#shell.run(filled) : this.#runEndless(filled, special);
  }

  async #runEndless(command: string, { until, needsOrder, servesPage, apart }: Endless): Promise<Outcome> {
    const { place, pagePort } = this.#setup;
    const during = servesPage === true ? () => followPage(`http://127.0.0.1:${pagePort}`) : async () => undefined;
    const orders = needsOrder === true ? this.#placeOrders(place) : null;
    try {
      return await this.#shell.runUntil(command, until, during, apart === true ? this.#setup.apart : {});
    } finally {
      await orders?.stop();
    }
  }

  /** Small purchases, one after the other, until it is stopped. */
  #placeOrders({ url, apiKey, wallet, mints: [mint] }: Place): { stop(): Promise<void> } {
    const sluice = new Sluice({ url, apiKey });
    const stop = new AbortController();
    const place = async (): Promise<void> => {
      while (!stop.signal.aborted) {
        await sluice.buy({ publicKey: wallet, mint, amount: 0.01, slippage: 50 });
        await pause(1_000);
      }
    };
    const done = place();
    return {
      stop: () => {
        stop.abort();
        return done;
      },
    };
  }

  /** A command or program with real values in the place of those that a user fills in. */
  async #filled(text: string): Promise<string> {
    const { sandbox, place, redisUrl, nodeUrl, startedRpcUrl, pagePort, apart } = this.#setup;
    const values: Readonly<Record<string, string>> = {
      'http://127.0.0.1:8080': place.url,
      'ws://127.0.0.1:8080': place.url.replace('http', 'ws'),
      'http://127.0.0.1:8899': startedRpcUrl,
      'simnet airdrop': `simnet airdrop --rpc ${startedRpcUrl}`,
      '<the key that start printed>': place.apiKey,
      '<the wallet that start printed>': place.wallet,
      '<key>': place.apiKey,
      '<wallet>': place.wallet,
      '<mint>': place.mints[0],
      '<minOut of the quote>': '1',
      // Anybody's.
      '<address>': place.mints[1],
      '<id>': text.includes('<id>') ? await this.#newKey() : '',
      'redis://127.0.0.1:6379': redisUrl,
      'https://your-node.example.com': nodeUrl,
      ',https://your-other-node.example.com': '',
      '127.0.0.1:3000': `127.0.0.1:${pagePort}`,
      'listen(3000': `listen(${pagePort}`,
      '/opt/': join(sandbox.folder, 'opt/'),
      '/path/to/sluice': sandbox.clone,
      '/var/lib/sluice': String(apart['DATA_DIR']),
      // The sandbox has no further user.
      'runuser -u sluice -- ': '',
      ' ./sluice-': ` ${join(sandbox.clone, 'release/sluice-')}`,
    };
    return Object.entries(values).reduce((filled, [name, value]) => filled.replaceAll(name, value), text);
  }

  /** The id of a key that a command may revoke. */
  async #newKey(): Promise<string> {
    const { output } = await this.#shell.run('npx -y pnpm@12 --silent sluice keys create --plan standard --json');
    const id = /"id":"(\w+)"/.exec(output)?.[1];
    if (id === undefined) throw new Error(output);
    return id;
  }
}
