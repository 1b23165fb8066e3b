import { join, resolve } from 'node:path';
import { takeLock, type Lock } from '../store/lock.ts';
import { makeFolder } from '../store/make-folder.ts';

/** Signing processes on one data folder. */
const maxSlots = 64;

/** An audit log that no other signing process writes, for as long as the lock is held. */
export interface AuditPlace {
  readonly file: string;
  readonly lock: Lock;
}

/** Where the audit logs of the signing processes on a data folder lie: `<keystore>-<number>.log`. */
export function auditFolder(dataDir: string): string {
  return join(dataDir, 'audit');
}

/** The first that is free; null: `maxSlots` are taken. Throws what the file system throws. */
export function takeAuditPlace(dataDir: string, keystore: string): AuditPlace | null {
  const folder = auditFolder(dataDir);
  makeFolder(folder);
  for (let slot = 0; slot < maxSlots; slot++) {
    const lock = takeLock(join(folder, `${keystore}-${slot}.lock`));
    if (lock !== null) return { file: resolve(folder, `${keystore}-${slot}.log`), lock };
  }
  return null;
}
