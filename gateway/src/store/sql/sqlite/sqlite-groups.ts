import { StoreUnavailableError } from '../../store-unavailable.ts';
import { whileBusy } from './sqlite-busy.ts';

/** Runs calls on the one connection, one after the other. */
export type InTurn = <T>(work: () => Promise<T>) => Promise<T>;

/** Maximum number of transactions in one group. It bounds how long a transaction waits for others. */
const maxGroup = 64;

/** The part of a SQLite connection that groups use. */
interface Connection {
  readonly inTransaction: boolean;
  exec(sql: string): unknown;
}

export interface Groups {
  /** Runs `work` in a transaction, isolated as if it were alone. */
  <T>(work: () => Promise<T>): Promise<T>;
  /** Later transactions join none of the groups that are waiting now. */
  close(): void;
}

/** A transaction of a group. `run` never rejects. `settle` reports its result, once the whole group is durable. */
interface Member {
  run(): Promise<'done' | 'thrown'>;
  settle(): void;
  fail(error: unknown): void;
}

/**
 * Commits transactions that wait at the same time as one group, at about the cost of one. A transaction that throws is rolled back
 * alone. None is answered before the group is durable. The next group begins while `durable` still writes this one to the disk.
 */
export function createGroups(db: Connection, inTurn: InTurn, durable: () => Promise<void>): Groups {
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

/** Rejects if the whole group was rolled back. */
async function runGroup(db: Connection, group: readonly Member[]): Promise<void> {
  // IMMEDIATE takes the write lock now, so that no later statement of the group finds the file busy.
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
    // After some disk errors SQLite rolls back the whole transaction, including the work of the other members.
    if (!db.inTransaction) throw new StoreUnavailableError(new Error('SQLite rolled back the transaction after a disk error'));
    db.exec('ROLLBACK TO member');
  }
  db.exec('RELEASE member');
}
