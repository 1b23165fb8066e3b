import { createHash } from 'node:crypto';
import { idempotencyRetentionMs, orderRetentionMs } from '@sluice/gateway/store/sql/tables/orders/order-claims.ts';
import type { IdempotencyOutcome } from '@sluice/gateway/store/sql/tables/orders/orders.ts';
import type { SpendReservation } from '@sluice/gateway/store/sql/tables/orders/order-spend.ts';
import type { IdempotencyUse, StoredOrder } from '@sluice/gateway/store/order-model/order.ts';
import type { Database } from '@sluice/gateway/store/sql/database.ts';
import { hourMs, RunningHours } from '@sluice/gateway/store/sql/running-hours.ts';
import { StoreTime } from '@sluice/gateway/store/sql/store-time.ts';
import type { Store } from '@sluice/gateway/store/store.ts';
import { AgreedTime } from '@sluice/shared/runtime/clock/agreed-time.ts';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { manualClock, type ManualClock } from '../support/clocks.ts';
import { newOrder, orderGenesisHash } from '../support/orders.ts';
import { sharedPostgres, type SharedPostgres } from '../support/servers/postgres.ts';
import { until } from '../support/until.ts';
import { newPlace, storeKinds, type StorePlace } from './store-harness.ts';

let postgres: SharedPostgres;
beforeAll(async () => {
  postgres = await sharedPostgres();
});

const dayMs = 24 * hourMs;
const failed = { code: 'SIMULATION_FAILED', message: 'It failed.', detailsJson: '{}' } as const;

describe.each(storeKinds)('time in %s', (kind) => {
  let place: StorePlace;
  let store: Store;
  let db: Database;
  let clock: ManualClock;
  beforeEach(async () => {
    place = await newPlace(kind, postgres);
    [store, db, clock] = [await place.open(), await place.database(), manualClock()];
  });
  afterEach(() => place.end());

  const use = (key: string): IdempotencyUse => ({ endpoint: 'tradeBuy', key, fingerprint: createHash('sha256').update(key).digest() });
  const lookUp = async (key: string): Promise<IdempotencyOutcome['kind']> => (await store.orders.lookUp('key:key', use(key))).kind;
  const spend: SpendReservation = { wallet: 'wallet', lamports: 1_000n, dayLimitLamports: 1_000n };
  const insert = async (key: string, reserved: SpendReservation | null = null): Promise<StoredOrder> => {
    const extra = { idempotency: use(key), spend: reserved, followedBy: 'gateway' };
    const outcome = await store.orders.insert(newOrder(clock.wallMs()), extra);
    if (outcome.kind !== 'stored') throw new Error(`not stored: ${outcome.kind}`);
    return outcome.order;
  };
  const end = async (order: StoredOrder): Promise<void> =>
    void (await store.orders.advanceAll([{ order, change: { state: 'failed', error: failed }, atMs: clock.wallMs() }]));
  /** What the follower of a gateway does every few seconds, at which the store deletes. */
  const claim = async (wallMs = clock.wallMs()): Promise<void> => {
    const times = { nowMs: wallMs, untilMs: wallMs + 15_000 };
    await store.orders.claim({ gatewayId: 'gateway', genesisHash: orderGenesisHash, limit: 10, ...times });
  };

  describe('what is old', () => {
    it('is deleted after hours in which the store was in use, and nothing that is open', async () => {
      const hours = new RunningHours(db, clock);
      await hours.record(clock.wallMs());
      const order = await insert('k', spend);
      await end(order);
      const open = await insert('open');
      const has = async (): Promise<readonly unknown[]> => {
        await claim();
        const sum = await db.get('SELECT count(*) AS sums FROM order_spend');
        return [await lookUp('k'), sum?.['sums'], (await store.orders.byId(order.id)) !== null];
      };
      await clock.pass(idempotencyRetentionMs - 1);
      await hours.record(clock.wallMs());
      expect(await has()).toEqual(['replay', 1, true]);
      await clock.pass(hourMs + 1);
      await hours.record(clock.wallMs());
      expect(await has()).toEqual(['fresh', 1, true]);
      await clock.pass(7 * dayMs);
      await hours.record(clock.wallMs());
      expect(await has()).toEqual(['fresh', 0, true]);
      await clock.pass(orderRetentionMs);
      await hours.record(clock.wallMs());
      expect(await has()).toEqual(['fresh', 0, false]);
      expect(await store.orders.events(order.id)).toEqual([]);
      expect([await lookUp('open'), await store.orders.byId(open.id)]).toEqual(['replay', open]);
      expect((await insert('k')).id).not.toBe(order.id);
    });

    it.each([dayMs, 500 * dayMs, -500 * dayMs])('is not decided by a clock that jumps by %d ms', async (jumpMs) => {
      const [right, wrong] = [new RunningHours(db, clock), new RunningHours(db, clock)];
      await right.record(clock.wallMs());
      const before = await insert('before', spend);
      await end(before);
      const meanwhile = [before];
      // Hour after hour one gateway is right, and another one is wrong and does the deleting.
      for (let hour = 0; hour < 24; hour++) {
        await right.record(clock.wallMs());
        clock.jump(jumpMs);
        await wrong.record(clock.wallMs());
        const order = await insert(`wrong ${hour}`);
        await end(order);
        meanwhile.push(order);
        await claim();
        clock.jump(-jumpMs);
        await claim();
        await clock.pass(hourMs - 1);
      }
      expect(await lookUp('before')).toBe('replay');
      for (let hour = 0; hour < 24; hour++) expect(await lookUp(`wrong ${hour}`), `hour ${hour}`).toBe('replay');
      for (const { id } of meanwhile) expect(await store.orders.byId(id)).not.toBeNull();
      expect(await db.get('SELECT count(*) AS sums FROM order_spend')).toEqual({ sums: 1 });
    });

    it('does not grow older while no gateway runs, nor faster while several do', async () => {
      const first = new RunningHours(db, clock);
      await first.record(clock.wallMs());
      await end(await insert('k'));
      clock.jump(30 * dayMs);
      const gateways = Array.from({ length: 30 }, () => new RunningHours(db, clock));
      for (let hour = 0; hour < 23; hour++) {
        for (const gateway of gateways) await gateway.record(clock.wallMs());
        await claim();
        await clock.pass(hourMs);
      }
      expect(await lookUp('k')).toBe('replay');
    });
  });

  it('counts what a clock that was ahead reserved for a later day, and releases it', async () => {
    const atMs = clock.wallMs();
    clock.jump(3 * dayMs);
    const order = await insert('ahead', spend);
    expect(await store.orders.spentLamports('wallet', atMs)).toBe(1_000n);
    const today = newOrder(atMs);
    const extra = { idempotency: null, spend: { ...spend, lamports: 1n }, followedBy: 'gateway' };
    const refused = { kind: 'over_day_limit', spentLamports: 1_000n, limitLamports: 1_000n };
    expect(await store.orders.insert(today, extra)).toEqual(refused);
    await end(order);
    expect(await store.orders.insert(today, extra)).toMatchObject({ kind: 'stored' });
    expect(await store.orders.insert(newOrder(atMs), { ...extra, spend })).toEqual({ ...refused, spentLamports: 1n });
  });

  describe('a gateway', () => {
    /** The database's clock is the test's, and independent of this machine's. */
    const watched = async (): Promise<{ time: AgreedTime; log: unknown[]; database: ManualClock; look: () => Promise<void> }> => {
      const database = manualClock();
      let looks = 0;
      const read = async (): Promise<{ ms: number }> => ({ ms: database.wallMs() });
      const seen: Database = {
        ...db,
        dialect: { ...db.dialect, clock: kind === 'SQLite' ? null : 'clock' },
        get: (sql, ...values) => (sql === 'clock' ? read() : db.get(sql, ...values)),
      };
      const time = new AgreedTime(clock, () => clock.steadyMs());
      const [storeTime, log] = [new StoreTime(seen, time), [] as unknown[]];
      const note = (data: object, name: string): void => void log.push([name, data]);
      await storeTime.hear(clock);
      await storeTime.watch({ parties: {}, log: { info: note as never, warn: note as never }, clock, onLook: () => void looks++ });
      const look = async (): Promise<void> => {
        const before = looks;
        await database.pass(10_000);
        await clock.pass(10_000);
        await until('a look at the clocks', () => looks > before);
      };
      return { time, log, database, look };
    };

    it('goes on with the time before a jump, logs it once, and deletes nothing', async () => {
      const { time, log, look } = await watched();
      await end(await insert('k'));
      const realMs = clock.wallMs();
      clock.jump(500 * dayMs);
      for (let looks = 0; looks < 10; looks++) await look();
      await claim(time.nowMs());
      await claim(clock.wallMs());
      // The reading of the database takes a moment.
      expect(Math.abs(time.nowMs() - realMs - 100_000)).toBeLessThan(1_000);
      expect(log).toEqual([['clock_disagrees', { reason: expect.stringMatching(/^The clock of this machine is 43200000 s ahead of /) }]]);
      expect(await lookUp('k')).toBe('replay');
      clock.jump(-500 * dayMs);
      await look();
      expect([log.length, log[1], time.fault()]).toEqual([2, ['clock_agrees', {}], null]);
    });

    it('logs that the store was last used long before, which its clock may be wrong about', async () => {
      await new RunningHours(db, clock).record(clock.wallMs() - 2 * dayMs);
      const { log } = await watched();
      expect(log).toEqual([['clock_far_from_last_use', { hoursLater: 48 }]]);
    });

    it('stores nothing with a time that no recorded hour has', async () => {
      const { time, database, look } = await watched();
      for (const one of [clock, database]) {
        one.jump(-2 * dayMs);
        await look();
      }
      const followed = kind === 'PostgreSQL';
      const least = Number((await db.get('SELECT min(least_ms) AS least FROM running_hours'))?.['least']);
      expect(time.nowMs() >= least && clock.wallMs() >= least).toBe(true);
      expect(time.nowMs() - clock.wallMs() < dayMs).toBe(followed);
    });
  });
});
