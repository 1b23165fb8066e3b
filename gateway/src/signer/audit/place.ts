import { join, resolve } from 'node:path';
import { takeLock, type Lock } from '../../store/lock.ts';
import { makeFolder } from '../../store/make-folder.ts';
import { maxSlots, slotName } from './segments.ts';

/** An audit log that no other signing process writes, for as long as the lock is held. */
export interface AuditPlace {
  readonly folder: string;
  readonly slot: number;
  readonly lock: Lock;
}

/** The first that is free; null: `maxSlots` are taken. Throws what the file system throws. */
export function takeAuditPlace(folder: string, keystore: string): AuditPlace | null {
  makeFolder(folder);
  for (let slot = 0; slot < maxSlots; slot++) {
    const lock = takeLock(join(folder, `${slotName(keystore, slot)}.lock`));
    if (lock !== null) return { folder: resolve(folder), slot, lock };
  }
  return null;
}
