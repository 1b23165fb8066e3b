import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isBroken, launchersOf, type ProcessTable } from '@sluice/shared/runtime/process/launchers.ts';
import { until } from '../support/gateway.ts';
import { startRedis } from '../support/servers/redis.ts';
import { StreamClient } from '../support/clients/stream-client.ts';

const root = join(import.meta.dirname, '../..');

/** A stop of what was started drains the program and frees its port, even if npm was started. */
const withinMs = 120_000;

/** Environment of a shell that no package manager started. */
function ofShell(env: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(
    ([name]) => !/^(SLUICE_|npm_(lifecycle|package|command|execpath|node_execpath))/.test(name),
  );
  return { ...Object.fromEntries(own), ...env };
}

interface Started {
  /** Sends a signal to the outermost process, or to its process group. */
  readonly signal: (name: NodeJS.Signals, to: 'process' | 'group') => void;
  readonly port: number;
}

/** Runs the gateway's line of the Procfile as a process manager does. */
async function startProcfile(): Promise<Started> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-stop-'));
  const redis = await startRedis();
  const command = /^gateway: (.+)$/m.exec(readFileSync(join(root, 'Procfile'), 'utf8'))![1]!;
  const env = ofShell({ DATA_DIR: folder, REDIS_URL: redis.url, PORT: '0', PUMPPORTAL_KEYLESS: 'on', LOG_LEVEL: 'info' });
  const child = spawn('sh', ['-c', `exec ${command}`], { cwd: root, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  let pid: number | null = null;
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  onTestFinished(async () => {
    // Only if the test has failed. The program is in a process group of its own.
    for (const one of [pid, -child.pid!]) {
      try {
        if (one !== null) process.kill(one, 'SIGKILL');
      } catch {
        // It has ended.
      }
    }
    await redis.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const lineOf = (event: string): string | undefined => output.split('\n').find((line) => line.includes(`"msg":"${event}"`));
  await until('the gateway to listen', () => lineOf('listening') !== undefined || child.exitCode !== null, withinMs);
  const line = lineOf('listening');
  if (line === undefined) throw new Error(output);
  ({ pid } = JSON.parse(line) as { pid: number });
  return {
    signal: (name, to) => process.kill(to === 'group' ? -child.pid! : child.pid!, name),
    port: Number(new URL((JSON.parse(line) as { url: string }).url).port),
  };
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}

describe('a gateway that the Procfile starts', { timeout: withinMs * 2 }, () => {
  it.each([
    ['SIGTERM', 'process'],
    ['SIGHUP', 'group'],
  ] as const)('drains and frees its port at %s to the outermost %s', async (name, to) => {
    const { port, signal } = await startProcfile();
    const client = await new StreamClient(`ws://127.0.0.1:${port}/api/data`).open();
    client.send({ method: 'subscribeNewToken' });
    await until('the reply', () => client.messages.length > 0);
    signal(name, to);
    await until('the end of the stream', () => client.closed !== null, withinMs);
    expect(client.closed?.code).toBe(4012);
    await until('the port to be free', async () => !(await isListening(port)), withinMs);
  });
});

interface Process {
  readonly parent: number;
  readonly event?: string;
  readonly session?: number;
  readonly command?: string;
}

function tableOf(processes: Readonly<Record<number, Process>>): ProcessTable {
  return {
    find: (pid) => (processes[pid] === undefined ? null : { session: 5, ...processes[pid] }),
    variable: (pid, name) => (name === 'npm_lifecycle_event' ? (processes[pid]?.event ?? null) : null),
    command: (pid) => processes[pid]?.command ?? '',
  };
}

describe('the launchers of a program', () => {
  const init: Process = { parent: 0, session: 1, command: '/sbin/init' };
  const [gateway, npx] = ['gateway', 'npx'];
  /** `npx -y pnpm@12 gateway` in a shell. */
  const nested: Readonly<Record<number, Process>> = {
    1: init,
    5: { parent: 1, command: 'bash' },
    10: { parent: 5, command: 'npm exec pnpm@12 gateway' },
    11: { parent: 10, event: npx },
    12: { parent: 11, event: npx },
    13: { parent: 12, event: gateway },
    14: { parent: 13, event: gateway },
  };
  const linksOf = (processes: Readonly<Record<number, Process>>) => launchersOf(14, tableOf(processes));
  const pidsOf = (processes: Readonly<Record<number, Process>>): number[] => linksOf(processes).links.map(({ pid }) => pid);

  it('are followed up to npm, and not to the shell that started npm', () => {
    const { links, orphaned } = linksOf(nested);
    expect({ pids: links.map(({ pid }) => pid), orphaned }).toEqual({ pids: [14, 13, 12, 11], orphaned: false });
    expect(isBroken(links, tableOf(nested))).toBe(false);
    // The shell was closed (`nohup`, `setsid`), or npm is the first process of a container.
    expect(isBroken(links, tableOf({ ...nested, 10: { ...nested[10]!, parent: 1 } }))).toBe(false);
    // Each of the others has ended, so that a process has another parent.
    for (const pid of [11, 12, 13, 14]) {
      expect([pid, isBroken(links, tableOf({ ...nested, [pid]: { ...nested[pid]!, parent: 1 } }))]).toEqual([pid, true]);
    }
    expect(isBroken(links, tableOf({ ...nested, 13: undefined! }))).toBe(true);
  });

  it('are missing if npm ended before the program looked', () => {
    const orphans = [
      { ...nested, 12: { ...nested[12]!, parent: 1 } },
      { ...nested, 11: { ...nested[11]!, parent: 1 } },
    ];
    for (const processes of orphans) expect(linksOf(processes).orphaned).toBe(true);
    // A container whose first process is npm.
    const { 1: _, ...others } = nested;
    expect(linksOf({ ...others, 1: { parent: 0, command: 'npm exec pnpm@12 gateway' }, 11: { parent: 1, event: npx } }).orphaned).toBe(
      false,
    );
  });

  it('do not include what a program was detached from', () => {
    const none = { links: [], orphaned: false };
    expect(linksOf({ ...nested, 14: { parent: 13 } })).toEqual(none);
    // In a session of its own.
    expect(linksOf({ ...nested, 14: { parent: 13, event: gateway, session: 14 } })).toEqual(none);
    expect(linksOf({ ...nested, 14: { parent: 13, event: gateway, session: 9 } })).toEqual(none);
    // In the background of a shell of npx that has ended.
    expect(linksOf({ ...nested, 14: { parent: 1, event: npx } })).toEqual(none);
    // A script around it, which may end as soon as it has started its programs.
    const around = { ...nested, 10: { ...nested[10]!, event: 'launch', parent: 9 }, 9: { parent: 5, event: 'launch' } };
    expect(pidsOf(around)).toEqual([14, 13, 12, 11]);
  });
});
