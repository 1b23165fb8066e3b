import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openKeyHash, pepperFaultOf } from '@sluice/gateway/auth/pepper.ts';
import { backUp } from '@sluice/gateway/store/backup/back-up.ts';
import { restore } from '@sluice/gateway/store/backup/restore.ts';
import { storeFault } from '@sluice/gateway/store/backup/back-up.ts';
import { readHaltMarks, removeHaltMarks } from '@sluice/gateway/store/halt/halt-mark.ts';
import type { CheckTable } from '@sluice/gateway/store/sql/tables/checks.ts';
import { SqliteDatabase } from '@sluice/gateway/store/libsql.ts';
import { checkpointEveryMs } from '@sluice/gateway/store/sql/sqlite/sqlite-upkeep.ts';
import { openSqlite } from '@sluice/gateway/store/sql/sqlite/sqlite.ts';
import { openStore, type Store } from '@sluice/gateway/store/store.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { manualClock } from '../support/clocks.ts';
import { newTrigger } from '../support/triggers/triggers.ts';
import { newOrder } from '../support/orders.ts';
import { until } from '../support/until.ts';

const nowMs = 1_800_000_000_000;
let folder: string;
let dataDir: string;
let database: string;
let opened: { close(): Promise<void> }[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-backup-'));
  dataDir = join(folder, 'data');
  database = join(dataDir, 'sluice.db');
  opened = [];
});
afterEach(async () => {
  for (const one of opened) await one.close();
  rmSync(folder, { recursive: true });
});

async function open(use: 'service' | 'thread' | 'command' = 'service', dir = dataDir): Promise<Store> {
  const store = await openStore({ dataDir: dir, databaseUrl: null }, use);
  opened.push(store);
  return store;
}

async function close(store: Store): Promise<void> {
  opened = opened.filter((one) => one !== store);
  await store.close();
}

const use = (key: string) => ({ endpoint: 'tradeBuy', key, fingerprint: new Uint8Array(32).fill(key.length) });

async function placeOrder(store: Store, key: string): Promise<string> {
  const order = newOrder(nowMs);
  const outcome = await store.orders.insert(order, { idempotency: use(key), spend: null, followedBy: 'gateway' });
  expect(outcome.kind).toBe('stored');
  return order.id;
}

/** The ids of the orders that a file alone has. */
function ordersIn(file: string): readonly unknown[] {
  const alone = join(folder, 'alone.db');
  copyFileSync(file, alone);
  const db = new SqliteDatabase(alone);
  const ids = db.prepare('SELECT id FROM orders ORDER BY id').all() as readonly { readonly id: string }[];
  db.close();
  for (const end of ['', '-wal', '-shm']) rmSync(`${alone}${end}`, { force: true });
  return ids.map(({ id }) => id);
}

describe('the file of the store', () => {
  it.each(['service', 'thread', 'command'] as const)('alone has all data after a clean stop of a %s', async (kind) => {
    const store = await open(kind);
    const ids = [await placeOrder(store, 'one'), await placeOrder(store, 'two')];
    await close(store);
    expect(ordersIn(database)).toEqual(ids.toSorted());
    const log = `${database}-wal`;
    expect(existsSync(log) ? statSync(log).size : 0).toBe(0);
  });

  it('gets the data from the log from time to time, while other connections are open', async () => {
    const clock = manualClock();
    mkdirSync(dataDir);
    const [service, other] = [await openSqlite(database, { use: 'service', clock }), await openSqlite(database)];
    opened.push(service, other);
    await service.run('CREATE TABLE orders (id TEXT) STRICT');
    await other.run("INSERT INTO orders (id) VALUES ('one')");
    expect(readFileSync(database).includes('CREATE TABLE')).toBe(false);
    await until('the checkpoint', async () => {
      await clock.pass(checkpointEveryMs);
      return readFileSync(database).includes('CREATE TABLE');
    });
    expect(ordersIn(database)).toEqual(['one']);
  });
});

describe('a backup', () => {
  it('is the store of one moment while others write, readable by its owner only, and replaces no file', async () => {
    const store = await open();
    const raw = await openSqlite(database);
    opened.push(raw);
    await raw.run('CREATE TABLE sums (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT');
    await raw.run("INSERT INTO sums (name, value) VALUES ('a', 0), ('b', 0)");
    const ending = new AbortController();
    const writing = (async () => {
      for (let i = 1; !ending.signal.aborted; i++) {
        await raw.transaction('orders', async (sql) => {
          await sql.run("UPDATE sums SET value = ? WHERE name = 'a'", i);
          await sql.run("UPDATE sums SET value = ? WHERE name = 'b'", -i);
        });
      }
    })();
    const id = await placeOrder(store, 'one');
    for (const name of ['first', 'second']) {
      const outcome = await backUp(dataDir, join(folder, name));
      expect(outcome).toMatchObject({ ok: true, summary: { orders: 1, openOrders: 1, lastChangeAtMs: nowMs } });
      expect(ordersIn(join(folder, name))).toEqual([id]);
      const db = new SqliteDatabase(join(folder, name));
      expect(db.prepare('SELECT sum(value) AS sum FROM sums').all()).toMatchObject([{ sum: 0 }]);
      db.close();
      expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
    }
    ending.abort();
    await writing;
    expect(await backUp(dataDir, join(folder, 'first'))).toMatchObject({ ok: false, reason: expect.stringContaining('exists') });
    expect(await backUp(dataDir, join(folder, 'no', 'file'))).toMatchObject({ ok: false, reason: expect.stringContaining('no folder') });
    expect(await backUp(join(folder, 'no'), join(folder, 'third'))).toMatchObject({
      ok: false,
      reason: expect.stringContaining('no store'),
    });
    expect(readdirSync(folder).toSorted()).toEqual(['data', 'first', 'second']);
  });

  it('is never applied to the log of the store from which it was made', async () => {
    const store = await open();
    await placeOrder(store, 'one');
    const copy = join(folder, 'copy.db');
    expect(await backUp(dataDir, copy)).toMatchObject({ ok: true });
    await placeOrder(store, 'two');
    const mixed = join(folder, 'mixed');
    mkdirSync(mixed);
    copyFileSync(copy, join(mixed, 'sluice.db'));
    copyFileSync(`${database}-wal`, join(mixed, 'sluice.db-wal'));
    await expect(open('service', mixed)).rejects.toThrow(/different times.*Nothing was changed.*sluice restore/);
  });
});

describe('a restore', () => {
  const copy = (): string => join(folder, 'copy.db');

  it('exchanges the store for the copy, halts trading, and retains what was exchanged', async () => {
    const before = await open();
    await openKeyHash(before);
    const first = await placeOrder(before, 'one');
    const armed = newTrigger(nowMs);
    const term = await before.triggers.openTerm(false);
    await before.triggers.insert(term, [armed], { idempotency: null, maxArmed: 1 });
    await before.triggers.saveCheckpoint(term, { epoch: 'e', offset: 7 }, new Map([[armed.id, 1.5]]));
    expect(await backUp(dataDir, copy())).toMatchObject({ ok: true, summary: { openTriggers: 1 } });
    await before.triggers.cancel(term, { ids: [armed.id] }, nowMs);
    const second = await placeOrder(before, 'two');
    // Killed: its log has the second order.
    const killed = join(folder, 'killed');
    mkdirSync(killed, { mode: 0o700 });
    for (const name of ['sluice.db', 'sluice.db-wal', 'pepper']) copyFileSync(join(dataDir, name), join(killed, name));
    const outcome = await restore({ dataDir: killed }, copy(), nowMs);
    expect(outcome).toMatchObject({ ok: true, summary: { orders: 1 } });
    expect(readHaltMarks({ dataDir: killed })).toMatchObject({ halted: true, reason: expect.stringContaining('restored') });
    removeHaltMarks({ dataDir: killed });
    const after = await open('service', killed);
    expect(await after.halt.read()).toMatchObject({ halted: true });
    expect(await after.orders.byId(first)).not.toBeNull();
    expect(await after.orders.byId(second)).toBeNull();
    expect(await after.triggers.byId(armed.id)).toMatchObject({ state: 'armed', progress: { watermark: 1.5 } });
    expect(await after.triggers.checkpoint(false)).toEqual({ epoch: 'e', offset: 7 });
    expect(await after.orders.lookUp('key key', use('two'))).toEqual({ kind: 'fresh' });
    expect(statSync(join(killed, 'sluice.db')).mode & 0o777).toBe(0o600);
    const replaced = (outcome as { readonly replaced: string }).replaced;
    expect(readFileSync(join(replaced, 'sluice.db-wal')).includes(second)).toBe(true);
    expect(readdirSync(killed).filter((name) => name.includes('draft') || name.includes('restoring'))).toEqual([]);
  });

  it('into an empty folder shows the copy to its caller, who can check the pepper', async () => {
    const store = await open();
    await openKeyHash(store);
    expect(await backUp(dataDir, copy())).toMatchObject({ ok: true });
    const elsewhere = { dataDir: join(folder, 'elsewhere') };
    let fault: string | null = null;
    const look = async (checks: CheckTable): Promise<void> => void (fault = await pepperFaultOf({ ...elsewhere, checks }));
    expect(await restore(elsewhere, copy(), nowMs, look)).toMatchObject({ ok: true, replaced: null });
    expect(fault).toMatch(/pepper is missing/);
  });

  it('changes nothing while a process uses the store, or if the copy is not complete', async () => {
    const store = await open();
    await placeOrder(store, 'one');
    expect(await backUp(dataDir, copy())).toMatchObject({ ok: true });
    const refusal = async (source: string): Promise<unknown> => {
      const outcome = await restore({ dataDir }, source, nowMs);
      return outcome.ok ? outcome : outcome.reason;
    };
    expect(await refusal(copy())).toMatch(/a process uses the store/);
    await close(store);
    // This process still has the file open, as a process of an older version would, which takes no lock of the store.
    expect(await refusal(copy())).toMatch(/a process uses the store/);
    const stopped = join(folder, 'stopped');
    mkdirSync(stopped);
    copyFileSync(database, join(stopped, 'sluice.db'));
    [dataDir, database] = [stopped, join(stopped, 'sluice.db')];
    expect(await refusal(join(folder, 'nothing'))).toMatch(/there is no file/);
    expect(await refusal(database)).toMatch(/the store itself/);
    writeFileSync(`${copy()}-wal`, 'data');
    expect(await refusal(copy())).toMatch(/copy\.db-wal, so copy\.db alone is not complete/);
    rmSync(`${copy()}-wal`);
    writeFileSync(join(folder, 'text'), 'no database'.repeat(1_000));
    expect(await refusal(join(folder, 'text'))).toMatch(/damaged/);
    const other = join(folder, 'other.db');
    new SqliteDatabase(other).exec('CREATE TABLE things (n)');
    expect(await refusal(other)).toMatch(/not a store of sluice/);
    const newer = new SqliteDatabase(copy());
    newer.exec('INSERT INTO migrations (step, applied_at_ms) VALUES (9999, 1)');
    newer.close();
    expect(await refusal(copy())).toMatch(/newer version/);
    expect(readdirSync(dataDir).filter((name) => /replaced|draft|restoring/.test(name))).toEqual([]);
    expect(readHaltMarks({ dataDir })).toBeNull();
    expect(ordersIn(database)).toHaveLength(1);
  });

  it('that was interrupted prevents every start until it is run again', async () => {
    const store = await open();
    const id = await placeOrder(store, 'one');
    expect(await backUp(dataDir, copy())).toMatchObject({ ok: true });
    await close(store);
    // As after the first of its renames.
    copyFileSync(copy(), `${database}.restoring`);
    renameSync(database, join(folder, 'gone'));
    await expect(open()).rejects.toThrow(/a restore was interrupted/);
    expect(await restore({ dataDir }, copy(), nowMs)).toMatchObject({ ok: true });
    expect(await (await open()).orders.byId(id)).not.toBeNull();
  });
});

describe('a store whose files do not belong together, or are damaged', () => {
  /** The names and contents of the files that must not change. */
  const contents = (): Readonly<Record<string, string>> =>
    Object.fromEntries(
      ['', '-wal'].flatMap((end) => (existsSync(`${database}${end}`) ? [[end, readFileSync(`${database}${end}`, 'latin1')]] : [])),
    );

  async function oldAndNew(): Promise<{ readonly old: string; readonly log: string }> {
    const [old, log] = [join(folder, 'old.db'), join(folder, 'new.db-wal')];
    for (const n of [1, 2]) {
      const store = await open();
      for (let i = 0; i < 20; i++) await placeOrder(store, `${n} ${i}`);
      if (n === 2) copyFileSync(`${database}-wal`, log);
      await close(store);
      if (n === 1) copyFileSync(database, old);
      await openStore({ dataDir, databaseUrl: null }, 'service').then((between) => between.close());
    }
    return { old, log };
  }

  it('is not opened with an older file next to a newer log, and nothing changes', async () => {
    const { old, log } = await oldAndNew();
    for (const [file, reason] of [
      [old, /different times/],
      [null, /missing or empty/],
    ] as const) {
      for (const name of ['', '-wal', '-shm']) rmSync(`${database}${name}`, { force: true });
      if (file !== null) copyFileSync(file, database);
      copyFileSync(log, `${database}-wal`);
      const before = contents();
      for (const kind of ['service', 'thread', 'command'] as const) {
        await expect(open(kind)).rejects.toThrow(reason);
        await expect(open(kind)).rejects.toThrow(/sluice restore FILE/);
      }
      expect(await storeFault(dataDir)).toMatch(reason);
      expect(await backUp(dataDir, join(folder, 'copy.db'))).toMatchObject({ ok: false });
      expect(contents()).toEqual(before);
    }
  });

  it('is not opened by a service if a page is damaged, and a full check finds damaged indexes too', async () => {
    const store = await open();
    for (let i = 0; i < 60; i++) await placeOrder(store, `${i}`);
    await close(store);
    expect(await storeFault(dataDir)).toBeNull();
    const [intact, pageBytes] = [readFileSync(database), 4_096];
    const pages = intact.length / pageBytes;
    const [refused, found] = [new Set<number>(), new Set<number>()];
    // Pages that are never read have no content that could be damaged.
    for (let page = 1; page < pages; page++) {
      rmSync(`${database}-wal`, { force: true });
      rmSync(`${database}-shm`, { force: true });
      const damaged = Buffer.from(intact);
      damaged.fill(0xa5, page * pageBytes, page * pageBytes + 200);
      writeFileSync(database, damaged);
      await open().then(close, (error: unknown) => {
        expect(String(error)).toMatch(/damaged|malformed/);
        expect(String(error)).toMatch(/sluice restore FILE/);
        refused.add(page);
      });
      writeFileSync(database, damaged);
      if ((await storeFault(dataDir)) !== null) found.add(page);
    }
    expect({ refused: refused.size, found: found.size }).toEqual({ refused: pages - 1, found: pages - 1 });
    writeFileSync(database, intact.subarray(0, intact.length - pageBytes));
    await expect(open()).rejects.toThrow(/sluice restore FILE/);
    writeFileSync(database, intact);
    expect(await storeFault(dataDir)).toBeNull();
    const db = new SqliteDatabase(database);
    db.exec(
      "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'orders_by_state') WHERE name = 'orders_by_owner'",
    );
    db.close();
    expect(await storeFault(dataDir)).toMatch(/sluice restore FILE/);
  });
});
