import { insertRow, integer, Table, text, type RowOf } from '../../columns.ts';
import type { Database } from '../../database.ts';

const lines = new Table('operator_log', {
  atMs: integer,
  /** The operating system's user. */
  user: { ...text, name: 'os_user' },
  command: text,
  /** The account whose wallets or orders were read. */
  subject: text,
});

/** Maximum number of lines stored. The oldest are deleted first. */
const maxLines = 100_000;

/** The commands by which the operator read or opened the wallets or orders of an account. */
export function operatorLogTable(db: Database) {
  return {
    /** Durable when it resolves. */
    add: (line: RowOf<typeof lines>) =>
      db.transaction('operator log', async (sql) => {
        const last = await sql.get('SELECT coalesce(max(n), 0) AS n FROM operator_log');
        const n = integer.read(last?.['n']) + 1;
        await insertRow(sql, 'operator_log', { n, ...lines.write(line) });
        await sql.run('DELETE FROM operator_log WHERE n <= ?', n - maxLines);
      }),
    /** Newest first. */
    newest: (count: number) => lines.all(db, 'ORDER BY n DESC LIMIT ?', count),
  };
}
