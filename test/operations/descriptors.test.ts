import { spawn, type ChildProcess } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { loaderOptions } from '../loader/options.ts';
import { environment } from '../support/command-line.ts';
import { goodKey, until } from '../support/gateway.ts';
import { StreamClient } from '../support/clients/stream-client.ts';

/** Descriptors of the gateway's process, and how many of them clients may never use. */
const [limit, reserve] = [256, 32];
const withinMs = 60_000;

let child: ChildProcess;
let output = '';
const sockets: Socket[] = [];
const clients: StreamClient[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const client of clients.splice(0)) client.close();
  child.kill('SIGKILL');
});

async function start(transport: string): Promise<number> {
  const program = [process.execPath, ...loaderOptions, fileURLToPath(new URL('descriptors-child.ts', import.meta.url)), transport];
  child = spawn('sh', ['-c', `ulimit -n ${limit}; exec "$@"`, 'sh', ...program], {
    env: environment({ folder: '.' }),
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  output = '';
  child.stdout!.on('data', (chunk: Buffer) => (output += chunk.toString()));
  await until('its port', () => output.endsWith('\n'), withinMs);
  return Number(output);
}

/** Opens a connection that sends nothing. Resolves to the error, or to `open`. */
function openIdle(port: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve('open'));
    sockets.push(socket);
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    socket.resume();
  });
}

/** The status of a handshake; 0 if the connection was closed. */
async function handshake(port: number): Promise<number> {
  const client = new StreamClient(`ws://127.0.0.1:${port}/api/data?api-key=${goodKey}`);
  clients.push(client);
  await until('an outcome', () => client.refused !== null || client.closed !== null || client.socket.readyState === client.socket.OPEN);
  if (client.socket.readyState === client.socket.OPEN) return 101;
  await until('the body', () => client.refused !== null || client.closed !== null);
  if (client.refused !== null) expect(client.refused.body.error.code).toBe('UPSTREAM_UNAVAILABLE');
  return client.refused?.status ?? 0;
}

const closedByServer = (): number => sockets.filter(({ closed }) => closed).length;
const used = (): number => readdirSync(`/proc/${child.pid}/fd`).length;

describe.runIf(process.platform === 'linux').each(['uws', 'node'] as const)(
  'a gateway over %s with few descriptors',
  { timeout: withinMs * 4 },
  (transport) => {
    it('refuses new clients before it has none, and serves the others', async () => {
      const port = await start(transport);
      expect(await handshake(port)).toBe(101);
      const [first] = clients;
      const statuses: number[] = [];
      // At the latest when clients would have taken all descriptors.
      while (closedByServer() === 0 && sockets.length < limit) {
        for (let i = 0; i < 8; i++) await openIdle(port);
        statuses.push(await handshake(port));
      }
      const phases = statuses.filter((status, i) => status !== statuses[i - 1]);
      expect(phases.slice(0, 2)).toEqual([101, 503]);
      await until('clients to be closed', () => closedByServer() > 0);
      expect(used()).toBeLessThanOrEqual(limit - reserve + 1);
      expect(await first!.ask({ op: 'ping' })).toMatchObject({ op: 'pong' });
      for (const socket of sockets) socket.destroy();
      await until('new clients to be accepted', async () => (await handshake(port)) === 101, withinMs);
    });

    it('does not try to accept clients while it has none, and goes on when it has some', async () => {
      const port = await start(transport);
      expect(await handshake(port)).toBe(101);
      const [first] = clients;
      child.stdin!.write('exhaust\n');
      await until('the last descriptor to be used', () => output.includes('exhausted'));
      // The native server stops to listen, and node:http closes each client.
      await until('clients to be refused', async () => {
        const outcome = await openIdle(port);
        return transport === 'uws' ? outcome === 'ECONNREFUSED' : closedByServer() > 0;
      });
      expect(await first!.ask({ op: 'ping' })).toMatchObject({ op: 'pong' });
      child.stdin!.write('release\n');
      await until('new clients to be accepted', async () => (await handshake(port)) === 101, withinMs);
    });
  },
);
