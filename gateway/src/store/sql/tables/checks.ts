import { timingSafeEqual } from 'node:crypto';
import { blob, insertRow, Table } from '../columns.ts';
import type { Database } from '../database.ts';

const checks = new Table('checks', { value: blob });

export type CheckTable = ReturnType<typeof checkTable>;

/** Values by which machines that share a store check whether their files agree too, for example the pepper of the API keys. */
export function checkTable(db: Database) {
  const get = async (name: string): Promise<Uint8Array | null> => (await checks.one(db, 'WHERE name = ?', name))?.value ?? null;
  return {
    get,
    /** Stores the value if there is none. Returns whether the stored value equals this one. */
    agree: async (name: string, value: Uint8Array) => {
      await insertRow(db, 'checks', { name, value }, 'ON CONFLICT DO NOTHING');
      const stored = await get(name);
      return stored !== null && stored.length === value.length && timingSafeEqual(stored, value);
    },
    /** False: no such value. */
    remove: async (name: string) => (await db.run('DELETE FROM checks WHERE name = ?', name)) > 0,
  };
}
