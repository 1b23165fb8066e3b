import type { Database } from '@sluice/gateway/store/sql/database.ts';
import type { StoreKind } from './crash-world.ts';

/** Wallets whose orders stop in the middle of being stored. */
const stalledWallets = 'CREATE TABLE crash_stall (wallet TEXT PRIMARY KEY)';
/** An advisory lock of PostgreSQL that the test holds. */
const stallLock = 0x7363_7261;

/**
 * Endless work within SQLite, and so within the gateway's own process, before the last row of an order's transaction. Only a kill ends it,
 * and nothing of the transaction remains.
 */
const onSqlite = [
  `CREATE VIEW crash_work AS
     WITH RECURSIVE steps (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM steps WHERE n < 20000000000) SELECT max(n) AS n FROM steps`,
  `CREATE TRIGGER crash_stalls BEFORE INSERT ON order_keys
     WHEN EXISTS (SELECT 1 FROM crash_stall JOIN orders ON spend_wallet = wallet WHERE orders.id = NEW.order_id)
     BEGIN SELECT n FROM crash_work; END`,
];
/** Waits within COMMIT: it completes, although the process that could learn of it is gone. */
const onPostgres = [
  `CREATE FUNCTION crash_stalls() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     IF EXISTS (SELECT 1 FROM crash_stall WHERE wallet = NEW.spend_wallet) THEN PERFORM pg_advisory_xact_lock(${stallLock}); END IF;
     RETURN NULL;
   END $$`,
  `CREATE CONSTRAINT TRIGGER crash_stalls AFTER INSERT ON orders DEFERRABLE INITIALLY DEFERRED
     FOR EACH ROW EXECUTE FUNCTION crash_stalls()`,
];

/** An amount of 0 that makes others wait. */
const countNothing = 'INSERT INTO order_spend (wallet, day, lamports) VALUES (?, ?, 0)';

export async function installStall(db: Database, kind: StoreKind): Promise<void> {
  for (const statement of [stalledWallets, ...(kind === 'SQLite' ? onSqlite : onPostgres)]) await db.run(statement);
}

/** `release` continues what was held, and resolves when that is done. */
export interface HeldStore {
  release(): Promise<void>;
}

/** Runs `statement` in a transaction that stays open until it is released, with its locks. */
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

/** Stores no order of this wallet until it is released. SQLite has one lock for everything, so there it stores nothing at all. */
export async function holdWrites(db: Database, kind: StoreKind, wallet: string): Promise<HeldStore> {
  const day = Math.floor(Date.now() / 86_400_000);
  return await holdTransaction(db, kind === 'SQLite' ? 'SELECT 1 AS one' : countNothing, ...(kind === 'SQLite' ? [] : [wallet, day]));
}

export interface Stall extends HeldStore {
  /** With PostgreSQL: whether an order of the wallet is stopped now. With SQLite this cannot be seen from outside. */
  isReached(): Promise<boolean>;
}

/** An order of this wallet stops while it is stored, until its gateway is killed. */
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
