import { AgreedTime } from '@sluice/shared/runtime/clock/agreed-time.ts';
import type { Config } from '@sluice/shared/config/config.ts';
import { SettingError } from '@sluice/shared/config/settings/setting-error.ts';
import { storeFiles, useStore, type StoreFiles } from './backup/store-files.ts';
import { markedHalt } from './halt/halt-mark.ts';
import { accountTable } from './sql/tables/accounts.ts';
import { auditHeadTable } from './sql/tables/operation/audit-heads.ts';
import { checkTable } from './sql/tables/checks.ts';
import type { Database } from './sql/database.ts';
import { haltTable } from './sql/tables/operation/halt.ts';
import { keyTable } from './sql/tables/keys.ts';
import { metered } from './sql/metered.ts';
import { migrate, NewerLayoutError } from './sql/migrations.ts';
import { oneTimeTable } from './sql/tables/one-time.ts';
import { operatorLogTable } from './sql/tables/operation/operator-log.ts';
import { orderTable } from './sql/tables/orders/orders.ts';
import { paperTable } from './sql/tables/orders/paper.ts';
import { sessionTable } from './sql/tables/sessions.ts';
import { triggerTable } from './sql/tables/triggers/triggers.ts';
import { StoreTime } from './sql/store-time.ts';
import { asDamage } from './sql/sqlite/integrity.ts';
import { openSqlite, type ConnectionUse } from './sql/sqlite/sqlite.ts';
import { walletStateTable } from './sql/tables/wallet-states.ts';
import { walletTable } from './sql/tables/wallets.ts';
import { reasonOf } from './store-unavailable.ts';

/** `signerDir`: where the signing processes look for the halt mark, if not under the data folder. */
export type StorePlace = Pick<Config, 'dataDir' | 'databaseUrl'> & Partial<Pick<Config, 'signerDir'>>;

/** The durable data. Several processes can open the same store. Methods reject with a `StoreUnavailableError` if the store does not answer. */
export type Store = Awaited<ReturnType<typeof openStore>>;

/**
 * Opens the store: PostgreSQL at `databaseUrl` if given, otherwise SQLite under `dataDir`. Creates missing tables. Rejects with a
 * `SettingError` if the store cannot be opened, is damaged, or was written by a newer version.
 */
export async function openStore({ dataDir, databaseUrl, signerDir = null }: StorePlace, use: ConnectionUse = 'command') {
  const { db, health } = metered(await openDatabase({ dataDir, databaseUrl }, migrate, use));
  const time = new AgreedTime();
  const storeTime = new StoreTime(db, time);
  await prepared(db, () => storeTime.hear());
  return {
    /** The folder of the secrets that are not in the store: the pepper of the API keys, simnet's passphrase. */
    dataDir,
    /** Null: the store is a file in `dataDir`. */
    databaseUrl,
    /** The folder of the signing processes, if it is not under the data folder. */
    signerDir,
    keys: keyTable(db),
    wallets: walletTable(db),
    accounts: accountTable(db),
    sessions: sessionTable(db),
    oneTime: oneTimeTable(db),
    checks: checkTable(db),
    orders: orderTable(db),
    paper: paperTable(db),
    triggers: triggerTable(db),
    walletStates: walletStateTable(db),
    halt: markedHalt(haltTable(db), { dataDir, signerDir }),
    auditHeads: auditHeadTable(db),
    operatorLog: operatorLogTable(db),
    health,
    /** The time that stored times are compared with: the database's own, if it has a clock of its own. */
    time,
    /** Keeps `time` in agreement with other clocks, and records the hours in which the store is in use. See `StoreTime.watch`. */
    watchTime: ((options) => storeTime.watch(options)) satisfies StoreTime['watch'],
    close: () => db.close(),
  };
}

/** Opens the halt switch, without the marks. It has the same form in every layout, so this also accepts the store of a newer version. */
export async function openHaltSwitch(place: Pick<StorePlace, 'dataDir' | 'databaseUrl'>) {
  const db = await openDatabase(place, migrateUnlessNewer);
  return { ...haltTable(db), close: () => db.close() };
}

async function migrateUnlessNewer(db: Database): Promise<void> {
  try {
    await migrate(db);
  } catch (error) {
    if (!(error instanceof NewerLayoutError)) throw error;
  }
}

type Prepare = (db: Database) => Promise<void>;

async function openDatabase(
  { dataDir, databaseUrl }: Pick<StorePlace, 'dataDir' | 'databaseUrl'>,
  prepare: Prepare,
  use: ConnectionUse = 'command',
): Promise<Database> {
  const files = storeFiles(dataDir);
  try {
    if (databaseUrl === null) return await prepared(await openEmbedded(files, use), prepare);
    // Loaded only when needed, so that commands on the embedded store start faster.
    const { openPostgres } = await import('./sql/postgres.ts');
    return await prepared(await openPostgres(databaseUrl), prepare);
  } catch (error) {
    const [setting, place] = databaseUrl === null ? (['DATA_DIR', ` ${files.database}`] as const) : (['DATABASE_URL', ''] as const);
    throw new SettingError(setting, `the store${place} cannot be opened: ${reasonOf(asDamage(error))}`, error);
  }
}

async function openEmbedded(files: StoreFiles, use: ConnectionUse): Promise<Database> {
  const lock = useStore(files);
  try {
    const db = await openSqlite(files.database, { use });
    return { ...db, close: () => db.close().finally(() => lock.release()) };
  } catch (error) {
    lock.release();
    throw error;
  }
}

async function prepared(db: Database, prepare: Prepare): Promise<Database> {
  try {
    await prepare(db);
    return db;
  } catch (error) {
    await db.close();
    throw error;
  }
}
