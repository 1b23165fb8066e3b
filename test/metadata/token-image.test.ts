import { TokenMetadataBook } from '@sluice/shared/metadata/book.ts';
import { MetadataFetcher } from '@sluice/shared/metadata/fetch.ts';
import { FetchCache } from '@sluice/shared/metadata/fetch-cache.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SimChain } from '../simnet/sim-chain.ts';
import { startSimnet, type Simnet } from '../simnet/simnet.ts';
import { alice, launch } from '../simnet/support/test-chain.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { addressOf } from '../support/events/stream-events.ts';
import { pngOf } from './images.ts';
import { json, localRules, startWeb, until, type LocalWeb, type Page } from './local-web.ts';

const key = 'sluice_test_reader';
const png = pngOf(300, 300);
const file =
  (body: string | Buffer, type = 'image/png'): Page =>
  (response) =>
    void response.writeHead(200, { 'content-type': type, 'set-cookie': 'a=b', 'content-security-policy': 'none' }).end(body);

describe('GET /token/image/{mint}', () => {
  let simnet: Simnet;
  let web: LocalWeb;
  let server: TestGateway;
  let held: (() => void)[] = [];
  const mints: Record<string, string> = {};

  beforeAll(async () => {
    simnet = await startSimnet({ seed: 3, autoStart: false });
    web = await startWeb({
      '/a.png': file(png, 'text/html'),
      '/huge.png': file(pngOf(8_000, 8_000)),
      '/svg': file('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'),
      '/slow.png': (response, url) => void held.push(() => file(png)(response, url)),
      '/unavailable.png': (response) => void response.writeHead(502).end(),
      '/good': (response, url) => json({ image: web.url('/a.png') })(response, url),
    });
    simnet.chain.airdrop(alice.publicKey, 100_000_000_000n);
    const coin = (uri: string): string =>
      launch(simnet.chain as SimChain, { text: { name: 'Simulated test coin', symbol: 'SIMTEST', uri } });
    const naming = (image: unknown): string => `data:,${JSON.stringify({ image })}`;
    mints['good'] = coin(web.url('/good'));
    mints['svg'] = coin(naming(web.url('/svg')));
    mints['an image of too many pixels'] = coin(naming(web.url('/huge.png')));
    mints['slow'] = coin(naming(web.url('/slow.png')));
    mints['unavailable'] = coin(naming(web.url('/unavailable.png')));
    mints['private'] = coin(naming('http://10.0.0.1/a.png'));
    mints['no image'] = coin('data:,{}');
    mints['no document'] = coin('https://simnet.invalid/coin/1');
    mints['no uri'] = coin('');
    const fetcher = new MetadataFetcher({ rules: localRules(), ipfsGateways: [] });
    server = await startTestGateway({
      config: { rpc: { httpUrls: [simnet.rpcUrl], wsUrls: [simnet.wsUrl] } },
      metadata: new TokenMetadataBook(fetcher),
    });
    server.keys.add(key, { scopes: ['read'] });
  });
  afterAll(async () => {
    await server.close();
    await web.close();
    await simnet.close();
  });

  const get = (mint: string, prefix = '', bearer = key) =>
    fetch(`http://${server.host}${prefix}/token/image/${mint}`, { headers: { Authorization: `Bearer ${bearer}` } });

  it.each(['', '/api'])('returns the image with the type of its bytes, and nothing in it can run (%s)', async (prefix) => {
    const answer = await get(mints['good']!, prefix);
    expect(answer.status).toBe(200);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'image/png',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "sandbox; default-src 'none'",
      'cache-control': 'private, max-age=3600',
    });
    expect(answer.headers.get('set-cookie')).toBeNull();
    expect(Buffer.from(await answer.arrayBuffer()).equals(png)).toBe(true);
    expect(web.asked.filter((path) => path === '/a.png')).toHaveLength(1);
  });

  it('causes one request, however many clients ask at once', async () => {
    const all = Array.from({ length: 20 }, () => get(mints['slow']!));
    await until(() => held.length > 0);
    for (const answer of held.splice(0)) answer();
    const answers = await Promise.all(all);
    expect(answers.map(({ status }) => status)).toEqual(all.map(() => 200));
    expect(web.asked.filter((path) => path === '/slow.png')).toHaveLength(1);
    held = [];
  });

  it.each([
    ['svg', 404, 'NOT_FOUND'],
    ['an image of too many pixels', 404, 'NOT_FOUND'],
    ['private', 404, 'NOT_FOUND'],
    ['no image', 404, 'NOT_FOUND'],
    ['no document', 404, 'NOT_FOUND'],
    ['no uri', 404, 'NOT_FOUND'],
    ['unavailable', 503, 'UPSTREAM_UNAVAILABLE'],
  ])('of a token with %s gives %i', async (name, status, code) => {
    const answer = await get(mints[name]!);
    expect(answer.status).toBe(status);
    expect(await answer.json()).toMatchObject({ error: { code } });
  });

  it('of text that is not a mint is refused, and needs a key with the scope', async () => {
    expect(await (await get('nonsense')).json()).toMatchObject({ error: { code: 'INVALID_MINT' } });
    expect(await (await get(addressOf(9))).json()).toMatchObject({ error: { code: 'INVALID_MINT' } });
    expect((await get(mints['good']!, '', 'sluice_test_nobody')).status).toBe(401);
  });

  it('is listed in token info once its document is known', async () => {
    const info = async () =>
      (await (
        await fetch(`http://${server.host}/token/info/${mints['svg']!}`, { headers: { Authorization: `Bearer ${key}` } })
      ).json()) as { offChain: { image: string } | null };
    await expect
      .poll(async () => (await info()).offChain, { timeout: 60_000 })
      .toEqual({
        description: null,
        image: web.url('/svg'),
        twitter: null,
        telegram: null,
        website: null,
      });
  });
});

describe('a shelf', () => {
  type Thing = { readonly ok: true; readonly bytes: number };
  function shelf(maxBytes: number, maxUnderWay: number) {
    const asked: string[] = [];
    const answers = new Map<string, (outcome: Thing | { readonly ok: false; readonly reason: 'busy' | 'status' }) => void>();
    const made = new FetchCache<Thing>({
      fetch: (address) => {
        asked.push(address);
        return new Promise((resolve) => void answers.set(address, resolve));
      },
      bytesOf: ({ bytes }) => bytes,
      maxBytes,
      maxUnderWay,
    });
    return { made, asked, answers };
  }

  it('asks once for all, stores results and failures, but not a refusal for lack of room', async () => {
    const { made, asked, answers } = shelf(10_000, 10);
    const both = [made.load('a'), made.load('a')];
    expect(made.known('a')).toBeUndefined();
    answers.get('a')!({ ok: true, bytes: 10 });
    expect(await Promise.all(both)).toEqual([
      { ok: true, bytes: 10 },
      { ok: true, bytes: 10 },
    ]);
    expect(made.known('a')).toEqual({ ok: true, bytes: 10 });
    const failed = made.load('b');
    answers.get('b')!({ ok: false, reason: 'status' });
    expect(await failed).toEqual({ ok: false, reason: 'status' });
    expect(await made.load('b')).toEqual({ ok: false, reason: 'status' });
    const busy = made.load('c');
    answers.get('c')!({ ok: false, reason: 'busy' });
    await busy;
    expect(made.known('c')).toBeUndefined();
    expect(asked).toEqual(['a', 'b', 'c']);
  });

  it('is limited in bytes and in running requests', async () => {
    const { made, answers } = shelf(10_000, 2);
    for (const address of ['a', 'b', 'c']) {
      const load = made.load(address);
      answers.get(address)!({ ok: true, bytes: 4_000 });
      await load;
    }
    expect([made.known('a'), made.known('b')?.ok, made.known('c')?.ok]).toEqual([undefined, true, true]);
    void made.load('x');
    void made.load('y');
    expect(await made.load('z')).toEqual({ ok: false, reason: 'busy' });
  });
});
