import { Sluice, type SluiceOptions } from '@sluice/client';
import { html } from '@sluice/site/docs/text/html.ts';
import { prose, table } from '@sluice/site/docs/text/markdown.ts';
import { topicOf } from '@sluice/site/docs/text/topic.ts';
import { docsHeaders } from '@sluice/site/docs/documents.ts';
import { docsSite } from '@sluice/site/docs/page.ts';
import { sampleRequest } from '@sluice/site/docs/sections/samples/request.ts';
import { curlOf, samplesOf } from '@sluice/site/docs/sections/samples/samples.ts';
import { endpointsOf } from '@sluice/site/docs/sections/shown-endpoint.ts';
import { defaultPlans } from '@sluice/shared/config/plans.ts';
import { errorTable } from '@sluice/shared/wire/errors.ts';
import { closeCodes } from '@sluice/shared/wire/stream/close-codes.ts';
import { eventSchemas } from '@sluice/shared/wire/events/events.ts';
import { asyncApiDocument } from '@sluice/shared/wire/documents/openapi/asyncapi.ts';
import { endpointPaths } from '@sluice/shared/wire/documents/openapi/endpoint-errors.ts';
import { openApiDocument } from '@sluice/shared/wire/documents/openapi/openapi.ts';
import { defineEndpoint } from '@sluice/shared/wire/rest/endpoint.ts';
import { endpoints } from '@sluice/shared/wire/rest/endpoints.ts';
import { setTimeout as pause } from 'node:timers/promises';
import { Type } from 'typebox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { answerTo } from '../python/samples.ts';

const fullKey = 'sluice_test_everything';

describe.each(['uws', 'node'] as const)('the documents over %s', (transport) => {
  let server: TestGateway;
  beforeAll(async () => {
    server = await startTestGateway({ transport });
    server.keys.add(fullKey, { scopes: ['stream', 'read', 'trade'] });
  });
  afterAll(() => server.close());
  const get = (path: string, init: RequestInit = {}) => fetch(`http://${server.host}${path}`, init);

  it.each([
    ['/api/openapi.json', 'application/json; charset=utf-8'],
    ['/api/asyncapi.json', 'application/json; charset=utf-8'],
    ['/docs/search.json', 'application/json; charset=utf-8'],
    ['/docs', 'text/html; charset=utf-8'],
    ['/docs/stream', 'text/html; charset=utf-8'],
    ['/docs/stream.md', 'text/markdown; charset=utf-8'],
    ['/llms.txt', 'text/plain; charset=utf-8'],
  ])('%s is served without a key, and is the same each time', async (path, type) => {
    const answers = await Promise.all([get(path), get(path), get(path, { method: 'HEAD' })]);
    for (const answer of answers) {
      expect(answer.status).toBe(200);
      expect(answer.headers.get('content-type')).toBe(type);
      // A page names the compiled files, which change with the gateway.
      expect(answer.headers.get('cache-control')).toBe(type.startsWith('text/html') ? 'no-cache' : 'public, max-age=300');
      expect(answer.headers.get('etag')).toMatch(/^W\/"[\w-]{27}"$/);
      expect(answer.headers.get('etag')).toBe(answers[0].headers.get('etag'));
      expect(answer.headers.get('x-request-id')).not.toBeNull();
    }
    const [first, second, head] = await Promise.all(answers.map((answer) => answer.text()));
    expect(first).toBe(second);
    expect(first!.length).toBeGreaterThan(500);
    expect(head).toBe('');
  });

  it('answers 304 to a client that has the current version, and keeps the connection open', async () => {
    const tag = (await get('/docs')).headers.get('etag') ?? '';
    for (const known of [tag, tag.slice('W/'.length), `"another", ${tag}`, '*']) {
      const answer = await get('/docs', { headers: { 'if-none-match': known } });
      expect([answer.status, answer.headers.get('etag'), await answer.text()]).toEqual([304, tag, '']);
    }
    expect((await get('/docs', { headers: { 'if-none-match': '"another"' } })).status).toBe(200);
    const index = await get('/docs/search.json', { headers: { 'accept-encoding': 'br' } });
    expect(index.headers.get('content-encoding')).toBe('br');
    const known = { 'if-none-match': index.headers.get('etag') ?? '' };
    expect((await get('/docs/search.json', { headers: known })).status).toBe(304);
  });

  it('links from llms.txt to pages that exist, and answers 404 for others', async () => {
    const links = [...(await (await get('/llms.txt')).text()).matchAll(/\]\(https?:\/\/[^/]+(\/[^)]+)\)/g)].map(([, path]) => path!);
    expect(links).toContain('/docs/stream.md');
    for (const path of links) expect((await get(path)).status, path).toBe(200);
    expect((await get('/docs/nothing')).status).toBe(404);
  });

  it('documents every endpoint that is served', async () => {
    const openApi = (await (await get('/api/openapi.json')).json()) as { openapi: string; paths: Record<string, unknown> };
    expect(openApi.openapi).toBe('3.1.0');
    expect(Object.keys(openApi.paths).toSorted()).toEqual([...new Set(server.gateway.endpoints.flatMap(endpointPaths))].toSorted());
    expect(((await (await get('/api/asyncapi.json')).json()) as { asyncapi: string }).asyncapi).toBe('3.0.0');
  });

  it('has only examples that reach their endpoint and are valid there', async () => {
    const openApi = openApiDocument(endpoints, { version: '1.0.0', plans: [] });
    for (const shown of endpointsOf(openApi)) {
      const request = sampleRequest(shown, `http://${server.host}`);
      const command = curlOf(request);
      const send = (): Promise<Response> =>
        fetch(request.url, {
          method: request.method,
          headers: {
            ...(request.needsKey ? { Authorization: `Bearer ${fullKey}` } : {}),
            ...(request.body === null ? {} : { 'Content-Type': 'application/json' }),
          },
          ...(request.body === null ? {} : { body: JSON.stringify(request.body) }),
        });
      let answer = await send();
      // The tests above have used up the requests for documents of this address.
      for (let tries = 0; answer.status === 429 && tries < 5; tries++) {
        await pause(1000 * Number(answer.headers.get('retry-after')));
        answer = await send();
      }
      const answerText = (await answer.text()).slice(0, 300);
      // The server of these tests does not trade on paper.
      if (answerText.includes('TRADING=paper')) continue;
      expect([401, 403, 405, 413, 415, 429, 500], `${command}\n${answerText}`).not.toContain(answer.status);
      // This text appears only if there is no such path; an endpoint reports what it lacks.
      expect(answerText, command).not.toContain(errorTable.NOT_FOUND.message);
      expect(answerText, command).not.toContain('INVALID_REQUEST');
    }
  });
});

describe('the pages', () => {
  const plans = Object.values(defaultPlans);
  const strange = defineEndpoint({
    id: 'strange',
    method: 'POST',
    path: '/strange/{name}',
    withApiPrefix: true,
    access: 'trade',
    tag: 'odd',
    summary: '<script>alert(1)</script> & `code`',
    params: Type.Object({ name: Type.String({ description: '"><img src=x onerror=alert(1)>' }) }),
    query: Type.Object({ at: Type.Integer(), limit: Type.Optional(Type.Integer()) }),
    body: Type.Object(
      { text: Type.String(), part: Type.Object({ inner: Type.Array(Type.Object({ leaf: Type.Boolean() })) }) },
      { title: 'strange body' },
    ),
    answer: Type.Object({ ok: Type.Literal(true) }),
    errors: ['TRADING_HALTED'],
    deprecated: { since: '2026-01-01', sunset: '2026-09-01', successor: '/v2/strange' },
  });
  const asyncApi = asyncApiDocument({ version: '1.0.0' });
  const siteOf = (all: Parameters<typeof openApiDocument>[0]) =>
    docsSite(openApiDocument(all, { version: '1.0.0', plans }), asyncApi, {
      assets: ['/dashboard/assets/web-docs-A.js', '/dashboard/assets/web-docs-B.css'],
      version: '0.1.0',
    });
  const plain = siteOf(endpoints);
  const site = siteOf([...endpoints, strange]);
  const bodyOf = (pages: readonly { readonly html: string }[]): string => pages.map((one) => one.html).join('\n');
  const page = { body: bodyOf(site.pages) };
  const idsOf = (text: string): string[] => [...text.matchAll(/\sid="([^"]+)"/g)].map((match) => match[1]!);

  it('loads only its compiled script and style, and may contact only its gateway', () => {
    const policy = docsHeaders['Content-Security-Policy'];
    expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; /);
    expect(policy).not.toMatch(/unsafe|\*|https?:/);
    for (const one of plain.pages) {
      const [head, body] = one.html.split('<body');
      expect(head!.match(/<(?:script|link rel="stylesheet")[^>]*>/g)).toEqual([
        '<script type="module" src="/dashboard/assets/web-docs-A.js">',
        '<link rel="stylesheet" href="/dashboard/assets/web-docs-B.css" />',
      ]);
      // What code blocks contain is text, because it has no `<`.
      expect(body!.replaceAll(/<code(?: class="language-\w+")?>[^<]*<\/code>/g, '')).not.toMatch(
        /<(script|style|link|img|iframe|object|embed|base|svg)\b|\s(on\w+|action)=|\sstyle=|javascript:|url\(|@import/i,
      );
      for (const [, address] of body!.matchAll(/(?:href|src)="([^"]*)"/g))
        expect(address).toMatch(
          /^(https?:\/\/[\w.:/-]+|#[\w-]+|\/(#\/[\w-]+)?|\/docs(\/[\w-]+(\.md|#[\w-]+)?)?|\/llms\.txt|\/api\/(openapi|asyncapi)\.json)$/,
        );
    }
  });

  it('shows text as text', () => {
    expect(page.body).toContain('&lt;script&gt;alert(1)&lt;/script&gt; &amp; <code>code</code>');
    expect(page.body).not.toMatch(/<(script>alert|img)/i);
    expect(page.body).toContain('&quot;&gt;&lt;img src=x onerror=alert(1)&gt;');
    expect(html`<b>${'a<b'}${1}</b>`.html).toBe('<b>a&lt;b1</b>');
    const { content } = topicOf('a', `# A\n\n${prose('a `b<|` *c* [d](e) <f>')}\n\n${table(['g'], [['`h|<`'], [prose('~i~|')]])}`, {
      pages: {},
      folder: '',
    });
    expect(content.html).toContain('<p>a <code>b&lt;|</code> *c* [d](e) &lt;f&gt;</p>');
    expect(content.html).toMatch(/<td><code>h\|&lt;<\/code><\/td>[^]*<td>~i~\|<\/td>/);
  });

  it('has each anchor once on its page, and no broken link', () => {
    const ids = new Map(site.pages.map(({ name, html: text }) => [name, idsOf(text)]));
    for (const one of ids.values()) expect(new Set(one).size).toBe(one.length);
    for (const [, target, anchor] of page.body.matchAll(/href="\/docs\/([\w-]+)(?:\.md)?(?:#([\w-]+))?"/g)) {
      expect(ids.has(target!), target).toBe(true);
      if (anchor !== undefined) expect(ids.get(target!)).toContain(anchor);
    }
    const all = [...ids.values()].flat();
    for (const { id } of [...endpoints, strange]) expect(all).toContain(id);
    for (const type of Object.keys(eventSchemas)) expect(all).toContain(`schema-${type}`);
  });

  it('has one title, which no other heading repeats, and skips no level of headings', () => {
    for (const { name, html: text } of plain.pages) {
      const headings = [...text.matchAll(/<h(\d)[^>]*>(.*?)<\/h\1>/gs)].map(([, level, words]) => ({ level: Number(level), words }));
      expect(headings.filter(({ level }) => level === 1).length, name).toBe(1);
      expect(headings.filter(({ words }) => words === headings[0]!.words).length, name).toBe(1);
      for (const [at, { level }] of headings.entries()) expect(level, name).toBeLessThanOrEqual((headings[at - 1]?.level ?? 0) + 1);
    }
  });

  it('has the same content in Markdown, without HTML', () => {
    const markdown = site.pages.map((one) => one.markdown).join('\n');
    for (const code of Object.keys(errorTable)) expect(markdown).toContain(`\`${code}\``);
    for (const { path } of endpoints) expect(markdown).toContain(`\`${path}\``);
    expect(markdown).toContain('&lt;script&gt;alert(1)&lt;/script&gt; &amp; `code`');
    expect(markdown.replaceAll(/```[^]*?```|`[^`\n]*`/g, '')).not.toMatch(/<|\0/);
  });

  it('documents every error, close code, plan, parameter and field', () => {
    for (const code of Object.keys(errorTable)) expect(page.body).toContain(`<code>${code}</code>`);
    for (const { code } of closeCodes()) expect(page.body).toContain(`<td>${code}</td>`);
    for (const { name, requestsPerMinute } of plans)
      expect(page.body).toMatch(new RegExp(`<td>${name}</td>\\s*<td>${requestsPerMinute}</td>`));
    const sectionOf = (id: string): string => new RegExp(`<h2 id="${id}">([^]*?)(?:<h2|</main>)`).exec(page.body)![1]!;
    const section = sectionOf('strange');
    for (const part of [
      '<code>name</code>',
      '<code>at</code>',
      'Deprecated; works until 2026-09-01',
      '<code>/v2/strange</code>',
      '<code>/api/strange/{name}</code>',
      'TRADING_HALTED',
      'UPSTREAM_UNAVAILABLE',
      '<code>trade</code>',
    ]) {
      expect(section).toContain(part);
    }
    const body = sectionOf('schema-strangeBody');
    for (const field of ['text', 'part', 'part.inner', 'part.inner[].leaf']) expect(body).toContain(`<code>${field}</code>`);
  });

  it('shows how to call each endpoint in each language, also in Markdown', () => {
    const shown = site.pages.map((one) => one.html).join('\n');
    for (const language of ['sh', 'ts', 'python']) {
      const count = shown.split(`<code class="language-${language}">`).length - 1;
      expect(count).toBeGreaterThan(endpoints.length);
    }
    const trading = site.pages.find(({ name }) => name === 'http-trading')!.markdown;
    expect(trading).toMatch(
      /```sh sample quote curl\ncurl [^`]*```\n\n```ts sample quote TypeScript\n[^`]*```\n\n```python sample quote Python\n/,
    );
  });
});

const AsyncFunction = (async () => {}).constructor as new (...parts: string[]) => (...values: unknown[]) => Promise<void>;

describe('the samples', () => {
  const openApi = openApiDocument(endpoints, { version: '1.0.0', plans: [] });
  const origin = 'https://sluice.coins.io';
  const requests = endpointsOf(openApi).map((shown) => sampleRequest(shown, origin));
  const textOf = (id: string, title: string): string =>
    samplesOf(requests.find((one) => one.id === id)!).find((one) => one.title === title)!.text;

  it('never spend by default where a dry run is possible', () => {
    const spending = requests.filter(({ body }) => body?.['dryRun'] === true).map(({ id }) => id);
    expect(spending).toEqual(['tradeBuy', 'tradeSell']);
  });

  it.each(requests)('in TypeScript send the same as curl: $id', async (request) => {
    const sent: { url: string; method: string; headers: Headers; body: unknown }[] = [];
    const fakeFetch = async (url: string, { method = 'GET', headers, body }: RequestInit = {}): Promise<Response> => {
      const asked = typeof body === 'string' ? (JSON.parse(body) as object) : null;
      sent.push({ url, method, headers: new Headers(headers), body: asked });
      return Response.json(answerTo({ path: new URL(url).pathname, body: asked }));
    };
    class Client extends Sluice {
      constructor(options: SluiceOptions) {
        super({ ...options, fetch: fakeFetch as typeof fetch });
      }
    }
    const text = samplesOf(request)
      .find(({ title }) => title === 'TypeScript')!
      .text.replace(/^import .*\n/, '');
    await new AsyncFunction('Sluice', 'fetch', 'process', 'console', text)(
      Client,
      fakeFetch,
      { env: { SLUICE_API_KEY: 'the key' } },
      { log: () => {} },
    );
    expect(sent).toMatchObject([{ url: request.url, method: request.method, body: request.body }]);
    expect(sent[0]!.headers.get('authorization')).toBe(request.needsKey ? 'Bearer the key' : null);
  });

  it('in Python use the client if it has a method, otherwise httpx', () => {
    const [buy, local] = ['tradeBuy', 'pumpPortalTradeLocal'].map((id) => textOf(id, 'Python'));
    expect(buy).toContain('        answer = await sluice.buy(\n            publicKey="');
    expect(buy).toContain('            amount=0.1,\n            slippage=5,\n            dryRun=True,\n        )\n');
    expect(local).toContain('import os, httpx\n\nanswer = httpx.post(\n    "https://sluice.coins.io/api/trade-local",\n    headers=');
    expect(local).toContain('    json={\n        "publicKey": "');
    expect(textOf('status', 'Python')).toMatch(/^import httpx\n\nanswer = httpx.get\("[^"]+"\)\nprint/);
    expect(textOf('tokenInfo', 'Python')).toMatch(/answer = await sluice\.token_info\("\w+"\)\n/);
  });
});
