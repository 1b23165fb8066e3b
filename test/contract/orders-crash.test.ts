import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Store } from '@sluice/gateway/store/store.ts';
import { endStates, type StoredOrder } from '@sluice/gateway/store/order-model/order.ts';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { loaderOptions } from '../loader/options.ts';
import { isFullFuzz } from '../support/fuzz.ts';
import { orderGenesisHash } from '../support/orders.ts';
import { sharedPostgres, type SharedPostgres } from '../support/servers/postgres.ts';
import { newPlace, storeKinds, type StoreKind, type StorePlace } from './store-harness.ts';

const child = fileURLToPath(new URL('order-child.ts', import.meta.url));
/** Kills, and by how many lines each comes later than the previous one. */
const [rounds, linesApart] = isFullFuzz ? [6, 17] : [3, 42];
const nowMs = 1_800_000_000_000;

let postgres: SharedPostgres;
beforeAll(async () => {
  postgres = await sharedPostgres();
});

interface LastLine {
  readonly version: number;
  readonly key: string;
}

/** Runs a gateway until it has printed `lines` lines, kills it, and returns the last one of each order. */
async function killAfter(lines: number, { settings }: StorePlace, round: string): Promise<ReadonlyMap<string, LastLine>> {
  const { dataDir, databaseUrl } = settings;
  const started = spawn(process.execPath, [...loaderOptions, child, dataDir, databaseUrl ?? '', round], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lastLines = new Map<string, LastLine>();
  let count = 0;
  for await (const line of createInterface({ input: started.stdout })) {
    const [id = '', version = '', key = ''] = line.split(' ');
    lastLines.set(id, { version: Number(version), key });
    if (++count === lines) started.kill('SIGKILL');
  }
  if (started.exitCode === null && started.signalCode === null) await once(started, 'exit');
  expect(started.signalCode).toBe('SIGKILL');
  return lastLines;
}

/** Waits until PostgreSQL has finished the statements of a killed client: they may commit after the client is gone. */
async function statementsEnded(kind: StoreKind, place: StorePlace): Promise<void> {
  if (kind === 'SQLite') return;
  const database = await place.database();
  const others = `SELECT pid FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend' AND state <> 'idle'`;
  await expect.poll(async () => (await database.all(others)).length, { timeout: 60_000, interval: 10 }).toBe(0);
}

async function allOrders(store: Store): Promise<readonly StoredOrder[]> {
  const all: StoredOrder[] = [];
  for (let before: string | null = null; ;) {
    const page = await store.orders.page({ owner: 'key:key', before, state: null, limit: 500 });
    all.push(...page);
    before = page.at(-1)?.id ?? null;
    if (page.length < 500) return all;
  }
}

describe.each(storeKinds)('orders in %s, whose gateway is killed', (kind) => {
  it('are all stored completely as reported, and another process continues them', async () => {
    const place = await newPlace(kind, postgres);
    onTestFinished(() => place.end());
    const store = await place.open();
    const lastLines = new Map<string, LastLine>();
    for (let round = 0; round < rounds; round++) {
      for (const [id, one] of await killAfter(10 + linesApart * round, place, `gateway-${round}`)) lastLines.set(id, one);
      await statementsEnded(kind, place);
    }
    const orders = await allOrders(store);
    const byId = new Map(orders.map((order) => [order.id, order]));
    for (const [id, { version, key }] of lastLines) {
      const order = byId.get(id);
      expect(order?.version, id).toBeGreaterThanOrEqual(version);
      const use = { endpoint: 'tradeBuy', key, fingerprint: new Uint8Array(32) };
      expect(await store.orders.lookUp('key:key', use)).toMatchObject({ order: { id } });
    }
    for (const { id, version, state } of orders) {
      const events = await store.orders.events(id);
      expect(events.map((event) => event.version)).toEqual(Array.from({ length: version }, (_, i) => i + 1));
      expect(events.at(-1)?.state).toBe(state);
    }
    // A wallet's day counts what is stored and was not returned: not a lamport less, not one more.
    const counted = orders.filter(({ state }) => state !== 'failed').length;
    expect(await store.orders.spentLamports('wallet', nowMs)).toBe(BigInt(counted));
    const open = orders.filter(({ state }) => !endStates.has(state)).map(({ id }) => id);
    const taken = await store.orders.claim({
      gatewayId: 'another',
      genesisHash: orderGenesisHash,
      nowMs,
      untilMs: nowMs + 5_000,
      limit: 1_000,
    });
    expect(taken.map(({ id }) => id)).toEqual(open.toSorted());
    expect(lastLines.size).toBeGreaterThan(rounds * 4);
  });
});
