import { hostname } from 'node:os';
import { resolve } from 'node:path';
import type { AuditHead } from '../../store/audit-head-table.ts';
import type { Store } from '../../store/store.ts';

/** Where the logs of a gateway lie: of one store many machines may make notes. */
export function auditPlaceName({ dataDir }: Pick<Store, 'dataDir'>): string {
  return `${hostname()}:${resolve(dataDir)}`;
}

/** The notes of logs that have to be here: of a store under the data folder all, of a shared one those that were made on this machine and folder. */
export async function headsHere(store: Pick<Store, 'auditHeads' | 'dataDir' | 'databaseUrl'>): Promise<readonly AuditHead[]> {
  const heads = await store.auditHeads.all();
  return store.databaseUrl === null ? heads : heads.filter(({ place }) => place === auditPlaceName(store));
}
