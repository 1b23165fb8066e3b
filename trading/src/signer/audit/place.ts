import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { takeLock, type Lock } from '@sluice/gateway/store/files/lock.ts';
import { makeFolder } from '@sluice/gateway/store/files/files.ts';
import type { AuditHead } from '@sluice/gateway/store/sql/tables/operation/audit-heads.ts';
import type { Store } from '@sluice/gateway/store/store.ts';
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

/** Names the machine and folder of a gateway's logs, because several machines can record their logs in one store. */
export function auditPlaceName({ dataDir }: Pick<Store, 'dataDir'>): string {
  return `${hostname()}:${resolve(dataDir)}`;
}

/** The recorded ends of the logs that must be here. In a shared store, those are only the ones recorded on this machine and folder. */
export async function headsHere(store: Pick<Store, 'auditHeads' | 'dataDir' | 'databaseUrl'>): Promise<readonly AuditHead[]> {
  const heads = await store.auditHeads.all();
  return store.databaseUrl === null ? heads : heads.filter(({ place }) => place === auditPlaceName(store));
}
