import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startGateway, type Gateway } from '../../cli/gateway/gateway.ts';
import { operatorAccountId } from '@sluice/gateway/store/sql/tables/accounts.ts';
import { createApiKey } from '@sluice/gateway/auth/api-keys.ts';
import { openStore, type Store } from '@sluice/gateway/store/store.ts';
import { createBus } from '@sluice/shared/bus/create.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../support/gateway.ts';
import { testConfig } from '../support/test-config.ts';
import { StreamClient } from '../support/clients/stream-client.ts';
import { DashboardClient, linkToken } from './dashboard-client.ts';

const log = createLog({ level: 'silent', name: 'test' });
let folder: string;
let store: Store;
let gateway: Gateway;
let close: () => Promise<void>;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-session-callers-'));
  store = await openStore({ dataDir: folder, databaseUrl: null });
  const bus = await createBus({ redisUrls: null, log });
  gateway = await startGateway({
    config: { ...testConfig, dataDir: folder, corsOrigins: ['*'] },
    bus,
    log,
    signal: new AbortController().signal,
    store,
  });
  close = async () => {
    await gateway.close();
    await bus.close();
    await store.close();
  };
});
afterAll(async () => {
  await close();
  rmSync(folder, { recursive: true, force: true });
});

interface Visitor {
  readonly client: DashboardClient;
  readonly keyId: string;
}

async function visit(accountId?: string): Promise<Visitor> {
  const client = new DashboardClient(gateway.url);
  if (accountId === undefined) await client.signIn();
  else {
    await client.post('sign-in/link', { token: await linkToken(store, accountId) });
    await client.readMe();
  }
  return { client, keyId: (await client.post('page-key', {})).body['id'] as string };
}

/** Calls the public interface as the page does. A header that is empty here is omitted. */
function call({ client, keyId }: Visitor, path: string, method = 'GET', headers: Record<string, string> = {}): Promise<Response> {
  const all = {
    cookie: client.cookie ?? '',
    'x-csrf-token': client.csrfToken ?? '',
    'x-sluice-key': keyId,
    ...(method === 'POST' && { origin: gateway.url, 'content-type': 'application/json' }),
    ...headers,
  };
  const sent = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ''));
  return fetch(`${gateway.url}${path}`, { method, headers: sent, ...(method === 'POST' && { body: '{}' }) });
}

describe('a session calls the public interface', () => {
  it('with one key of its account, made for the page if there is none, and counted as this key', async () => {
    const visitor = await visit();
    const [key] = await store.keys.all();
    expect(key).toMatchObject({
      id: visitor.keyId,
      label: 'Dashboard',
      plan: 'standard',
      scopes: expect.arrayContaining(['read', 'stream']),
    });
    const again = await visitor.client.post('page-key', {});
    expect(again.body['id']).toBe(visitor.keyId);
    const usage = await call(visitor, '/api/usage');
    expect(usage.status).toBe(200);
    expect(await usage.json()).toMatchObject({ key: { id: visitor.keyId }, plan: { name: 'standard' } });
    expect(usage.headers.get('x-ratelimit-limit')).toBe('100');
  });

  it('and the list of keys shows the use at once', async () => {
    const visitor = await visit();
    const keyOf = async () => {
      const { keys } = (await visitor.client.get('keys')).body as unknown as { readonly keys: readonly Record<string, unknown>[] };
      return keys.find(({ id }) => id === visitor.keyId)!;
    };
    const planLimits = { requestsPerMinute: 100, connections: 10, subscriptions: 1_000 };
    expect(await keyOf()).toMatchObject({ lastUsedAtMs: null, minutes: null, planLimits });
    const startedMs = Date.now();
    for (let count = 0; count < 3; count++) expect((await call(visitor, '/api/usage')).status).toBe(200);
    const { lastUsedAtMs, minutes } = (await keyOf()) as { lastUsedAtMs: number; minutes: { accepted: number[]; refused: number[] } };
    expect(lastUsedAtMs).toBeGreaterThanOrEqual(startedMs);
    expect(minutes.accepted.reduce((sum, count) => sum + count, 0)).toBe(3);
    const { requests } = (await (await call(visitor, '/api/usage')).json()) as { requests: { minutes: { accepted: number[] } } };
    expect(requests.minutes).toMatchObject({ gateways: 1, refused: Array.from({ length: 60 }, () => 0) });
    expect(requests.minutes.accepted.reduce((sum, count) => sum + count, 0)).toBe(4);
  });

  it('quotes without using up the limit of the key, up to a limit of its own', async () => {
    const visitor = await visit();
    const all = await Promise.all(Array.from({ length: 150 }, () => call(visitor, '/api/quote', 'POST')));
    // The body is empty. A wrong request costs the same as another.
    expect(new Set(all.map(({ status }) => status))).toEqual(new Set([400, 429]));
    const refused = (await all.find(({ status }) => status === 429)!.json()) as { readonly error: object };
    expect(refused.error).toMatchObject({ code: 'RATE_LIMIT', details: { limit: 300 } });
    expect(all.filter(({ status }) => status === 400).length).toBeGreaterThanOrEqual(60);
    expect((await call(visitor, '/api/usage')).headers.get('x-ratelimit-remaining')).toBe('99');
  });

  it('gets a stream ticket, and deleting the key ends the stream', async () => {
    const visitor = await visit();
    const { ticket } = (await (await call(visitor, '/api/ws-ticket', 'POST')).json()) as { readonly ticket: string };
    const stream = new StreamClient(`ws://127.0.0.1:${gateway.port}/api/data?ticket=${ticket}`);
    await until('a socket', () => stream.socket.readyState === stream.socket.OPEN);
    await visitor.client.post(`keys/${visitor.keyId}/delete`, {});
    await until('the end', () => stream.closed !== null);
    expect(stream.closed?.code).toBe(4501);
    expect((await call(visitor, '/api/usage')).status).toBe(401);
  });

  it('is refused without its cookie, token or key, from another origin, and after signing out', async () => {
    const visitor = await visit();
    const other = await visit();
    const refused: readonly (readonly [string, Record<string, string>])[] = [
      ['GET', { cookie: '' }],
      ['GET', { 'x-csrf-token': '' }],
      ['GET', { 'x-csrf-token': other.client.csrfToken! }],
      ['GET', { 'x-sluice-key': '' }],
      ['GET', { 'x-sluice-key': other.keyId }],
      ['GET', { 'x-sluice-key': '../..' }],
      ['GET', { 'sec-fetch-site': 'cross-site' }],
      ['GET', { 'sec-fetch-site': 'same-site' }],
    ];
    for (const [method, headers] of refused)
      expect([headers, (await call(visitor, '/api/usage', method, headers)).status]).toEqual([headers, 401]);
    for (const headers of [{ origin: '' }, { origin: 'http://evil.example' }, { 'sec-fetch-site': 'same-site' }] as Record<
      string,
      string
    >[]) {
      expect([headers, (await call(visitor, '/api/ws-ticket', 'POST', headers)).status]).toEqual([headers, 401]);
    }
    // A page of another origin may use keys, by CORS_ORIGINS, but may not send the headers of a session.
    const preflight = await fetch(`${gateway.url}/api/usage`, {
      method: 'OPTIONS',
      headers: { origin: 'http://evil.example', 'access-control-request-method': 'GET' },
    });
    expect(preflight.headers.get('access-control-allow-headers')?.toLowerCase()).not.toMatch(/x-csrf|x-sluice/);
    expect(preflight.headers.get('access-control-allow-credentials')).toBeNull();
    await visitor.client.post('sign-out', {});
    expect((await call(visitor, '/api/usage')).status).toBe(401);
    expect((await call(other, '/api/usage')).status).toBe(200);
  });

  it('acts for the operator with the keys and wallets of the operator only', async () => {
    const holder = await visit();
    const made = await createApiKey(store, {
      plan: 'enterprise',
      scopes: ['stream', 'read', 'trade'],
      label: null,
    });
    const operator = await visit(operatorAccountId);
    expect(made.ok && made.created.id).toBe(operator.keyId);
    expect((await call({ ...operator, keyId: holder.keyId }, '/api/usage')).status).toBe(401);
    expect((await call(operator, '/api/usage')).status).toBe(200);
    const { body } = await operator.client.get('wallets');
    expect(body).toMatchObject({ wallets: [], unlisted: 0, keys: [{ id: operator.keyId }] });
    expect((await new DashboardClient(gateway.url).get('wallets')).status).toBe(401);
  });
});
