import { newOrder } from '../support/orders.ts';
import type { InsertOutcome } from '@sluice/gateway/store/sql/tables/orders/orders.ts';
import type { Store } from '@sluice/gateway/store/store.ts';
import { StoreUnavailableError } from '@sluice/gateway/store/store-unavailable.ts';
import { openSqlite } from '@sluice/gateway/store/sql/sqlite/sqlite.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startPostgres } from '../support/servers/postgres.ts';
import { newPlace } from './store-harness.ts';

const insert = (store: Store): Promise<InsertOutcome> =>
  store.orders.insert(newOrder(1_800_000_000_000), { idempotency: null, spend: null, followedBy: 'gateway' });

test('if PostgreSQL becomes a read-only copy, the store is unavailable, and answers again when it finds the main server', async () => {
  const postgres = await startPostgres();
  onTestFinished(() => postgres.stop());
  const place = await newPlace('PostgreSQL', postgres);
  onTestFinished(() => place.end());
  const [store, admin] = [await place.open(), await place.database()];
  const name = String((await admin.get('SELECT current_database() AS name'))!['name']);
  await admin.run(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
  await admin.run('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()');
  // The first call finds its connection cut; later ones are accepted, but only to read.
  for (let i = 0; i < 3; i++) await expect(insert(store)).rejects.toBeInstanceOf(StoreUnavailableError);
  await expect(store.halt.set(true, null, 0)).rejects.toBeInstanceOf(StoreUnavailableError);
  expect(store.health.fault()).toBe('The store refuses writes.');
  expect(store.health.failures).toBeGreaterThanOrEqual(4);
  await admin.run(`ALTER DATABASE ${name} RESET default_transaction_read_only`);
  expect(await insert(store)).toMatchObject({ kind: 'stored' });
  expect(store.health.fault()).toBeNull();
});

test('a PostgreSQL that confirms what is not on its disk is refused', async () => {
  const postgres = await startPostgres();
  onTestFinished(() => postgres.stop());
  const place = await newPlace('PostgreSQL', postgres);
  onTestFinished(() => place.end());
  const admin = await place.database();
  const name = String((await admin.get('SELECT current_database() AS name'))!['name']);
  await admin.run(`ALTER DATABASE ${name} SET synchronous_commit = off`);
  await expect(place.open()).rejects.toThrow(/^DATABASE_URL: .*synchronous_commit is off/);
  await admin.run(`ALTER DATABASE ${name} RESET synchronous_commit`);
  expect(await insert(await place.open())).toMatchObject({ kind: 'stored' });
});

test('if the disk is full, SQLite is unavailable, alone and in a transaction, and continues when there is space', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-full-'));
  onTestFinished(() => rmSync(dataDir, { recursive: true }));
  const db = await openSqlite(join(dataDir, 'sluice.db'));
  onTestFinished(() => db.close());
  await db.run('CREATE TABLE things (bytes BLOB) STRICT');
  const add = 'INSERT INTO things (bytes) VALUES (?)';
  await db.get('PRAGMA max_page_count = 8');
  const large = new Uint8Array(100_000);
  await expect(db.run(add, large)).rejects.toBeInstanceOf(StoreUnavailableError);
  const [full, small] = [db.transaction('orders', (sql) => sql.run(add, large)), db.transaction('orders', (sql) => sql.run(add, null))];
  await expect(full).rejects.toBeInstanceOf(StoreUnavailableError);
  await small.catch((error: unknown) => expect(error).toBeInstanceOf(StoreUnavailableError));
  await db.get('PRAGMA max_page_count = 100000');
  expect(await db.run(add, large)).toBe(1);
  // Errors of a statement itself are returned unchanged.
  await expect(db.run('INSERT INTO nowhere (a) VALUES (1)')).rejects.toThrow(/nowhere/);
  await expect(db.run('INSERT INTO nowhere (a) VALUES (1)')).rejects.not.toBeInstanceOf(StoreUnavailableError);
});
