import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import { insertRow, integer } from './columns.ts';
import type { Database, Sql } from './database.ts';

export const hourMs = 3_600_000;
/** Hours that are stored: more than anything is retained. */
const storedHours = 420 * 24;

/**
 * The hours in which gateways used the store, numbered from 0. Each has the earliest time that a clock showed in it. What was stored within
 * an hour has at least that time. So what is older than all times of the last 24 hours was stored before them, even if the clocks were wrong.
 * Hours count by the steady clock. Time in which no gateway runs does not count.
 */
export class RunningHours {
  readonly #db: Database;
  readonly #clock: Pick<Clock, 'steadyMs'>;
  /** Running time of the store when the steady clock was 0; null before the first record. */
  #baseMs: number | null = null;

  constructor(db: Database, clock: Pick<Clock, 'steadyMs'>) {
    [this.#db, this.#clock] = [db, clock];
  }

  /** Records that the store is in use, and the earliest time that a clock shows. Returns the earliest time of the newest hour before. */
  async record(earliestMs: number): Promise<number | null> {
    return this.#db.transaction('time', async (sql) => {
      const newest = await sql.get('SELECT ran_ms, least_ms FROM running_hours ORDER BY hour DESC LIMIT 1');
      const storedMs = newest === null ? 0 : integer.read(newest['ran_ms']);
      this.#baseMs ??= storedMs - this.#clock.steadyMs();
      // Several processes count at once, and the one that counted longest is right.
      const ranMs = Math.max(storedMs, Math.floor(this.#baseMs + this.#clock.steadyMs()));
      const hour = Math.floor(ranMs / hourMs);
      const earliest = `ON CONFLICT (hour) DO UPDATE SET ran_ms = excluded.ran_ms,
        least_ms = CASE WHEN excluded.least_ms < running_hours.least_ms THEN excluded.least_ms ELSE running_hours.least_ms END`;
      await insertRow(sql, 'running_hours', { hour, ran_ms: ranMs, least_ms: earliestMs }, earliest);
      await sql.run('DELETE FROM running_hours WHERE hour < ?', hour - storedHours);
      return newest === null ? null : integer.read(newest['least_ms']);
    });
  }
}

/**
 * What was stored with an earlier time than this was stored more than `retentionMs` ago. Null: nothing is known to be that old. Everything that is deleted
 * for its age is compared with it.
 */
export async function storedBeforeMs(sql: Sql, retentionMs: number): Promise<number | null> {
  const first = `(SELECT max(hour) FROM running_hours) - ${Math.ceil(retentionMs / hourMs)}`;
  const row = await sql.get(
    `SELECT min(least_ms) AS least_ms FROM running_hours
     WHERE hour >= ${first} AND (SELECT min(hour) FROM running_hours) <= ${first}`,
  );
  return row === null || row['least_ms'] === null ? null : integer.read(row['least_ms']);
}
