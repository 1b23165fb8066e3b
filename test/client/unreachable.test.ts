import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer as createTlsServer } from 'node:https';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Sluice, type Status } from '@sluice/client';
import { afterEach, beforeEach, expect, it, vi, type MockInstance } from 'vitest';
import { WebSocket } from 'ws';
import { freePort } from '../support/free-port.ts';
import { until } from '../support/until.ts';

/** A program that gives no callbacks must see at once that its address is wrong. */
let warn: MockInstance<typeof console.warn>;
const servers: Server[] = [];
const clients: Sluice[] = [];

beforeEach(() => {
  warn = vi.spyOn(console, 'warn').mockReturnValue(undefined);
});
afterEach(() => {
  for (const client of clients.splice(0)) client.close();
  for (const server of servers.splice(0)) server.close();
  warn.mockRestore();
});

function clientOf(url: string, openSocket = (address: string) => new WebSocket(address)): Sluice {
  const client = new Sluice({ url, apiKey: 'key', openSocket, retries: 2 });
  clients.push(client);
  return client;
}

async function listen(server: Server): Promise<number> {
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const warnings = (): readonly string[] => warn.mock.calls.map(([text]) => String(text));

it('says once that nothing listens at its port, while it tries again', async () => {
  const port = await freePort();
  let opened = 0;
  const client = clientOf(`http://user:secret@127.0.0.1:${port}`, (address) => {
    opened++;
    return new WebSocket(address);
  });
  client.subscribe('trades', { onEvent: () => undefined });
  await until('several attempts', () => opened >= 3);
  expect(warnings()).toEqual([
    `sluice: cannot reach ws://127.0.0.1:${port}/api/data (connect ECONNREFUSED 127.0.0.1:${port}), retrying. Give onStatus to handle this.`,
  ]);
});

it('reports to onStatus instead, if there is one', async () => {
  const port = await freePort();
  const states: Status[] = [];
  clientOf(`http://127.0.0.1:${port}`).subscribe('trades', { onStatus: (status) => void states.push(status) });
  const first = await until('a state', () => states[0]);
  const reason = expect.stringMatching(/^cannot reach ws:\S+ \(connect ECONNREFUSED /);
  expect(first).toEqual({ state: 'reconnecting', reason, inMs: expect.any(Number) });
  expect(warnings()).toEqual([]);
});

it('names a host that does not exist', async () => {
  clientOf('http://no-such-host.invalid:8080').subscribe('newTokens', { onEvent: () => undefined });
  await until('a warning', () => warnings()[0]);
  expect(warnings()[0]).toMatch(
    /^sluice: cannot reach ws:\/\/no-such-host\.invalid:8080\S* \(getaddrinfo E\w+ no-such-host\.invalid\), retrying/,
  );
});

const certificateTool = 'openssl';
const hasOpenssl = spawnSync(certificateTool, ['version']).status === 0;

it.skipIf(!hasOpenssl)('says that a certificate is not accepted', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-certificate-'));
  const files = { cert: join(folder, 'tls.crt'), key: join(folder, 'tls.key') };
  const args = `req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -keyout ${files.key} -out ${files.cert}`;
  expect(spawnSync(certificateTool, args.split(' ')).status).toBe(0);
  const [cert, key] = [files.cert, files.key].map((file) => readFileSync(file));
  rmSync(folder, { recursive: true });
  const port = await listen(createTlsServer({ cert, key }));
  clientOf(`https://127.0.0.1:${port}`).subscribe('newTokens', { onEvent: () => undefined });
  await until('a warning', () => warnings()[0]);
  expect(warnings()[0]).toMatch(/^sluice: cannot reach wss:\S+ \(.*certificate.*\), retrying/);
});

it('reports an address that does not answer before it gives up', async () => {
  const port = await listen(createServer());
  clientOf(`http://127.0.0.1:${port}`).subscribe('newTokens', { onEvent: () => undefined });
  await until('a warning', () => warnings()[0]);
  expect(warnings()[0]).toContain(`cannot reach ws://127.0.0.1:${port}/api/data (no answer within 1 s), retrying`);
});

it('says once that a request is repeated because of the address', async () => {
  const port = await freePort();
  const reason = `cannot reach http://127.0.0.1:${port} (connect ECONNREFUSED 127.0.0.1:${port})`;
  await expect(clientOf(`http://127.0.0.1:${port}`).orders()).rejects.toMatchObject({ code: 'NETWORK', message: `No answer: ${reason}.` });
  expect(warnings()).toEqual([`sluice: No answer: ${reason}, retrying.`]);
});
