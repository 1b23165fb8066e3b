import type { HaltTable } from '../../interfaces/halt-table.ts';
import { integer, textOrNull, type Database } from '../database.ts';

export function haltTable(db: Database): HaltTable {
  return {
    read: async () => {
      const row = await db.get('SELECT halted, reason, changed_at_ms FROM trading_halt WHERE id = 1');
      if (row === null) throw new Error('the table trading_halt is empty: the store has lost the halt switch');
      return { halted: integer(row['halted']) !== 0, reason: textOrNull(row['reason']), changedAtMs: integer(row['changed_at_ms']) };
    },
    set: async (halted, reason, atMs) => {
      const update = 'UPDATE trading_halt SET halted = ?, reason = ?, changed_at_ms = ? WHERE id = 1 AND halted <> ?';
      return (await db.run(update, halted ? 1 : 0, reason, atMs, halted ? 1 : 0)) > 0;
    },
  };
}
