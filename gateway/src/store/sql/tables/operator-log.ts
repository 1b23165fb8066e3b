import { maxOperatorLines, type OperatorLine, type OperatorLogTable } from '../../interfaces/operator-log-table.ts';
import { integer, text, type Database, type SqlRow } from '../database.ts';

export function operatorLogTable(db: Database): OperatorLogTable {
  return {
    add: ({ atMs, user, command, subject }) =>
      db.transaction('operator log', async (sql) => {
        const last = await sql.get('SELECT coalesce(max(n), 0) AS n FROM operator_log');
        const n = integer(last?.['n']) + 1;
        await sql.run(
          'INSERT INTO operator_log (n, at_ms, os_user, command, subject) VALUES (?, ?, ?, ?, ?)',
          n,
          atMs,
          user,
          command,
          subject,
        );
        await sql.run('DELETE FROM operator_log WHERE n <= ?', n - maxOperatorLines);
      }),
    newest: async (count) => (await db.all('SELECT * FROM operator_log ORDER BY n DESC LIMIT ?', count)).map(readLine),
  };
}

function readLine(row: SqlRow): OperatorLine {
  return { atMs: integer(row['at_ms']), user: text(row['os_user']), command: text(row['command']), subject: text(row['subject']) };
}
