import { StoreUnavailableError } from '../../store-unavailable.ts';
import { whileBusy } from '../../libsql.ts';

/** Runs calls on the one connection, one after the other. */
export type InTurn = <T>(work: () => Promise<T>) => Promise<T>;

/** Maximum number of transactions in one group. It bounds how long a transaction waits for others. */
const maxGroup = 64;

/** The part of a SQLite connection that groups use. */
interface Connection {
  readonly inTransaction: boolean;
  exec(sql: string): unknown;
}

/** A transaction of a group, and its outcome once it has run. */
interface Member {
  readonly work: () => Promise<unknown>;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
  outcome?: PromiseSettledResult<unknown>;
}

/**
 * Commits transactions that wait at the same time as one group, at about the cost of one. A transaction that throws is rolled back
 * alone. None is answered before the group is durable. The next group begins while `durable` still writes this one to the disk.
 */
export class Groups {
  readonly #db: Connection;
  readonly #inTurn: InTurn;
  readonly #durable: () => Promise<void>;
  /** The group that waits, which further transactions join. */
  #open: Member[] | null = null;

  constructor(db: Connection, inTurn: InTurn, durable: () => Promise<void>) {
    [this.#db, this.#inTurn, this.#durable] = [db, inTurn, durable];
  }

  /** Runs `work` in a transaction, isolated as if it were alone. */
  run<T>(work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const member: Member = { work, resolve: (result) => resolve(result as T), reject };
      if (this.#open !== null && this.#open.length < maxGroup) this.#open.push(member);
      else void this.#write((this.#open = [member]));
    });
  }

  /** Later transactions join none of the groups that are waiting now. */
  close(): void {
    this.#open = null;
  }

  async #write(group: Member[]): Promise<void> {
    try {
      await this.#inTurn(async () => {
        if (this.#open === group) this.#open = null;
        await runGroup(this.#db, group);
      });
      await this.#durable();
    } catch (error) {
      if (this.#open === group) this.#open = null;
      for (const { reject } of group) reject(error);
      return;
    }
    for (const { outcome, resolve, reject } of group) {
      if (outcome?.status === 'fulfilled') resolve(outcome.value);
      else reject(outcome?.reason);
    }
  }
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
  if (await succeeds(member)) db.exec('COMMIT');
  else if (db.inTransaction) db.exec('ROLLBACK');
}

async function runAmongOthers(db: Connection, member: Member): Promise<void> {
  db.exec('SAVEPOINT member');
  if (!(await succeeds(member))) {
    // After some disk errors SQLite rolls back the whole transaction, including the work of the other members.
    if (!db.inTransaction) throw new StoreUnavailableError(new Error('SQLite rolled back the transaction after a disk error'));
    db.exec('ROLLBACK TO member');
  }
  db.exec('RELEASE member');
}

async function succeeds(member: Member): Promise<boolean> {
  try {
    member.outcome = { status: 'fulfilled', value: await member.work() };
    return true;
  } catch (reason) {
    member.outcome = { status: 'rejected', reason };
    return false;
  }
}
