import type { Sql } from '../../database.ts';

/** Whether this term of triggers is the newest of its mode. It stays so until the transaction ends. */
export async function holdTerm(sql: Sql, term: number): Promise<boolean> {
  return (await sql.run('UPDATE trigger_terms SET term = term WHERE term = ?', term)) > 0;
}
