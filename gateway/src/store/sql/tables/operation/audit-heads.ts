import { blob, insertRow, integer, nullable, Table, text, type RowOf } from '../../columns.ts';
import type { Database } from '../../database.ts';

const heads = new Table('audit_heads', {
  /** Identifies the log; made when the log was created. */
  logId: text,
  lines: integer,
  /** The MAC of the last of these lines. */
  mac: blob,
  notedAtMs: integer,
  /** The machine and folder of the log. Null: not recorded. */
  place: nullable(text),
});

/** The last recorded end of a signing process's audit log. If the log is shorter than that, it was cut. */
export type AuditHead = RowOf<typeof heads>;

/** The recorded ends of the audit logs. They are stored apart from the logs, so that a shortened log is detected. */
export function auditHeadTable(db: Database) {
  return {
    /** Oldest record first. */
    all: () => heads.all(db, 'ORDER BY noted_at_ms, log_id'),
    /** Records a new end. An end that is not further than the stored one changes nothing. */
    note: async (head: AuditHead) => {
      const further = `ON CONFLICT (log_id) DO UPDATE
        SET lines = excluded.lines, mac = excluded.mac, noted_at_ms = excluded.noted_at_ms, place = excluded.place
        WHERE audit_heads.lines < excluded.lines`;
      await insertRow(db, 'audit_heads', heads.write(head), further);
    },
    /** False: this log has no record. */
    forget: async (logId: string) => (await db.run('DELETE FROM audit_heads WHERE log_id = ?', logId)) > 0,
  };
}
