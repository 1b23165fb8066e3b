import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createWalSync, type WalSync } from '@sluice/gateway/store/sql/sqlite/wal-sync.ts';
import { openSqlite } from '@sluice/gateway/store/sql/sqlite/sqlite.ts';
import { StoreUnavailableError } from '@sluice/gateway/store/store-unavailable.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

describe('committed data', () => {
  let dir: string;
  let file: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'sluice-wal-'));
    file = join(dir, 'test.db');
    writeFileSync(`${file}-wal`, '');
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  /** A disk that finishes a turn when the test says so. */
  function slowDisk(): { readonly disk: WalSync; readonly turns: { done(): void; fail(): void }[] } {
    const turns: { done(): void; fail(): void }[] = [];
    const disk = createWalSync(file, () => new Promise((done, fail) => void turns.push({ done, fail: () => fail(new Error('broken')) })));
    return { disk, turns };
  }

  /** Which of them have settled. */
  async function settled(...promises: readonly Promise<unknown>[]): Promise<readonly string[]> {
    const states = promises.map(() => 'open');
    for (const [i, promise] of promises.entries()) {
      promise.then(
        () => (states[i] = 'durable'),
        () => (states[i] = 'failed'),
      );
    }
    await new Promise((resolve) => setImmediate(resolve));
    return states;
  }

  it('is durable when a turn of the disk that began after the commit is finished, and shares the turn with others', async () => {
    const { disk, turns } = slowDisk();
    const first = disk.wrote();
    const second = disk.wrote();
    const third = disk.wrote();
    expect(turns).toHaveLength(1);
    expect(await settled(first, second, third)).toEqual(['open', 'open', 'open']);
    turns[0]!.done();
    expect(await settled(first, second, third)).toEqual(['durable', 'open', 'open']);
    expect(turns).toHaveLength(2);
    turns[1]!.done();
    expect(await settled(second, third)).toEqual(['durable', 'durable']);
    expect(turns).toHaveLength(2);
    await disk.close();
  });

  it('is returned to a reader when it is durable, and at once if it already is', async () => {
    const { disk, turns } = slowDisk();
    expect(await settled(disk.seen())).toEqual(['durable']);
    const write = disk.wrote();
    const read = disk.seen();
    expect(await settled(write, read)).toEqual(['open', 'open']);
    turns[0]!.done();
    expect(await settled(write, read, disk.seen())).toEqual(['durable', 'durable', 'durable']);
    expect(turns).toHaveLength(1);
    await disk.close();
  });

  it('is never confirmed any more once the disk has failed', async () => {
    const { disk, turns } = slowDisk();
    const [first, second] = [disk.wrote(), disk.wrote()];
    const outcomes = settled(first, second);
    turns[0]!.fail();
    expect(await outcomes).toEqual(['failed', 'failed']);
    await expect(disk.wrote()).rejects.toBeInstanceOf(StoreUnavailableError);
    await expect(disk.seen()).rejects.toBeInstanceOf(StoreUnavailableError);
    expect(turns).toHaveLength(1);
    await disk.close();
  });

  it('of another process is on the disk before it is returned, whether that process lives or was killed before', async () => {
    rmSync(`${file}-wal`);
    let letGo = (): void => undefined;
    const stuck = new Promise<void>((done) => (letGo = done));
    let flushed = 0;
    const counted = async (): Promise<void> => void flushed++;
    const writer = await openSqlite(file, { flush: () => stuck });
    const written = writer.run('CREATE TABLE numbers (n INTEGER PRIMARY KEY) STRICT');
    const reader = await openSqlite(file, { flush: counted });
    const count = 'SELECT count(*) AS count FROM numbers';
    expect([await reader.get(count), flushed]).toEqual([{ count: 0 }, 1]);
    expect([await reader.get(count), flushed]).toEqual([{ count: 0 }, 1]);
    const more = writer.run('INSERT INTO numbers (n) VALUES (1)');
    expect([await reader.get(count), flushed]).toEqual([{ count: 1 }, 2]);
    letGo();
    await Promise.all([written, more]);
    await Promise.all([writer.close(), reader.close()]);
  });

  it('is on the disk according to the log that SQLite writes', async () => {
    rmSync(`${file}-wal`);
    const db = await openSqlite(file);
    await db.run('CREATE TABLE numbers (n INTEGER PRIMARY KEY) STRICT');
    await Promise.all(Array.from({ length: 50 }, (_, n) => db.run('INSERT INTO numbers (n) VALUES (?)', n)));
    expect(await db.get('SELECT count(*) AS count FROM numbers')).toEqual({ count: 50 });
    await db.close();
    const again = await openSqlite(file);
    expect(await again.get('SELECT count(*) AS count FROM numbers')).toEqual({ count: 50 });
    await again.close();
  });
});
