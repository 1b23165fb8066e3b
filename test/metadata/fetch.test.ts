import { randomBytes } from 'node:crypto';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { MetadataFetcher, type FetcherOptions } from '@sluice/shared/metadata/fetch.ts';
import { internetRules } from '@sluice/shared/guarded-http/rules.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { pngOf } from './images.ts';
import { host, json, localRules, redirect, startSockets, startWeb, until, type LocalWeb, type Page } from './local-web.ts';

const open: { close(): Promise<void> | void }[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

async function web(pages: Readonly<Record<string, Page>>, address?: string, port?: number): Promise<LocalWeb> {
  const started = await startWeb(pages, address, port);
  open.push(started);
  return started;
}

function fetcherOf(options: Partial<FetcherOptions> = {}): MetadataFetcher {
  const fetcher = new MetadataFetcher({ rules: localRules(), ipfsGateways: [], ...options });
  open.push(fetcher);
  return fetcher;
}

const coin = { name: 'A coin', symbol: 'COIN', description: 'Of these tests.', image: 'https://coins.io/a.png' };
const seen = { ...coin, twitter: null, telegram: null, website: null };
const refused = { ok: false, reason: 'refused' };

describe('a document', () => {
  it('is fetched from the address of its uri, with one request', async () => {
    let headers: Readonly<Record<string, unknown>> = {};
    const server = await web({
      '/a.json': (response, url) => {
        headers = response.req.headers;
        json(coin)(response, url);
      },
    });
    expect(await fetcherOf().metadata(server.url('/a.json'))).toEqual({ ok: true, metadata: seen });
    expect(headers).toEqual({
      host: `${host}:${server.port}`,
      accept: 'application/json',
      'accept-encoding': 'gzip, deflate, br',
      'user-agent': 'sluice',
      connection: 'close',
    });
  });

  it('is fetched if the text on chain is padded with zeros, and from an address without a name', async () => {
    const server = await web({ '/a.json': json(coin) });
    const rules = localRules();
    const fetcher = fetcherOf({ rules });
    expect(await fetcher.metadata(` ${server.url('/a.json')}${'\0'.repeat(80)}`)).toMatchObject({ ok: true });
    expect(await fetcher.metadata(`http://127.0.0.1:${server.port}/a.json`)).toMatchObject({ ok: true });
    expect(rules.resolved).toEqual([host]);
  });

  it('is fetched in any usual compression, and in no other', async () => {
    const text = JSON.stringify(coin);
    const packed = (encoding: string, body: Buffer): Page => {
      return (response) => void response.writeHead(200, { 'content-encoding': encoding }).end(body);
    };
    const server = await web({
      '/gzip': packed('gzip', gzipSync(text)),
      '/deflate': packed('deflate', deflateSync(text)),
      '/br': packed('br', brotliCompressSync(text)),
      '/twice': packed('gzip, gzip', gzipSync(gzipSync(text))),
      '/broken': packed('gzip', gzipSync(text).subarray(0, 40)),
      '/zstd': packed('zstd', Buffer.from(text)),
      '/proto': packed('__proto__', Buffer.from(text)),
    });
    const fetcher = fetcherOf();
    for (const path of ['/gzip', '/deflate', '/br']) expect(await fetcher.metadata(server.url(path))).toMatchObject({ ok: true });
    for (const path of ['/twice', '/broken', '/zstd', '/proto']) {
      expect(await fetcher.metadata(server.url(path)), path).toEqual({ ok: false, reason: 'encoding' });
    }
  });

  it('is read from the uri itself, without a request', async () => {
    const rules = localRules();
    const fetcher = fetcherOf({ rules });
    expect(await fetcher.metadata(`data:application/json,${JSON.stringify(coin)}`)).toEqual({ ok: true, metadata: seen });
    expect(await fetcher.metadata('data:application/json,{')).toEqual({ ok: false, reason: 'malformed' });
    expect(await fetcher.metadata('data:text/html,<b>')).toEqual({ ok: false, reason: 'malformed' });
    expect(await fetcher.metadata(`data:,${'{"a":1'.padEnd(65_600)}}`)).toEqual({ ok: false, reason: 'too_large' });
    expect(await fetcher.metadata(`data:,${'x'.repeat(300_000)}`)).toEqual({ ok: false, reason: 'too_large' });
    expect(rules.resolved).toEqual([]);
  });

  it('is fetched from the next IPFS gateway if the first does not return it', async () => {
    const cid = 'QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKyY1x';
    const first = await web({ [`/ipfs/${cid}`]: (response) => void response.writeHead(504).end() });
    const second = await web({ [`/ipfs/${cid}`]: json(coin) });
    const fetcher = fetcherOf({ ipfsGateways: [first.url('/ipfs/'), second.url('/ipfs/')], limits: { timeoutMs: 60_000 } });
    for (const uri of [`ipfs://${cid}`, `ipfs://ipfs/${cid}`, first.url(`/ipfs/${cid}`)]) {
      expect(await fetcher.metadata(uri)).toMatchObject({ ok: true });
    }
    expect([first.asked.length, second.asked.length]).toEqual([3, 3]);
  });

  it('is fetched from the next gateway within the same time limit if the first does not answer', async () => {
    const cid = 'QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKyY1x';
    const silent = await web({ [`/ipfs/${cid}`]: () => undefined });
    const second = await web({ [`/ipfs/${cid}`]: json(coin) });
    const fetcher = fetcherOf({ ipfsGateways: [silent.url('/ipfs/'), second.url('/ipfs/')], limits: { timeoutMs: 1_000 } });
    expect(await fetcher.metadata(`ipfs://${cid}`)).toMatchObject({ ok: true });
  });
});

describe('only public addresses are contacted', () => {
  it.each([
    'http://127.0.0.2/',
    'http://[::1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://0x7f000002/',
    'http://10.0.0.1/',
    'http://169.254.169.254/latest/meta-data/',
    'http://localhost/',
    'https://simnet.invalid/coin/1',
    'http://user:password@metadata.sluice-coins.com/',
    'ftp://metadata.sluice-coins.com/',
    'file:///etc/passwd',
    'not an address',
    '',
  ])('%j is refused without a lookup', async (uri) => {
    const rules = localRules();
    expect(await fetcherOf({ rules }).metadata(uri)).toEqual(refused);
    expect(rules.resolved).toEqual([]);
  });

  it.each([
    ['private', ['10.1.2.3']],
    ['of cloud metadata', ['169.254.169.254']],
    ['of IPv6', ['fd00::1']],
    ['mapped', ['::ffff:127.0.0.1']],
    ['translated', ['64:ff9b::7f00:1']],
    ['one among public ones', ['127.0.0.1', '192.168.0.1']],
    ['no address', ['nonsense']],
  ])('a name is refused whose address is %s', async (_what, addresses) => {
    const server = await web({ '/': json(coin) });
    const fetcher = fetcherOf({ rules: localRules({ 'other.sluice-coins.com': addresses }) });
    expect(await fetcher.metadata(`http://other.sluice-coins.com:${server.port}/`)).toEqual(refused);
    expect(server.asked).toEqual([]);
  });

  it('a name without an address is not found', async () => {
    expect(await fetcherOf().metadata('http://nowhere.sluice-coins.com/')).toEqual({ ok: false, reason: 'unresolved' });
  });

  it('the rules of the internet exclude all addresses of this machine', async () => {
    const server = await web({ '/': json(coin) });
    const fetcher = fetcherOf({ rules: internetRules });
    for (const uri of [`http://127.0.0.1:${server.port}/`, 'http://127.0.0.1/', `http://localhost:${server.port}/`]) {
      expect(await fetcher.metadata(uri)).toEqual(refused);
    }
    expect(server.asked).toEqual([]);
  });

  it('the connection goes to the address that was checked, even if the name resolves differently by then', async () => {
    // The same port on both addresses, so that only the address differs.
    const outside = await web({ '/a.json': json(coin), '/jump': redirect('/again') });
    const inside = await web({ '/a.json': json({ name: 'inside' }), '/again': json({ name: 'inside' }) }, '127.0.0.2', outside.port);
    const answers = [['127.0.0.1'], ['127.0.0.2']];
    let lookups = 0;
    const rebinding = () => answers[Math.min(lookups++, 1)]!;
    const rules = localRules({ 'rebinding.sluice-coins.com': rebinding });
    const fetcher = fetcherOf({ rules });
    expect(await fetcher.metadata(`http://rebinding.sluice-coins.com:${inside.port}/a.json`)).toMatchObject({
      metadata: { name: 'A coin' },
    });
    expect(lookups).toBe(1);
    expect(await fetcher.metadata(`http://rebinding.sluice-coins.com:${inside.port}/a.json`)).toEqual(refused);
    lookups = 0;
    // A redirect to the same name is looked up and checked again.
    expect(await fetcher.metadata(`http://rebinding.sluice-coins.com:${inside.port}/jump`)).toEqual(refused);
    expect(outside.asked).toEqual(['/a.json', '/jump']);
    expect(inside.asked).toEqual([]);
  });
});

describe('a redirect', () => {
  it('is followed three times, and no more', async () => {
    const server = await web({
      '/1': redirect('/2', 301),
      '/2': redirect('/3', 307),
      '/3': redirect('/a.json', 308),
      '/0': redirect('/1', 303),
      '/a.json': json(coin),
    });
    const fetcher = fetcherOf();
    expect(await fetcher.metadata(server.url('/1'))).toMatchObject({ ok: true });
    expect(await fetcher.metadata(server.url('/0'))).toEqual({ ok: false, reason: 'redirects' });
  });

  it.each([
    'http://127.0.0.2:{port}/secret',
    'http://[::1]:{port}/secret',
    'http://[::ffff:7f00:2]:{port}/secret',
    'http://2130706434:{port}/secret',
    'http://0177.0.0.2:{port}/secret',
    'http://localhost:{port}/secret',
    'http://inside.sluice-coins.com:{port}/secret',
    'http://user@metadata.sluice-coins.com:{port}/secret',
    '//169.254.169.254/latest/meta-data/',
    'file:///etc/passwd',
    'gopher://127.0.0.1:6379/_INFO',
    'data:application/json,{}',
    'http://[',
  ])('to %s is refused', async (location) => {
    const inside = await web({ '/secret': json({ name: 'inside' }) }, '127.0.0.2');
    const server = await web({ '/a.json': redirect(location.replace('{port}', String(inside.port))) });
    const fetcher = fetcherOf({ rules: localRules({ 'inside.sluice-coins.com': ['127.0.0.2'] }) });
    expect(await fetcher.metadata(server.url('/a.json'))).toEqual(refused);
    expect(inside.asked).toEqual([]);
  });

  it('without an address, and any status except 200, gives no document', async () => {
    const server = await web({
      '/a': (response) => void response.writeHead(302).end(JSON.stringify(coin)),
      '/b': (response) => void response.writeHead(206).end(JSON.stringify(coin)),
      '/c': (response) => void response.writeHead(500).end(JSON.stringify(coin)),
      '/d': (response) => void response.writeHead(304, { location: '/e' }).end(),
    });
    for (const path of ['/a', '/b', '/c', '/d', '/e']) {
      expect(await fetcherOf().metadata(server.url(path))).toEqual({ ok: false, reason: 'status' });
    }
  });
});

describe('bounds on what a server can do', () => {
  const limits = { timeoutMs: 300 };

  it('a document of the largest size is accepted, one byte more is not', async () => {
    const sized = (bytes: number): Buffer => Buffer.from(JSON.stringify({ name: 'x' }).padEnd(bytes));
    const whole =
      (bytes: number): Page =>
      (response) =>
        void response.writeHead(200).end(sized(bytes));
    const streamed =
      (bytes: number): Page =>
      (response) => {
        response.writeHead(200);
        for (let at = 0; at < bytes; at += 4_096) response.write(sized(bytes).subarray(at, at + 4_096));
        response.end();
      };
    const packed =
      (bytes: number): Page =>
      (response) =>
        void response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(sized(bytes)));
    const server = await web({
      '/whole': whole(65_536),
      '/streamed': streamed(65_536),
      '/packed': packed(65_536),
      '/whole+1': whole(65_537),
      '/streamed+1': streamed(65_537),
      '/packed+1': packed(65_537),
    });
    for (const path of ['/whole', '/streamed', '/packed']) {
      expect(await fetcherOf().metadata(server.url(path)), path).toMatchObject({ ok: true });
      expect(await fetcherOf().metadata(server.url(`${path}+1`)), path).toEqual({ ok: false, reason: 'too_large' });
    }
  });

  it('an endless answer is not read to its end', async () => {
    let sent = 0;
    let isGone = false;
    const flood: Page = (response) => {
      response.writeHead(200);
      response.on('close', () => (isGone = true));
      const more = (): void => {
        do sent += 16 * 1024;
        while (response.write(randomBytes(16 * 1024)));
      };
      response.on('drain', more);
      more();
    };
    const server = await web({ '/flood': flood });
    expect(await fetcherOf().metadata(server.url('/flood'))).toEqual({ ok: false, reason: 'too_large' });
    await until(() => isGone);
    expect(sent).toBeLessThan(32 * 1024 * 1024);
  });

  it.each([
    ['gzip', gzipSync(Buffer.alloc(64 * 1024 * 1024))],
    ['br', brotliCompressSync(Buffer.alloc(256 * 1024 * 1024), { params: { 1: 1 } })],
    ['deflate', deflateSync(Buffer.alloc(60 * 1024 * 1024))],
  ])('a decompression bomb with %s does no harm', async (encoding, bomb) => {
    expect(bomb.length).toBeLessThan(65_536);
    const server = await web({ '/': (response) => void response.writeHead(200, { 'content-encoding': encoding }).end(bomb) });
    expect(await fetcherOf().metadata(server.url('/'))).toEqual({ ok: false, reason: 'too_large' });
  });

  it('headers beyond their bound are not read', async () => {
    const server = await startSockets((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n');
      for (let i = 0; i < 400; i++) socket.write(`x-${i}: ${'y'.repeat(200)}\r\n`);
    });
    open.push(server);
    expect(await fetcherOf().metadata(server.url('/'))).toEqual({ ok: false, reason: 'too_large' });
  });

  it.each([
    ['says nothing', ''],
    ['sends a header slowly', 'HTTP/1.1 200 OK\r\nx: '],
    ['sends a body slowly', 'HTTP/1.1 200 OK\r\ncontent-length: 60000\r\n\r\n'],
    ['sends interim statuses forever', 'HTTP/1.1 103 Early Hints\r\n\r\n'],
  ])('a server that %s is stopped by the time limit', async (_what, head) => {
    const server = await startSockets((socket) => {
      if (head !== '') socket.write(head);
      const timer = setInterval(() => head !== '' && socket.write(head.startsWith('HTTP/1.1 103') ? head : ' '), 5);
      socket.on('close', () => clearInterval(timer));
    });
    open.push(server);
    const beganMs = performance.now();
    expect(await fetcherOf({ limits }).metadata(server.url('/'))).toEqual({ ok: false, reason: 'timeout' });
    expect(performance.now() - beganMs).toBeLessThan(20_000);
  });

  it('the time limit includes all redirects', async () => {
    const slowly =
      (to: string): Page =>
      (response) =>
        void setTimeout(() => response.writeHead(302, { location: to }).end(), 130);
    const server = await web({ '/1': slowly('/2'), '/2': slowly('/3'), '/3': slowly('/a.json'), '/a.json': json(coin) });
    expect(await fetcherOf({ limits }).metadata(server.url('/1'))).toEqual({ ok: false, reason: 'timeout' });
  });

  it('a lookup that does not end is stopped by the time limit', async () => {
    const rules = { ...localRules(), resolve: () => new Promise<never>(() => undefined) };
    expect(await fetcherOf({ rules, limits }).metadata('http://slow.sluice-coins.com/')).toEqual({ ok: false, reason: 'timeout' });
  });

  it.each([
    ['no HTTP', 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['an unfinished body', 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{}'],
    ['two kinds of length', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n{}'],
    ['another protocol', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'],
    ['nothing', ''],
  ])('an answer of %s is a fault, not a hang', async (_what, text) => {
    const server = await startSockets((socket) => void socket.end(text));
    open.push(server);
    expect(await fetcherOf().metadata(server.url('/'))).toEqual({ ok: false, reason: 'unreachable' });
  });

  it('a page of another type is not a document', async () => {
    const page = (type: string, body: string | Buffer): Page => {
      return (response) => void response.writeHead(200, { 'content-type': type }).end(body);
    };
    const server = await web({
      '/html': page('text/html', '<html></html>'),
      '/png': page('application/json', Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')),
      '/list': page('application/json', '[1]'),
    });
    for (const path of ['/html', '/png', '/list']) {
      expect(await fetcherOf().metadata(server.url(path))).toEqual({ ok: false, reason: 'malformed' });
    }
  });
});

describe('concurrent requests are bounded', () => {
  function gate(): { readonly page: Page; readonly waiting: () => number; release(): void } {
    let held: (() => void)[] = [];
    return {
      page: (response, url) => void held.push(() => json({ name: url })(response, url)),
      waiting: () => held.length,
      release: () => {
        for (const answer of held) answer();
        held = [];
      },
    };
  }

  it('to one host, and in all; the others wait for their turn', async () => {
    const [one, two, three] = [gate(), gate(), gate()];
    const servers = [await web({ '/': one.page }), await web({ '/': two.page }), await web({ '/': three.page })];
    const names = ['a.sluice-coins.com', 'b.sluice-coins.com', 'c.sluice-coins.com'];
    const rules = localRules(Object.fromEntries(names.map((name) => [name, ['127.0.0.1']])));
    const fetcher = fetcherOf({ rules, limits: { total: 5, perHost: 2 } });
    const all = names.flatMap((name, at) =>
      Array.from({ length: 4 }, (_, i) => fetcher.metadata(`http://${name}:${servers[at]!.port}/?${i}`)),
    );
    const gates = [one, two, three];
    await until(() => one.waiting() === 2 && two.waiting() === 2 && three.waiting() === 1);
    let isDone = false;
    const done = Promise.all(all).finally(() => (isDone = true));
    await until(() => {
      for (const each of gates) {
        expect(each.waiting()).toBeLessThanOrEqual(2);
        each.release();
      }
      return isDone;
    });
    expect((await done).every(({ ok }) => ok)).toBe(true);
  });

  it('a request is refused if the queue is full, or if it waits too long', async () => {
    const held = gate();
    const server = await web({ '/': held.page });
    const fetcher = fetcherOf({ limits: { total: 1, maxWaiting: 1, waitMs: 100 } });
    const first = fetcher.metadata(server.url('/?1'));
    await until(() => held.waiting() === 1);
    const second = fetcher.metadata(server.url('/?2'));
    expect(await fetcher.metadata(server.url('/?3'))).toEqual({ ok: false, reason: 'busy' });
    expect(await second).toEqual({ ok: false, reason: 'busy' });
    held.release();
    expect(await first).toMatchObject({ ok: true });
    expect(server.asked).toEqual(['/?1']);
  });

  it('a close ends all requests', async () => {
    const held = gate();
    const server = await web({ '/': held.page });
    const fetcher = fetcherOf({ limits: { total: 1 } });
    const all = [fetcher.metadata(server.url('/?1')), fetcher.metadata(server.url('/?2'))];
    await until(() => held.waiting() === 1);
    fetcher.close();
    expect(await Promise.all(all)).toEqual([
      { ok: false, reason: 'closed' },
      { ok: false, reason: 'closed' },
    ]);
    expect(await fetcher.metadata(server.url('/?3'))).toEqual({ ok: false, reason: 'closed' });
  });
});

describe('an image', () => {
  const png = pngOf(30, 20);
  it('has the type that its bytes show, up to the largest size', async () => {
    const server = await web({
      '/a': (response) => void response.writeHead(200, { 'content-type': 'text/html' }).end(png),
      '/svg': (response) => void response.writeHead(200, { 'content-type': 'image/png' }).end('<svg xmlns="http://www.w3.org/2000/svg"/>'),
      '/pixels': (response) => void response.writeHead(200).end(pngOf(8_000, 8_000)),
      '/frames': (response) => void response.writeHead(200).end(pngOf(1_000, 1_000, { frames: 1_000 })),
      '/large': (response) => void response.writeHead(200).end(Buffer.concat([png, Buffer.alloc(5 * 1024 * 1024)])),
    });
    const fetcher = fetcherOf();
    expect(await fetcher.image(server.url('/a'))).toEqual({ ok: true, image: { type: 'image/png', bytes: png } });
    expect(await fetcher.image(server.url('/svg'))).toEqual({ ok: false, reason: 'malformed' });
    for (const path of ['/pixels', '/frames', '/large'])
      expect(await fetcher.image(server.url(path)), path).toEqual({ ok: false, reason: 'too_large' });
    expect(await fetcher.image('http://127.0.0.2/a.png')).toEqual(refused);
    expect(await fetcher.image('data:image/png;base64,iVBORw0KGgo=')).toEqual(refused);
  });
});
