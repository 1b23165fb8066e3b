import { isMarkedHalted, removeHaltMarks, signerFolder } from '@sluice/gateway/store/halt/halt-mark.ts';
import type { IdempotencyUse } from '@sluice/gateway/store/order-model/order.ts';
import type { InsertOutcome } from '@sluice/gateway/store/sql/tables/orders/orders.ts';
import type { Store } from '@sluice/gateway/store/store.ts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newPlace, storeKinds, type StorePlace } from '../contract/store-harness.ts';
import { newOrder, orderFill, orderGenesisHash } from '../support/orders.ts';
import { sharedPostgres, type SharedPostgres } from '../support/servers/postgres.ts';
import { missingRelease, released, releasedStores, type ReleasedStore, type ReleasedStores } from './released.ts';

const nowMs = Date.now();
const owner = 'key:key';
const minuteMs = 60_000;

function use(key: string, endpoint = 'tradeBuy', body = 1): IdempotencyUse {
  return { endpoint, key, fingerprint: new Uint8Array(32).fill(body) };
}

function insert(store: Pick<ReleasedStore | Store, 'orders'>, idempotency: IdempotencyUse, followedBy: string): Promise<InsertOutcome> {
  const spend = { wallet: 'wallet', lamports: 1n, dayLimitLamports: 1_000n };
  return store.orders.insert(newOrder(nowMs), { idempotency, spend, followedBy });
}

const missing = missingRelease();
const skipped = missing === null ? '' : ` (skipped: ${missing})`;

describe.skipIf(missing !== null).each(storeKinds)(`a store in %s that ${released.version} and this version use${skipped}`, (storeKind) => {
  let postgres: SharedPostgres;
  let stores: ReleasedStores;
  let place: StorePlace;
  let opened: { close(): Promise<void> }[];
  beforeAll(async () => {
    [postgres, stores] = await Promise.all([sharedPostgres(), releasedStores()]);
  });
  afterAll(() => stores.remove());
  beforeEach(async () => {
    opened = [];
    place = await newPlace(storeKind, postgres);
  });
  afterEach(async () => {
    for (const one of opened) await one.close();
    await place.end();
  });

  const openReleased = async (): Promise<ReleasedStore> => {
    const store = await stores.open(place.settings);
    opened.push(store);
    return store;
  };

  const idOf = (outcome: InsertOutcome): string => {
    expect(outcome.kind).toBe('stored');
    return outcome.kind === 'stored' ? outcome.order.id : '';
  };

  it('has every order for its key, in both versions, before, during and after the upgrade', async () => {
    const before = await openReleased();
    const first = idOf(await insert(before, use('one'), 'released'));
    // The upgrade begins: the process of the release goes on.
    const now = await place.open();
    const second = idOf(await insert(now, use('two'), 'now'));
    const third = idOf(await insert(before, use('three'), 'released'));
    // The way back: a process of the release starts.
    const after = await openReleased();
    const fourth = idOf(await insert(after, use('four'), 'released'));
    const orders = Object.entries({ one: first, two: second, three: third, four: fourth });
    for (const [key, id] of orders) {
      const replay = { kind: 'replay', order: { id } };
      expect(await now.orders.lookUp(owner, use(key)), key).toMatchObject(replay);
      expect(await insert(now, use(key), 'now'), key).toMatchObject(replay);
      for (const store of [before, after]) {
        expect(await store.orders.lookUp(owner, use(key), nowMs), key).toMatchObject(replay);
        expect(await insert(store, use(key), 'released'), key).toMatchObject(replay);
        expect(await store.orders.lookUp(owner, use(key, 'tradeBuy', 2), nowMs), key).toEqual({ kind: 'mismatch' });
      }
      expect(await now.orders.lookUp(owner, use(key, 'tradeBuy', 2)), key).toEqual({ kind: 'mismatch' });
      expect(await now.orders.lookUp(owner, use(key, 'tradeSell')), key).toEqual({ kind: 'mismatch' });
    }
    expect(await after.orders.spentLamports('wallet', nowMs)).toBe(4n);
    expect(await now.orders.spentLamports('wallet', nowMs)).toBe(4n);
  });

  it('takes one order for a key that both versions use at once', async () => {
    const [before, now] = [await openReleased(), await place.open()];
    for (let n = 0; n < 20; n++) {
      const outcomes = await Promise.all([insert(before, use(`${n}`), 'released'), insert(now, use(`${n}`), 'now')]);
      expect(outcomes.map(({ kind }) => kind).toSorted()).toEqual(['replay', 'stored']);
    }
  });

  it('lets each version take over and finish the orders of the other', async () => {
    const [before, now] = [await openReleased(), await place.open()];
    const ids = [idOf(await insert(before, use('one'), 'gone')), idOf(await insert(now, use('two'), 'gone'))];
    for (const store of [before, now]) {
      const claim = { gatewayId: 'next', genesisHash: orderGenesisHash, nowMs, untilMs: nowMs + minuteMs, limit: 10 };
      await store.orders.claim(claim);
      const open = await store.orders.openOf({ gatewayId: 'next', genesisHash: orderGenesisHash }, null, 10);
      expect(open.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
      const [order] = open;
      const outcomes = await store.orders.advanceAll([{ order: order!, change: { state: 'processed', fill: orderFill }, atMs: nowMs }]);
      expect(outcomes).toMatchObject([{ kind: 'advanced' }]);
      for (const reader of [before, now])
        expect(await reader.orders.byId(order!.id)).toMatchObject({ state: 'processed', fill: orderFill });
      await store.orders.advanceAll([
        { order: { ...order!, version: order!.version + 1, state: 'processed' }, change: { state: 'finalized' }, atMs: nowMs },
      ]);
      ids.splice(ids.indexOf(order!.id), 1);
    }
  });

  it('is halted and resumed by each version, for both', async () => {
    const [before, now] = [await openReleased(), await place.open()];
    for (const store of [before, now]) {
      await store.halt.set(true, 'a drill', nowMs);
      for (const reader of [before, now, await openReleased()])
        expect(await reader.halt.read()).toMatchObject({ halted: true, reason: 'a drill' });
      await store.halt.set(false, null, nowMs);
      removeHaltMarks(place.settings);
      expect(isMarkedHalted(signerFolder(place.settings))).toBe(false);
      for (const reader of [before, now]) expect(await reader.halt.read()).toMatchObject({ halted: false });
    }
  });
});
