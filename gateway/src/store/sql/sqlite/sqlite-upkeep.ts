import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import { StoreUnavailableError } from '../../store-unavailable.ts';
import { nextId, readSalts, type Stamp } from './wal-pair.ts';

/** How often the log is looked at. */
const lookMs = 1_000;
/** How often the log is copied into the database file, so that a file that is lost together with its log is not too old. */
export const checkpointEveryMs = 300_000;

export interface UpkeepParts {
  readonly file: string;
  readonly clock: Clock;
  /** Reads the stored stamp and stores the next one, if it is not null, in one transaction. Resolves with the stored stamp. */
  readonly restamp: (next: (stored: Stamp) => Stamp | null) => Promise<Stamp>;
  /** Copies into the file what can be copied without waiting for others. */
  readonly copy: () => Promise<void>;
  /** As `copy`, and empties the log if no other connection needs it. */
  readonly empty: () => Promise<void>;
  /** Whether this connection stamps the logs. Otherwise another one does. */
  readonly stamps: boolean;
}

export interface Upkeep {
  close(): Promise<void>;
}

/** Stamps each new log (see `Stamp`), and makes a checkpoint from time to time if no other connection has made one. */
export function startUpkeep({ file, clock, restamp, copy, empty, stamps }: UpkeepParts): Upkeep {
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
    const { id } = await restamp((stored) => nextStamp(stored, readSalts(file)));
    // Read after the commit: the stamp is in this log or in an earlier one.
    known = { id, salts: readSalts(file) };
  };
  const look = async (): Promise<void> => {
    if (known === null || readSalts(file) !== known.salts) await stamp();
  };
  const begin = async (): Promise<void> => {
    // The first log of this connection then begins with an exact stamp, even after a crash.
    await empty();
    await stamp();
  };
  const copyAtTimes = async (): Promise<void> => {
    const salts = readSalts(file);
    const isCopiedByOthers = salts !== saltsAtCheckpoint;
    saltsAtCheckpoint = salts;
    if (salts !== null && (!isCopiedByOthers || !stamps)) await copy();
  };
  const inTurn = (work: () => Promise<void>): void => {
    running ??= work()
      .catch((error: unknown) => {
        // The disk is full or another process is slow. The next attempt may succeed.
        if (!(error instanceof StoreUnavailableError)) throw error;
      })
      .finally(() => (running = null));
  };
  if (stamps) inTurn(begin);
  const stops = [clock.every(checkpointEveryMs, () => inTurn(copyAtTimes), { ref: false })];
  if (stamps) stops.push(clock.every(lookMs, () => inTurn(look), { ref: false }));
  return {
    close: async () => {
      for (const stop of stops) stop();
      await running;
    },
  };
}
