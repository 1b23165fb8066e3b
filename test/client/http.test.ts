import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Sluice, SluiceError, type SluiceOptions } from '@sluice/client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startVirtualTime } from '../support/virtual-time.ts';

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly key: string | undefined;
  readonly authorization: string | undefined;
  readonly body: string;
}

let server: Server;
let asked: Asked[];
/** What the next requests are answered, in turn; the last one stays. */
let answers: ((response: ServerResponse) => void)[];
let sluice: Sluice;
let endTime: () => void;
beforeEach(async () => {
  endTime = startVirtualTime();
  asked = [];
  answers = [];
  server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request;
      asked.push({ method, path, key: headers['idempotency-key'] as string | undefined, authorization: headers.authorization, body });
      const answer = answers.length > 1 ? answers.shift() : answers[0];
      answer?.(response);
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  sluice = new Sluice({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, apiKey: 'a_key', timeoutMs: 500 });
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
  endTime();
});

const ok =
  (json: unknown) =>
  (response: ServerResponse): void =>
    void response.setHeader('content-type', 'application/json').end(JSON.stringify(json));
/** The answer to the order that was asked for last. */
const placed = (response: ServerResponse): void => {
  const { path, body } = asked.at(-1)!;
  const { mint, publicKey } = JSON.parse(body) as Record<string, unknown>;
  ok({ orderId: 'o', status: 'submitted', side: path.slice('/api/trade/'.length), mint, publicKey })(response);
};
const refused =
  (status: number, code: string, retryable: boolean, headers: Readonly<Record<string, string>> = {}) =>
  (response: ServerResponse): void =>
    void response
      .writeHead(status, headers)
      .end(JSON.stringify({ error: { code, message: 'words', retryable, details: {} }, requestId: 'r1' }));
/** The answer of a proxy. */
const page =
  (status: number, headers: Readonly<Record<string, string>> = {}) =>
  (response: ServerResponse): void =>
    void response.writeHead(status, headers).end('<html>');
const cut = (response: ServerResponse): void => void response.destroy();
const silent = (): void => undefined;

describe('requests', () => {
  it('wait for an order that is under way, beyond the usual number of repetitions', async () => {
    const underWay = refused(409, 'IDEMPOTENCY_IN_PROGRESS', true);
    answers = [cut, ...Array.from({ length: 5 }, () => underWay), placed];
    expect(await sluice.buy({ publicKey: 'w', mint: 'm', amount: 0.1 })).toMatchObject({ orderId: 'o' });
    expect(asked).toHaveLength(7);
    expect(new Set(asked.map(({ key }) => key)).size).toBe(1);
  });

  it('carry the key, and return the answer', async () => {
    answers = [ok({ mint: 'a/b' }), ok({ mint: 'm', candles: [] })];
    expect(await sluice.tokenInfo('a/b')).toEqual({ mint: 'a/b' });
    await sluice.candles('m', { interval: '5m', limit: 2 });
    expect(asked).toMatchObject([
      { method: 'GET', path: '/api/token/info/a%2Fb', authorization: 'Bearer a_key' },
      { path: '/api/token/candles/m?interval=5m&limit=2' },
    ]);
  });

  it('are repeated after a cut, a time-out and a temporary error, not before its Retry-After', async () => {
    answers = [cut, silent, refused(429, 'RATE_LIMIT', true, { 'Retry-After': '1' }), ok({ mint: 'm' })];
    const startedMs = performance.now();
    expect(await sluice.tokenInfo('m')).toEqual({ mint: 'm' });
    expect(asked).toHaveLength(4);
    expect(performance.now() - startedMs).toBeGreaterThan(1_500);
  });

  it('are not repeated after a refusal, nor more often than allowed', async () => {
    answers = [refused(400, 'INVALID_REQUEST', false)];
    const error: unknown = await sluice.quote({ side: 'buy', mint: 'm', amount: 1 }).catch((fault: unknown) => fault);
    expect(error).toBeInstanceOf(SluiceError);
    expect(error).toMatchObject({ code: 'INVALID_REQUEST', status: 400, retryable: false, requestId: 'r1' });
    expect(asked).toHaveLength(1);
    answers = [cut];
    await expect(sluice.portfolio('p')).rejects.toMatchObject({ code: 'NETWORK', retryable: true });
    expect(asked).toHaveLength(5);
  });

  it('arm a trigger once for all repetitions, and read, list and cancel triggers', async () => {
    const body = {
      publicKey: 'w',
      mint: 'm',
      side: 'sell',
      amount: '100%',
      when: { position: 'profitPct', op: '<=', value: -20 },
    } as const;
    const armed = { triggerId: 't/1', status: 'armed', side: 'sell', publicKey: 'w' };
    answers = [cut, refused(503, 'UPSTREAM_UNAVAILABLE', true), ok(armed)];
    expect(await sluice.triggers.arm(body)).toEqual(armed);
    expect(asked).toHaveLength(3);
    expect(new Set(asked.map(({ method, path, key, body: sent }) => JSON.stringify([method, path, key, sent]))).size).toBe(1);
    expect(asked[0]).toMatchObject({ method: 'POST', path: '/api/trade/triggers', key: expect.stringMatching(/^[0-9a-f]{32}$/) });
    expect(JSON.parse(asked[0]!.body)).toEqual(body);
    answers = [
      ok(armed),
      ok({ triggers: [armed], next: null }),
      cut,
      ok({ ...armed, status: 'cancelled' }),
      ok({ cancelled: 2, firing: 1 }),
    ];
    expect(await sluice.triggers.get('t/1')).toEqual(armed);
    expect(await sluice.triggers.list({ status: 'armed', mint: 'm', limit: 5 })).toEqual({ triggers: [armed], next: null });
    expect(await sluice.triggers.cancel('t/1')).toMatchObject({ status: 'cancelled' });
    expect(await sluice.triggers.cancelAll({ publicKey: 'w' })).toEqual({ cancelled: 2, firing: 1 });
    const path = '/api/trade/triggers';
    expect(asked.slice(3).map(({ method, path: to, key }) => [method, to, key])).toEqual([
      ['GET', `${path}/t%2F1`, undefined],
      ['GET', `${path}?status=armed&mint=m&limit=5`, undefined],
      ['DELETE', `${path}/t%2F1`, undefined],
      ['DELETE', `${path}/t%2F1`, undefined],
      ['DELETE', `${path}?publicKey=w`, undefined],
    ]);
    answers = [ok(armed)];
    await sluice.triggers.arm(body, { idempotencyKey: 'mine' });
    expect(asked.at(-1)).toMatchObject({ key: 'mine' });
    answers = [ok({ ...armed, triggerId: 'another' })];
    await expect(sluice.triggers.get('t/1')).rejects.toMatchObject({ code: 'MALFORMED' });
  });

  it('of a trade are not repeated if the market has left its quote, because they would trade at another one', async () => {
    answers = [refused(400, 'SLIPPAGE_EXCEEDED', true), placed];
    await expect(sluice.buy({ publicKey: 'p', mint: 'm', amount: 0.1 })).rejects.toMatchObject({ code: 'SLIPPAGE_EXCEEDED' });
    expect(asked).toHaveLength(1);
  });

  it('leave a long Retry-After to the caller', async () => {
    answers = [refused(429, 'RATE_LIMIT', true, { 'Retry-After': '600' })];
    await expect(sluice.tokenInfo('m')).rejects.toMatchObject({ code: 'RATE_LIMIT', details: { retryAfterMs: 600_000 } });
    expect(asked).toHaveLength(1);
  });

  it('of a trade have one Idempotency-Key for all repetitions, and another for the next trade', async () => {
    answers = [cut, refused(503, 'UPSTREAM_UNAVAILABLE', true), placed];
    const body = { publicKey: 'p', mint: 'm', amount: 0.1 };
    expect(await sluice.buy(body)).toMatchObject({ orderId: 'o' });
    await sluice.sell({ publicKey: 'p', mint: 'm', amount: '50%' }, { idempotencyKey: 'mine' });
    await sluice.buy(body);
    const keys = asked.map(({ key }) => key);
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
    expect(keys.slice(0, 3)).toEqual([keys[0], keys[0], keys[0]]);
    expect(keys[3]).toBe('mine');
    expect(keys[4]).not.toBe(keys[0]);
    expect(JSON.parse(asked[0]!.body)).toEqual(body);
  });

  it('end with their signal', async () => {
    answers = [silent];
    const controller = new AbortController();
    const waiting = sluice.tokenInfo('m', { signal: controller.signal });
    controller.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    expect(asked.length).toBeLessThanOrEqual(1);
    asked = [];
    await expect(sluice.buy({ publicKey: 'p', mint: 'm', amount: 1 }, { signal: controller.signal })).rejects.toThrow('enough');
    expect(asked).toEqual([]);
  });

  it('go to another gateway after a cut, with the same Idempotency-Key', async () => {
    answers = [placed];
    const { port } = server.address() as AddressInfo;
    const several = new Sluice({ url: ['http://127.0.0.1:1', `http://127.0.0.1:${port}/`], apiKey: 'a_key', timeoutMs: 500 });
    expect(await several.buy({ publicKey: 'p', mint: 'm', amount: 0.1 }, { idempotencyKey: 'mine' })).toMatchObject({ orderId: 'o' });
    expect(asked).toMatchObject([{ path: '/api/trade/buy', key: 'mine' }]);
  });

  it('need an address and options in their ranges', () => {
    const url = 'http://127.0.0.1:8080';
    for (const wrong of ['127.0.0.1:8080', 'ws://host', []]) expect(() => new Sluice({ url: wrong })).toThrow('address of a gateway');
    const wrongOptions: readonly (readonly [unknown, RegExp])[] = [
      [undefined, /address of a gateway/],
      [{ apiKey: 'a_key' }, /address of a gateway/],
      [{ url: [url, undefined] }, /address of a gateway/],
      [{ url, apikey: 'a_key' }, /no option apikey/],
      [{ url, timeoutMs: -1 }, /timeoutMs/],
      [{ url, timeoutMs: Infinity }, /timeoutMs/],
      [{ url, retries: Number.NaN }, /retries/],
      [{ url, apiKey: 'a_key\n' }, /apiKey/],
      [{ url, apiKey: null }, /apiKey/],
    ];
    for (const [options, message] of wrongOptions) {
      const make = () => new Sluice(options as SluiceOptions);
      expect(make).toThrow(TypeError);
      expect(make).toThrow(message);
    }
  });

  it('to something else than sluice are malformed', async () => {
    answers = [page(404)];
    await expect(sluice.tokenInfo('m')).rejects.toMatchObject({ code: 'MALFORMED', status: 404, retryable: false, idempotencyKey: null });
    expect(asked).toHaveLength(1);
    answers = [ok(null)];
    await expect(sluice.tokenInfo('m')).rejects.toMatchObject({ code: 'MALFORMED', status: 200 });
  });

  it('are not sent to another address by a redirect', async () => {
    const other = createServer((_, response) => void response.end('{"mint":"m"}'));
    let calls = 0;
    other.on('connection', () => calls++);
    await new Promise<void>((listening) => other.listen(0, '127.0.0.1', listening));
    const { port } = other.address() as AddressInfo;
    for (const status of [301, 302, 303, 307, 308]) {
      answers = [page(status, { Location: `http://127.0.0.1:${port}/` })];
      await expect(sluice.tokenInfo('m')).rejects.toMatchObject({ code: 'MALFORMED', status, message: expect.stringMatching('redirects') });
    }
    expect(calls).toBe(0);
    other.close();
  });

  it('refuse an answer of any other form, and one without an end', async () => {
    const order = { publicKey: 'p', mint: 'm', amount: 0.1 };
    const answer = { orderId: 'o', status: 'submitted', side: 'buy', mint: 'm', publicKey: 'p' };
    const once = new Sluice({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, retries: 0, timeoutMs: 60_000 });
    const wrong = [
      {},
      [],
      { ...answer, orderId: null },
      { ...answer, side: 'sell' },
      { ...answer, mint: 'n' },
      { ...answer, publicKey: 'q' },
    ];
    for (const json of wrong) {
      answers = [ok(json)];
      await expect(once.buy(order), JSON.stringify(json)).rejects.toMatchObject({ code: 'MALFORMED', retryable: true, status: 200 });
    }
    answers = [ok({ ...answer, orderId: null })];
    await expect(once.buy({ ...order, dryRun: true })).resolves.toMatchObject({ orderId: null });
    answers = [ok({ mint: 'm', trades: {} })];
    await expect(once.trades('m')).rejects.toMatchObject({ code: 'MALFORMED' });
    let sentBytes = 0;
    answers = [
      (response) => {
        const more = (): void => {
          while (!response.destroyed && response.write('x'.repeat(65_536))) sentBytes += 65_536;
        };
        response.on('drain', more);
        more();
      },
    ];
    await expect(once.tokenInfo('m')).rejects.toMatchObject({ code: 'MALFORMED' });
    expect(sentBytes).toBeLessThan(64 * 1024 * 1024);
  });

  it('wait for a Retry-After that is a date, or that another server sends', async () => {
    const inTwoSeconds = { Date: 'Sun, 06 Nov 1994 08:49:38 GMT', 'Retry-After': 'Sun, 06 Nov 1994 08:49:40 GMT' };
    answers = [refused(429, 'RATE_LIMIT', true, inTwoSeconds), page(503, { 'Retry-After': '1' }), ok({ mint: 'm' })];
    const startedMs = performance.now();
    expect(await sluice.tokenInfo('m')).toEqual({ mint: 'm' });
    expect(performance.now() - startedMs).toBeGreaterThan(2_900);
    for (const answer of [page(429, { 'Retry-After': '600' }), page(503, { ...inTwoSeconds, Date: 'Sun, 06 Nov 1994 08:39:40 GMT' })]) {
      asked = [];
      answers = [answer];
      await expect(sluice.tokenInfo('m')).rejects.toMatchObject({ code: 'MALFORMED', details: { retryAfterMs: 600_000 } });
      expect(asked).toHaveLength(1);
    }
  });
});

describe('an order whose answer is lost', () => {
  const body = { publicKey: 'p', mint: 'm', amount: 0.1 };
  const failureOf = async (order: Promise<unknown>): Promise<SluiceError> => {
    const error: unknown = await order.catch((fault: unknown) => fault);
    expect(error).toBeInstanceOf(SluiceError);
    return error as SluiceError;
  };
  const impatient = (timeoutMs: number): Sluice => {
    const { port } = server.address() as AddressInfo;
    return new Sluice({ url: `http://127.0.0.1:${port}`, apiKey: 'a_key', timeoutMs, retries: 1 });
  };

  it.each([
    ['NETWORK', cut],
    ['TIMEOUT', silent],
    ['MALFORMED', page(200)],
    ['MALFORMED', page(404)],
    ['UPSTREAM_UNAVAILABLE', refused(503, 'UPSTREAM_UNAVAILABLE', true)],
  ])('is found again with the key in the error: %s', async (code, answer) => {
    const hasty = impatient(code === 'TIMEOUT' ? 200 : 10_000);
    answers = [answer];
    for (const place of [() => hasty.buy(body), () => hasty.sell(body)]) {
      asked = [];
      const error = await failureOf(place());
      expect(error).toMatchObject({ code, retryable: true, idempotencyKey: expect.stringMatching(/^[0-9a-f]{32}$/) });
      expect(new Set(asked.map(({ key }) => key))).toEqual(new Set([error.idempotencyKey]));
      if (code !== 'UPSTREAM_UNAVAILABLE')
        expect(error.message).toContain(`call again with the same body and the idempotencyKey ${error.idempotencyKey}`);
    }
    asked = [];
    const lost = await failureOf(hasty.buy(body));
    answers = [placed];
    expect(await sluice.buy(body, { idempotencyKey: lost.idempotencyKey! })).toMatchObject({ orderId: 'o' });
    expect(new Set(asked.map(({ key }) => key)).size).toBe(1);
  });

  it('has the key of the caller in the error, also of a refusal', async () => {
    answers = [refused(400, 'INSUFFICIENT_BALANCE', false)];
    const error = await failureOf(sluice.buy(body, { idempotencyKey: 'mine' }));
    expect(error).toMatchObject({ code: 'INSUFFICIENT_BALANCE', idempotencyKey: 'mine', requestId: 'r1', message: 'words' });
  });

  it('is still reported as unknown if a later attempt is refused', async () => {
    answers = [cut, refused(401, 'UNAUTHENTICATED', false)];
    const error = await failureOf(sluice.buy(body, { idempotencyKey: 'mine' }));
    expect(error).toMatchObject({
      code: 'UNAUTHENTICATED',
      retryable: false,
      idempotencyKey: 'mine',
      message: expect.stringMatching(/^words\. The outcome is unknown/),
    });
  });

  it('has the key in the error if the API key cannot be read any more', async () => {
    answers = [cut];
    let reads = 0;
    const apiKey = async (): Promise<string> => {
      if (reads++ > 0) throw new Error('the vault is closed');
      return 'a_key';
    };
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const error = await failureOf(new Sluice({ url, apiKey }).buy(body));
    expect(error).toMatchObject({ code: 'NETWORK', retryable: true, idempotencyKey: asked[0]!.key });
  });

  it('is not placed by a call with wrong arguments', async () => {
    answers = [placed];
    const wrong: readonly (readonly [object, object])[] = [
      ...['', 'a\nb', 'a b', 'ä', 'заказ-1', 'x'.repeat(256), null, 5].map((idempotencyKey) => [body, { idempotencyKey }] as const),
      [body, { idempotencykey: 'mine' }],
      [{ ...body, amount: 1n }, {}],
    ];
    for (const [order, options] of wrong) {
      expect(await failureOf(sluice.buy(order as typeof body, options))).toMatchObject({
        code: 'INVALID_REQUEST',
        retryable: false,
        status: null,
      });
    }
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const stranger = new Sluice({ url, apiKey: async () => 'a\nkey' });
    expect(await failureOf(stranger.buy(body))).toMatchObject({ code: 'INVALID_REQUEST', retryable: false });
    expect(asked).toEqual([]);
  });
});
