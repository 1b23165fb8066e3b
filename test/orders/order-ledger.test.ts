import { systemClock } from '@sluice/shared/runtime/clock/clock.ts';
import { createOrderLedger } from '../../trading/src/model/order-ledger.ts';
import type { OpenOrder, StoredOrder, PublishedOrder } from '@sluice/gateway/store/order-model/order.ts';
import type { OrderTable } from '@sluice/gateway/store/sql/tables/orders/orders.ts';
import type { Store } from '@sluice/gateway/store/store.ts';
import type { Evidence } from '@sluice/gateway/store/order-model/life.ts';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newPlace, storeKinds, type StorePlace } from '../contract/store-harness.ts';
import { newOrder, orderFill } from '../support/orders.ts';
import { sharedPostgres, type SharedPostgres } from '../support/servers/postgres.ts';

const nowMs = 1_800_000_000_000;

let postgres: SharedPostgres;
beforeAll(async () => {
  postgres = await sharedPostgres();
});

describe.each(storeKinds)('the ledger of orders in %s', (kind) => {
  let place: StorePlace;
  let stores: readonly Store[];
  beforeEach(async () => {
    place = await newPlace(kind, postgres);
    stores = [await place.open(), await place.open()];
  });
  afterEach(() => place.end());

  /** One for each process, with what all of them published, and their contradictions with the store. */
  const ledgers = () => {
    const published: PublishedOrder[] = [];
    const contradicted: unknown[] = [];
    const log = { error: (data: object) => void contradicted.push(data) };
    const made = stores.map(({ orders }) =>
      createOrderLedger({ orders, publisher: { publish: (order) => void published.push(order) }, clock: systemClock, log }),
    );
    return { published, contradicted, made, one: made[0]!, other: made[1]! };
  };
  const anyhow = { idempotency: null, spend: null, followedBy: 'gateway' };
  const stored = async (): Promise<StoredOrder> => {
    const outcome = await stores[0]!.orders.insert(newOrder(nowMs), anyhow);
    if (outcome.kind !== 'stored') throw new Error(`not stored: ${outcome.kind}`);
    return outcome.order;
  };

  it('stores each change before it publishes it, and publishes it once', async () => {
    const { published, one } = ledgers();
    const outcome = await one.insert(newOrder(nowMs), anyhow);
    if (outcome.kind !== 'stored') throw new Error(`not stored: ${outcome.kind}`);
    const unknown = await one.apply(outcome.order, { kind: 'silence' });
    const sent = await one.apply(unknown, { kind: 'pending' });
    expect([unknown.state, sent.state]).toEqual(['unknown', 'submitted']);
    expect(await one.apply(sent, { kind: 'pending' })).toEqual(sent);
    expect(published).toEqual([outcome.order, unknown, sent]);
    expect(await stores[1]!.orders.byId(sent.id)).toEqual(sent);
    expect(await one.insert(newOrder(nowMs, { signature: sent.signature }), anyhow)).toEqual({ kind: 'known', order: sent });
    expect(published).toHaveLength(3);
  });

  it('decides again if another process changed the order meanwhile', async () => {
    const { published, one, other } = ledgers();
    const order = await stored();
    const unknown = await one.apply(order, { kind: 'silence' });
    const landed: Evidence = { kind: 'landed', commitment: 'processed', error: null, fill: null };
    const processed = await other.apply(order, landed);
    expect(processed).toMatchObject({ state: 'processed', version: 3 });
    // Silence does not undo what was seen in a block.
    expect(await one.apply(order, { kind: 'silence' })).toEqual(processed);
    expect(await one.apply(unknown, landed)).toEqual(processed);
    expect(published.map(({ version }) => version)).toEqual([2, 3]);
  });

  it('gives up on an order that changes each time before its own change is stored', async () => {
    const order = await stored();
    const tries: number[] = [];
    const restless: Pick<OrderTable, 'insert' | 'insertAll' | 'advanceAll'> = {
      insert: () => Promise.reject(new Error('not asked')),
      insertAll: () => Promise.reject(new Error('not asked')),
      advanceAll: async (advances) =>
        advances.map(({ order: { version } }) => {
          tries.push(version);
          return { kind: 'stale', order: { ...order, version: version + 1 } };
        }),
    };
    const log = { error: () => undefined };
    const ledger = createOrderLedger({ orders: restless, publisher: { publish: () => undefined }, clock: systemClock, log });
    await expect(ledger.apply(order, { kind: 'silence' })).rejects.toThrow(order.id);
    expect(tries).toEqual(Array.from({ length: 16 }, (_, i) => i + 1));
  });

  it('ignores impossible changes, and logs them', async () => {
    const { published, contradicted, one } = ledgers();
    const order = await one.apply(await stored(), { kind: 'expired' });
    const landed: Evidence = { kind: 'landed', commitment: 'finalized', error: null, fill: orderFill };
    expect(await one.apply(order, landed)).toEqual(order);
    expect(contradicted).toEqual([{ orderId: order.id, state: 'expired', evidence: 'landed' }]);
    expect(published).toEqual([order]);
    const ghost = { ...order, id: 'ord_none', state: 'submitted' as const };
    await expect(one.apply(ghost, landed)).rejects.toThrow('ord_none');
  });

  it('of two processes with one order, both reach the same end, and each change is published once', async () => {
    const { published, made } = ledgers();
    const orders = await Promise.all(Array.from({ length: 10 }, stored));
    const course: readonly Evidence[] = [
      { kind: 'landed', commitment: 'processed', error: null, fill: null },
      { kind: 'landed', commitment: 'confirmed', error: null, fill: orderFill },
      { kind: 'landed', commitment: 'finalized', error: null, fill: orderFill },
    ];
    const ends = await Promise.all(
      orders.flatMap((order) =>
        made.map(async (ledger) => {
          let now: OpenOrder = order;
          for (const evidence of course) now = await ledger.apply(now, evidence);
          return now;
        }),
      ),
    );
    for (const end of ends) expect(end).toMatchObject({ state: 'finalized', fill: orderFill });
    for (const { id } of orders) {
      const events = await stores[0]!.orders.events(id);
      expect(events.map(({ state }) => state)).toEqual(['submitted', 'processed', 'confirmed', 'finalized']);
      const versions = published.filter((order) => order.id === id).map(({ version }) => version);
      expect(versions.toSorted((a, b) => a - b)).toEqual([2, 3, 4]);
    }
  });
});
