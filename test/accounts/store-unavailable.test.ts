import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openPostgres } from '@sluice/gateway/store/sql/postgres.ts';
import { StoreUnavailableError } from '@sluice/gateway/store/store-unavailable.ts';
import { openStore, type Store } from '@sluice/gateway/store/store.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type Gateway } from '../../cli/gateway/gateway.ts';
import { createBus } from '@sluice/shared/bus/create.ts';
import type { Bus } from '@sluice/shared/bus/bus.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import { until } from '../support/gateway.ts';
import { testConfig } from '../support/test-config.ts';
import { startPostgres, type TestPostgres } from '../support/servers/postgres.ts';
import { DashboardClient, linkToken } from './dashboard-client.ts';

const testTimeoutMs = 180_000;
const log = createLog({ level: 'silent', name: 'test' });
let dataDir: string;
let postgres: TestPostgres;
let store: Store;
let bus: Bus;
let gateway: Gateway;

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'sluice-unavailable-'));
  postgres = await startPostgres();
  store = await openStore({ dataDir, databaseUrl: await postgres.newDatabase() });
  bus = await createBus({ redisUrls: null, log });
  gateway = await startGateway({ config: { ...testConfig, dataDir }, bus, log, signal: new AbortController().signal, store });
}, testTimeoutMs);
afterAll(async () => {
  await gateway.close();
  await bus.close();
  await store.close();
  await postgres.stop();
  rmSync(dataDir, { recursive: true, force: true });
}, testTimeoutMs);

describe('the dashboard while PostgreSQL is unavailable', () => {
  it('continues after an interruption, also for calls that wait for the store', { timeout: testTimeoutMs }, async () => {
    const db = await openPostgres(await postgres.newDatabase());
    const underWay = (requested: number): Promise<unknown> =>
      until(
        'the calls to be running',
        // Including the connection that asks.
        async () => (await db.all("SELECT 1 AS one FROM pg_stat_activity WHERE state = 'active'")).length > requested,
        testTimeoutMs / 2,
      );
    const calls = [db.get('SELECT pg_sleep(60)'), db.transaction('accounts', (sql) => sql.get('SELECT pg_sleep(60)'))];
    await underWay(2);
    // It waits for the lock of the other one.
    calls.push(db.transaction('accounts', (sql) => sql.get('SELECT 1 AS one')));
    const outcomes = Promise.allSettled(calls);
    await underWay(3);
    await postgres.kill();
    for (const outcome of await outcomes) expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(StoreUnavailableError) });
    await postgres.restart();
    expect(await db.get('SELECT 1 AS one')).toEqual({ one: 1 });
    await db.close();
  });

  it('reports that, without a fault of its own, and continues with the same session afterwards', { timeout: testTimeoutMs }, async () => {
    const client = new DashboardClient(gateway.url);
    expect((await client.post('sign-in/link', { token: await linkToken(store, 'operator') })).status).toBe(200);
    await client.readMe();
    await postgres.kill();

    const answers = [
      await client.get('me'),
      await client.get('keys'),
      await client.post('keys', { scopes: ['read'] }),
      await client.post('sign-in/link', { token: 'f'.repeat(64) }),
    ];
    for (const { status, body, headers } of answers) {
      expect(status).toBe(503);
      expect(body).toMatchObject({ error: { code: 'UPSTREAM_UNAVAILABLE', retryable: true } });
      expect(headers.get('retry-after')).toBe('1');
    }

    await postgres.restart();
    expect((await client.readMe()).body['account']).toMatchObject({ id: 'operator' });
    expect((await client.post('keys', { scopes: ['read'] })).status).toBe(200);
  });
});
