import { timingSafeEqual } from 'node:crypto';
import type { CheckTable } from '../../interfaces/check-table.ts';
import { blob, type Database } from '../database.ts';

export function checkTable(db: Database): CheckTable {
  const get: CheckTable['get'] = async (name) => {
    const row = await db.get('SELECT value FROM checks WHERE name = ?', name);
    return row === null ? null : blob(row['value']);
  };
  return {
    get,
    remove: async (name) => (await db.run('DELETE FROM checks WHERE name = ?', name)) > 0,
    agree: async (name, value) => {
      await db.run('INSERT INTO checks (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING', name, value);
      const stored = await get(name);
      return stored !== null && stored.length === value.length && timingSafeEqual(stored, value);
    },
  };
}
