import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openPostgres } from '@sluice/gateway/store/sql/postgres.ts';
import { openSqlite } from '@sluice/gateway/store/sql/sqlite/sqlite.ts';
import type { Database } from '@sluice/gateway/store/sql/database.ts';
import { RunningHours } from '@sluice/gateway/store/sql/running-hours.ts';
import { openStore, type Store } from '@sluice/gateway/store/store.ts';
import { loaderOptions } from '../loader/options.ts';
import type { SharedPostgres } from '../support/servers/postgres.ts';

export const storeKinds = ['SQLite', 'PostgreSQL'] as const;
export type StoreKind = (typeof storeKinds)[number];

/** An empty store of one test. It can be opened several times: to the store, each handle is another process. */
export interface StorePlace {
  readonly settings: { readonly dataDir: string; readonly databaseUrl: string | null };
  open(): Promise<Store>;
  /** The database behind it. */
  database(): Promise<Database>;
  /** Closes every handle and removes the files on the disk. */
  end(): Promise<void>;
}

export async function newPlace(kind: StoreKind, postgres: SharedPostgres): Promise<StorePlace> {
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-store-'));
  const databaseUrl = kind === 'SQLite' ? null : await postgres.newDatabase();
  const opened: { close(): Promise<void> }[] = [];
  const tracked = <T extends { close(): Promise<void> }>(handle: T): T => {
    opened.push(handle);
    return handle;
  };
  const settings = { dataDir, databaseUrl };
  return {
    settings,
    open: async () => tracked(await openStore(settings)),
    database: async () => tracked(await (databaseUrl === null ? openSqlite(join(dataDir, 'sluice.db')) : openPostgres(databaseUrl))),
    end: async () => {
      for (const handle of opened) await handle.close();
      if (databaseUrl !== null) await postgres.dropDatabase(databaseUrl);
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** A store that has been in use since `startMs`. The function that it returns lets it be in use until another time. */
export async function storeInUse(db: Database, startMs: number): Promise<(untilMs: number) => Promise<void>> {
  let nowMs = startMs;
  const hours = new RunningHours(db, { steadyMs: () => nowMs });
  await hours.record(nowMs);
  return async (untilMs) => {
    nowMs = untilMs;
    await hours.record(nowMs);
  };
}

const child = fileURLToPath(new URL('store-child.ts', import.meta.url));

/** Separate processes that receive the same task at the same moment. */
export interface StoreProcesses {
  all(task: object): Promise<readonly unknown[]>;
  end(): void;
}

export async function startProcesses(count: number): Promise<StoreProcesses> {
  const processes = await Promise.all(Array.from({ length: count }, startProcess));
  return {
    all: (task) => Promise.all(processes.map((one) => ask(one, task))),
    end: () => {
      for (const one of processes) one.kill('SIGKILL');
    },
  };
}

async function startProcess(): Promise<ChildProcess> {
  const started = fork(child, [], { execArgv: [...loaderOptions], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  await once(started, 'message');
  return started;
}

async function ask(one: ChildProcess, task: object): Promise<unknown> {
  const answer = once(one, 'message');
  one.send(task);
  const [reply] = (await answer) as [{ readonly result?: unknown; readonly error?: string }];
  if (reply.error !== undefined) throw new Error(reply.error);
  return reply.result;
}
