import { rmSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Config } from '@sluice/shared/config/config.ts';
import type { HaltTable } from './interfaces/halt-table.ts';
import { makeFolder } from './files/make-folder.ts';

/** The folder of the signing processes: audit logs, the operator's policy, the halt mark. */
export function signerFolder({ dataDir, signerDir }: Pick<Config, 'dataDir'> & Partial<Pick<Config, 'signerDir'>>): string {
  return resolve(signerDir ?? join(dataDir, 'audit'));
}

/**
 * The halt mark: a file that exists while trading is halted. The signing processes of the folder look for it before each signature.
 * The switch in the store reaches the gateways of all machines; the mark works even if the gateway or the store lies.
 */
function markFile(folder: string): string {
  return join(folder, 'halted');
}

/** Trading is treated as halted if the mark cannot be checked. */
export function isMarkedHalted(folder: string): boolean {
  try {
    return statSync(markFile(folder), { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
}

/** The switch in the store together with the mark. Trading is halted if either says so. */
export function markedHalt(table: HaltTable, folder: string): HaltTable {
  return {
    read: async () => {
      const stored = await table.read();
      if (stored.halted || !isMarkedHalted(folder)) return stored;
      return { ...stored, halted: true, reason: `${markFile(folder)} exists: run sluice trading resume on this machine` };
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
        // Halt what can be halted before the error is reported.
        await table.set(halted, reason, atMs);
        throw error;
      }
      return (await table.set(halted, reason, atMs)) || !wasMarked;
    },
  };
}
