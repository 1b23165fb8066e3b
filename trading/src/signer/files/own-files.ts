import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { isCode } from '@sluice/gateway/store/files/files.ts';
import { foldersAbove, pathFault, type Owner } from './trusted-path.ts';

export interface FilesRead {
  /** The compiled program, in a build folder under `.build`. Null: not checked. */
  readonly program: string | null;
  readonly passphraseFile: string;
  /** `DATA_DIR` of the gateway that started the process. Null: the process serves gateways of another user and reads none of their files. */
  readonly dataDir: string | null;
  /** Folder of the audit logs, the operator's policy and the halt mark. */
  readonly auditFolder: string;
}

/** The gateway's settings, including limits, in its working folder. */
const settingsFile = '.env';
/** The files of the embedded store, in `DATA_DIR`. */
const storeFiles = ['sluice.db', 'sluice.db-wal', 'sluice.db-shm'];

/**
 * Finds out whether another user can change the program of the signing process, its passphrase, limits, store or audit logs. Returns
 * how, or null if nobody can. Throws the system's error if a file cannot be checked.
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
