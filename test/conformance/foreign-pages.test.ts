import { afterEach, describe, expect, it } from 'vitest';
import type { Config } from '@sluice/shared/config/config.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import { serveOperations } from '@sluice/shared/operations/server.ts';
import { askOnce, requestBytes, RawConnection, type RawRequest } from '../support/clients/raw-http.ts';
import { goodKey, startTestGateway } from '../support/gateway.ts';

/** Web pages that reach a gateway on the loopback: under a name that was pointed there (DNS rebinding), or from an origin of their own. */
const closings: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closings.splice(0)) await close();
});

const handshake = {
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
};
const session = { Cookie: `sluice_session=${'a'.repeat(64)}` };
/** Everything that needs no key, with the status for a program. */
const keyless: readonly (readonly [number, RawRequest])[] = [
  [200, { method: 'GET', target: '/' }],
  [200, { method: 'GET', target: '/docs' }],
  [200, { method: 'GET', target: '/api/openapi.json' }],
  [200, { method: 'GET', target: '/status' }],
  [200, { method: 'GET', target: '/livez' }],
  [200, { method: 'HEAD', target: '/livez' }],
  [400, { method: 'POST', target: '/api/trade-local', headers: { 'Content-Type': 'application/json' }, body: '{}' }],
  [404, { method: 'GET', target: '/nowhere' }],
  [101, { method: 'GET', target: '/api/data', headers: handshake }],
  [101, { method: 'GET', target: '/data', headers: handshake }],
];

describe.each(['uws', 'node'] as const)('on the loopback, over %s', (transport) => {
  async function start(config: Partial<Config> = {}): Promise<number> {
    const server = await startTestGateway({ transport, config: { pumpPortalKeyless: true, ...config } });
    closings.push(() => server.close());
    return server.gateway.port;
  }
  /** The status; with the error of an answer that has one. A WebSocket that opens ends at once. */
  async function outcome(port: number, request: RawRequest, headers: Readonly<Record<string, string>>): Promise<string> {
    const connection = await RawConnection.open(port);
    const all = { ...(request.headers as Readonly<Record<string, string>>), ...headers };
    const bytes = requestBytes({ ...request, headers: all });
    const opened = await connection.exchange(bytes, request.method).finally(() => connection.close());
    const isError = opened!.status >= 400 && opened!.body.length > 0;
    return `${opened!.status}${isError ? ` ${(opened!.json() as { error: { code: string } }).error.code}` : ''}`;
  }

  it('a request is served only under a name of the loopback', async () => {
    const port = await start();
    const own = [`127.0.0.1:${port}`, '127.0.0.1', `localhost:${port}`, 'LOCALHOST', '[::1]:1', '127.8.9.10'];
    const foreign = [`evil.test:${port}`, 'evil.test', 'localhost.evil.test', '127.0.0.1.evil.test', '203.0.113.9', '0.0.0.0', '', 'a b'];
    for (const [status, request] of keyless) {
      for (const host of own)
        expect([host, request.target, await outcome(port, request, { Host: host })]).toEqual([
          host,
          request.target,
          expect.stringMatching(new RegExp(`^${status}`)),
        ]);
      const refused = request.method === 'HEAD' ? '403' : '403 FORBIDDEN';
      for (const host of foreign)
        expect([host, request.target, await outcome(port, request, { Host: host })]).toEqual([host, request.target, refused]);
    }
    const [, status] = keyless[3]!;
    // Not even with a key: the page could have tricked its visitor into entering it.
    expect(await outcome(port, status, { Host: 'evil.test', Authorization: `Bearer ${goodKey}` })).toBe('403 FORBIDDEN');
    const answer = await askOnce(port, { ...status, headers: { Host: `evil.test:${port}` } });
    expect(answer?.json()).toMatchObject({
      error: {
        code: 'FORBIDDEN',
        retryable: false,
        message: expect.stringMatching(/ALLOWED_HOSTS.*PUBLIC_URL/),
      },
      requestId: answer?.headers.get('x-request-id'),
    });
  });

  it('a page of another origin needs a key', async () => {
    const port = await start();
    const own = `127.0.0.1:${port}`;
    const foreign = ['http://evil.test', `http://evil.test:${port}`, 'http://127.0.0.1', `http://localhost:${port}`, 'null', ''];
    for (const [status, request] of keyless) {
      expect(await outcome(port, request, { Host: own, Origin: `http://${own}` })).toMatch(new RegExp(`^${status}`));
      const refused = request.method === 'HEAD' ? '403' : '403 FORBIDDEN';
      for (const origin of foreign) {
        for (const more of [{}, session, { 'X-API-Key': '' }]) {
          expect([origin, request.target, await outcome(port, request, { Host: own, Origin: origin, ...more })]).toEqual([
            origin,
            request.target,
            refused,
          ]);
        }
      }
    }
    const origin = { Origin: 'http://evil.test' };
    for (const target of [`/api/data?api-key=${goodKey}`, `/data?api-key=${goodKey}`]) {
      expect(await outcome(port, { method: 'GET', target, headers: handshake }, origin)).toBe('101');
    }
    for (const [offered, status] of [
      [`sluice, ${goodKey}`, '101'],
      ['sluice, x', '401 UNAUTHENTICATED'],
      ['sluice', '403 FORBIDDEN'],
    ] as const) {
      const request = { method: 'GET', target: '/api/data', headers: { ...handshake, 'Sec-WebSocket-Protocol': offered } };
      expect([offered, await outcome(port, request, origin)]).toEqual([offered, status]);
    }
    expect(await outcome(port, { method: 'GET', target: `/api/data?ticket=x`, headers: handshake }, origin)).toBe('401 UNAUTHENTICATED');
    const answer = await askOnce(port, { method: 'GET', target: '/status', headers: origin });
    expect(answer?.json()).toMatchObject({
      error: { code: 'FORBIDDEN', message: expect.stringMatching(/CORS_ORIGINS.*PUBLIC_URL/) },
    });
  });

  it('the names and origins in the settings are accepted', async () => {
    const port = await start({
      publicUrl: 'https://sluice.example:8443',
      allowedHosts: ['other.example', '203.0.113.9'],
      corsOrigins: ['https://app.example'],
    });
    const [, request] = keyless[3]!;
    for (const host of ['sluice.example', 'sluice.example:8443', 'SLUICE.example.', 'other.example:1', '203.0.113.9', 'localhost']) {
      expect([host, await outcome(port, request, { Host: host })]).toEqual([host, '200']);
    }
    expect(await outcome(port, request, { Host: 'evil.test' })).toBe('403 FORBIDDEN');
    // Some proxies pass on the Host of the client, and others replace it.
    for (const Host of ['sluice.example:8443', '127.0.0.1']) {
      expect(await outcome(port, request, { Host, Origin: 'https://sluice.example:8443' })).toBe('200');
      expect(await outcome(port, request, { Host, Origin: 'https://app.example' })).toBe('200');
      expect(await outcome(port, request, { Host, Origin: 'https://evil.test' })).toBe('403 FORBIDDEN');
    }
    const open = await start({ allowedHosts: ['*'], corsOrigins: ['*'] });
    expect(await outcome(open, request, { Host: 'evil.test', Origin: 'http://another.test' })).toBe('200');
  });

  it('another listener accepts every name, unless some are set', async () => {
    const [, request] = keyless[3]!;
    const any = await start({ host: '0.0.0.0' });
    expect(await outcome(any, request, { Host: 'sluice.example', Origin: 'https://other.example' })).toBe('200');
    const some = await start({ host: '0.0.0.0', allowedHosts: ['sluice.example'], publicUrl: 'https://www.sluice.example' });
    for (const host of ['sluice.example', 'www.sluice.example', 'localhost', '203.0.113.9:8080', '[2001:db8::1]']) {
      expect([host, await outcome(some, request, { Host: host })]).toEqual([host, '200']);
    }
    expect(await outcome(some, request, { Host: 'evil.test' })).toBe('403 FORBIDDEN');
  });
});

it('the metrics port of the loopback has the same names, and serves no page', async () => {
  const log = createLog({ level: 'silent', name: 'test' });
  const options = { port: 0, waitForPort: false, metrics: async () => [], parts: () => ({}), log };
  const start = async (host: string): Promise<number> => {
    const server = await serveOperations({ ...options, host, allowedHosts: ['prometheus.example'] });
    closings.push(() => server.close());
    return server.port!;
  };
  const statusOf = async (port: number, headers: Readonly<Record<string, string>>): Promise<number | undefined> =>
    (await askOnce(port, { method: 'GET', target: '/metrics', headers }))?.status;
  const [local, open] = [await start('127.0.0.1'), await start('0.0.0.0')];
  for (const Host of [`127.0.0.1:${local}`, 'localhost', 'prometheus.example:9464']) expect(await statusOf(local, { Host })).toBe(200);
  expect(await statusOf(local, { Host: 'evil.test' })).toBe(403);
  expect(await statusOf(open, { Host: 'gateway-1.internal' })).toBe(200);
  for (const port of [local, open]) expect(await statusOf(port, { Origin: 'http://evil.test' })).toBe(403);
});
