import type { Database } from '@sluice/gateway/store/sql/database.ts';
import type { StoreKind } from './crash-world.ts';

/** Stands still whoever takes an order of these wallets from `simulated` to `submitted`: between storing an order and sending it. */
const stalledWallets = 'CREATE TABLE crash_stall (wallet TEXT PRIMARY KEY)';
/** Of PostgreSQL: an advisory lock that the test holds. */
const stallLock = 0x7363_7261;

/** Work without an end in sight, within SQLite and so within the gateway's own process: only a kill ends it. */
const onSqlite = [
  `CREATE VIEW crash_work AS
     WITH RECURSIVE steps (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM steps WHERE n < 20000000000) SELECT max(n) AS n FROM steps`,
  `CREATE TRIGGER crash_stalls BEFORE UPDATE ON orders
     WHEN OLD.state = 'simulated' AND NEW.state = 'submitted' AND EXISTS (SELECT 1 FROM crash_stall WHERE wallet = NEW.spend_wallet)
     BEGIN SELECT n FROM crash_work; END`,
];
const onPostgres = [
  `CREATE FUNCTION crash_stalls() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     IF OLD.state = 'simulated' AND NEW.state = 'submitted' AND EXISTS (SELECT 1 FROM crash_stall WHERE wallet = NEW.spend_wallet) THEN
       PERFORM pg_advisory_xact_lock(${stallLock});
     END IF;
     RETURN NEW;
   END $$`,
  'CREATE TRIGGER crash_stalls BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION crash_stalls()',
];

export async function installStall(db: Database, kind: StoreKind): Promise<void> {
  for (const statement of [stalledWallets, ...(kind === 'SQLite' ? onSqlite : onPostgres)]) await db.run(statement);
}

/** What was held goes on with `release`; resolves when it does. */
export interface HeldStore {
  release(): Promise<void>;
}

/** Runs `statement` in a transaction that stays open until it is released; what it locks stays locked. */
async function holdTransaction(db: Database, statement: string): Promise<HeldStore> {
  let [open, release] = [(): void => undefined, (): void => undefined];
  const opened = new Promise<void>((resolve) => (open = resolve));
  const released = new Promise<void>((resolve) => (release = resolve));
  const ended = db.transaction('orders', async (sql) => {
    await sql.all(statement);
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

/** Nobody writes orders until it is released. */
export async function holdWrites(db: Database, kind: StoreKind): Promise<HeldStore> {
  return await holdTransaction(db, kind === 'SQLite' ? 'SELECT 1 AS one' : 'LOCK TABLE orders IN SHARE ROW EXCLUSIVE MODE');
}

/** An order of this wallet stands still between being stored and being sent, until its gateway is killed. */
export async function stallSending(db: Database, kind: StoreKind, wallet: string): Promise<HeldStore> {
  await db.run('INSERT INTO crash_stall (wallet) VALUES (?)', wallet);
  const held = kind === 'SQLite' ? null : await holdTransaction(db, `SELECT pg_advisory_xact_lock(${stallLock})`);
  return {
    release: async () => {
      await held?.release();
      await db.run('DELETE FROM crash_stall WHERE wallet = ?', wallet);
    },
  };
}
