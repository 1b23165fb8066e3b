import type { Database } from '@sluice/gateway/store/sql/database.ts';
import type { StoreKind } from './crash-world.ts';

/** Whose orders stand still in the midst of being stored. */
const stalledWallets = 'CREATE TABLE crash_stall (wallet TEXT PRIMARY KEY)';
/** Of PostgreSQL: an advisory lock that the test holds. */
const stallLock = 0x7363_7261;

/**
 * Work without an end in sight, within SQLite and so within the gateway's own process, before the last row of an order's transaction:
 * only a kill ends it, and nothing of the transaction is left.
 */
const onSqlite = [
  `CREATE VIEW crash_work AS
     WITH RECURSIVE steps (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM steps WHERE n < 20000000000) SELECT max(n) AS n FROM steps`,
  `CREATE TRIGGER crash_stalls BEFORE INSERT ON order_keys
     WHEN EXISTS (SELECT 1 FROM crash_stall JOIN orders ON spend_wallet = wallet WHERE orders.id = NEW.order_id)
     BEGIN SELECT n FROM crash_work; END`,
];
/** Waits within COMMIT: it comes to its end although nobody is there any more who could hear of it. */
const onPostgres = [
  `CREATE FUNCTION crash_stalls() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     IF EXISTS (SELECT 1 FROM crash_stall WHERE wallet = NEW.spend_wallet) THEN PERFORM pg_advisory_xact_lock(${stallLock}); END IF;
     RETURN NULL;
   END $$`,
  `CREATE CONSTRAINT TRIGGER crash_stalls AFTER INSERT ON orders DEFERRABLE INITIALLY DEFERRED
     FOR EACH ROW EXECUTE FUNCTION crash_stalls()`,
];

/** A sum of 0 that others have to wait for. */
const countNothing = 'INSERT INTO order_spend (wallet, day, lamports) VALUES (?, ?, 0)';

export async function installStall(db: Database, kind: StoreKind): Promise<void> {
  for (const statement of [stalledWallets, ...(kind === 'SQLite' ? onSqlite : onPostgres)]) await db.run(statement);
}

/** What was held goes on with `release`; resolves when it does. */
export interface HeldStore {
  release(): Promise<void>;
}

/** Runs `statement` in a transaction that stays open until it is released; what it locks stays locked. */
async function holdTransaction(db: Database, statement: string, ...values: readonly (string | number)[]): Promise<HeldStore> {
  let [open, release] = [(): void => undefined, (): void => undefined];
  const opened = new Promise<void>((resolve) => (open = resolve));
  const released = new Promise<void>((resolve) => (release = resolve));
  const ended = db.transaction('orders', async (sql) => {
    await sql.all(statement, ...values);
    open();
    await released;
  });
  await Promise.race([opened, ended]);
  return {
    release: async () => {
      release();
      await ended;
    },
  };
}

/** Stores no order of this wallet until it is released; over SQLite, which has one lock for everything, nothing at all. */
export async function holdWrites(db: Database, kind: StoreKind, wallet: string): Promise<HeldStore> {
  const day = Math.floor(Date.now() / 86_400_000);
  return await holdTransaction(db, kind === 'SQLite' ? 'SELECT 1 AS one' : countNothing, ...(kind === 'SQLite' ? [] : [wallet, day]));
}

export interface Stall extends HeldStore {
  /** Of PostgreSQL: whether an order of the wallet stands still now. Of SQLite nobody can see it from outside. */
  isReached(): Promise<boolean>;
}

/** An order of this wallet stands still while it is stored, until its gateway is killed. */
export async function stallStoring(db: Database, kind: StoreKind, wallet: string): Promise<Stall> {
  await db.run('INSERT INTO crash_stall (wallet) VALUES (?)', wallet);
  const held = kind === 'SQLite' ? null : await holdTransaction(db, `SELECT pg_advisory_xact_lock(${stallLock})`);
  return {
    isReached: async () => {
      const waiting = `SELECT 1 AS one FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objid = ${stallLock}`;
      return (await db.get(waiting)) !== null;
    },
    release: async () => {
      await held?.release();
      await db.run('DELETE FROM crash_stall WHERE wallet = ?', wallet);
    },
  };
}
