import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { docsAssets } from '@sluice/site/dashboard/serve-page.ts';
import { keylessMark, localUrl, textOfGateway } from '@sluice/site/docs/text/local-url.ts';
import { referenceBlocks } from '@sluice/site/docs/sections/topics.ts';
import { renderDocuments } from '@sluice/site/docs/render.ts';
import { documentEndpoints } from '@sluice/site/docs/documents.ts';
import type { HttpRequest } from '@sluice/gateway/transport/transport.ts';
import { closeCodes } from '@sluice/shared/wire/stream/close-codes.ts';
import { errorTable } from '@sluice/shared/wire/errors.ts';
import { defaultPlans } from '@sluice/shared/config/plans.ts';
import { AuthCommand, ListCommand, PingCommand, subscribeSchemas, unsubscribeSchemas } from '@sluice/shared/wire/stream/commands.ts';
import { eventSchemas } from '@sluice/shared/wire/events/events.ts';
import { asyncApiDocument } from '@sluice/shared/wire/documents/openapi/asyncapi.ts';
import { endpointErrors, endpointPaths } from '@sluice/shared/wire/documents/openapi/endpoint-errors.ts';
import { exampleOf } from '@sluice/shared/wire/documents/openapi/example.ts';
import { readyEndpoint } from '@sluice/shared/wire/rest/operations/operations.ts';
import type { JsonObject } from '@sluice/shared/wire/documents/openapi/json.ts';
import { openApiDocument } from '@sluice/shared/wire/documents/openapi/openapi.ts';
import { SchemaBook } from '@sluice/shared/wire/documents/openapi/schema-book.ts';
import { DialectCommand, dialectSchemas } from '@sluice/shared/wire/stream/pumpportal.ts';
import { noticeSchemas, replySchemas } from '@sluice/shared/wire/stream/replies.ts';
import { ErrorAnswer } from '@sluice/shared/wire/rest/answers.ts';
import { defineEndpoint, type EndpointSpec } from '@sluice/shared/wire/rest/endpoint.ts';
import { endpoints } from '@sluice/shared/wire/rest/endpoints.ts';
import { pumpPortalLocalEndpoint, pumpPortalTradeEndpoint } from '@sluice/shared/wire/rest/trading/pumpportal.ts';
import { validator } from '@sluice/shared/wire/validate.ts';
import { Type, type TSchema } from 'typebox';
import { describe, expect, it } from 'vitest';
import { currentBuild } from '../../compile/build-folder.mjs';
import type { SchemaShape } from '@sluice/shared/wire/values/values.ts';

const options = { version: '1.0.0', plans: Object.values(defaultPlans) };
const openApi = openApiDocument(endpoints, options);
const asyncApi = asyncApiDocument(options);
const codes = Object.keys(errorTable);

type Node = Record<string, unknown>;
/** The value at a path of names. */
const at = (document: unknown, ...names: (string | number)[]): unknown =>
  names.reduce<unknown>((node, name) => (node as Node | undefined)?.[name], document);

/** Every object in a document, with the path to it. */
function* nodes(value: unknown, path = '#'): Generator<[string, Node]> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield [path, value as Node];
  for (const [name, part] of Object.entries(value)) yield* nodes(part, `${path}/${name.replaceAll('/', '~1')}`);
}

function target(document: unknown, reference: string): unknown {
  const names = reference.slice(2).split('/');
  return at(document, ...names.map((name) => name.replaceAll('~1', '/')));
}

/** An endpoint of every kind: those of the product would leave parts of the generator untested. */
const strange: readonly EndpointSpec[] = [
  defineEndpoint({
    id: 'old',
    method: 'POST',
    path: '/old/{mint}',
    withApiPrefix: true,
    access: 'trade',
    idempotent: true,
    tag: 'trade',
    summary: 'An order | of old.',
    description: 'More words.',
    params: Type.Object({ mint: Type.String({ description: 'Mint.' }) }),
    query: Type.Object({ limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 9 })), at: Type.String() }),
    body: Type.Object(
      { amount: Type.Number({ minimum: 2 }), side: Type.Enum(['buy', 'sell']) },
      { title: 'old order', additionalProperties: false },
    ),
    answer: Type.Object({ orders: Type.Array(Type.Object({ id: Type.String() }, { title: 'order' })) }, { title: 'old answer' }),
    errors: ['INVALID_MINT', 'SLIPPAGE_EXCEEDED', 'TRADING_HALTED'],
    deprecated: { since: '2026-01-01', sunset: '2026-06-01', successor: '/v2/old' },
  }),
  defineEndpoint({
    id: 'any',
    method: 'GET',
    path: '/any',
    withApiPrefix: false,
    access: 'key',
    tag: 'x',
    summary: 'Any key.',
    answer: null,
    contentType: 'image/png',
    errors: [],
  }),
];

describe.each([
  ['OpenAPI', openApi],
  ['OpenAPI of strange endpoints', openApiDocument(strange, options)],
  ['AsyncAPI', asyncApi],
])('the %s document', (_name, document) => {
  it('has no broken reference, and no unused component', () => {
    const used = new Set<string>();
    for (const [path, node] of nodes(document)) {
      const reference = node['$ref'];
      if (typeof reference !== 'string') continue;
      used.add(reference);
      expect(target(document, reference), `${path} -> ${reference}`).toBeTypeOf('object');
    }
    for (const name of Object.keys(at(document, 'components', 'schemas') as Node)) expect(used).toContain(`#/components/schemas/${name}`);
    expect(used.size).toBeGreaterThan(5);
  });

  it('is JSON with names that the standards allow', () => {
    expect(JSON.parse(JSON.stringify(document))).toEqual(document);
    for (const kind of Object.keys(at(document, 'components') as Node)) {
      for (const name of Object.keys(at(document, 'components', kind) as Node)) expect(name).toMatch(/^[A-Za-z0-9._-]+$/);
    }
  });

  it('names every error with its status', () => {
    const listed = document['x-sluice-errors'] as { code: string; status: number }[];
    expect(listed.map(({ code }) => code)).toEqual(codes);
    for (const { code, status } of listed) expect(errorTable[code as keyof typeof errorTable].status).toBe(status);
  });

  it('contains no secret', () => {
    const text = JSON.stringify(document);
    expect(text).not.toMatch(/sluice_[A-Za-z0-9]+_[A-Za-z0-9]/);
    expect(text).not.toMatch(/redis:\/\/|postgres:\/\/|\/(home|root|tmp)\//);
  });
});

describe('the OpenAPI document', () => {
  const operations = (document: JsonObject) =>
    Object.entries(document['paths'] as unknown as Record<string, Record<string, Node>>).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
    );

  it('has version 3.1, and is always the same', () => {
    expect(openApi['openapi']).toBe('3.1.0');
    expect(JSON.stringify(openApiDocument(endpoints, options))).toBe(JSON.stringify(openApi));
  });

  it('has every endpoint in all its forms, and nothing else', () => {
    const expected = endpoints.flatMap((spec) => endpointPaths(spec).map((path) => `${spec.method} ${path}`));
    expect(
      operations(openApi)
        .map(({ path, method }) => `${method.toUpperCase()} ${path}`)
        .toSorted(),
    ).toEqual(expected.toSorted());
    const ids = operations(openApi).map(({ operation }) => operation['operationId']);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('lists every operation with its parameters, its access, and all of its answers', () => {
    for (const spec of [...endpoints, ...strange]) {
      const document = strange.includes(spec) ? openApiDocument(strange, options) : openApi;
      for (const path of endpointPaths(spec)) {
        const operation = at(document, 'paths', path, spec.method.toLowerCase()) as Node;
        const parameters = operation['parameters'] as { name: string; in: string; required: boolean; example: unknown }[];
        const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
        expect(parameters.filter((one) => one.in === 'path').map(({ name }) => name)).toEqual(inPath);
        expect(parameters.filter((one) => one.in === 'path').every(({ required }) => required)).toBe(true);
        expect(parameters.filter((one) => one.in === 'query').map(({ name }) => name)).toEqual(Object.keys(spec.query?.properties ?? {}));
        const inHeader = spec.idempotent === true ? ['Idempotency-Key'] : [];
        expect(parameters.filter((one) => one.in === 'header').map(({ name }) => name)).toEqual(inHeader);
        const listed = Object.values(operation['responses'] as Record<string, Node>).flatMap(
          (response) => (response['x-sluice-codes'] as string[]) ?? [],
        );
        expect(listed.toSorted()).toEqual([...endpointErrors(spec)].toSorted());
        for (const [status, response] of Object.entries(operation['responses'] as Record<string, Node>)) {
          for (const code of (response['x-sluice-codes'] as (keyof typeof errorTable)[]) ?? [])
            expect(errorTable[code].status).toBe(Number(status));
          expect(Object.keys(response['headers'] as Node)).toEqual(expect.arrayContaining(['X-Request-Id', 'X-API-Version']));
        }
        expect((operation['security'] as unknown[]).length).toBe(spec.access === 'open' ? 0 : spec.keyless === true ? 5 : 4);
        expect(operation['x-sluice-access']).toBe(spec.access);
        expect('requestBody' in operation).toBe(spec.body !== undefined);
        const mustBeThere = (spec.body as { readonly required?: readonly string[] } | undefined)?.required ?? [];
        if (spec.body !== undefined) expect(operation['requestBody']).toMatchObject({ required: mustBeThere.length > 0 });
        expect(operation['deprecated'] === true).toBe(spec.deprecated !== undefined);
      }
    }
  });

  it('documents what a plan excludes, deprecations and limits', () => {
    const plans = options.plans.map((plan) => (plan.name === 'standard' ? { ...plan, withoutEndpoints: ['old'] } : plan));
    const document = openApiDocument(strange, { ...options, plans });
    const old = at(document, 'paths', '/api/old/{mint}', 'post') as Node;
    expect(old).toMatchObject({
      operationId: 'oldUnderApi',
      deprecated: true,
      'x-sluice-plans': ['premium', 'enterprise'],
      'x-sluice-deprecation': { sunset: '2026-06-01' },
      security: [{ bearer: ['trade'] }, { basic: ['trade'] }, { header: ['trade'] }, { query: ['trade'] }],
    });
    expect(Object.keys(at(old, 'responses', '200', 'headers') as Node)).toEqual(
      expect.arrayContaining(['RateLimit', 'RateLimit-Policy', 'X-RateLimit-Remaining', 'Deprecation', 'Sunset']),
    );
    expect(at(old, 'responses', '429', 'headers', 'Retry-After')).toBeDefined();
    expect(at(old, 'responses', '401', 'headers', 'WWW-Authenticate')).toBeDefined();
    expect(at(old, 'responses', '503', 'x-sluice-codes')).toEqual(['UPSTREAM_UNAVAILABLE', 'TRADING_HALTED']);
    expect(at(old, 'responses', '200', 'content', 'application/json', 'schema')).toEqual({ $ref: '#/components/schemas/oldAnswer' });
    expect(at(document, 'components', 'schemas', 'oldAnswer', 'properties', 'orders', 'items')).toEqual({
      $ref: '#/components/schemas/order',
    });
    expect(at(document, 'paths', '/any', 'get', 'responses', '200', 'content')).toEqual({ 'image/png': { schema: { type: 'string' } } });
  });

  it('documents forms, lists of bodies, and answers that are not JSON', () => {
    const document = openApiDocument([pumpPortalLocalEndpoint, pumpPortalTradeEndpoint], options);
    const schema = (name: string) => ({ $ref: `#/components/schemas/${name}` });
    const one = schema('pumpPortalLocalOrder');
    const local = at(document, 'paths', '/api/trade-local', 'post') as Node;
    expect(at(local, 'requestBody', 'content')).toMatchObject({
      'application/json': { schema: { anyOf: [one, { type: 'array', minItems: 1, maxItems: 5, items: one }] } },
      'application/x-www-form-urlencoded': { schema: schema('pumpPortalLocalOrderForm') },
    });
    expect(Object.keys(at(local, 'responses', '200', 'content') as Node)).toEqual(['application/octet-stream', 'application/json']);
    const lightning = at(document, 'paths', '/api/trade', 'post') as Node;
    expect(at(lightning, 'requestBody', 'content', 'application/json', 'schema')).toEqual(schema('pumpPortalOrder'));
    expect(Object.keys(at(lightning, 'responses', '200', 'content') as Node)).toEqual(['application/json']);
  });

  it('refuses two different schemas with one name', () => {
    const book = new SchemaBook();
    const one = Type.Object({ a: Type.String() }, { title: 'thing' });
    expect(book.of(one)).toEqual(book.of(Type.Object({ a: Type.String() }, { title: 'thing' })));
    expect(() => book.of(Type.Object({ a: Type.Integer() }, { title: 'thing' }))).toThrow('two different schemas are called thing');
  });

  it('has only examples that match their schemas', () => {
    const schemas: TSchema[] = [...endpoints, ...strange].flatMap(({ body, answer, params, query }) =>
      [body, answer, params, query].filter((schema) => schema !== undefined && schema !== null),
    );
    for (const schema of schemas)
      expect(validator(schema)(exampleOf(schema as SchemaShape)), JSON.stringify(schema).slice(0, 200)).toMatchObject({ ok: true });
    const examples = at(openApi, 'components', 'examples') as Record<string, { value: unknown }>;
    expect(Object.keys(examples)).toEqual(codes);
    for (const { value } of Object.values(examples)) expect(validator(ErrorAnswer)(value)).toMatchObject({ ok: true });
  });

  it('has examples of PumpPortal orders that name a wallet, and of readiness that name a part', () => {
    expect(exampleOf(pumpPortalLocalEndpoint.body as SchemaShape)).toHaveProperty('publicKey');
    expect(exampleOf(readyEndpoint.query.properties.exclude as SchemaShape)).toBe('ingest');
  });
});

describe('the AsyncAPI document', () => {
  const messages = at(asyncApi, 'components', 'messages') as Record<string, { payload: unknown; examples: { payload: unknown }[] }>;

  it('has version 3.0, and is always the same', () => {
    expect(asyncApi['asyncapi']).toBe('3.0.0');
    expect(JSON.stringify(asyncApiDocument(options))).toBe(JSON.stringify(asyncApi));
  });

  it('has every command, reply, notice and event, and the dialect', () => {
    const schemas: TSchema[] = [
      AuthCommand,
      PingCommand,
      ListCommand,
      ...Object.values(subscribeSchemas),
      ...Object.values(unsubscribeSchemas),
      ...Object.values(replySchemas),
      ...Object.values(noticeSchemas),
      DialectCommand,
      ...Object.values(dialectSchemas),
    ];
    expect(Object.keys(messages).length).toBe(schemas.length + Object.keys(eventSchemas).length);
    for (const type of Object.keys(eventSchemas)) {
      expect(target(asyncApi, at(messages[`${type}Frame`]!.payload, 'properties', 'data', '$ref') as string)).toMatchObject({
        properties: { type: { const: type } },
      });
    }
    expect(Object.keys(at(asyncApi, 'channels', 'stream', 'messages') as Node)).toEqual(Object.keys(messages));
  });

  it('uses each message in an operation, and gives each command a reply', () => {
    const operations = Object.values(
      asyncApi['operations'] as unknown as Record<
        string,
        { action: string; messages: { $ref: string }[]; reply?: { messages: { $ref: string }[] } }
      >,
    );
    const used = operations.flatMap((one) => [...one.messages, ...(one.reply?.messages ?? [])]).map(({ $ref }) => $ref.split('/').at(-1));
    expect(new Set(used)).toEqual(new Set(Object.keys(messages)));
    for (const one of operations) expect(one.reply !== undefined).toBe(one.action === 'receive');
  });

  it('has only examples that match their schemas', () => {
    const validators = new Map<string, TSchema>([
      ['auth', AuthCommand],
      ...Object.values(subscribeSchemas).map((schema, i): [string, TSchema] => [Object.keys(messages)[1 + i]!, schema]),
      ...Object.entries(replySchemas).map(([name, schema]): [string, TSchema] => [`${name}Reply`, schema]),
      ...Object.entries(noticeSchemas),
    ]);
    for (const [name, schema] of validators)
      expect(validator(schema)(messages[name]!.examples[0]!.payload), name).toMatchObject({ ok: true });
    for (const [type, schema] of Object.entries(eventSchemas)) {
      expect(validator(schema as TSchema)(at(messages[`${type}Frame`]!.examples[0]!.payload, 'data')), type).toMatchObject({ ok: true });
    }
  });

  it('has every close code, and describes how to authenticate', () => {
    expect((asyncApi['x-sluice-close-codes'] as { code: number }[]).map(({ code }) => code)).toEqual(closeCodes().map(({ code }) => code));
    expect(Object.keys(at(asyncApi, 'components', 'securitySchemes') as Node)).toEqual(['bearer', 'basic', 'header', 'query', 'ticket']);
  });
});

describe('the table of endpoints', () => {
  it('has a row for each', () => {
    const rows = referenceBlocks(strange, asyncApi).endpoints.split('\n').slice(2);
    expect(rows).toEqual([
      '| POST `/old/{mint}` | yes | trade | An order \\| of old. Deprecated, works until 2026-06-01. | `INVALID_MINT` `SLIPPAGE_EXCEEDED` `TRADING_HALTED` |',
      '| GET `/any` | – | key | Any key. | – |',
    ]);
  });
});

describe('the public documents', () => {
  it('are rendered by the compiler, for the default plans', () => {
    const build = currentBuild()!;
    const rendering = { plans: defaultPlans, assets: docsAssets(build) };
    expect(rendering.assets).toHaveLength(2);
    const rendered = JSON.parse(readFileSync(join(build, 'rendered.json'), 'utf8')) as unknown;
    expect(rendered).toEqual({ options: JSON.stringify(rendering), documents: renderDocuments(rendering) });
  });

  it('get the address of the gateway, and whether it serves clients without a key', () => {
    const text = `a ${localUrl}/docs b ws://127.0.0.1:8080/api/data c ${keylessMark}`;
    expect(textOfGateway(text, { url: 'https://x.io', isKeyless: true })).toBe('a https://x.io/docs b wss://x.io/api/data c on');
    expect(textOfGateway(text, { url: localUrl, isKeyless: false })).toBe(text.replace(keylessMark, 'off'));
  });

  it('are limited by the address of the client; an IPv6 network counts as one', async () => {
    let nowUs = 0;
    let address = '';
    const config = { plans: defaultPlans, publicUrl: null, pumpPortalKeyless: false };
    const bound = await documentEndpoints({ config, addressOf: () => address, clock: { nowUs: () => nowUs } });
    const asks = (from: string): unknown[] => {
      address = from;
      const call = { request: {} as HttpRequest, params: {}, query: {}, body: {}, principal: null };
      return bound.slice(0, 3).map(({ handler }) => handler(call as never));
    };
    const refused = expect.objectContaining({ error: 'RATE_LIMIT', retryAfterSeconds: 1 });
    const files = [1, 2, 3].map(() => expect.objectContaining({ file: expect.anything() }));
    for (let i = 0; i < 30; i++) expect(asks('192.0.2.1')).toEqual(files);
    expect(asks('192.0.2.1')).toEqual([refused, refused, refused]);
    expect(asks('192.0.2.2')).toEqual(files);
    for (let i = 0; i < 30; i++) expect(asks(`2001:db8::${i}:1`)).toEqual(files);
    expect(asks('2001:0db8:0:0:ffff:1:2:3')).toEqual([refused, refused, refused]);
    expect(asks('2001:db8:0:1::1')).toEqual(files);
    nowUs += 60e6;
    expect(asks('192.0.2.1')).toEqual(files);
  });
});
