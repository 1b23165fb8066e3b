import type { AuditHead, AuditHeadTable } from '../audit-head-table.ts';
import { blob, integer, text, type Database, type SqlRow } from './database.ts';

export function auditHeadTable(db: Database): AuditHeadTable {
  return {
    byLog: async (logId) => {
      const row = await db.get('SELECT * FROM audit_heads WHERE log_id = ?', logId);
      return row === null ? null : readHead(row);
    },
    all: async () => (await db.all('SELECT * FROM audit_heads ORDER BY noted_at_ms, log_id')).map(readHead),
    note: async ({ logId, lines, mac, notedAtMs }) => {
      await db.run(
        `INSERT INTO audit_heads (log_id, lines, mac, noted_at_ms) VALUES (?, ?, ?, ?)
         ON CONFLICT (log_id) DO UPDATE SET lines = excluded.lines, mac = excluded.mac, noted_at_ms = excluded.noted_at_ms
         WHERE audit_heads.lines < excluded.lines`,
        logId,
        lines,
        mac,
        notedAtMs,
      );
    },
  };
}

function readHead(row: SqlRow): AuditHead {
  return {
    logId: text(row['log_id']),
    lines: integer(row['lines']),
    mac: blob(row['mac']),
    notedAtMs: integer(row['noted_at_ms']),
  };
}
