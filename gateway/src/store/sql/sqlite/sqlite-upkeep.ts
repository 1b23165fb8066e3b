import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import { StoreUnavailableError } from '../../store-unavailable.ts';
import { faultOf, isBusy, type SqliteConnection } from '../../libsql.ts';
import type { Groups, InTurn } from './sqlite-groups.ts';
import { nextId, readSalts, storedStamp, storeStamp, type Stamp } from './wal-pair.ts';

/** How often the log is looked at. */
const lookMs = 1_000;
/** How often the log is copied into the database file, so that a file that is lost together with its log is not too old. */
export const checkpointEveryMs = 300_000;

interface UpkeepParts {
  readonly file: string;
  readonly db: SqliteConnection;
  readonly inTurn: InTurn;
  readonly groups: Groups;
  readonly clock: Clock;
  /** Whether this connection stamps the logs. Otherwise another one does. */
  readonly stamps: boolean;
}

/** Stamps each new log (see `Stamp`), and makes a checkpoint from time to time if no other connection has made one. */
export function startUpkeep({ file, db, inTurn, groups, clock, stamps }: UpkeepParts): { close(): Promise<void> } {
  /** The newest stamp that this connection has seen, and the log that had been reached by then. */
  let known: { readonly id: number; readonly salts: string | null } | null = null;
  let saltsAtCheckpoint: string | null = null;
  let running: Promise<void> | null = null;

  /** Null: another process stamped the log. */
  const nextStamp = (stored: Stamp, salts: string | null): Stamp | null => {
    // The file has everything. This transaction has the write lock, so no other one begins a log meanwhile.
    if (salts === null) return { id: nextId(stored), base: stored.id };
    // Always allowed, because the base stays.
    if (known === null) return { ...stored, id: nextId(stored) };
    // The log in which the stamp was seen has ended, and a log ends only after all of it was copied into the file.
    return stored.id === known.id ? { id: nextId(stored), base: stored.id } : null;
  };
  const stamp = async (): Promise<void> => {
    const { id } = await groups.run(async () => {
      const stored = storedStamp(db);
      const next = nextStamp(stored, readSalts(file));
      if (next !== null) storeStamp(db, next);
      return next ?? stored;
    });
    // Read after the commit: the stamp is in this log or in an earlier one.
    known = { id, salts: readSalts(file) };
  };
  const look = async (): Promise<void> => {
    if (known === null || readSalts(file) !== known.salts) await stamp();
  };
  const begin = async (): Promise<void> => {
    // The first log of this connection then begins with an exact stamp, even after a crash.
    await inTurn(async () => emptyLog(db));
    await stamp();
  };
  const copyAtTimes = async (): Promise<void> => {
    const salts = readSalts(file);
    const isCopiedByOthers = salts !== saltsAtCheckpoint;
    saltsAtCheckpoint = salts;
    if (salts !== null && (!isCopiedByOthers || !stamps)) await inTurn(async () => copyLog(db));
  };
  const once = (work: () => Promise<void>): void => {
    running ??= work()
      .catch((error: unknown) => {
        // The disk is full or another process is slow. The next attempt may succeed.
        if (!(error instanceof StoreUnavailableError)) throw error;
      })
      .finally(() => (running = null));
  };
  if (stamps) once(begin);
  const stops = [clock.every(checkpointEveryMs, () => once(copyAtTimes), { ref: false })];
  if (stamps) stops.push(clock.every(lookMs, () => once(look), { ref: false }));
  return {
    close: async () => {
      for (const stop of stops) stop();
      await running;
    },
  };
}

/** Copies the log into the file. If other connections use the log, or the disk is full, it copies less, and the rest stays in the log. */
function copyLog(db: SqliteConnection, mode: 'PASSIVE' | 'TRUNCATE' = 'PASSIVE'): void {
  try {
    db.exec(`PRAGMA wal_checkpoint(${mode})`);
  } catch (error) {
    if (!isBusy(error) && !(faultOf(error) instanceof StoreUnavailableError)) throw error;
  }
}

/** As `copyLog`, and empties the log, unless another connection uses it. */
export function emptyLog(db: SqliteConnection): void {
  // First as much as is possible without the lock of the writers.
  copyLog(db);
  copyLog(db, 'TRUNCATE');
}
