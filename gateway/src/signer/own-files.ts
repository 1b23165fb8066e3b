import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { isCode } from '../store/system-error.ts';
import { foldersAbove, pathFault, type Owner } from './trusted-path.ts';

export interface FilesRead {
  /** The compiled program; null: not looked at. It lies in a build's folder, and that in `.build`. */
  readonly program: string | null;
  readonly passphraseFile: string;
  /** `DATA_DIR` of the gateway that started the process; null: the process runs for gateways of another user, and reads nothing of theirs. */
  readonly dataDir: string | null;
  /** Folder of the audit logs, the operator's policy and the mark of the halt. */
  readonly auditFolder: string;
}

/** Settings, limits among them, that the gateway reads in the folder that it runs in. */
const settingsFile = '.env';
/** The embedded store's, in `DATA_DIR`. */
const storeFiles = ['sluice.db', 'sluice.db-wal', 'sluice.db-shm'];

/**
 * What lets another user change the program of the signing process, its passphrase, limits, store or audit logs; null: nothing does.
 * Throws the system's error where something cannot be looked at.
 */
export function filesFault({ program, passphraseFile, dataDir, auditFolder }: FilesRead): string | null {
  const owner: Owner = { uid: process.geteuid?.() ?? 0, gid: process.getegid?.() ?? 0 };
  const paths = [
    ...(program === null ? [] : [program, ...foldersAbove(program, 2)]),
    passphraseFile,
    settingsFile,
    ...(dataDir === null ? [] : [dataDir, ...storeFiles.map((name) => join(dataDir, name))]),
    auditFolder,
    ...namesIn(auditFolder).map((name) => join(auditFolder, name)),
  ];
  for (const path of paths) {
    const fault = pathFault(path, owner);
    if (fault !== null) return fault;
  }
  return null;
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (isCode(error, 'ENOENT')) return [];
    throw error;
  }
}
