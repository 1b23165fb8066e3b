import type { LogPosition } from '@sluice/shared/bus/bus.ts';
import { flag, insertRow, integer, text } from '../../columns.ts';
import type { Database, Sql } from '../../database.ts';

/** Maximum number of watermarks that are stored at once. */
const maxWatermarks = 100_000;

/** Another process has opened a newer term of the same mode. Nothing was changed. */
export type Fenced = 'fenced';

/** Begins a term, which ends all earlier terms of this mode. */
export function openTerm(db: Database, paper: boolean): Promise<number> {
  return db.transaction('triggers', async (sql) => {
    const newest = await sql.get('SELECT coalesce(max(term), 0) AS term FROM trigger_terms');
    const term = integer.read(newest?.['term']) + 1;
    await insertRow(sql, 'trigger_terms', { paper: flag.write(paper), term }, 'ON CONFLICT (paper) DO UPDATE SET term = excluded.term');
    return term;
  });
}

/** Runs `work` in a transaction that no newer term can precede. `work` gets the mode of the term. */
export function inTerm<T>(db: Database, term: number, work: (sql: Sql, paper: boolean) => Promise<T>): Promise<T | Fenced> {
  return db.transaction('triggers', async (sql) => {
    const row = await sql.get('SELECT paper FROM trigger_terms WHERE term = ?', term);
    return row === null ? 'fenced' : work(sql, flag.read(row['paper'])!);
  });
}

export async function checkpointOf(sql: Sql, paper: boolean): Promise<LogPosition | null> {
  const row = await sql.get('SELECT log_epoch, log_offset FROM trigger_terms WHERE paper = ?', flag.write(paper));
  if (row === null || row['log_epoch'] === null) return null;
  return { epoch: text.read(row['log_epoch']), offset: integer.read(row['log_offset']) };
}

export function saveCheckpoint(
  db: Database,
  term: number,
  { epoch, offset }: LogPosition,
  watermarks: ReadonlyMap<string, number>,
): Promise<'stored' | Fenced> {
  if (watermarks.size > maxWatermarks) throw new RangeError(`at most ${maxWatermarks} watermarks at once`);
  const texts = Object.fromEntries([...watermarks].map(([id, watermark]) => [id, String(watermark)]));
  return inTerm(db, term, async (sql, paper) => {
    await sql.run('UPDATE trigger_terms SET log_epoch = ?, log_offset = ? WHERE term = ?', epoch, offset, term);
    const note = `UPDATE triggers SET watermark = seen.value FROM ${db.dialect.jsonPairs} AS seen
                  WHERE triggers.id = seen.key AND triggers.ended = 0 AND triggers.paper = ?`;
    if (watermarks.size > 0) await sql.run(note, JSON.stringify(texts), flag.write(paper));
    return 'stored' as const;
  });
}
