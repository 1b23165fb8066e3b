import { Type } from 'typebox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bindEndpoint, type BoundEndpoint } from '@sluice/gateway/http/endpoint.ts';
import type { CountingLimiter, LimitDecision } from '@sluice/gateway/ratelimit/limiter.ts';
import { defaultPlans } from '@sluice/shared/config/plans.ts';
import { defineEndpoint, type EndpointSpec } from '@sluice/shared/wire/rest/endpoint.ts';
import { startTestGateway, until, type TestGateway } from '../support/gateway.ts';
import { askOnce, RawConnection, requestBytes, type RawAnswer, type RawRequest } from '../support/clients/raw-http.ts';

const closed = { additionalProperties: false } as const;
const common = { method: 'GET', withApiPrefix: false, tag: 'test', summary: 'Of this test.', answer: Type.Unknown(), errors: [] } as const;

const shapes = defineEndpoint({
  ...common,
  id: 'testShapes',
  path: '/test/shapes/{name}/of/{mint}',
  withApiPrefix: true,
  access: 'read',
  params: Type.Object({ name: Type.String({ maxLength: 8 }), mint: Type.String() }, closed),
  query: Type.Object(
    {
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000 })),
      share: Type.Optional(Type.Number({ minimum: 0 })),
      closed: Type.Optional(Type.Boolean()),
      text: Type.Optional(Type.String({ maxLength: 5 })),
    },
    closed,
  ),
});
const takesBody = defineEndpoint({
  ...common,
  id: 'testBody',
  method: 'POST',
  path: '/test/body',
  access: 'read',
  body: Type.Object(
    {
      amount: Type.Number(),
      count: Type.Optional(Type.Integer()),
      note: Type.Optional(Type.String()),
      more: Type.Optional(Type.Unknown()),
    },
    closed,
  ),
});
const spends = defineEndpoint({ ...common, id: 'testTrade', method: 'POST', path: '/test/trade', access: 'trade' });
const anyKey = defineEndpoint({ ...common, id: 'testKey', path: '/test/key', access: 'key' });
const open = defineEndpoint({ ...common, id: 'testOpen', path: '/test/open', access: 'open' });
const faulty = defineEndpoint({
  ...common,
  id: 'testFaulty',
  path: '/test/faulty/{how}',
  access: 'read',
  params: Type.Object({ how: Type.String() }, closed),
});
const old = defineEndpoint({
  ...common,
  id: 'testOld',
  path: '/test/old',
  withApiPrefix: true,
  access: 'read',
  deprecated: { since: '2026-11-21', sunset: '2027-02-19', successor: '/v2/test/old' },
});
const file = defineEndpoint({ ...common, id: 'testFile', path: '/test/file', access: 'open', answer: null, contentType: 'text/plain' });

const bound: readonly BoundEndpoint[] = [
  bindEndpoint(shapes, ({ params, query, principal }) => ({ json: { params, query, keyId: principal?.keyId } })),
  bindEndpoint(takesBody, async ({ body }) => ({ json: body })),
  bindEndpoint(spends, ({ body }) => ({ json: { spent: true, body } })),
  bindEndpoint(anyKey, () => ({ jsonBytes: Buffer.from('{"any":true}') })),
  bindEndpoint(open, ({ principal }) => ({ json: { principal } })),
  bindEndpoint(faulty, ({ params }) => {
    if (params.how === 'throws') throw new Error('a fault with a secret inside');
    if (params.how === 'rejects') return Promise.reject(new Error('a fault with a secret inside'));
    return { error: 'UPSTREAM_UNAVAILABLE', message: 'Nobody answers.', details: { who: 'all' }, retryAfterSeconds: 7 };
  }),
  bindEndpoint(old, () => ({ json: {} })),
  bindEndpoint(file, () => ({
    file: { contentType: 'text/plain; charset=utf-8', body: 'plain', headers: { 'Cache-Control': 'max-age=60' } },
  })),
];

const reader = 'sluice_reader';
const standard = 'sluice_standard';
const trader = 'sluice_trader';
const tied = 'sluice_tied';
const withheld = 'sluice_withheld';

/** The next decision that a test requests. */
class ScriptedLimiter implements CountingLimiter {
  readonly counters = { taken: 0, refused: 0, local: 0, outages: 0, overruled: 0 };
  readonly unavailable = false;
  next: Partial<LimitDecision> = {};
  late = false;
  readonly taken: { readonly key: string; readonly cost: number }[] = [];

  take(key: string, _quota: unknown, cost: number): LimitDecision | Promise<LimitDecision> {
    this.taken.push({ key, cost });
    const decision = { admitted: true, remaining: 37, resetMs: 3_200, retryAfterMs: 0, counted: 'shared', ...this.next } as const;
    return this.late ? new Promise((resolve) => setImmediate(resolve, decision)) : decision;
  }

  close(): void {
    this.taken.length = 0;
  }
}

interface Wrong {
  readonly error: { readonly code: string; readonly message: string; readonly details: { readonly fields?: Record<string, string> } };
  readonly requestId: string;
}

describe.each([
  ['uws', false],
  ['uws', true],
  ['node', false],
] as const)('endpoints over %s, limiter that waits: %s', (transport, late) => {
  let server: TestGateway;
  const limiter = new ScriptedLimiter();
  beforeAll(async () => {
    limiter.late = late;
    const config = { corsOrigins: ['https://app.example.com'], trustedProxies: ['127.0.0.0/8'] };
    server = await startTestGateway({ transport, endpoints: bound, limiter, config });
    server.keys.add(reader, { scopes: ['read'] });
    server.keys.add(standard, { scopes: ['read'], plan: defaultPlans.standard });
    server.keys.add(trader, { scopes: ['trade', 'read'] });
    server.keys.add(tied, { scopes: ['read'], ipRanges: ['198.51.100.0/24', '2001:db8::/32'] });
    server.keys.add(withheld, { scopes: ['read'], plan: { ...defaultPlans.premium, withoutEndpoints: ['testShapes'] } });
  });
  afterAll(() => server.close());

  const ask = async (
    request: Omit<RawRequest, 'headers'> & { headers?: Record<string, string>; key?: string | null },
  ): Promise<RawAnswer> => {
    const { key = reader, headers = {}, ...rest } = request;
    limiter.taken.length = 0;
    const answer = await askOnce(server.gateway.port, {
      ...rest,
      headers: { ...(key === null ? {} : { Authorization: `Bearer ${key}` }), ...headers },
    });
    if (answer === null) throw new Error('no answer');
    return answer;
  };
  const get = (target: string, more: { key?: string | null; headers?: Record<string, string> } = {}): Promise<RawAnswer> =>
    ask({ method: 'GET', target, ...more });
  const post = (body: string | Uint8Array, headers: Record<string, string> = { 'Content-Type': 'application/json' }): Promise<RawAnswer> =>
    ask({ method: 'POST', target: '/test/body', body, headers });
  const wrong = (answer: RawAnswer): Wrong => answer.json() as Wrong;
  const codeOf = (answer: RawAnswer): string => `${answer.status} ${wrong(answer).error.code}`;

  const shapesPath = '/test/shapes/a/of/b';

  it('passes path and query parameters to the handler, by type', async () => {
    const answer = await get('/test/shapes/a%20%C3%A4/of/x?limit=10&share=0.5&closed=true&text=%7E&api-key=ignored');
    expect(answer.status).toBe(200);
    expect(answer.json()).toEqual({
      params: { name: 'a ä', mint: 'x' },
      query: { limit: 10, share: 0.5, closed: true, text: '~' },
      keyId: reader,
    });
    expect((await get(`/api${shapesPath}`)).json()).toMatchObject({ query: {} });
  });

  it.each([
    ['/test/shapes/a/of/b?limit=0', { limit: 'must be at least 1' }],
    ['/test/shapes/a/of/b?limit=1.5', { limit: 'must be an integer' }],
    ['/test/shapes/a/of/b?limit=1e2', { limit: 'must be an integer' }],
    ['/test/shapes/a/of/b?limit=%2010', { limit: 'must be an integer' }],
    ['/test/shapes/a/of/b?limit=9007199254740993', { limit: 'must be an integer' }],
    ['/test/shapes/a/of/b?limit=', { limit: 'must be an integer' }],
    ['/test/shapes/a/of/b?share=NaN', { share: 'must be a number' }],
    ['/test/shapes/a/of/b?share=0x10', { share: 'must be a number' }],
    ['/test/shapes/a/of/b?closed=yes', { closed: 'must be a boolean' }],
    ['/test/shapes/a/of/b?limit=5&limit=6', { limit: 'appears twice' }],
    ['/test/shapes/a/of/b?Limit=5&frm=1', { Limit: 'unknown parameter', frm: 'unknown parameter' }],
    ['/test/shapes/a/of/b?__proto__=1&constructor=2', { ['__proto__']: 'unknown parameter', constructor: 'unknown parameter' }],
    ['/test/shapes/tooLongAName/of/b?text=abcdef', { name: 'must have at most 8 characters', text: 'must have at most 5 characters' }],
    ['/test/shapes/%ff/of/b', { name: 'is not percent-encoded UTF-8' }],
    ['/test/shapes/%zz/of/b', { name: 'is not percent-encoded UTF-8' }],
    ['/test/shapes/a%00/of/b', { name: 'must not contain U+0000' }],
    ['/test/shapes/a/of/b?text=%00', { text: 'must not contain U+0000' }],
    ['/test/key?x=1', { x: 'unknown parameter' }],
  ])('names each wrong part of %s', async (target, fields) => {
    const answer = await get(target);
    expect(codeOf(answer)).toBe('400 INVALID_REQUEST');
    expect(Object.entries(wrong(answer).error.details.fields!)).toEqual(Object.entries(fields));
  });

  it.each([
    '/test/shapes//of/b',
    '/test/shapes/a/of/',
    '/test/shapes/a/of/b/',
    '/test/shapes/a/of/b/c',
    '/test/shapes/a%2Fof/b',
    '/api/api/test/shapes/a/of/b',
    '/api/test/key',
  ])('has nothing at %s', async (target) => {
    for (const key of [reader, null]) expect(codeOf(await get(target, { key }))).toBe('404 NOT_FOUND');
  });

  it('reads a JSON body', async () => {
    const body = { amount: 0.1, count: 9_007_199_254_740_991, note: 'ä\u0001"\\\n😀', more: { a: [1, null, true, [], {}] } };
    for (const type of ['application/json', 'Application/JSON; charset=UTF-8', 'application/json;charset="utf-8"']) {
      const answer = await post(JSON.stringify(body), { 'Content-Type': type });
      expect(answer.status).toBe(200);
      expect(answer.json()).toEqual(body);
    }
    expect((await post(' {"amount" : 1e0 }\r\n')).json()).toEqual({ amount: 1 });
  });

  it.each<[string, string | Uint8Array, string, string]>([
    ['no body', '', '(body)', 'required'],
    ['text that is not JSON', '{"amount":1', '(body)', 'must be JSON: it ends too early'],
    ['more than JSON', '{"amount":1}x', '(body)', 'must be JSON: it is wrong at character 13'],
    ['a list', '[1]', '(body)', 'must be an object'],
    ['a field too few', '{}', 'amount', 'required'],
    ['a field of another type', '{"amount":"1"}', 'amount', 'must be a number'],
    ['an unknown field', '{"amount":1,"amuont":2}', 'amuont', 'unknown field'],
    ['a name twice', '{"amount":1,"amount":2}', 'amount', 'appears twice'],
    ['a name twice, one of them escaped', '{"amount":1,"am\\u006funt":2}', 'amount', 'appears twice'],
    ['a name twice, deep inside', '{"amount":1,"more":{"a":[{"b":1,"b":2}]}}', 'more.a.0.b', 'appears twice'],
    ['U+0000', '{"amount":1,"note":"a\\u0000"}', 'note', 'must not contain U+0000'],
    ['U+0000 in a name', '{"amount":1,"more":{"a\\u0000":1}}', 'more', 'must not contain U+0000'],
    ['__proto__', '{"amount":1,"__proto__":{"note":"x"}}', '__proto__', 'is not an allowed name'],
    ['constructor, escaped', '{"amount":1,"more":{"\\u0063onstructor":1}}', 'more.constructor', 'is not an allowed name'],
    ['prototype', '{"amount":1,"more":{"prototype":1}}', 'more.prototype', 'is not an allowed name'],
    [
      'an integer that is not a double',
      '{"amount":1,"count":9007199254740993}',
      'count',
      'is larger than the largest exact integer; send it as a string if the field allows it',
    ],
    [
      'a fraction that is nearly an integer',
      '{"amount":1,"count":1.00000000000000000001}',
      'count',
      'has more digits than a number can represent; send it as a string if the field allows it',
    ],
    [
      'a number that would become 0',
      '{"amount":1e-400}',
      'amount',
      'has more digits than a number can represent; send it as a string if the field allows it',
    ],
    [
      'a power of ten that is not a double',
      '{"amount":1e30}',
      'amount',
      'is larger than the largest exact integer; send it as a string if the field allows it',
    ],
    [
      'a number beyond all bounds',
      '{"amount":1e400}',
      'amount',
      'is larger than the largest exact integer; send it as a string if the field allows it',
    ],
    [
      '17 levels',
      `{"amount":1,"more":${'['.repeat(16)}${']'.repeat(16)}}`,
      `more.${Array.from({ length: 15 }, () => '0').join('.')}`,
      'must not be deeper than 16 levels',
    ],
    [
      '257 names',
      `{"amount":1,"more":{${Array.from({ length: 255 }, (_, i) => `"k${i}":1`).join()}}}`,
      'more.k254',
      'exceeds the maximum of 256 names in the body',
    ],
    ['half a surrogate pair', '{"amount":1,"note":"\\ud83d"}', 'note', 'must be well-formed Unicode'],
    ['bytes that are not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), '(body)', 'must be UTF-8'],
    ['a second byte order mark', '\ufeff\ufeff{"amount":1}', '(body)', 'must be JSON: it is wrong at character 1'],
  ])('refuses a body with %s', async (_what, body, field, fault) => {
    const answer = await post(body);
    expect(codeOf(answer)).toBe('400 INVALID_REQUEST');
    expect(Object.entries(wrong(answer).error.details.fields!)).toEqual([[field, fault]]);
  });

  it.each([
    ['no type', {}, 'x'],
    ['a form', { 'Content-Type': 'application/x-www-form-urlencoded' }, 'amount=1'],
    ['text', { 'Content-Type': 'text/plain' }, '{"amount":1}'],
    ['another charset', { 'Content-Type': 'application/json; charset=utf-16' }, '{"amount":1}'],
    ['a suffix', { 'Content-Type': 'application/vnd.x+json' }, '{"amount":1}'],
    ['gzip', { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' }, '{"amount":1}'],
  ])('refuses a body with %s as its type', async (_what, headers, body) => {
    expect(codeOf(await post(body, headers))).toBe('415 UNSUPPORTED_MEDIA_TYPE');
  });

  it('accepts `identity`, and refuses a body where none is expected', async () => {
    expect((await post('{"amount":1}', { 'Content-Type': 'application/json', 'Content-Encoding': 'identity' })).status).toBe(200);
    const trade = (body: string): Promise<RawAnswer> =>
      ask({ method: 'POST', target: '/test/trade', key: trader, body, headers: { 'Content-Type': 'application/json' } });
    expect((await trade('')).json()).toEqual({ spent: true, body: {} });
    expect((await trade('{}')).json()).toEqual({ spent: true, body: {} });
    expect(wrong(await trade('{"x":1}')).error.details.fields).toEqual({ x: 'unknown field' });
  });

  it('counts a body while it arrives, and closes the connection if it is too long', async () => {
    const filler = (bytes: number): string => JSON.stringify({ amount: 1, note: 'x'.repeat(bytes - 22) });
    expect((await post(filler(65_536))).status).toBe(200);
    const connection = await RawConnection.open(server.gateway.port);
    const headers = { Authorization: `Bearer ${reader}`, 'Content-Type': 'application/json' };
    const answer = await connection.ask({ method: 'POST', target: '/test/body', headers, body: filler(65_537) });
    expect(codeOf(answer!)).toBe('413 PAYLOAD_TOO_LARGE');
    expect(answer!.headers.get('ratelimit')).toBe('"default";r=37;t=4');
    await until('the connection to be closed', () => connection.closed);
    const chunked = requestBytes({
      method: 'POST',
      target: '/test/body',
      headers: { ...headers, 'Transfer-Encoding': 'chunked' },
      body: `8000\r\n${'x'.repeat(0x8000)}\r\n`.repeat(3),
    });
    const second = await RawConnection.open(server.gateway.port);
    expect(codeOf((await second.exchange(chunked, 'POST'))!)).toBe('413 PAYLOAD_TOO_LARGE');
    second.close();
  });

  it('refuses a missing or invalid key', async () => {
    // Without a scheme, or with another one, a valid key does not count.
    const otherForms = [reader, ` ${reader}`, `Basic ${reader}`, `Token ${reader}`, `Bearer${reader}`, `Bearer ${reader} x`, 'Basic eDp5'];
    const withHeader = otherForms.map((text) => ({ key: null, headers: { Authorization: text } }));
    for (const more of [{ key: null }, { key: 'nobody' }, ...withHeader]) {
      const answer = await get(shapesPath, more);
      expect(codeOf(answer)).toBe('401 UNAUTHENTICATED');
      expect(answer.headers.get('www-authenticate')).toBe('Bearer');
      expect(answer.headers.has('ratelimit')).toBe(false);
      expect(limiter.taken).toEqual([]);
    }
    expect((await get(`${shapesPath}?api-key=${reader}`, { key: null })).status).toBe(200);
    const basic = (pair: string) => ({ Authorization: `Basic ${Buffer.from(pair).toString('base64')}` });
    const statusWith = async (headers: Record<string, string>) => (await get(shapesPath, { key: null, headers })).status;
    expect(await statusWith({ 'X-API-Key': reader })).toBe(200);
    expect(await statusWith(basic(`${reader}:`))).toBe(200);
    for (const pair of [reader, `${reader}:x`, `${reader}::`, `:${reader}`]) expect(await statusWith(basic(pair))).toBe(401);
    expect(await statusWith({ 'X-API-Key': 'nobody' })).toBe(401);
    expect(await statusWith({ 'X-API-Key': reader, ...basic('nobody:') })).toBe(401);
    // The header goes before the query.
    expect((await get(`${shapesPath}?api-key=${reader}`, { key: 'nobody' })).status).toBe(401);
  });

  it('refuses a body where none is expected, with or without a type', async () => {
    for (const [body, headers] of [
      ['x', {}],
      ['{}', {}],
      ['{"a":1}', { 'Content-Type': 'application/json' }],
    ] as const) {
      const answer = await ask({ method: 'POST', target: '/test/trade', key: trader, body, headers });
      expect(codeOf(answer)).toBe('400 INVALID_REQUEST');
    }
  });

  it('reports which scope or plan is missing', async () => {
    const noScope = await ask({ method: 'POST', target: '/test/trade' });
    expect(codeOf(noScope)).toBe('403 FORBIDDEN');
    expect(wrong(noScope).error.details).toEqual({ scope: 'trade' });
    const noPlan = await get(shapesPath, { key: withheld });
    expect(codeOf(noPlan)).toBe('403 FORBIDDEN');
    expect(wrong(noPlan).error.details).toEqual({ plan: 'premium', endpoint: 'testShapes', plans: ['standard', 'premium', 'enterprise'] });
    expect((await get('/test/key', { key: withheld })).status).toBe(200);
  });

  it('limits a key to its addresses, which a trusted proxy may report', async () => {
    const from = (forwarded?: string): Promise<RawAnswer> =>
      get(shapesPath, { key: tied, headers: forwarded === undefined ? {} : { 'X-Forwarded-For': forwarded } });
    expect((await from('198.51.100.7')).status).toBe(200);
    expect((await from('203.0.113.1, 2001:db8::9')).status).toBe(200);
    for (const forwarded of [undefined, '203.0.113.9', '198.51.100.7, 203.0.113.9', 'nonsense']) {
      const answer = await from(forwarded);
      expect(codeOf(answer)).toBe('403 FORBIDDEN');
      expect(wrong(answer).error.details).toHaveProperty('address');
      // A request from elsewhere with a stolen key does not use up its limit.
      expect(limiter.taken).toEqual([{ key: `key:${tied}`, cost: 0 }]);
    }
  });

  it("reports a key's limit in every answer", async () => {
    const answers = await Promise.all([
      get(shapesPath, { key: standard }),
      get(`${shapesPath}?limit=0`, { key: standard }),
      get('/nowhere', { key: standard }),
      ask({ method: 'DELETE', target: shapesPath, key: standard }),
      ask({ method: 'POST', target: '/test/trade', key: standard }),
      ask({ method: 'POST', target: '/test/body', key: standard, body: 'x' }),
      get('/test/faulty/throws', { key: standard }),
      get('/test/faulty/says', { key: standard }),
      get('/test/open', { key: standard }),
      get('/test/file', { key: standard }),
      ask({ method: 'OPTIONS', target: shapesPath, key: standard }),
      get(`/nowhere?${'x'.repeat(9_000)}`, { key: standard }),
      get('/api/data', { key: standard }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 400, 404, 405, 403, 415, 500, 503, 200, 200, 204, 400, 400]);
    for (const { headers } of answers) {
      expect(headers.get('ratelimit-policy')).toBe('"default";q=100;w=60');
      expect(headers.get('ratelimit')).toBe('"default";r=37;t=4');
      expect(headers.get('x-ratelimit-limit')).toBe('100');
      expect(headers.get('x-ratelimit-remaining')).toBe('37');
      expect(Math.abs(Number(headers.get('x-ratelimit-reset')) - Date.now() / 1_000 - 3.2)).toBeLessThan(30);
    }
  });

  it('counts requests with a key, and not public ones', async () => {
    const costs = async (request: Promise<unknown>): Promise<number[]> => {
      await request;
      return limiter.taken.map(({ cost }) => cost);
    };
    expect(await costs(get(shapesPath))).toEqual([1]);
    expect(await costs(get('/nowhere'))).toEqual([1]);
    expect(await costs(get(`${shapesPath}?limit=0`))).toEqual([1]);
    expect(await costs(get('/test/open'))).toEqual([0]);
    expect(await costs(ask({ method: 'OPTIONS', target: shapesPath }))).toEqual([0]);
    expect((await get('/test/open')).json()).toEqual({ principal: null });
  });

  it('refuses requests beyond the limit, and reports when to try again', async () => {
    limiter.next = { admitted: false, remaining: 0, resetMs: 60_000, retryAfterMs: 4_001 };
    try {
      for (const answer of [await get(shapesPath), await get('/nowhere'), await ask({ method: 'PUT', target: '/test/key' })]) {
        expect(codeOf(answer)).toBe('429 RATE_LIMIT');
        expect(answer.headers.get('retry-after')).toBe('5');
        expect(answer.headers.get('ratelimit')).toBe('"default";r=0;t=60');
      }
      // Public endpoints stay open.
      expect((await get('/test/open')).status).toBe(200);
    } finally {
      limiter.next = {};
    }
  });

  it('refuses requests that can spend while limits are counted in this process only', async () => {
    limiter.next = { counted: 'local' };
    try {
      const trade = await ask({ method: 'POST', target: '/test/trade', key: trader });
      expect(codeOf(trade)).toBe('503 UPSTREAM_UNAVAILABLE');
      expect(trade.headers.get('retry-after')).toBe('1');
      expect((await get(shapesPath, { key: trader })).status).toBe(200);
    } finally {
      limiter.next = {};
    }
  });

  it.each(['throws', 'rejects'])('answers 500 if a handler %s, without details', async (how) => {
    const answer = await get(`/test/faulty/${how}`);
    expect(codeOf(answer)).toBe('500 INTERNAL');
    expect(answer.body.toString()).not.toContain('secret');
    expect(wrong(answer).requestId).toBe(answer.headers.get('x-request-id'));
  });

  it('returns the answer of a handler', async () => {
    const answer = await get('/test/faulty/says');
    expect(codeOf(answer)).toBe('503 UPSTREAM_UNAVAILABLE');
    expect(answer.headers.get('retry-after')).toBe('7');
    expect(wrong(answer).error).toMatchObject({ message: 'Nobody answers.', retryable: true, details: { who: 'all' } });
    const plain = await get('/test/file', { key: null });
    expect(plain.body.toString()).toBe('plain');
    expect(plain.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(plain.headers.get('cache-control')).toBe('max-age=60');
  });

  it('reports in each answer the version, and deprecations', async () => {
    for (const target of ['/test/old', '/api/test/old']) {
      for (const answer of [await get(target), await get(target, { key: null }), await get(`${target}?x=1`)]) {
        expect(answer.headers.get('x-api-version')).toMatch(/^\d+\.\d+\.\d+$/);
        expect(answer.headers.get('deprecation')).toBe(`@${Date.UTC(2026, 10, 21) / 1_000}`);
        expect(answer.headers.get('sunset')).toBe('Fri, 19 Feb 2027 00:00:00 GMT');
        expect(answer.headers.get('link')).toBe('</v2/test/old>; rel="successor-version"');
      }
    }
    expect((await get('/test/key')).headers.has('deprecation')).toBe(false);
  });

  it('answers HEAD as GET without the body', async () => {
    const whole = await get('/test/key');
    const head = await ask({ method: 'HEAD', target: '/test/key' });
    expect(head.status).toBe(200);
    expect(head.body.length).toBe(0);
    expect(head.headers.get('content-length')).toBe(String(whole.body.length));
    expect(head.headers.get('ratelimit')).toBe(whole.headers.get('ratelimit'));
    expect((await ask({ method: 'HEAD', target: '/test/body' })).status).toBe(405);
    expect((await ask({ method: 'HEAD', target: '/test/key', key: null })).status).toBe(401);
  });

  it.each([
    ['GET', '/test/body', 'POST, OPTIONS'],
    ['PUT', shapesPath, 'GET, HEAD, OPTIONS'],
    ['TRACE', '/test/open', 'GET, HEAD, OPTIONS'],
  ])('allows no %s at %s', async (method, target, allow) => {
    const answer = await ask({ method, target, key: null });
    expect(codeOf(answer)).toBe('405 METHOD_NOT_ALLOWED');
    expect(answer.headers.get('allow')).toBe(allow);
  });

  const appOrigin = { Origin: 'https://app.example.com' };

  it('admits pages of the configured origins only', async () => {
    const known = await get(shapesPath, { headers: appOrigin });
    expect(known.headers.get('access-control-allow-origin')).toBe('https://app.example.com');
    expect(known.headers.get('vary')?.split(', ')).toContain('Origin');
    for (const name of ['RateLimit', 'RateLimit-Policy', 'Retry-After', 'X-RateLimit-Remaining', 'X-Request-Id']) {
      expect(known.headers.get('access-control-expose-headers')?.split(', ')).toContain(name);
    }
    for (const headers of [{}, { Origin: 'https://app.example.com.evil.test' }, { Origin: 'null' }]) {
      const other = await get(shapesPath, { headers });
      expect(other.status).toBe(200);
      expect(other.headers.has('access-control-allow-origin')).toBe(false);
      expect(other.headers.get('vary')?.split(', ')).toContain('Origin');
    }
    // A page must be able to read why it was refused.
    for (const [target, key] of [
      [shapesPath, null],
      ['/nowhere', reader],
      [`${shapesPath}?limit=0`, reader],
    ] as const) {
      expect((await get(target, { key, headers: appOrigin })).headers.get('access-control-allow-origin')).toBe('https://app.example.com');
    }
  });

  it('answers a preflight without a key', async () => {
    const preflight = (target: string, origin: string): Promise<RawAnswer> =>
      ask({
        method: 'OPTIONS',
        target,
        key: null,
        headers: {
          Origin: origin,
          'Access-Control-Request-Method': 'POST',
          'Access-Control-Request-Headers': 'authorization,content-type',
        },
      });
    const answer = await preflight('/test/body', appOrigin.Origin);
    expect(answer.status).toBe(204);
    expect(answer.headers.get('allow')).toBe('POST, OPTIONS');
    expect(answer.headers.get('access-control-allow-origin')).toBe(appOrigin.Origin);
    expect(answer.headers.get('access-control-allow-methods')).toBe('POST, OPTIONS');
    expect(answer.headers.get('access-control-allow-headers')).toBe(
      'Authorization, X-API-Key, Content-Type, Idempotency-Key, X-Request-Id',
    );
    expect(answer.headers.get('vary')).toBe('Origin');
    const foreign = await preflight('/test/body', 'https://evil.test');
    expect(foreign.status).toBe(204);
    for (const name of foreign.headers.keys()) expect(name).not.toMatch(/^access-control-/);
    for (const target of ['/', '/dashboard/api/me', '/dashboard/nothing']) {
      for (const answered of [await preflight(target, appOrigin.Origin), await get(target, { key: null, headers: appOrigin })]) {
        for (const name of answered.headers.keys()) expect(name).not.toMatch(/^access-control-|^ratelimit/);
      }
    }
  });

  it('never allows credentials of a browser', async () => {
    const answer = await get(shapesPath, { headers: { ...appOrigin, Cookie: 'a=b' } });
    expect(answer.headers.has('access-control-allow-credentials')).toBe(false);
  });

  it('continues a request that waits for 100 Continue', async () => {
    const headers = { Authorization: `Bearer ${reader}`, 'Content-Type': 'application/json' };
    for (const expectation of ['100-continue', 'something-else']) {
      const connection = await RawConnection.open(server.gateway.port);
      const bytes = requestBytes({
        method: 'POST',
        target: '/test/body',
        headers: { ...headers, Expect: expectation },
        body: '{"amount":1}',
      });
      expect((await connection.exchange(bytes, 'POST'))?.status).toBe(200);
      connection.close();
    }
  });

  it('answers requests in order of arrival', async () => {
    const connection = await RawConnection.open(server.gateway.port);
    const headers = { Authorization: `Bearer ${reader}` };
    const targets = Array.from({ length: 20 }, (_, i) => `/test/shapes/n${i}/of/b`);
    // Waiting requests are sent one by one: the native server cuts a connection that does not wait for a pending answer.
    const asked = targets.map((target) => () => connection.ask({ method: 'GET', target, headers }));
    const answers: (RawAnswer | null)[] = [];
    if (late) for (const one of asked) answers.push(await one());
    else answers.push(...(await Promise.all(asked.map((one) => one()))));
    expect(answers.map((answer) => (answer!.json() as { params: { name: string } }).params.name)).toEqual(targets.map((_, i) => `n${i}`));
    connection.close();
  });
});

describe('two endpoints at one path', () => {
  const start = (endpoints: readonly BoundEndpoint[]): Promise<TestGateway> => startTestGateway({ endpoints });
  const at = (spec: Partial<EndpointSpec>): BoundEndpoint => bindEndpoint({ ...open, ...spec }, () => ({ json: {} }));

  it.each<[string, BoundEndpoint[]]>([
    [
      'twice the same',
      [
        at({ path: '/x/{a}', params: Type.Object({ a: Type.String() }) }),
        at({ path: '/x/{b}', params: Type.Object({ b: Type.String() }) }),
      ],
    ],
    ['an endpoint among our pages', [at({ path: '/dashboard/x' })]],
    ['parameters that are not those of the schema', [at({ path: '/x/{a}' })]],
  ])('are an error at the start: %s', async (_what, endpoints) => {
    await expect(start(endpoints)).rejects.toThrow(/x/);
  });
});
