import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SqliteDatabase } from '@sluice/gateway/store/libsql.ts';
import { openSqlite } from '@sluice/gateway/store/sql/sqlite/sqlite.ts';
import { pairFault } from '@sluice/gateway/store/sql/sqlite/wal-pair.ts';
import type { Database } from '@sluice/gateway/store/sql/database.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { manualClock, type ManualClock } from '../support/clocks.ts';
import { fuzzCases } from '../support/fuzz.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-pair-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Numbers from 0 to 1 that depend on the seed only. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A store in which every number from 0 was written, in order, and the processes that use it, end, and are killed. */
class World {
  readonly random: () => number;
  readonly #clock: ManualClock = manualClock();
  #folders = 0;
  #file: string;
  #services: Database[] = [];
  written = 0;

  constructor(seed: number) {
    this.random = randomOf(seed);
    this.#file = this.#newFile();
  }

  get file(): string {
    return this.#file;
  }

  #newFile(): string {
    const inside = join(folder, `${this.#folders++}`);
    mkdirSync(inside);
    return join(inside, 'store.db');
  }

  /** After a step the log is stamped. `between` is called at times when it may not be stamped yet. */
  async step(between: () => Promise<void>): Promise<void> {
    const roll = this.random();
    if (roll < 0.5) await this.#write(between);
    else if (roll < 0.6) await this.#services.pop()?.close();
    else if (roll < 0.7) this.#kill();
    else if (roll < 0.8) await this.#open();
    else this.#foreignCheckpoint();
    await between();
    await this.#look();
    if (this.#services.length === 0) await this.#open();
  }

  /** Lets the services look at the log. */
  async #look(): Promise<void> {
    await this.#clock.pass(1_000);
  }

  async #open(): Promise<void> {
    const options = { use: 'service', clock: this.#clock, checkpointPages: 20, flush: async () => undefined } as const;
    const service = await openSqlite(this.#file, options);
    this.#services = [...this.#services.slice(-1), service];
    await service.run('CREATE TABLE IF NOT EXISTS numbers (n INTEGER PRIMARY KEY, pad BLOB NOT NULL) STRICT');
    await this.#look();
  }

  async #write(between: () => Promise<void>): Promise<void> {
    for (let left = Math.ceil(this.random() * 20); left > 0; left--) {
      const service = this.#services[left % this.#services.length];
      if (service === undefined) return;
      const pad = new Uint8Array(Math.floor(this.random() * 3_000));
      await service.run('INSERT INTO numbers (n, pad) VALUES (?, ?)', this.written, pad);
      this.written++;
      // Old pages change too.
      const change = 'UPDATE numbers SET pad = ? WHERE n = ?';
      await service.run(change, new Uint8Array(10), Math.floor(this.random() * this.written));
      if (left % 5 === 0) await between();
      await this.#look();
    }
  }

  /** The files that all processes leave when they are killed now. */
  #kill(): void {
    if (!existsSync(this.#file)) return;
    const after = this.#newFile();
    copyPair(this.#file, this.#file, after);
    this.#file = after;
    this.#services = [];
  }

  /** A process of another version, or another program, which stores no stamps. */
  #foreignCheckpoint(): void {
    if (!existsSync(this.#file)) return;
    const other = new SqliteDatabase(this.#file);
    const modes = ['PASSIVE', 'RESTART', 'TRUNCATE'];
    other.exec(`PRAGMA wal_checkpoint(${modes[Math.floor(this.random() * modes.length)]})`);
    other.close();
  }
}

function copyPair(file: string, log: string, to: string): void {
  copyFileSync(file, to);
  if (existsSync(`${log}-wal`)) copyFileSync(`${log}-wal`, `${to}-wal`);
}

/** Whether SQLite reads from the pair what was written. Destroys the files. */
function isComplete(file: string, written: number): boolean {
  const db = new SqliteDatabase(file);
  try {
    const [sum] = db.prepare('SELECT count(*) AS count, coalesce(max(n), -1) AS last FROM numbers').all() as [
      { count: number; last: number },
    ];
    const [check] = db.pragma('integrity_check(1)') as [{ readonly integrity_check: string }];
    return sum.count === written && sum.last === written - 1 && check.integrity_check === 'ok';
  } catch {
    return false;
  } finally {
    db.close();
  }
}

const pageBytes = 4_096;

/** A file of which a checkpoint had copied only some pages, when its process was killed. */
function torn(before: string, after: string, random: () => number): Buffer {
  const [old, pages] = [readFileSync(before), readFileSync(after)];
  for (let at = 0; at + pageBytes <= old.length; at += pageBytes) if (random() < 0.5) old.copy(pages, at, at, at + pageBytes);
  return pages;
}

describe('a database file and its write-ahead log', () => {
  const seeds = Array.from({ length: fuzzCases(40) }, (_, index) => index + 1);
  it.each(seeds)('open together at any time, and never with a file of another time that they would destroy (seed %i)', async (seed) => {
    const world = new World(seed);
    const older: string[] = [];
    const mixed = join(folder, 'mixed');
    const mix = (file: string, log: string): void => {
      for (const end of ['', '-wal', '-shm']) rmSync(`${mixed}${end}`, { force: true });
      copyPair(file, log, mixed);
    };
    let [refused, accepted] = [0, 0];
    for (let step = 0; step < 40; step++) {
      await world.step(async () => expect(await pairFault(world.file), `during step ${step}`).toBeNull());
      if (world.written === 0) continue;
      const now = join(folder, `step-${step}`);
      copyPair(world.file, world.file, now);
      expect(await pairFault(now), `after step ${step}`).toBeNull();
      const hasLog = existsSync(`${now}-wal`) && statSync(`${now}-wal`).size > 0;
      for (const file of older.slice(-6)) {
        mix(file, now);
        const fault = await pairFault(mixed);
        if (fault !== null) refused++;
        if (fault !== null || !hasLog) continue;
        expect(isComplete(mixed, world.written), `step ${step} with ${file}`).toBe(true);
        accepted++;
        mix(file, now);
        writeFileSync(mixed, torn(file, now, world.random));
        expect(await pairFault(mixed), `step ${step} between ${file} and now`).toBeNull();
        expect(isComplete(mixed, world.written), `step ${step} between ${file} and now`).toBe(true);
      }
      older.push(now);
    }
    expect({ refused: refused > 0, accepted: accepted > 0 }).toEqual({ refused: true, accepted: true });
  });
});
