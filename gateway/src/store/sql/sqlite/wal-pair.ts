import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isCode } from '../../files/files.ts';
import { withConnection, type SqliteConnection } from '../../libsql.ts';
import { whileBusy } from '../../libsql.ts';

/**
 * SQLite cannot detect that a database file and the write-ahead log (WAL) next to it are of different times, for example after a restore of
 * the file alone. It applies the pages of the log to a file that they do not belong to, and destroys both. So sluice stores a stamp in the
 * header of the database (`PRAGMA user_version`), which is on page 1. The page is in the file, and, if it was changed, in the log too.
 *
 * `id` is a number that grows with each stamp. `base` is an id that was in the file before the log began. Both are modulo 2^16.
 *
 * A file belongs to a log if its `id` or its `base` is the log's `base`: either page 1 is as it was when the log began, or it was copied
 * from this log. The check may pass for a file that does not belong to the log: while the log has no copy of page 1 yet, which is for a
 * second after each checkpoint, and for files of other versions of sluice, which write no stamps. It never fails for a file that
 * belongs to the log, no matter which process or which version writes, makes checkpoints, or is killed.
 */
export interface Stamp {
  readonly id: number;
  readonly base: number;
}

const idBits = 16;
const mask = 2 ** idBits - 1;

function stampOf(userVersion: number): Stamp {
  return { id: (userVersion >>> idBits) & mask, base: userVersion & mask };
}

/** The value for `PRAGMA user_version`, a signed number of 32 bits. */
function userVersionOf({ id, base }: Stamp): number {
  return ((id & mask) << idBits) | (base & mask);
}

export function nextId({ id }: Stamp): number {
  return (id + 1) & mask;
}

function belongs(file: Stamp, log: Stamp): boolean {
  return file.id === log.base || file.base === log.base;
}

/** A connection that reads the file without the log, and takes no lock. */
export function fileAloneUrl(file: string): string {
  return `${pathToFileURL(file).href}?immutable=1`;
}

/** A connection that reads the file and the log, and cannot change either. */
export function readOnlyUrl(file: string): string {
  return `${pathToFileURL(file).href}?mode=ro`;
}

/** How often the stamps are read if a running process changes them meanwhile. */
const maxReadings = 10;

/** Why the file and the log next to it do not belong together. Null: they do, or there is no log. Changes nothing. */
export async function pairFault(file: string): Promise<string | null> {
  // The log first: a process that creates the store writes the file before the log.
  if (sizeOf(`${file}-wal`) === 0) return null;
  const name = basename(file);
  // SQLite would delete the log.
  if (sizeOf(file) === 0) return `${name} is missing or empty, but its write-ahead log ${name}-wal has data. ${putBack(name)}`;
  for (let reading = 1; ; reading++) {
    const before = await readStamp(fileAloneUrl(file));
    const log = await readStamp(readOnlyUrl(file));
    if (belongs(before, log)) return null;
    const after = await readStamp(fileAloneUrl(file));
    const isStable = before.id === after.id && before.base === after.base;
    if (isStable || reading === maxReadings) return `${name} and its write-ahead log ${name}-wal are of different times. ${putBack(name)}`;
  }
}

const putBack = (name: string): string => `Put back the ${name} that belongs to the log, if you have it`;

function readStamp(url: string): Promise<Stamp> {
  return whileBusy(() =>
    withConnection(url, (db) => {
      db.pragma('busy_timeout = 0');
      return storedStamp(db);
    }),
  );
}

/** What the connection reads. */
export function storedStamp(db: SqliteConnection): Stamp {
  const [row] = db.pragma('user_version') as readonly { readonly user_version: number }[];
  if (row === undefined) throw new TypeError('SQLite reports no user_version');
  return stampOf(row.user_version);
}

/** Stores a stamp. In a transaction, it is committed with it. */
export function storeStamp(db: SqliteConnection, stamp: Stamp): void {
  db.exec(`PRAGMA user_version = ${userVersionOf(stamp)}`);
}

/** Gives a copy of a store a stamp that no log of that store can have as its base: the ids of a store are close together. Durable. */
export function stampCopy(db: SqliteConnection): void {
  db.exec('PRAGMA synchronous = FULL');
  const half = 2 ** (idBits - 1);
  const id = (storedStamp(db).id + half / 2 + Math.floor(Math.random() * half)) & mask;
  storeStamp(db, { id, base: id });
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

/** In the header of a log: changes each time that SQLite begins the log again from its first page. */
const saltsAt = 16;
const saltsLength = 8;

/** What identifies the log. Null: there is no log, or it is empty, so that everything is in the database file. */
export function readSalts(file: string): string | null {
  const bytes = Buffer.alloc(saltsLength);
  try {
    // SQLite has no lock on this file, so closing it releases none.
    const fd = openSync(`${file}-wal`, 'r');
    try {
      return readSync(fd, bytes, 0, saltsLength, saltsAt) === saltsLength ? bytes.toString('hex') : null;
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    if (isCode(error, 'ENOENT')) return null;
    throw error;
  }
}
