import { join } from 'node:path';
import type { Config } from '@sluice/shared/config/config.ts';
import { SettingError } from '@sluice/shared/config/setting-error.ts';
import type { AccountTable } from './account-table.ts';
import type { AuditHeadTable } from './audit-head-table.ts';
import type { CheckTable } from './check-table.ts';
import { markedHalt, signerFolder } from './halt-mark.ts';
import type { HaltTable } from './halt-table.ts';
import type { KeyTable } from './key-table.ts';
import type { OneTimeTable } from './one-time-table.ts';
import type { OperatorLogTable } from './operator-log-table.ts';
import type { OrderTable } from './order-table.ts';
import type { SessionTable } from './session-table.ts';
import { accountTable } from './sql/accounts.ts';
import { auditHeadTable } from './sql/audit-heads.ts';
import { checkTable } from './sql/checks.ts';
import type { Database } from './sql/database.ts';
import { haltTable } from './sql/halt.ts';
import { keyTable } from './sql/keys.ts';
import { metered, type StoreHealth } from './sql/metered.ts';
import { migrate } from './sql/migrations.ts';
import { oneTimeTable } from './sql/one-time.ts';
import { operatorLogTable } from './sql/operator-log.ts';
import { orderTable } from './sql/orders.ts';
import { sessionTable } from './sql/sessions.ts';
import { earlyCheckpointPages, openSqlite } from './sql/sqlite.ts';
import { walletTable } from './sql/wallets.ts';
import { reasonOf } from './store-away.ts';
import type { WalletTable } from './wallet-table.ts';

/** What outlives a process. Several processes may hold the same store open at once. Methods reject with a `StoreAwayError` where it does not answer. */
export interface Store {
  /** Where secrets beside the store lie: the pepper of the API keys, simnet's passphrase. */
  readonly dataDir: string;
  /** Null: it is in `dataDir`. */
  readonly databaseUrl: string | null;
  readonly keys: KeyTable;
  readonly wallets: WalletTable;
  readonly accounts: AccountTable;
  readonly sessions: SessionTable;
  readonly oneTime: OneTimeTable;
  readonly checks: CheckTable;
  readonly orders: OrderTable;
  readonly halt: HaltTable;
  readonly auditHeads: AuditHeadTable;
  readonly operatorLog: OperatorLogTable;
  readonly health: StoreHealth;
  close(): Promise<void>;
}

/** `signerDir`: where the signing processes look for the halt's mark, where that is not under the data folder. */
export type StorePlace = Pick<Config, 'dataDir' | 'databaseUrl'> & Partial<Pick<Config, 'signerDir'>>;

/**
 * Opens the store: PostgreSQL at `databaseUrl`, or else SQLite under `dataDir`; makes its tables where there are none. Rejects with
 * a `SettingError` where it cannot be opened, or a newer version has written it. `inBackground`: nobody waits for the thread that opens
 * it, which does what has to be done in a file now and then.
 */
export async function openStore({ dataDir, databaseUrl, signerDir = null }: StorePlace, inBackground = false): Promise<Store> {
  const { db, health } = metered(databaseUrl === null ? await openEmbedded(dataDir, inBackground) : await openShared(databaseUrl));
  return {
    dataDir,
    databaseUrl,
    keys: keyTable(db),
    wallets: walletTable(db),
    accounts: accountTable(db),
    sessions: sessionTable(db),
    oneTime: oneTimeTable(db),
    checks: checkTable(db),
    orders: orderTable(db),
    halt: markedHalt(haltTable(db), signerFolder({ dataDir, signerDir })),
    auditHeads: auditHeadTable(db),
    operatorLog: operatorLogTable(db),
    health,
    close: () => db.close(),
  };
}

async function openEmbedded(dataDir: string, inBackground: boolean): Promise<Database> {
  const file = join(dataDir, 'sluice.db');
  try {
    return await migrated(await openSqlite(file, inBackground ? { checkpointPages: earlyCheckpointPages } : {}));
  } catch (error) {
    throw new SettingError('DATA_DIR', `the store ${file} cannot be opened: ${reasonOf(error)}`, error);
  }
}

async function openShared(url: string): Promise<Database> {
  try {
    // Its client is loaded only where it is used: a command on the embedded store is the quicker for it.
    const { openPostgres } = await import('./sql/postgres.ts');
    return await migrated(await openPostgres(url));
  } catch (error) {
    throw new SettingError('DATABASE_URL', `the store cannot be opened: ${reasonOf(error)}`, error);
  }
}

async function migrated(db: Database): Promise<Database> {
  try {
    await migrate(db);
    return db;
  } catch (error) {
    await db.close();
    throw error;
  }
}
