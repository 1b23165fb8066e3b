import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Groups, type InTurn } from '@sluice/gateway/store/sql/sqlite/sqlite-groups.ts';
import { openSqlite } from '@sluice/gateway/store/sql/sqlite/sqlite.ts';
import type { Database } from '@sluice/gateway/store/sql/database.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

describe('concurrent transactions of SQLite', () => {
  let dir: string;
  let db: Database;
  /** Another process, as far as SQLite can tell. */
  let elsewhere: Database;
  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'sluice-groups-'));
    const file = join(dir, 'test.db');
    [db, elsewhere] = [await openSqlite(file), await openSqlite(file)];
    await db.run('CREATE TABLE numbers (n INTEGER PRIMARY KEY) STRICT');
  });
  afterEach(async () => {
    await db.close();
    await elsewhere.close();
    rmSync(dir, { recursive: true, force: true });
  });

  const add = (n: number, into = db): Promise<number> =>
    into.transaction('accounts', (sql) => sql.run('INSERT INTO numbers (n) VALUES (?)', n));
  const numbers = async (): Promise<readonly unknown[]> => (await elsewhere.all('SELECT n FROM numbers ORDER BY n')).map(({ n }) => n);

  it('are rolled back one by one if they throw', async () => {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 200 }, (_, i) =>
        db.transaction('accounts', async (sql) => {
          await sql.run('INSERT INTO numbers (n) VALUES (?)', i);
          await sql.run('INSERT INTO numbers (n) VALUES (?)', 1_000 + i);
          if (i % 3 === 0) throw new RangeError(`no ${i}`);
          return i;
        }),
      ),
    );
    const stored = Array.from({ length: 200 }, (_, i) => i).filter((i) => i % 3 !== 0);
    expect(await numbers()).toEqual([...stored, ...stored.map((i) => 1_000 + i)]);
    for (const [i, outcome] of outcomes.entries()) {
      if (i % 3 === 0) expect(outcome).toMatchObject({ status: 'rejected', reason: new RangeError(`no ${i}`) });
      else expect(outcome).toEqual({ status: 'fulfilled', value: i });
    }
  });

  it('each see the earlier ones, and a refused statement undoes no other transaction', async () => {
    const outcomes = await Promise.allSettled([add(1), add(2), add(1), add(3), add(2), add(4)]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled', 'rejected', 'fulfilled']);
    expect(await numbers()).toEqual([1, 2, 3, 4]);
    const counts = await Promise.all(
      Array.from({ length: 10 }, () =>
        db.transaction('accounts', async (sql) => {
          const row = await sql.get('SELECT count(*) AS count FROM numbers');
          await sql.run('INSERT INTO numbers (n) SELECT max(n) + 1 FROM numbers');
          return row?.['count'];
        }),
      ),
    );
    expect(counts).toEqual([4, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
  });

  it('stay in order with the calls around them', async () => {
    const count = async (): Promise<unknown> => (await db.get('SELECT count(*) AS count FROM numbers'))?.['count'];
    const outcomes = await Promise.all([add(1), count(), add(2), add(3), count(), add(4), db.run('DELETE FROM numbers'), add(5), count()]);
    expect(outcomes).toEqual([1, 1, 1, 1, 3, 1, 4, 1, 1]);
  });

  it('are answered when other processes can see them', async () => {
    const seen = await Promise.all(
      Array.from({ length: 100 }, async (_, i) => {
        await add(i);
        return (await elsewhere.get('SELECT n FROM numbers WHERE n = ?', i))?.['n'];
      }),
    );
    expect(seen).toEqual(Array.from({ length: 100 }, (_, i) => i));
  });

  it('of two processes are all stored', async () => {
    await Promise.all(Array.from({ length: 300 }, (_, i) => add(i, i % 2 === 0 ? db : elsewhere)));
    expect(await numbers()).toHaveLength(300);
  });
});

describe('a group of transactions', () => {
  /** A connection that refuses a statement, or loses its transaction, on request. */
  class FaultyConnection {
    inTransaction = false;
    readonly done: string[] = [];
    refuses = '';

    exec(sql: string): void {
      if (sql === this.refuses) throw new Error(`the disk refuses ${sql}`);
      if (sql === 'COMMIT' && !this.inTransaction) throw new Error('no transaction');
      this.done.push(sql);
      if (sql === 'BEGIN IMMEDIATE') this.inTransaction = true;
      if (sql === 'COMMIT' || sql === 'ROLLBACK') this.inTransaction = false;
    }
  }

  /** Three transactions that arrive during a turn, so that they form one group. */
  async function runThree(
    db: FaultyConnection,
    second: () => Promise<string>,
    durable = async (): Promise<void> => undefined,
  ): Promise<readonly PromiseSettledResult<string>[]> {
    let last: Promise<unknown> = Promise.resolve();
    const inTurn: InTurn = (work) => {
      const turn = last.then(work);
      last = turn.catch(() => undefined);
      return turn;
    };
    const groups = new Groups(db, inTurn, durable);
    return Promise.allSettled([groups.run(async () => 'first'), groups.run(second), groups.run(async () => 'third')]);
  }

  it('is one write', async () => {
    const db = new FaultyConnection();
    expect((await runThree(db, async () => 'second')).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled']);
    expect(db.done.filter((sql) => sql === 'BEGIN IMMEDIATE' || sql === 'COMMIT')).toEqual(['BEGIN IMMEDIATE', 'COMMIT']);
  });

  it('reports no success if the disk refuses it', async () => {
    const db = new FaultyConnection();
    db.refuses = 'COMMIT';
    expect((await runThree(db, async () => 'second')).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(db.done.at(-1)).toBe('ROLLBACK');
  });

  it('reports no success before the disk has it, and none at all if the disk fails', async () => {
    const db = new FaultyConnection();
    let reportDurable = (): void => undefined;
    const asked = new Promise<void>((ask) => {
      void runThree(
        db,
        async () => 'second',
        () => {
          ask();
          return new Promise((resolve) => (reportDurable = resolve));
        },
      ).then(() => db.done.push('reported'));
    });
    await asked;
    await new Promise((resolve) => setImmediate(resolve));
    expect(db.done.at(-1)).toBe('COMMIT');
    reportDurable();
    await new Promise((resolve) => setImmediate(resolve));
    expect(db.done.at(-1)).toBe('reported');
    const failed = await runThree(
      new FaultyConnection(),
      async () => 'second',
      () => Promise.reject(new Error('the disk is gone')),
    );
    expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  });

  it('is refused as a whole if one of its statements rolled all of it back', async () => {
    for (const isThrown of [true, false]) {
      const db = new FaultyConnection();
      const outcomes = await runThree(db, async () => {
        db.inTransaction = false;
        if (isThrown) throw new Error('disk full');
        return 'second';
      });
      expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
      expect(db.done).not.toContain('COMMIT');
    }
  });

  it('of one reports no success if its transaction is gone', async () => {
    const db = new FaultyConnection();
    const groups = new Groups(
      db,
      (work) => work(),
      async () => undefined,
    );
    const outcome = groups.run(async () => {
      db.inTransaction = false;
    });
    await expect(outcome).rejects.toThrow('no transaction');
  });
});
