import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Store } from '../store/store.ts';
import { auditKey, checkChain, logIdOf } from './audit-chain.ts';
import { auditFolder } from './audit-place.ts';

/** What came of checking one log. */
export interface AuditReport {
  readonly file: string;
  readonly logId: string | null;
  /** Whole lines that follow from each other. */
  readonly lines: number;
  readonly signed: number;
  readonly refused: number;
  readonly lastAtMs: number | null;
  /** What is wrong, with its line; null: nothing. */
  readonly fault: string | null;
}

/** Checks every audit log of a keystore on this data folder, also while they are written. Rejects where one cannot be read. */
export async function checkAuditLogs(
  store: Pick<Store, 'auditHeads' | 'dataDir'>,
  keystore: string,
  keystoreKey: Uint8Array,
): Promise<readonly AuditReport[]> {
  const folder = auditFolder(store.dataDir);
  // Before the logs are read: they only grow.
  const heads = new Map((await store.auditHeads.all()).map((head) => [head.logId, head]));
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => name.startsWith(`${keystore}-`) && name.endsWith('.log')) : [];
  const key = auditKey(keystoreKey, keystore);
  return names.toSorted().map((name) => {
    const file = join(folder, name);
    const logId = logIdOf(file);
    const counts = { lines: 0, signed: 0, refused: 0, lastAtMs: null as number | null };
    const outcome = checkChain(file, key, heads.get(logId ?? '') ?? null, (entry) => {
      counts.lines++;
      counts.lastAtMs = entry.atMs;
      if (entry.event === 'decision') counts[entry.verdict]++;
    });
    return { file, logId, ...counts, fault: outcome.ok ? null : `line ${outcome.line}: ${outcome.reason}` };
  });
}
