import type { AuditHead, AuditHeadTable } from '../../interfaces/audit-head-table.ts';
import { blob, integer, text, textOrNull, type Database, type SqlRow } from '../database.ts';

export function auditHeadTable(db: Database): AuditHeadTable {
  return {
    all: async () => (await db.all('SELECT * FROM audit_heads ORDER BY noted_at_ms, log_id')).map(readHead),
    note: async ({ logId, lines, mac, notedAtMs, place }) => {
      await db.run(
        `INSERT INTO audit_heads (log_id, lines, mac, noted_at_ms, place) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT (log_id) DO UPDATE SET lines = excluded.lines, mac = excluded.mac, noted_at_ms = excluded.noted_at_ms, place = excluded.place
         WHERE audit_heads.lines < excluded.lines`,
        logId,
        lines,
        mac,
        notedAtMs,
        place,
      );
    },
    forget: async (logId) => (await db.run('DELETE FROM audit_heads WHERE log_id = ?', logId)) > 0,
  };
}

function readHead(row: SqlRow): AuditHead {
  return {
    logId: text(row['log_id']),
    lines: integer(row['lines']),
    mac: blob(row['mac']),
    notedAtMs: integer(row['noted_at_ms']),
    place: textOrNull(row['place']),
  };
}
