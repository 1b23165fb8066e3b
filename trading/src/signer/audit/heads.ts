import { hostname } from 'node:os';
import { resolve } from 'node:path';
import type { AuditHead } from '@sluice/gateway/store/sql/tables/audit-heads.ts';
import type { Store } from '@sluice/gateway/store/store.ts';

/** Names the machine and folder of a gateway's logs, because several machines can record their logs in one store. */
export function auditPlaceName({ dataDir }: Pick<Store, 'dataDir'>): string {
  return `${hostname()}:${resolve(dataDir)}`;
}

/** The recorded ends of the logs that must be here. In a shared store, those are only the ones recorded on this machine and folder. */
export async function headsHere(store: Pick<Store, 'auditHeads' | 'dataDir' | 'databaseUrl'>): Promise<readonly AuditHead[]> {
  const heads = await store.auditHeads.all();
  return store.databaseUrl === null ? heads : heads.filter(({ place }) => place === auditPlaceName(store));
}
