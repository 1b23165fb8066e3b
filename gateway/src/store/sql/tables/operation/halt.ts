import { flag, integer, nullable, Table, text, type RowOf } from '../../columns.ts';
import type { Database } from '../../database.ts';

const halt = new Table('trading_halt', {
  halted: flag,
  /** The operator's reason for the last change. Null: none given. */
  reason: nullable(text),
  /** 0: never changed. */
  changedAtMs: integer,
});

export type StoredHalt = RowOf<typeof halt>;
export type HaltTable = ReturnType<typeof haltTable>;

/** The halt switch: it stops all trading on this store. */
export function haltTable(db: Database) {
  return {
    /** Rejects if the switch cannot be read; the caller must then treat trading as halted. */
    read: async (): Promise<StoredHalt> => {
      const stored = await halt.one(db, 'WHERE id = 1');
      if (stored === null) throw new Error('the table trading_halt is empty: the store has lost the halt switch');
      return stored;
    },
    /** Durable when it resolves. False: the switch was in this state already, and nothing changed. */
    set: async (halted: boolean, reason: string | null, atMs: number) => {
      const update = 'UPDATE trading_halt SET halted = ?, reason = ?, changed_at_ms = ? WHERE id = 1 AND halted <> ?';
      return (await db.run(update, Number(halted), reason, atMs, Number(halted))) > 0;
    },
  };
}
