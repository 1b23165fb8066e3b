import { connect, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { goodKey, startTestGateway, until, type TestGateway } from '../support/gateway.ts';
import { RawConnection } from '../support/clients/raw-http.ts';
import { StreamClient } from '../support/clients/stream-client.ts';

interface Raw {
  /** Everything that arrived until the server closed, or until `quietMs` passed without a further byte, or `firstMs` without a first one. */
  readonly text: string;
  readonly closed: boolean;
}

/** Sends bytes unchanged, in the given pieces, and reads the answer. */
function raw(port: number, pieces: readonly (string | Buffer)[], { quietMs = 300, firstMs = 5_000, abort = false } = {}): Promise<Raw> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let text = '';
    let timer: NodeJS.Timeout | null = null;
    const finish = (closed: boolean): void => {
      if (timer !== null) clearTimeout(timer);
      socket.destroy();
      resolve({ text, closed });
    };
    const quiet = (): void => {
      if (timer !== null) clearTimeout(timer);
      timer = setTimeout(() => finish(false), text === '' ? firstMs : quietMs);
    };
    socket.setNoDelay(true);
    socket.on('error', () => finish(true));
    socket.on('close', () => finish(true));
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      quiet();
    });
    const sendNext = (at: number): void => {
      const piece = pieces[at];
      if (piece === undefined) {
        if (abort) socket.resetAndDestroy();
        else quiet();
      } else socket.write(piece, () => setImmediate(() => sendNext(at + 1)));
    };
    socket.on('connect', () => sendNext(0));
  });
}

const errorOf = (text: string): { error: { code: string }; requestId: string } =>
  JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4)) as never;
const statusesIn = (text: string): string[] => [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((match) => match[1]!);

describe.each(['uws', 'node'] as const)('HTTP over %s', (transport) => {
  let server: TestGateway;
  let port = 0;
  const seen: string[] = [];
  beforeAll(async () => {
    server = await startTestGateway({
      transport,
      // `foreign-pages` tests which names are accepted.
      config: { allowedHosts: ['*'] },
      routes: [
        {
          method: 'POST',
          path: '/test/length',
          handler: async (request, body) => {
            seen.push(request.path);
            await new Promise((resolve) => setImmediate(resolve));
            return { status: 200, lines: '', headers: {}, body: String(body.length) };
          },
        },
        {
          method: 'GET',
          path: '/test/fault',
          handler: () => Promise.reject(new Error('a fault with a secret inside')),
        },
        {
          method: 'GET',
          path: '/test/throw',
          handler: () => {
            throw new Error('a fault with a secret inside');
          },
        },
      ],
    });
    port = server.gateway.port;
  });
  afterAll(() => server.close());

  const get = (path: string, init: RequestInit = {}): Promise<Response> => fetch(`http://${server.host}${path}`, init);
  const expectUp = async (): Promise<void> => expect((await get('/livez')).status).toBe(200);

  it('is live and ready', async () => {
    expect(await (await get('/livez')).json()).toEqual({ live: true });
    const well = { ok: true, reason: null };
    const parts = {
      bus: well,
      ingest: { ok: false, reason: expect.any(String) },
      store: well,
      limits: well,
      chain: well,
      trading: well,
      clock: well,
    };
    expect(await (await get('/readyz?exclude=ingest')).json()).toEqual({ ready: true, parts, tradingRole: null });
    const answer = await get('/readyz');
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({
      error: { code: 'UPSTREAM_UNAVAILABLE', message: 'Not ready: ingest.', details: { parts } },
    });
    for (const other of ['weather', '__proto__']) expect((await get(`/readyz?exclude=ingest,${other}`)).status).toBe(400);
  });

  it('reports its status with and without /api', async () => {
    for (const path of ['/status', '/api/status']) {
      const answer = await get(path);
      expect(answer.status).toBe(200);
      expect(answer.headers.get('x-api-version')).toMatch(/^\d+\.\d+\.\d+$/);
      expect(await answer.json()).toMatchObject({
        name: 'sluice',
        version: expect.stringMatching(/^\d+\.\d+\.\d+/),
        transport,
        uptimeMs: expect.any(Number),
        lag: { slots: null, ms: null },
        parts: { bus: { ok: true, reason: null }, ingest: { ok: false } },
        cluster: { simulated: null },
        bus: { kind: 'in-process', linkUp: true },
        stream: { connections: 0, topics: 0, latencyUs: { count: 0, p50: null, p99: null } },
        orders: null,
        triggers: null,
      });
    }
  });

  it('gives a browser a page, and a program JSON, at the status and at addresses that do not exist', async () => {
    const browser = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };
    const ask = (path: string, headers: Readonly<Record<string, string>>): Promise<Response> =>
      fetch(`http://${server.host}${path}`, { headers, redirect: 'manual' });
    const moved = await ask('/status', browser);
    expect([moved.status, moved.headers.get('location'), moved.headers.get('vary')]).toEqual([303, '/#/status', 'Accept']);
    for (const path of ['/nothing', '/dashboard/nothing', '/docs/nothing']) {
      const page = await ask(path, browser);
      expect([page.status, page.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
      expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
      expect(await page.text()).toContain('<a href="/#/wallets">Wallets</a>');
    }
    const programs = [
      '*/*',
      'application/json, text/plain, */*',
      'application/json, text/html',
      'text/html;q=0, */*',
      'text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2',
    ];
    for (const accept of programs) {
      expect(await (await ask('/status', { accept })).json()).toMatchObject({ name: 'sluice' });
      for (const path of ['/nothing', '/docs/nothing']) {
        const refused = await ask(path, { accept });
        expect([refused.status, (await refused.json()) as unknown]).toMatchObject([404, { error: { code: 'NOT_FOUND' } }]);
      }
    }
    // A resource of the API that does not exist is an error for browsers too, and no page of ours hides it.
    expect((await ask('/api/status', browser)).status).toBe(200);
  });

  it('serves metrics to this machine only', async () => {
    const answer = await get('/metrics');
    expect(answer.headers.get('content-type')).toContain('text/plain');
    const text = await answer.text();
    const ofStream = ['connections', 'events_total', 'gaps_total', 'drops_total', 'slow_closes_total', 'publishes_total'];
    const ofReads = [
      'tokens',
      'token_loads_total',
      'token_shared_total',
      'chain_calls_total',
      'chain_shared_total',
      'quote_market_reads_total',
    ];
    for (const name of [...ofStream, ...ofReads]) {
      expect(text).toMatch(new RegExp(`^sluice_gateway_${name} \\d+`, 'm'));
    }
    const statusWith = async (...lines: readonly string[]): Promise<string[]> =>
      statusesIn((await raw(port, [`GET /metrics HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`])).text);
    const own = ['localhost', 'LOCALHOST:8080', '127.0.0.1', `127.0.0.1:${port}`, '[::1]', '[::1]:8080'];
    const foreign = ['evil.example', `evil.example:${port}`, 'localhost.evil.example', '127.0.0.1.evil.example', '203.0.113.9'];
    const forwarded = ['X-Forwarded-For: 203.0.113.9', 'Forwarded: for=203.0.113.9', 'X-Real-IP: 203.0.113.9', 'Via: 1.1 proxy'];
    const cases = [
      ...own.map((host) => [[`Host: ${host}`], '200'] as const),
      ...foreign.map((host) => [[`Host: ${host}`], '404'] as const),
      ...forwarded.map((header) => [['Host: localhost', header], '404'] as const),
    ];
    await Promise.all(cases.map(async ([lines, status]) => expect([lines, await statusWith(...lines)]).toEqual([lines, [status]])));
  });

  it.each([
    ['GET', '/nowhere', 404, 'NOT_FOUND'],
    ['POST', '/livez', 405, 'METHOD_NOT_ALLOWED'],
    ['DELETE', '/status', 405, 'METHOD_NOT_ALLOWED'],
    ['GET', '/test/length', 405, 'METHOD_NOT_ALLOWED'],
    ['GET', '/api/data', 400, 'INVALID_REQUEST'],
    ['GET', '/test/fault', 500, 'INTERNAL'],
    ['GET', '/test/throw', 500, 'INTERNAL'],
  ])('answers %s %s with %d %s', async (method, path, status, code) => {
    const answer = await get(path, { method });
    expect(answer.status).toBe(status);
    const body = (await answer.json()) as { error: { code: string; message: string }; requestId: string };
    expect(body.error.code).toBe(code);
    expect(body.error.message).not.toContain('secret');
    expect(answer.headers.get('x-request-id')).toBe(body.requestId);
    if (status === 405) expect(answer.headers.get('allow')).toContain('OPTIONS');
  });

  it.each(['100-continue', '100-Continue', '100-CONTINUE'])(
    'continues a request with Expect: %s before its body arrives',
    async (value) => {
      const socket = connect(port, '127.0.0.1');
      let text = '';
      socket.setNoDelay(true).on('data', (chunk) => (text += chunk.toString('latin1')));
      // Twice on one connection: nothing of the first answer remains.
      for (const body of ['hello', 'again and again']) {
        text = '';
        socket.write(`POST /test/length HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\nExpect: ${value}\r\n\r\n`);
        await until('100 Continue', () => text === 'HTTP/1.1 100 Continue\r\n\r\n');
        text = '';
        socket.write(body);
        await until('the answer', () => text.endsWith(`\r\n\r\n${body.length}`));
        expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\nX-Request-Id: /);
      }
      socket.destroy();
    },
  );

  it('retains a well-formed request id of the caller', async () => {
    expect((await get('/livez', { headers: { 'X-Request-Id': 'trace-0123456789' } })).headers.get('x-request-id')).toBe('trace-0123456789');
    expect((await get('/livez', { headers: { 'X-Request-Id': 'short' } })).headers.get('x-request-id')).toMatch(/^[0-9a-f]{24}$/);
  });

  it('answers HEAD without a body, and OPTIONS with the allowed methods', async () => {
    const { text } = await raw(port, ['HEAD /status HTTP/1.1\r\nHost: a\r\n\r\n']);
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(text.endsWith('\r\n\r\n')).toBe(true);
    expect(Number(/content-length: (\d+)/i.exec(text)![1])).toBeGreaterThan(100);
    const options = await get('/livez', { method: 'OPTIONS' });
    expect(options.status).toBe(204);
    expect(options.headers.get('allow')).toBe('GET, HEAD, OPTIONS');
  });

  it('reads a body of 64 KiB, whole or in pieces, and refuses a longer one', async () => {
    const post = (body: string): Promise<Response> => get('/test/length', { method: 'POST', body });
    expect(await (await post('x'.repeat(65_536))).text()).toBe('65536');
    expect(await (await post('')).text()).toBe('0');
    const pieces = ['POST /test/length HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n', 'abc', 'defg', 'hij'];
    expect((await raw(port, pieces)).text).toMatch(/\r\n\r\n10$/);
    const declared = await raw(port, ['POST /test/length HTTP/1.1\r\nHost: a\r\nContent-Length: 65537\r\n\r\n', 'x'.repeat(1_000)]);
    expect(statusesIn(declared.text)).toEqual(['413']);
    expect(errorOf(declared.text).error.code).toBe('PAYLOAD_TOO_LARGE');
    const chunk = `${(8_192).toString(16)}\r\n${'x'.repeat(8_192)}\r\n`;
    const chunked = await raw(port, [
      'POST /test/length HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n',
      ...Array.from({ length: 12 }, () => chunk),
    ]);
    expect(statusesIn(chunked.text)[0]).toBe('413');
    await expectUp();
  });

  it('refuses a request with two lengths, and never serves a request that is hidden behind them', async () => {
    seen.length = 0;
    const hidden = 'POST /test/length HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n';
    const twice = (second: number): string =>
      `POST /test/length HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: ${second}\r\n\r\nhello`;
    const alone = await raw(port, [twice(40)]);
    expect(statusesIn(alone.text)).toEqual(['400']);
    expect(errorOf(alone.text).error.code).toBe('INVALID_REQUEST');
    expect(alone.text).toMatch(/x-request-id: /i);
    expect(alone.closed).toBe(true);
    for (const pieces of [[twice(40) + hidden], [twice(40), hidden], [twice(5) + hidden]]) {
      const { text, closed } = await raw(port, pieces);
      expect(statusesIn(text).filter((status) => status !== '400')).toEqual([]);
      expect(closed).toBe(true);
    }
    expect(seen).toEqual([]);
    await expectUp();
  });

  it('refuses a transfer coding other than chunked, because proxies may parse it differently', async () => {
    seen.length = 0;
    const chunks = '5\r\nhello\r\n0\r\n\r\n';
    const hidden = 'POST /test/length HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n';
    for (const lines of ['xchunked', 'gzip, chunked', 'chunked, chunked', 'chunked\r\nTransfer-Encoding: chunked']) {
      for (const pieces of [[chunks], [chunks + hidden], [chunks, hidden]]) {
        const [first = '', ...more] = pieces;
        const head = `POST /test/length HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: ${lines}\r\n\r\n`;
        const { text, closed } = await raw(port, [head + first, ...more]);
        // At most once: a second answer would be taken for an answer to the next request.
        expect(['', '400']).toContain(statusesIn(text).join());
        expect(closed).toBe(true);
      }
    }
    expect(seen).toEqual([]);
    const { text } = await raw(port, [`POST /test/length HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n${chunks}`]);
    expect(statusesIn(text)).toEqual(['200']);
    await expectUp();
  });

  it('ignores an offer of another protocol, and answers the request once, with its body', async () => {
    const offer = 'Host: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n';
    const head = `POST /test/length HTTP/1.1\r\n${offer}Content-Length: 5\r\n\r\n`;
    for (const pieces of [[`${head}hello`], [head, 'he', 'llo'], [head.slice(0, 30), head.slice(30), 'hello']]) {
      const { text } = await raw(port, pieces);
      expect(statusesIn(text)).toEqual(['200']);
      expect(text.endsWith('\r\n\r\n5')).toBe(true);
    }
    expect((await raw(port, [`HEAD /livez HTTP/1.1\r\n${offer}\r\n`])).text).toMatch(/^HTTP\/1.1 200 .*\r\n\r\n$/s);
    expect((await raw(port, [`OPTIONS /livez HTTP/1.1\r\n${offer}\r\n`])).text).not.toMatch(/content-length/i);
    const long = await raw(port, [`POST /test/length HTTP/1.1\r\n${offer}Content-Length: 70000\r\n\r\n`, 'x'.repeat(70_000)]);
    expect(statusesIn(long.text).slice(0, 1)).toEqual(long.text === '' ? [] : ['413']);
  });

  it('survives clients that disconnect at every byte of a request', async () => {
    const requests = [
      'POST /test/length HTTP/1.1\r\nHost: a\r\nContent-Length: 20\r\n\r\n01234567890123456789',
      'GET /status HTTP/1.1\r\nHost: a\r\n\r\n',
      'GET /api/data?api-key=x HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n',
    ];
    for (const request of requests) {
      for (let at = 1; at <= request.length; at += 8) {
        await Promise.all(
          Array.from({ length: 8 }, (_, i) => raw(port, [request.slice(0, Math.min(request.length, at + i))], { abort: true })),
        );
      }
    }
    await expectUp();
  });

  it.each([
    ['bytes that are not a request', '\x00\x01\x02\x03garbage\r\n\r\n'],
    ['a header without a colon', 'GET /livez HTTP/1.1\r\nHost a\r\n\r\n'],
    ['a negative length', 'POST /test/length HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\nhello'],
    ['a signed length', 'POST /test/length HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\nhello'],
    ['both kinds of length', 'POST /test/length HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['a bare line feed', 'GET /livez HTTP/1.1\nHost: a\n\n'],
    ['a broken escape in the query', 'GET /livez?%zz=%e0%a4%a HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a request line of 60 KiB', `GET /${'a'.repeat(60_000)} HTTP/1.1\r\nHost: a\r\n\r\n`],
    ['two hundred headers', `GET /livez HTTP/1.1\r\nHost: a\r\n${Array.from({ length: 200 }, (_, i) => `X-${i}: y\r\n`).join('')}\r\n`],
    [
      'a WebSocket of another version',
      'GET /api/data HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: short\r\nSec-WebSocket-Version: 8\r\n\r\n',
    ],
  ])(
    'outlives %s',
    async (_what, request) => {
      seen.length = 0;
      await raw(port, [request], { quietMs: 100, firstMs: 100 });
      await raw(port, request.split(''), { quietMs: 100, abort: true });
      await expectUp();
    },
    60_000,
  );

  it.each([
    ['a version of WebSocket', 'Upgrade: websocket\r\nConnection: Upgrade\r\n', '426'],
    ['Upgrade', 'Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n', '400'],
    ['Connection', 'Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n', '400'],
  ])('opens no WebSocket without %s', async (_what, headers, status) => {
    const key = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
    const { text } = await raw(port, [`GET /api/data HTTP/1.1\r\nHost: a\r\n${key}${headers}\r\n`]);
    expect(statusesIn(text)).toEqual([status]);
    expect(errorOf(text).error.code).toBe('INVALID_REQUEST');
    if (status === '426') expect(text).toMatch(/sec-websocket-version: 13\r\n/i);
  });

  it('sends a slow reader a long answer completely, and buffers none for a client that sends requests without reading', async () => {
    const ask = 'GET /docs/schemas HTTP/1.1\r\nHost: a\r\n\r\n';
    const slow = connect(port, '127.0.0.1');
    slow.write(ask);
    let taken = '';
    for await (const chunk of slow as AsyncIterable<Buffer>) {
      taken += chunk.toString('latin1');
      await delay(1);
      const end = taken.indexOf('\r\n\r\n') + 4;
      if (end > 3 && taken.length - end >= Number(/content-length: (\d+)/i.exec(taken)![1])) break;
    }
    expect(taken.length).toBeGreaterThan(100_000);
    expect(taken.trimEnd().endsWith('</html>')).toBe(true);
    if (transport === 'node') return;

    // All of them would be a hundred million bytes, for some twenty thousand.
    const hasty = connect(port, '127.0.0.1').pause();
    let read = 0;
    const ended = new Promise<void>((resolve) => hasty.on('error', () => hasty.destroy()).on('close', () => resolve()));
    await new Promise((resolve) => hasty.write(ask.repeat(600), resolve));
    await until('the server to have read on', async () => (await get('/livez')).ok);
    hasty.on('data', (chunk: Buffer) => (read += chunk.length)).resume();
    await ended;
    expect(read).toBeLessThan(20 * taken.length);
  });

  it('includes the query in the length of a URL', async () => {
    expect((await get(`/livez?api-key=${'x'.repeat(8_100)}`)).status).toBe(200);
    expect((await get(`/livez?api-key=${'x'.repeat(8_200)}`)).status).toBe(400);
  });

  it('reports on open connections that it drains', async () => {
    const own = await startTestGateway({ transport });
    // A client that is notified to reconnect elsewhere, and has time to receive it.
    const client = await new StreamClient(`ws://${own.host}/api/data?api-key=${goodKey}`).open();
    await client.ask({ op: 'subscribe', channel: 'newTokens' });
    const [persistent, other] = [await RawConnection.open(own.gateway.port), await RawConnection.open(own.gateway.port)];
    for (const one of [persistent, other])
      expect((await one.ask({ method: 'GET', target: '/livez' }))?.headers.get('connection')).not.toBe('close');
    const ended = own.close();
    await expect(until('the listener to close', () => RawConnection.open(own.gateway.port).then(() => false))).rejects.toThrow(
      /ECONNREFUSED/,
    );
    const ready = await persistent.ask({ method: 'GET', target: '/readyz' });
    expect(ready?.status).toBe(503);
    expect(ready?.json()).toMatchObject({ error: { code: 'DRAINING', retryable: true } });
    expect(ready?.headers.get('retry-after')).toBe('1');
    expect(ready?.headers.get('connection')).toBe('close');
    expect((await other.ask({ method: 'GET', target: '/livez' }))?.status).toBe(200);
    await ended;
    await until('the connection to be closed', () => persistent.closed);
  });

  it('does not start if its port is in use', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const taken = (other.address() as { port: number }).port;
    await expect(startTestGateway({ transport, config: { port: taken } })).rejects.toMatchObject({ setting: 'PORT' });
    await new Promise((resolve) => other.close(resolve));
    await expect(startTestGateway({ transport, config: { port } })).rejects.toMatchObject({ setting: 'PORT' });
    const onFree = await startTestGateway({ transport, config: { port: taken } });
    expect(onFree.gateway.port).toBe(taken);
    await onFree.close();
  });
});
