import { join, resolve } from 'node:path';
import { takeLock, type Lock } from '@sluice/gateway/store/files/lock.ts';
import { makeFolder } from '@sluice/gateway/store/files/files.ts';
import { maxSlots, slotName } from './segments.ts';

/** The audit log of one signing process. No other process writes it while the lock is held. */
export interface AuditPlace {
  readonly folder: string;
  readonly slot: number;
  readonly lock: Lock;
}

/** Locks the first free slot. Null: all `maxSlots` are in use. Throws the file system's error. */
export function takeAuditPlace(folder: string, keystore: string): AuditPlace | null {
  makeFolder(folder);
  for (let slot = 0; slot < maxSlots; slot++) {
    const lock = takeLock(join(folder, `${slotName(keystore, slot)}.lock`));
    if (lock !== null) return { folder: resolve(folder), slot, lock };
  }
  return null;
}
