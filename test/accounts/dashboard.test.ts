import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { signInText } from '@sluice/gateway/accounts/sign-in/sign-in-message.ts';
import { createAuthenticator } from '@sluice/gateway/auth/authenticator.ts';
import { startGateway, type Gateway } from '../../cli/gateway/gateway.ts';
import { endOfKeyMs } from '@sluice/gateway/auth/api-keys.ts';
import { operatorAccountId } from '@sluice/gateway/store/sql/tables/accounts.ts';
import { maxKeysPerAccount } from '@sluice/gateway/store/sql/tables/keys.ts';
import { openSqlite } from '@sluice/gateway/store/sql/sqlite/sqlite.ts';
import { openStore, type Store } from '@sluice/gateway/store/store.ts';
import type { Config } from '@sluice/shared/config/config.ts';
import { createBus } from '@sluice/shared/bus/create.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { generateKeypair } from '@sluice/shared/solana/addresses/keypair.ts';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { until } from '../support/gateway.ts';
import { testConfig } from '../support/test-config.ts';
import { StreamClient } from '../support/clients/stream-client.ts';
import { DashboardClient, linkToken, signed, type Answer } from './dashboard-client.ts';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
const log = createLog({ level: 'silent', name: 'test' });

let folder: string;
let store: Store;
let gateway: Gateway;
let closeAll: (() => Promise<void>)[];

async function start(config: Partial<Config> = {}, transport: 'auto' | 'node' = 'auto'): Promise<DashboardClient> {
  const bus = await createBus({ redisUrls: null, log });
  const started = await startGateway({
    config: { ...testConfig, dataDir: folder, ...config },
    bus,
    log,
    signal: new AbortController().signal,
    store,
    transport,
  });
  closeAll.push(async () => {
    await started.close();
    await bus.close();
  });
  gateway = started;
  return new DashboardClient(started.url);
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-accounts-'));
  closeAll = [];
  store = await openStore({ dataDir: folder, databaseUrl: null });
});

afterEach(async () => {
  vi.useRealTimers();
  for (const close of closeAll.toReversed()) await close();
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Lets time pass for the store, by all clocks. */
function passUntil(nowMs: number): number {
  vi.spyOn(store.time, 'nowMs').mockReturnValue(Math.floor(nowMs));
  return nowMs;
}

function expectError(answer: Answer, status: number, code: string): void {
  expect([answer.status, answer.body['error']]).toMatchObject([status, { code }]);
}

describe('signing in with a wallet', () => {
  it('opens a session, and an account if sign-up is open', async () => {
    const client = await start();
    expect((await client.readMe()).body).toMatchObject({ account: null, csrfToken: null, signIn: { open: true, signUp: 'open' } });
    const wallet = generateKeypair();
    const answer = await client.signIn(wallet);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('set-cookie')).toMatch(/^sluice_session=[0-9a-f]{64}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=604800$/);
    const me = await client.readMe();
    expect(me.body).toMatchObject({ account: { kind: 'holder', wallet: wallet.publicKey, plan: 'standard' } });
    expect(me.headers.get('cache-control')).toBe('no-store');
    const again = new DashboardClient(client.url);
    await again.signIn(wallet);
    expect((await again.readMe()).body['account']).toEqual(me.body['account']);
    expect(await store.accounts.all()).toHaveLength(2);
  });

  it('stores neither the session, nor its CSRF token, nor a nonce', async () => {
    const client = await start();
    await client.signIn();
    const { nonce } = await client.offer();
    const session = await store.sessions.byTokenHash(randomBytes(32), Date.now());
    expect(session).toBeNull();
    const { readFileSync, readdirSync } = await import('node:fs');
    const stored = readdirSync(folder)
      .map((name) => readFileSync(join(folder, name), 'latin1'))
      .join('');
    for (const secret of [client.cookie!.split('=')[1]!, client.csrfToken!, nonce]) expect(stored).not.toContain(secret);
  });

  it('accepts a message once, over all gateways', async () => {
    const client = await start();
    const other = await start();
    const wallet = generateKeypair();
    // The second gateway listens elsewhere, like one behind a proxy; its page has the address of the first one.
    const message = { ...(await client.offer()), address: wallet.publicKey };
    expect((await client.post('sign-in', signed(wallet, message))).status).toBe(200);
    expectError(await client.post('sign-in', signed(wallet, message)), 401, 'UNAUTHENTICATED');
    const forOther = { ...message, domain: new URL(other.url).host, uri: other.url };
    expectError(await other.post('sign-in', signed(wallet, forOther)), 401, 'UNAUTHENTICATED');
  });

  it('accepts a message once, also in many requests at the same time', async () => {
    const client = await start();
    const wallet = generateKeypair();
    const body = signed(wallet, { ...(await client.offer()), address: wallet.publicKey });
    const answers = await Promise.all(Array.from({ length: 8 }, () => new DashboardClient(client.url).post('sign-in', body)));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, ...Array.from({ length: 7 }, () => 401)]);
  });

  it.each([
    ['for another domain', { domain: 'evil.example' }],
    ['for another domain with our address', { domain: 'evil.example', uri: 'https://evil.example' }],
    ['for another page of this host', { uri: 'http://127.0.0.1:1' }],
    ['with another statement', { statement: 'Send all coins to me.' }],
    ['without a statement', { statement: undefined }],
    ['with an invented nonce', { nonce: randomBytes(32).toString('hex') }],
    ['without a nonce', { nonce: undefined }],
    ['without an expiry', { expirationTime: undefined }],
    ['without a time', { issuedAt: undefined }],
    ['that expired', { expirationTime: new Date(Date.now() - 1000).toISOString() }],
    ['that never expires', { expirationTime: '2999-01-01T00:00:00.000Z' }],
    [
      'of tomorrow',
      { issuedAt: new Date(Date.now() + dayMs).toISOString(), expirationTime: new Date(Date.now() + dayMs + 1).toISOString() },
    ],
    ['that starts later', { notBefore: new Date(Date.now() + minuteMs).toISOString() }],
    ['with resources', { resources: ['https://evil.example'] }],
    ['with a request id', { requestId: 'x' }],
    ['for another wallet', { address: generateKeypair().publicKey }],
  ])('refuses a message %s, and the nonce stays valid', async (_what, change) => {
    const client = await start();
    const wallet = generateKeypair();
    const message = { ...(await client.offer()), address: wallet.publicKey };
    const changed = Object.fromEntries(Object.entries({ ...message, ...change }).filter(([, value]) => value !== undefined));
    const refused = await client.post('sign-in', signed(wallet, changed as never));
    expectError(refused, 401, 'UNAUTHENTICATED');
    // Every refusal has the same text.
    expect(refused.body['error']).toMatchObject({ message: 'The sign-in was refused. Start it again.', details: {} });
    expect(client.cookie).toBeNull();
    expect((await client.post('sign-in', signed(wallet, message))).status).toBe(200);
  });

  it('refuses signatures and keys that prove nothing', async () => {
    const client = await start();
    const wallet = generateKeypair();
    const message = { ...(await client.offer()), address: wallet.publicKey };
    const good = signed(wallet, message);
    const flipped = Buffer.from(good.signature, 'base64');
    flipped[5]! ^= 1;
    const identity = encodeBase58(Uint8Array.from({ length: 32 }, (_, index) => (index === 0 ? 1 : 0)));
    const forged = signed(wallet, { ...message, address: identity });
    // With the identity as public key, R = identity and s = 0 verify for every message.
    const zero = Buffer.alloc(64);
    zero[0] = 1;
    const hostile = [
      { ...good, signature: flipped.toString('base64') },
      { ...good, signature: randomBytes(64).toString('base64') },
      { ...good, publicKey: generateKeypair().publicKey },
      { ...good, signedMessage: Buffer.from(`${signInText(message)} `).toString('base64') },
      { ...good, signedMessage: `${good.signedMessage}!` },
      { ...good, signature: good.signature.slice(0, -4) + '====' },
      { ...forged, publicKey: identity, signature: zero.toString('base64') },
      { ...good, publicKey: '1'.repeat(32) },
      { ...good, publicKey: '0'.repeat(40) },
    ];
    for (const body of hostile) expectError(await client.post('sign-in', body), 401, 'UNAUTHENTICATED');
    expect(await store.accounts.all()).toHaveLength(1);
  });

  it('refuses expired messages', async () => {
    const client = await start();
    const wallet = generateKeypair();
    const message = { ...(await client.offer()), address: wallet.publicKey };
    const laterMs = passUntil(Date.now() + 6 * minuteMs);
    const late = {
      ...message,
      issuedAt: new Date(laterMs).toISOString(),
      expirationTime: new Date(laterMs + minuteMs).toISOString(),
    };
    expectError(await client.post('sign-in', signed(wallet, message)), 401, 'UNAUTHENTICATED');
    // The age of the nonce is counted from when the server issued it, not from the time in the message.
    expectError(await client.post('sign-in', signed(wallet, late)), 401, 'UNAUTHENTICATED');
  });

  it('refuses unknown wallets if sign-up is closed, and accepts account holders', async () => {
    const client = await start({ signUp: 'closed' });
    expectError(await client.signIn(), 403, 'FORBIDDEN');
    const wallet = generateKeypair();
    await store.accounts.create({ id: 'holder1', wallet: wallet.publicKey, plan: 'premium', createdAtMs: Date.now() });
    expect((await client.signIn(wallet)).status).toBe(200);
    expect((await client.readMe()).body).toMatchObject({ account: { id: 'holder1', plan: 'premium' } });
  });

  it('refuses a message that is older than the last one used', async () => {
    const client = await start();
    const wallet = generateKeypair();
    const [first, second] = [await client.offer(), await client.offer()].toSorted((a, b) => (a.nonce < b.nonce ? -1 : 1));
    const send = (offer: typeof first) =>
      new DashboardClient(client.url).post('sign-in', signed(wallet, { ...offer!, address: wallet.publicKey }));
    expect((await send(second)).status).toBe(200);
    expectError(await send(first), 401, 'UNAUTHENTICATED');
    expectError(await send(second), 401, 'UNAUTHENTICATED');
    expect((await client.signIn(wallet)).status).toBe(200);
  });

  it('stores nothing for messages that were offered and not used', async () => {
    const client = await start();
    const db = await openSqlite(join(folder, 'sluice.db'));
    for (let count = 0; count < 5; count++) await client.offer();
    // Wallets without an account also leave nothing behind if sign-up is closed.
    const closed = await start({ signUp: 'closed' });
    expectError(await closed.signIn(), 403, 'FORBIDDEN');
    expect(await db.all('SELECT * FROM one_time')).toEqual([]);
    expect(await db.all("SELECT * FROM accounts WHERE id <> 'operator' OR last_nonce IS NOT NULL")).toEqual([]);
    await db.close();
  });

  it('works on the other transport too', async () => {
    const client = await start({}, 'node');
    await client.signIn();
    const { id } = await client.makeKey();
    expect((await client.post(`keys/${id}/delete`, {})).status).toBe(200);
    expect((await client.post('sign-out', {})).status).toBe(200);
    expect(client.cookie).toBeNull();
  });

  it('is off, with a reason, if no public address is configured', async () => {
    const client = await start({ host: '0.0.0.0' });
    const url = `http://127.0.0.1:${gateway.port}`;
    const local = new DashboardClient(url);
    expect((await local.readMe()).body).toMatchObject({ signIn: { open: false, why: expect.stringContaining('PUBLIC_URL') } });
    expectError(await local.post('sign-in/nonce', {}), 403, 'FORBIDDEN');
    expectError(await local.post('sign-in/nonce', {}, { host: 'evil.example', origin: 'http://evil.example' }), 403, 'FORBIDDEN');
    expect(client.cookie).toBeNull();
  });

  it('uses the configured origin, and a cookie that only https carries', async () => {
    await start({ publicUrl: 'https://sluice.example' });
    const wallet = generateKeypair();
    const behindProxy = new DashboardClient(`http://127.0.0.1:${gateway.port}`);
    expectError(await behindProxy.post('sign-in/nonce', {}), 403, 'FORBIDDEN');
    const headers = { origin: 'https://sluice.example' };
    const offer = (await behindProxy.post('sign-in/nonce', {}, headers)).body as never as { domain: string };
    expect(offer).toMatchObject({ domain: 'sluice.example', uri: 'https://sluice.example' });
    const answer = await behindProxy.post('sign-in', signed(wallet, { ...offer, address: wallet.publicKey }), headers);
    expect(answer.headers.get('set-cookie')).toMatch(/^__Host-sluice_session=[0-9a-f]{64}; Path=\/; .*; Secure$/);
    expect((await behindProxy.readMe()).body).toMatchObject({ account: { wallet: wallet.publicKey } });
  });
});

describe('the operator’s link', () => {
  it('signs in once', async () => {
    const client = await start({ signUp: 'closed' });
    const token = await linkToken(store, operatorAccountId);
    expect((await client.post('sign-in/link', { token })).status).toBe(200);
    expect((await client.readMe()).body).toMatchObject({ account: { id: 'operator', kind: 'operator' } });
    const again = await new DashboardClient(client.url).post('sign-in/link', { token });
    expectError(again, 401, 'UNAUTHENTICATED');
    expect(JSON.stringify(again.body)).toMatch(/was used already.*sluice accounts link/);
  });

  it('works for ten minutes', async () => {
    const client = await start();
    const token = await linkToken(store, operatorAccountId);
    passUntil(Date.now() + 10 * minuteMs + 1);
    expectError(await client.post('sign-in/link', { token }), 401, 'UNAUTHENTICATED');
  });

  it('is not accepted as a nonce, nor a nonce as a link', async () => {
    const client = await start();
    const { nonce } = await client.offer();
    expectError(await client.post('sign-in/link', { token: nonce }), 401, 'UNAUTHENTICATED');
    const token = await linkToken(store, operatorAccountId);
    const wallet = generateKeypair();
    const message = { ...(await client.offer()), nonce: token, address: wallet.publicKey };
    expectError(await client.post('sign-in', signed(wallet, message)), 401, 'UNAUTHENTICATED');
  });

  it('opens no disabled account', async () => {
    const client = await start();
    await store.accounts.create({ id: 'gone', wallet: null, plan: 'standard', createdAtMs: Date.now() });
    const token = await linkToken(store, 'gone');
    await store.accounts.disable('gone', Date.now());
    const answer = await client.post('sign-in/link', { token });
    expect([401, 403]).toContain(answer.status);
    expect(client.cookie).toBeNull();
  });
});

describe('a session', () => {
  it('is new at each sign-in, also if the browser sends an old one', async () => {
    const client = await start();
    const planted = `sluice_session=${'a'.repeat(64)}`;
    client.cookie = planted;
    await client.signIn();
    expect(client.cookie).not.toBe(planted);
    const first = client.cookie;
    await client.signIn();
    expect(client.cookie).not.toBe(first);
    const old = new DashboardClient(client.url);
    old.cookie = first;
    expect((await old.readMe()).body['account']).toBeNull();
    old.cookie = planted;
    expect((await old.readMe()).body['account']).toBeNull();
  });

  it('ends when the holder signs out', async () => {
    const client = await start();
    await client.signIn();
    const cookie = client.cookie!;
    const answer = await client.post('sign-out', {});
    expect(answer.headers.get('set-cookie')).toBe('sluice_session=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0');
    client.cookie = cookie;
    expect((await client.get('me')).body['account']).toBeNull();
    expectError(await client.get('keys'), 401, 'UNAUTHENTICATED');
    expectError(await client.post('keys', { scopes: ['read'] }), 401, 'UNAUTHENTICATED');
  });

  it('is refused if its cookie was changed', async () => {
    const client = await start();
    await client.signIn();
    const [name, token = ''] = client.cookie!.split('=');
    const last = token.endsWith('0') ? '1' : '0';
    for (const cookie of [
      `${name}=${token.slice(0, -1)}${last}`,
      `${name}=${token.toUpperCase()}`,
      `${name}=${token}; ${name}=${token}`,
      `__Host-${name}=${token}`,
      `${name}=`,
      `${name}=' OR 1=1 --`,
    ]) {
      expectError(await client.get('keys', { cookie }), 401, 'UNAUTHENTICATED');
    }
    expect((await client.get('keys')).status).toBe(200);
  });

  it('ends after a day without use, and after a week in any case', async () => {
    const client = await start();
    await client.signIn();
    const idle = new DashboardClient(client.url);
    await idle.signIn();
    const begunAtMs = Date.now();
    for (let days = 0.9; days < 7; days += 0.9) {
      passUntil(begunAtMs + days * dayMs);
      expect((await client.get('keys')).status).toBe(200);
    }
    expectError(await idle.get('keys'), 401, 'UNAUTHENTICATED');
    passUntil(begunAtMs + 7 * dayMs + 1000);
    expectError(await client.get('keys'), 401, 'UNAUTHENTICATED');
  });

  it.each([-30, 30])(
    'is not ended by a wall clock that jumps by %d days, and a wallet that signs in then can sign in later',
    async (days) => {
      const client = await start();
      const wallet = generateKeypair();
      await client.signIn(wallet);
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + days * dayMs });
      expect((await client.get('keys')).status).toBe(200);
      await new DashboardClient(client.url).signIn(wallet);
      vi.useRealTimers();
      expect((await client.get('keys')).status).toBe(200);
      await new DashboardClient(client.url).signIn(wallet);
    },
  );

  it('ends together with its account', async () => {
    const client = await start();
    await client.signIn();
    const { key } = await client.makeKey();
    const { id } = (await client.readMe()).body['account'] as { id: string };
    await store.accounts.disable(id, Date.now());
    expectError(await client.get('keys'), 401, 'UNAUTHENTICATED');
    expectError(await client.post('keys', { scopes: ['read'] }), 401, 'UNAUTHENTICATED');
    await until('its keys to end', async () => (await tryKey(key)) === 401);
  });
});

/** The status with which an endpoint answers a key. */
async function tryKey(key: string): Promise<number> {
  const socket = new StreamClient(`ws://127.0.0.1:${gateway.port}/api/data`, { authorization: `Bearer ${key}` });
  await until('an answer', () => socket.refused !== null || socket.closed !== null || socket.socket.readyState === socket.socket.OPEN);
  const status = socket.refused?.status ?? 101;
  socket.socket.close();
  return status;
}

describe('requests that change something', () => {
  const changes = [
    ['keys', { scopes: ['read'] }],
    ['keys/abc/rotate', { overlapSeconds: 0 }],
    ['keys/abc/delete', {}],
    ['sign-out', {}],
  ] as const;

  it.each(changes)('need the token of their own session: %s', async (path, body) => {
    const client = await start();
    await client.signIn();
    const other = new DashboardClient(client.url);
    await other.signIn();
    for (const token of ['', 'x', other.csrfToken!, `${client.csrfToken}0`, client.cookie!.split('=')[1]!]) {
      expectError(await client.post(path, body, { 'x-csrf-token': token }), 403, 'FORBIDDEN');
    }
    expect((await client.get('keys')).body).toMatchObject({ keys: [] });
  });

  it.each([...changes, ['sign-in/nonce', {}], ['sign-in', {}], ['sign-in/link', { token: 'x' }]] as const)(
    'must come from our own page: %s',
    async (path, body) => {
      const client = await start({ corsOrigins: ['*'] });
      await client.signIn();
      const port = String(gateway.port);
      const hostile: readonly Readonly<Record<string, string>>[] = [
        { origin: '' },
        { origin: 'null' },
        { origin: 'http://evil.example' },
        { origin: `http://evil.example:${port}` },
        { origin: `https://127.0.0.1:${port}` },
        { origin: 'http://127.0.0.1' },
        { origin: `${client.url}.evil.example` },
        { origin: client.url, 'sec-fetch-site': 'cross-site' },
        { origin: client.url, 'sec-fetch-site': 'same-site' },
        { origin: 'http://evil.example', host: 'evil.example' },
      ];
      for (const headers of hostile) {
        const answer = await client.post(path, body, headers);
        expectError(answer, 403, 'FORBIDDEN');
        expect([...answer.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
      }
    },
  );

  it('answer no preflight, not even for an origin in CORS_ORIGINS', async () => {
    const client = await start({ corsOrigins: ['*'] });
    for (const path of ['me', 'keys', 'sign-in']) {
      const response = await fetch(`${client.url}/dashboard/${path}`, {
        method: 'OPTIONS',
        headers: { origin: 'https://evil.example', 'access-control-request-method': 'POST' },
      });
      expect(response.status).toBe(204);
      expect([...response.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
    }
    const read = await client.get('me', { origin: 'https://evil.example' });
    expect(read.headers.get('access-control-allow-origin')).toBeNull();
    expectError(await client.get('me', { 'sec-fetch-site': 'cross-site' }), 403, 'FORBIDDEN');
  });

  it('must be JSON of the documented form', async () => {
    const client = await start();
    await client.signIn();
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    expectError(await client.post('keys', 'scopes=read', form), 415, 'UNSUPPORTED_MEDIA_TYPE');
    expectError(await client.post('keys', '{"scopes":["read"]}', { 'content-type': 'text/plain' }), 415, 'UNSUPPORTED_MEDIA_TYPE');
    const wrong: readonly unknown[] = [
      '{',
      {},
      { scopes: [] },
      { scopes: ['all'] },
      { scopes: ['read', 'read'] },
      { scopes: ['read'], label: 5 },
      { scopes: ['read'], label: 'x'.repeat(65) },
      { scopes: ['read'], label: 'a\u0007b' },
      { scopes: ['read'], label: 'a\u202eb' },
      { scopes: ['read'], ipRanges: ['everywhere'] },
      { scopes: ['read'], ipRanges: ['10.0.0.0/33'] },
      { scopes: ['read'], lifeSeconds: 0 },
      { scopes: ['read'], lifeSeconds: 1.5 },
      { scopes: ['read'], more: true },
      '{"scopes":["read"],"__proto__":{}}',
    ];
    for (const body of wrong) expectError(await client.post('keys', body), 400, 'INVALID_REQUEST');
    for (const overlapSeconds of [-1, 604_801, '60', null]) {
      expectError(await client.post('keys/abc/rotate', { overlapSeconds }), 400, 'INVALID_REQUEST');
    }
    expectError(await client.post('keys', ' '.repeat(70_000)), 413, 'PAYLOAD_TOO_LARGE');
  });

  it('are limited by address and by account', async () => {
    const client = await start();
    const statuses: number[] = [];
    for (let n = 0; n < 25; n++) statuses.push((await client.post('sign-in/link', { token: randomBytes(32).toString('hex') })).status);
    expect(statuses.slice(0, 20)).toEqual(Array.from({ length: 20 }, () => 401));
    expect(new Set(statuses.slice(20))).toEqual(new Set([429]));
    const refused = await client.post('sign-in/nonce', {});
    expectError(refused, 429, 'RATE_LIMIT');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    // An untrusted proxy cannot make clients count separately.
    expectError(await client.post('sign-in/nonce', {}, { 'x-forwarded-for': '203.0.113.9' }), 429, 'RATE_LIMIT');
  });

  it("are limited by the client's address behind a trusted proxy", async () => {
    const client = await start({ trustedProxies: ['127.0.0.1'] });
    const from = (address: string): Promise<Answer> => client.post('sign-in/link', { token: 'x' }, { 'x-forwarded-for': address });
    for (let n = 0; n < 20; n++) expect((await from('2001:db8:1:2::1')).status).toBe(401);
    expect((await from('2001:db8:1:2:ffff::9')).status).toBe(429);
    expect((await from('2001:db8:1:3::1')).status).toBe(401);
    expect((await from('203.0.113.9')).status).toBe(401);
  });
});

describe('API keys', () => {
  it('are created, listed, rotated and deleted by their holder', async () => {
    const client = await start();
    await client.signIn();
    const startMs = store.time.nowMs();
    const made = await client.makeKey({ label: ' bot ', ipRanges: ['127.0.0.1', '::1/128'], lifeSeconds: dayMs / 1000 });
    const expiresAtMs = endOfKeyMs((await store.keys.byId(made.id))!)!;
    expect(expiresAtMs - dayMs).toBeGreaterThan(startMs - 1_000);
    expect(expiresAtMs - dayMs).toBeLessThan(store.time.nowMs() + 1_000);
    expect(made).toMatchObject({
      plan: 'standard',
      scopes: expect.arrayContaining(['read', 'stream']),
      key: expect.stringMatching(/^sluice_[0-9A-Za-z]{10}_[0-9A-Za-z]{40}$/),
    });
    const listed = await client.get('keys');
    expect(listed.body).toMatchObject({
      unlisted: 0,
      keys: [
        {
          id: made.id,
          prefix: `sluice_${made.id}`,
          label: 'bot',
          plan: 'standard',
          scopes: expect.arrayContaining(['read', 'stream']),
          ipRanges: ['127.0.0.1/32', '::1/128'],
          lastUsedAtMs: null,
          expiresAtMs,
          state: 'active',
          secrets: [{ number: 1, endsAtMs: expiresAtMs }],
        },
      ],
    });
    expect(listed.text).not.toContain(made.key);
    expect(await tryKey(made.key)).toBe(101);
    const rotated = await client.post(`keys/${made.id}/rotate`, { overlapSeconds: 3600 });
    const second = rotated.body['key'] as string;
    expect([await tryKey(made.key), await tryKey(second)]).toEqual([101, 101]);
    const third = (await client.post(`keys/${made.id}/rotate`, { overlapSeconds: 0 })).body['key'] as string;
    expect([await tryKey(made.key), await tryKey(second), await tryKey(third)]).toEqual([401, 401, 101]);
    expect((await client.post(`keys/${made.id}/delete`, {})).body).toEqual({ id: made.id });
    expect(await tryKey(third)).toBe(401);
    expect((await client.get('keys')).body).toMatchObject({ keys: [] });
    expectError(await client.post(`keys/${made.id}/delete`, {}), 404, 'NOT_FOUND');
    expectError(await client.post(`keys/${made.id}/rotate`, { overlapSeconds: 0 }), 404, 'NOT_FOUND');
  });

  it('close their sockets when they end', async () => {
    const client = await start();
    await client.signIn();
    const { id, key } = await client.makeKey();
    const socket = new StreamClient(`ws://127.0.0.1:${gateway.port}/api/data`, { authorization: `Bearer ${key}` });
    await until('an open socket', () => socket.socket.readyState === socket.socket.OPEN);
    await client.post(`keys/${id}/delete`, {});
    expect(await until('the socket to close', () => socket.closed ?? undefined)).toMatchObject({ code: 4501 });
  });

  it('of other holders are not found', async () => {
    const client = await start();
    await client.signIn();
    const other = new DashboardClient(client.url);
    await other.signIn();
    const { id, key } = await other.makeKey();
    expectError(await client.post(`keys/${id}/rotate`, { overlapSeconds: 0 }), 404, 'NOT_FOUND');
    expectError(await client.post(`keys/${id}/delete`, {}), 404, 'NOT_FOUND');
    const missing = await client.post('keys/0000000000/delete', {});
    const foreign = await client.post(`keys/${id}/delete`, {});
    expect(foreign.body['error']).toEqual(missing.body['error']);
    for (const hostile of ["'%20OR%201=1", '%00', '..%2f..%2fkeys', 'x'.repeat(2000)]) {
      expectError(await client.post(`keys/${hostile}/delete`, {}), 404, 'NOT_FOUND');
    }
    expect((await client.get('keys')).body).toMatchObject({ keys: [] });
    expect(await tryKey(key)).toBe(101);
  });

  it(`are limited to ${maxKeysPerAccount} a holder, with the holder's plan`, async () => {
    const client = await start();
    const wallet = generateKeypair();
    await client.signIn(wallet);
    expectError(await client.post('keys', { scopes: ['read'], plan: 'enterprise' }), 403, 'FORBIDDEN');
    expectError(await client.post('keys', { scopes: ['read'], limits: { burst: 5 } }), 403, 'FORBIDDEN');
    const { id } = (await client.readMe()).body['account'] as { id: string };
    // The rest is created in the store, because changes are limited too.
    const authenticator = await createAuthenticator({ store, plans: testConfig.plans, log });
    const { createApiKey } = await import('@sluice/gateway/auth/api-keys.ts');
    for (let n = 0; n < maxKeysPerAccount; n++) {
      await createApiKey(store, {
        plan: 'standard',
        scopes: ['read'],
        label: null,
        accountId: id,
      });
    }
    await authenticator.close();
    expectError(await client.post('keys', { scopes: ['read'] }), 403, 'FORBIDDEN');
  });

  it('of any plan and limits are created by the operator, who sees those of all', async () => {
    const client = await start();
    const holder = new DashboardClient(client.url);
    await holder.signIn();
    const held = await holder.makeKey({ label: 'held' });
    await client.post('sign-in/link', { token: await linkToken(store, operatorAccountId) });
    await client.readMe();
    const made = await client.makeKey({ plan: 'enterprise', limits: { requestsPerMinute: 5, burst: 2 }, label: 'big' });
    expect((await client.get('keys')).body).toMatchObject({
      keys: [
        { id: made.id, plan: 'enterprise', limits: { requestsPerMinute: 5, burst: 2 } },
        { id: held.id, plan: 'standard', label: 'held' },
      ],
    });
    expect((await holder.get('keys')).body).toMatchObject({ keys: [{ id: held.id }] });
    expect((await client.post(`keys/${held.id}/delete`, {})).status).toBe(200);
    expectError(await client.post('keys', { scopes: ['read'], limits: { burst: 0 } }), 400, 'INVALID_REQUEST');
    expectError(await client.post('keys', { scopes: ['read'], limits: { name: 'x' } }), 400, 'INVALID_REQUEST');
  });
});
