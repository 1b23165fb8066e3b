import { StoreAwayError } from '../store-away.ts';
import { whileBusy } from './sqlite-busy.ts';

/** Runs work on the one connection, one after the other. */
export type Turns = <T>(work: () => Promise<T>) => Promise<T>;

/** Transactions that are made durable together at most: what the last of them waits for beside its own. */
const maxGroup = 64;

/** What of a connection this needs. */
interface Connection {
  readonly inTransaction: boolean;
  exec(sql: string): unknown;
}

export interface Groups {
  /** Runs `work` in a transaction of its own, as far as it and everybody else can tell. */
  <T>(work: () => Promise<T>): Promise<T>;
  /** What comes from here on joins none of the groups that wait. */
  close(): void;
}

/** One of a group. `run` never rejects; `settle` says how it ended, once all are durable. */
interface Member {
  run(): Promise<'done' | 'thrown'>;
  settle(): void;
  fail(error: unknown): void;
}

/**
 * Transactions that wait at the same time are written together, at the cost of about one: each is undone by itself where it throws,
 * and none is answered before all are durable. The next ones begin while `durable` makes them so.
 */
export function createGroups(db: Connection, inTurn: Turns, durable: () => Promise<void>): Groups {
  let open: Member[] | null = null;
  const join = (member: Member): void => {
    if (open !== null && open.length < maxGroup) {
      open.push(member);
      return;
    }
    const group = [member];
    open = group;
    void write(group);
  };
  const write = async (group: Member[]): Promise<void> => {
    try {
      await inTurn(async () => {
        if (open === group) open = null;
        await runGroup(db, group);
      });
      await durable();
    } catch (error) {
      if (open === group) open = null;
      for (const one of group) one.fail(error);
      return;
    }
    for (const member of group) member.settle();
  };
  const inGroup = <T>(work: () => Promise<T>): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      let settle: () => void;
      join({
        run: async () => {
          try {
            const result = await work();
            settle = () => resolve(result);
            return 'done';
          } catch (error) {
            settle = () => reject(error);
            return 'thrown';
          }
        },
        settle: () => settle(),
        fail: reject,
      });
    });
  return Object.assign(inGroup, {
    close: () => {
      open = null;
    },
  });
}

/** Rejects where nothing of the group is stored. */
async function runGroup(db: Connection, group: readonly Member[]): Promise<void> {
  // The write lock is taken at once, so nothing behind it finds the file busy.
  await whileBusy(() => db.exec('BEGIN IMMEDIATE'));
  try {
    const [first] = group;
    if (first !== undefined && group.length === 1) await runAlone(db, first);
    else {
      for (const member of group) await runAmongOthers(db, member);
      db.exec('COMMIT');
    }
  } catch (error) {
    if (db.inTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

async function runAlone(db: Connection, member: Member): Promise<void> {
  if ((await member.run()) === 'done') db.exec('COMMIT');
  else if (db.inTransaction) db.exec('ROLLBACK');
}

async function runAmongOthers(db: Connection, member: Member): Promise<void> {
  db.exec('SAVEPOINT member');
  if ((await member.run()) === 'thrown') {
    // Some faults of the disk undo the whole transaction, and with it what the others did.
    if (!db.inTransaction) throw new StoreAwayError(new Error('the transaction was undone by SQLite, which could not go on with it'));
    db.exec('ROLLBACK TO member');
  }
  db.exec('RELEASE member');
}
