import { createOrderLedger } from '@sluice/gateway/trade/order-ledger.ts';
import type { StoredOrder } from '@sluice/gateway/trade/order.ts';
import type { Store } from '@sluice/gateway/store/store.ts';
import type { Evidence } from '@sluice/gateway/trade/life.ts';
import { createLog } from '@sluice/shared/log/log.ts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newPlace, storeKinds, type StorePlace } from '../contract/store-harness.ts';
import { newOrder, orderFill } from '../support/orders.ts';
import { startPostgres, type TestPostgres } from '../support/postgres.ts';

const log = createLog({ level: 'silent', name: 'test' });
const nowMs = 1_800_000_000_000;

let postgres: TestPostgres;
beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres.stop());

describe.each(storeKinds)('the ledger of orders in %s', (kind) => {
  let place: StorePlace;
  let stores: readonly Store[];
  beforeEach(async () => {
    place = await newPlace(kind, postgres);
    stores = [await place.open(), await place.open()];
  });
  afterEach(() => place.end());

  /** One for each process, with what all of them told. */
  const ledgers = () => {
    const told: StoredOrder[] = [];
    const made = stores.map(({ orders }) => createOrderLedger({ orders, publisher: { tell: (order) => void told.push(order) }, log }));
    return { told, made, one: made[0]!, other: made[1]! };
  };
  const anyhow = { idempotency: null, spend: null, followedBy: 'gateway' };
  const stored = async (): Promise<StoredOrder> => {
    const outcome = await stores[0]!.orders.insert(newOrder(nowMs), anyhow);
    if (outcome.kind !== 'stored') throw new Error(`not stored: ${outcome.kind}`);
    return outcome.order;
  };

  it('stores each change before it is told, and tells it once', async () => {
    const { told, one } = ledgers();
    const outcome = await one.insert(newOrder(nowMs), anyhow);
    if (outcome.kind !== 'stored') throw new Error(`not stored: ${outcome.kind}`);
    const simulated = await one.apply(outcome.order, { kind: 'simulated' }, { timingJson: '{"totalMs":1}' });
    const sent = await one.apply(simulated, { kind: 'sending' });
    expect(await one.apply(sent, { kind: 'sending' })).toEqual(sent);
    expect(told).toEqual([outcome.order, simulated, sent]);
    expect(simulated.timingJson).toBe('{"totalMs":1}');
    expect(await stores[1]!.orders.byId(sent.id)).toEqual(sent);
    expect(one.counts).toEqual({ changes: 2, stale: 0, contradictions: 0 });
  });

  it('judges anew where another changed the order meanwhile', async () => {
    const { told, one, other } = ledgers();
    const order = await stored();
    const sent = await one.apply(order, { kind: 'sending' });
    const landed: Evidence = { kind: 'landed', commitment: 'processed', error: null, fill: null };
    const processed = await other.apply(order, landed);
    expect(processed).toMatchObject({ state: 'processed', version: 3 });
    expect(await one.apply(sent, { kind: 'sending' })).toEqual(sent);
    expect(await one.apply(sent, landed)).toEqual(processed);
    expect(other.counts.stale).toBe(1);
    expect(told.map(({ version }) => version)).toEqual([2, 3]);
  });

  it('changes nothing by what cannot be, and counts it', async () => {
    const { told, one } = ledgers();
    const order = await one.apply(await one.apply(await stored(), { kind: 'sending' }), { kind: 'expired' });
    const landed: Evidence = { kind: 'landed', commitment: 'finalized', error: null, fill: orderFill };
    expect(await one.apply(order, landed)).toEqual(order);
    expect(one.counts.contradictions).toBe(1);
    expect(told).toHaveLength(2);
    const ghost = { ...order, id: 'ord_none', state: 'submitted' as const };
    await expect(one.apply(ghost, landed)).rejects.toThrow('ord_none');
  });

  it('takes many findings at once, each for itself', async () => {
    const { one } = ledgers();
    const orders = [await stored(), await stored(), await stored(), await stored()];
    const moved = await one.apply(orders[1]!, { kind: 'sending' });
    const results = await one.applyAll([
      { order: orders[0]!, evidence: { kind: 'sending' } },
      { order: orders[1]!, evidence: { kind: 'sending' } },
      { order: orders[2]!, evidence: { kind: 'gone' } },
      { order: orders[3]!, evidence: { kind: 'landed', commitment: 'confirmed', error: null, fill: orderFill } },
    ]);
    expect(results.map(({ id, state }) => [id, state])).toEqual([
      [orders[0]!.id, 'submitted'],
      [moved.id, 'submitted'],
      [orders[2]!.id, 'accepted'],
      [orders[3]!.id, 'confirmed'],
    ]);
    expect(results[1]).toEqual(moved);
    expect(await one.applyAll([])).toEqual([]);
  });

  it('of two that follow one order, both come to the same end, and each change is told by one', async () => {
    const { told, made } = ledgers();
    const orders = await Promise.all(Array.from({ length: 10 }, stored));
    const course: readonly Evidence[] = [
      { kind: 'simulated' },
      { kind: 'sending' },
      { kind: 'landed', commitment: 'processed', error: null, fill: null },
      { kind: 'landed', commitment: 'confirmed', error: null, fill: orderFill },
      { kind: 'landed', commitment: 'finalized', error: null, fill: orderFill },
    ];
    const ends = await Promise.all(
      orders.flatMap((order) =>
        made.map(async (ledger) => {
          let now = order;
          for (const evidence of course) now = await ledger.apply(now, evidence);
          return now;
        }),
      ),
    );
    for (const end of ends) expect(end).toMatchObject({ state: 'finalized', fill: orderFill });
    for (const { id } of orders) {
      const events = await stores[0]!.orders.events(id);
      expect(events.map(({ state }) => state)).toEqual(['accepted', 'simulated', 'submitted', 'processed', 'confirmed', 'finalized']);
      const versions = told.filter((order) => order.id === id).map(({ version }) => version);
      expect(versions.toSorted((a, b) => a - b)).toEqual([2, 3, 4, 5, 6]);
    }
  });
});
