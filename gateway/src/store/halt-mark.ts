import { rmSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Config } from '@sluice/shared/config/config.ts';
import type { HaltTable } from './halt-table.ts';
import { makeFolder } from './make-folder.ts';

/** Where the signing processes of a data folder keep what is theirs: audit logs, the operator's policy, the mark of the halt. */
export function signerFolder({ dataDir, signerDir }: Pick<Config, 'dataDir'> & Partial<Pick<Config, 'signerDir'>>): string {
  return resolve(signerDir ?? join(dataDir, 'audit'));
}

/**
 * The halt as the signing processes of a folder read it themselves, before each signature: a file that is there while trading is halted.
 * The store's switch reaches the gateways of all machines, this file needs nobody's word.
 */
function markFile(folder: string): string {
  return join(folder, 'halted');
}

/** What cannot be looked at counts as halted. */
export function isMarkedHalted(folder: string): boolean {
  try {
    return statSync(markFile(folder), { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
}

/** The store's switch, and the mark with it; trading is halted where either says so. */
export function markedHalt(table: HaltTable, folder: string): HaltTable {
  return {
    read: async () => {
      const stored = await table.read();
      if (stored.halted || !isMarkedHalted(folder)) return stored;
      return { ...stored, halted: true, reason: `${markFile(folder)} is there: sluice trading resume, on this machine` };
    },
    set: async (halted, reason, atMs) => {
      const wasMarked = isMarkedHalted(folder);
      if (!halted) {
        const isTurned = await table.set(halted, reason, atMs);
        rmSync(markFile(folder), { force: true });
        return isTurned || wasMarked;
      }
      try {
        makeFolder(folder);
        writeFileSync(markFile(folder), '', { mode: 0o600, flush: true });
      } catch (error) {
        // Halted as far as it can be, before anybody is told that it could not be whole.
        await table.set(halted, reason, atMs);
        throw error;
      }
      return (await table.set(halted, reason, atMs)) || !wasMarked;
    },
  };
}
