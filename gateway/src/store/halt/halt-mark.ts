import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Config } from '@sluice/shared/config/config.ts';
import { giveToOwner, makeFolder, syncFolder } from '../files/files.ts';
import type { HaltTable, StoredHalt } from '../sql/tables/operation/halt.ts';
import { reasonOf } from '../store-unavailable.ts';

/** The folders of the store's files and of the signing processes' files. */
export type Folders = Pick<Config, 'dataDir'> & Partial<Pick<Config, 'signerDir'>>;

/** The folder of the signing processes: audit logs, the operator's policy, the halt mark. */
export function signerFolder({ dataDir, signerDir }: Folders): string {
  return resolve(signerDir ?? join(dataDir, 'audit'));
}

/**
 * The halt mark: a file that exists while trading is halted. The signing processes of the folder look for it before each signature, and
 * the gateways every 200 ms. The switch in the store reaches the gateways of all machines; the mark works even if the store does not
 * answer, or if the gateway or the store lies. It contains the reason and the time as JSON; only its existence matters.
 */
function markFile(folder: string): string {
  return join(folder, 'halted');
}

/**
 * Where the marks of a machine are. A gateway that has no `SIGNER_DIR`, because its signing process belongs to another user, looks in
 * its `DATA_DIR` only.
 */
export function haltMarks(folders: Folders): readonly string[] {
  return [...new Set([signerFolder({ dataDir: folders.dataDir }), signerFolder(folders)])].map(markFile);
}

/** Trading is treated as halted if the mark cannot be checked. */
export function isMarkedHalted(folder: string): boolean {
  return exists(markFile(folder));
}

function exists(mark: string): boolean {
  try {
    return statSync(mark, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
}

/**
 * Creates the marks that do not exist, durably. It needs nothing but the disk. Returns a sentence for each mark that could not be
 * created.
 */
export function makeHaltMarks(folders: Folders, reason: string | null, atMs: number): readonly string[] {
  return haltMarks(folders).flatMap((mark) => {
    try {
      makeMark(mark, JSON.stringify({ reason, atMs }));
      return [];
    } catch (error) {
      return [`${mark} cannot be created: ${reasonOf(error)}.`];
    }
  });
}

function makeMark(mark: string, content: string): void {
  const folder = dirname(mark);
  const isNewFolder = statSync(folder, { throwIfNoEntry: false }) === undefined;
  makeFolder(folder);
  if (isNewFolder) giveToOwner(folder, dirname(folder));
  try {
    writeFileSync(mark, content, { mode: 0o600, flag: 'wx', flush: true });
    giveToOwner(mark, folder);
  } catch (error) {
    // A mark that was created and is incomplete, because the disk is full, works too.
    if (statSync(mark, { throwIfNoEntry: false }) === undefined) throw error;
  }
  syncFolder(folder);
}

/** What the first mark says. Null: there is no mark. */
export function readHaltMarks(folders: Folders): StoredHalt | null {
  const mark = haltMarks(folders).find(exists);
  if (mark === undefined) return null;
  return { halted: true, ...contentOf(mark) };
}

/** Only the existence of a mark counts. A mark that was made by hand, or that cannot be read, has no reason of its own. */
function contentOf(mark: string): Omit<StoredHalt, 'halted'> {
  try {
    const { reason, atMs } = JSON.parse(readFileSync(mark, 'utf8')) as Readonly<Record<string, unknown>>;
    if (Number.isSafeInteger(atMs)) return { reason: typeof reason === 'string' ? reason : null, changedAtMs: Number(atMs) };
  } catch {
    // Handled as a mark without content.
  }
  return { reason: `${mark} exists: run sluice trading resume on this machine`, changedAtMs: 0 };
}

export function removeHaltMarks(folders: Folders): void {
  for (const mark of haltMarks(folders)) rmSync(mark, { force: true });
}

/** The switch in the store, which reads as halted while a mark exists. */
export function markedHalt(table: HaltTable, folders: Folders): HaltTable {
  return {
    ...table,
    read: async () => {
      const marked = readHaltMarks(folders);
      if (marked === null) return table.read();
      if (marked.changedAtMs > 0) return marked;
      // The mark does not say why. The store may know; the halt does not depend on its answer.
      const stored = await table.read().catch(() => marked);
      return stored.halted ? stored : marked;
    },
  };
}
