import type { Store } from '@sluice/gateway/store/store.ts';
import { auditKey, logIdOf } from './mac-chain.ts';
import { headsHere } from './place.ts';
import { checkLog, logIdsIn, logsIn, segmentFile } from './segments.ts';

/** The result of the check of one log. */
export interface AuditReport {
  /** The newest segment. */
  readonly file: string;
  readonly logId: string | null;
  /** The number of valid lines in all segments. */
  readonly lines: number;
  readonly segments: number;
  readonly signed: number;
  readonly refused: number;
  readonly lastAtMs: number | null;
  /** What is wrong, and in which line. Null: nothing. */
  readonly fault: string | null;
}

export interface AuditCheck {
  readonly folder: string;
  readonly keystore: string;
  readonly keystoreKey: Uint8Array;
}

/** Checks all audit logs of a keystore, even while they are written, and that every log recorded in the store exists. Rejects if one cannot be read. */
export async function checkAuditLogs(
  store: Pick<Store, 'auditHeads' | 'dataDir' | 'databaseUrl'>,
  { folder, keystore, keystoreKey }: AuditCheck,
): Promise<readonly AuditReport[]> {
  // Read before the logs. A log can only grow meanwhile, so it must be at least as long as recorded here.
  const heads = new Map((await headsHere(store)).map((head) => [head.logId, head]));
  const key = auditKey(keystoreKey, keystore);
  const here = logIdsIn(folder);
  const reports: AuditReport[] = [];
  for (const [name, segments] of logsIn(folder)) {
    const log = { folder, name };
    if (!name.startsWith(`${keystore}-`)) continue;
    const logId = logIdOf(segmentFile(log, segments[0] ?? 0));
    const file = segmentFile(log, segments.at(-1) ?? 0);
    const counts = { lines: 0, segments: segments.length, signed: 0, refused: 0, lastAtMs: null as number | null };
    const outcome = checkLog(
      log,
      key,
      (id) => heads.get(id) ?? null,
      (entry) => {
        counts.lines++;
        if (entry.event === 'sums') return;
        counts.lastAtMs = entry.atMs;
        if (entry.event === 'decision') counts[entry.verdict]++;
        if (entry.event === 'void') [counts.signed, counts.refused] = [counts.signed - 1, counts.refused + 1];
      },
    );
    reports.push({
      file,
      logId,
      ...counts,
      fault: outcome.ok ? null : `${outcome.file === file ? '' : `${outcome.file}: `}line ${outcome.line}: ${outcome.reason}`,
    });
  }
  const none = { segments: 0, lines: 0, signed: 0, refused: 0 };
  for (const { logId, lines, notedAtMs } of heads.values()) {
    if (here.has(logId)) continue;
    reports.push({ file: folder, logId, ...none, lastAtMs: notedAtMs, fault: `there is no log ${logId}, which had ${lines} lines` });
  }
  return reports;
}
