import { randomBytes } from 'node:crypto';
import { maxAdvances, type InsertOutcome, type OrderInsert, type OrderToInsert } from '@sluice/gateway/store/sql/tables/orders/orders.ts';
import type { SpendReservation } from '@sluice/gateway/store/sql/tables/orders/order-spend.ts';
import {
  keyOfOrder,
  type IdempotencyUse,
  type NewOrder,
  type OpenOrder,
  type OrderChange,
  type StoredOrder,
} from '@sluice/gateway/store/order-model/order.ts';
import { orderTable } from '../../gateway/src/store/sql/tables/orders/orders.ts';
import { StoreUnavailableError } from '@sluice/gateway/store/store-unavailable.ts';
import type { Store } from '@sluice/gateway/store/store.ts';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newOrder, orderFill, orderGenesisHash, signedMessage } from '../support/orders.ts';
import { sharedPostgres, type SharedPostgres } from '../support/servers/postgres.ts';
import { newPlace, storeKinds, type StorePlace } from './store-harness.ts';

let postgres: SharedPostgres;
beforeAll(async () => {
  postgres = await sharedPostgres();
});

const nowMs = 1_800_000_000_000;
const dayMs = 24 * 3_600_000;
const gatewayId = 'gateway-a';
const ours = { gatewayId, genesisHash: orderGenesisHash };
const refusal = { code: 'SIMULATION_FAILED', message: 'It failed.', detailsJson: '{"program":"p"}' } as const;

const use = (key: string, body = 1): IdempotencyUse => ({ endpoint: 'tradeBuy', key, fingerprint: new Uint8Array(32).fill(body) });

describe.each(storeKinds)('orders in %s', (kind) => {
  let place: StorePlace;
  let store: Store;
  /** Another process, as far as the store can tell. */
  let elsewhere: Store;
  beforeEach(async () => {
    place = await newPlace(kind, postgres);
    [store, elsewhere] = [await place.open(), await place.open()];
  });
  afterEach(() => place.end());

  const insert = (order: NewOrder, more: Partial<OrderInsert> = {}, into = store): Promise<InsertOutcome> =>
    into.orders.insert(order, { idempotency: null, spend: null, followedBy: gatewayId, ...more });
  const stored = async (more: Partial<NewOrder> = {}, with_: Partial<OrderInsert> = {}): Promise<StoredOrder> => {
    const outcome = await insert(newOrder(nowMs, more), with_);
    if (outcome.kind !== 'stored') throw new Error(`not stored: ${outcome.kind}`);
    return outcome.order;
  };
  const advance = async (order: OpenOrder, change: OrderChange, atMs = nowMs): Promise<OpenOrder> => {
    const [outcome] = await store.orders.advanceAll([{ order, change, atMs }]);
    if (outcome?.kind !== 'advanced') throw new Error(`not advanced: ${outcome?.kind}`);
    return outcome.order;
  };

  describe('one order', () => {
    it('is returned as stored, by every kind of lookup', async () => {
      const order = newOrder(nowMs, { accountId: 'account', quoteJson: '{"inAmount":"1"}', timingJson: '{"totalMs":1.5}' });
      const outcome = await insert(order);
      const expected = { ...order, updatedAtMs: nowMs, version: 1 };
      expect(outcome).toEqual({ kind: 'stored', order: expected });
      expect(await elsewhere.orders.byId(order.id)).toEqual(expected);
      expect(await elsewhere.orders.bySignature(order.signature!)).toEqual([expected]);
      expect(await elsewhere.orders.page({ owner: 'account:account', before: null, state: null, limit: 10 })).toEqual([expected]);
      expect(await elsewhere.orders.openOf(ours, null, 10)).toEqual([expected]);
      expect(await elsewhere.orders.openIdsOf(ours, null, 10)).toEqual([{ id: expected.id, createdAtMs: nowMs }]);
      expect(await elsewhere.orders.byId('another')).toBeNull();
      expect(await elsewhere.orders.bySignature('another')).toEqual([]);
    });

    it('stores its outcome, to the last digit, with every step', async () => {
      const message = signedMessage();
      const first = await stored({ ...message, quoteJson: '{"inAmount":"1"}', timingJson: '{"totalMs":2}' });
      let order = await advance(first, { state: 'unknown' }, nowMs + 1);
      order = await advance(order, { state: 'submitted' }, nowMs + 2);
      order = await advance(order, { state: 'processed', fill: orderFill }, nowMs + 3);
      order = await advance(order, { state: 'confirmed' }, nowMs + 4);
      order = await advance(order, { state: 'failed', error: refusal }, nowMs + 5);
      const became = { state: 'failed', fill: orderFill, error: refusal, updatedAtMs: nowMs + 5, version: 6 };
      expect(order).toEqual({ ...first, ...became });
      expect(order).toMatchObject(message);
      expect(await elsewhere.orders.byId(order.id)).toEqual(order);
      expect(await elsewhere.orders.events(order.id)).toEqual([
        { version: 1, state: 'submitted', atMs: nowMs, changed: ['signed', 'timing'] },
        { version: 2, state: 'unknown', atMs: nowMs + 1, changed: [] },
        { version: 3, state: 'submitted', atMs: nowMs + 2, changed: [] },
        { version: 4, state: 'processed', atMs: nowMs + 3, changed: ['fill'] },
        { version: 5, state: 'confirmed', atMs: nowMs + 4, changed: [] },
        { version: 6, state: 'failed', atMs: nowMs + 5, changed: ['error'] },
      ]);
    });

    it('is changed by only one of several callers that saw the same version', async () => {
      const order = await stored();
      const attempts = [store, elsewhere].flatMap((one) => Array.from({ length: 10 }, () => one));
      const change = { state: 'processed' } as const;
      const answers = await Promise.all(attempts.map((one) => one.orders.advanceAll([{ order, change, atMs: nowMs }])));
      const outcomes = answers.flat();
      expect(outcomes).toHaveLength(20);
      expect(outcomes.filter(({ kind: came }) => came === 'advanced')).toHaveLength(1);
      expect(outcomes.filter(({ kind: came }) => came === 'stale')).toHaveLength(19);
      for (const outcome of outcomes) expect(outcome).toMatchObject({ order: { state: 'processed', version: 2 } });
      expect(await store.orders.events(order.id)).toHaveLength(2);
      const missing = await store.orders.advanceAll([{ order: { ...order, id: 'another' }, change: {}, atMs: nowMs }]);
      expect(missing).toEqual([{ kind: 'no_such_order' }]);
    });

    it('accepts no step that its life does not have', async () => {
      const order = await advance(await stored(), { state: 'expired' });
      for (const state of ['submitted', 'processed', 'finalized', 'failed', 'unknown'] as const) {
        await expect(advance(order, { state })).rejects.toThrow(RangeError);
      }
      expect(await store.orders.byId(order.id)).toEqual(order);
      await expect(insert(newOrder(nowMs, { signature: null }))).rejects.toThrow(RangeError);
      for (const state of ['unknown', 'processed', 'finalized'] as const) {
        await expect(insert(newOrder(nowMs, { state }))).rejects.toThrow(RangeError);
      }
    });

    it('starts as sent, and its key returns it at once', async () => {
      const order = await stored({}, { idempotency: use('sent') });
      expect(await elsewhere.orders.lookUp('key:key', use('sent'))).toEqual({ kind: 'replay', order });
      expect(await elsewhere.orders.openOf(ours, null, 10)).toEqual([order]);
      expect(await store.orders.events(order.id)).toEqual([{ version: 1, state: 'submitted', atMs: nowMs, changed: ['signed'] }]);
    });

    it('on paper starts as filled', async () => {
      const unsigned = { signature: null, signedBytes: null, blockhash: null, lastValidBlockHeight: null } as const;
      const order = await stored({ ...unsigned, kind: 'paper', state: 'finalized', fill: orderFill, timingJson: '{"totalMs":1}' });
      expect(await elsewhere.orders.byId(order.id)).toEqual(order);
      expect(await store.orders.events(order.id)).toEqual([{ version: 1, state: 'finalized', atMs: nowMs, changed: ['fill', 'timing'] }]);
      expect(await elsewhere.orders.openOf(ours, null, 10)).toEqual([]);
    });

    it('exists once for a signature of an owner, and separately for each owner', async () => {
      const order = await stored({ kind: 'sent' });
      const again = { signature: order.signature, kind: 'sent' } as const;
      expect(await insert(newOrder(nowMs, again), {}, elsewhere)).toEqual({ kind: 'known', order });
      const others = await stored({ ...again, keyId: 'other' });
      const found = await elsewhere.orders.bySignature(order.signature!);
      expect(found.map(({ id }) => id)).toEqual([order.id, others.id].sort());
    });

    it('with our message exists once, even if several keys submit it at once; a caller that submits it as its own gets one too', async () => {
      const { signature } = signedMessage();
      const outcomes = await Promise.all(
        Array.from({ length: 20 }, (_, i) =>
          insert(newOrder(nowMs, { keyId: `key-${i}`, signature }), {}, i % 2 === 0 ? store : elsewhere),
        ),
      );
      const [first] = outcomes.filter(({ kind: came }) => came === 'stored') as Extract<InsertOutcome, { kind: 'stored' }>[];
      expect(outcomes.filter((outcome) => outcome.kind === 'known' && outcome.order.id === first!.order.id)).toHaveLength(19);
      await stored({ kind: 'sent', keyId: 'other', signature });
      expect(await insert(newOrder(nowMs, { keyId: 'new', signature }))).toEqual({ kind: 'known', order: first!.order });
    });

    it('is stored once if several callers submit its signature at once', async () => {
      const { signature } = signedMessage();
      const outcomes = await Promise.all(
        Array.from({ length: 20 }, (_, i) => insert(newOrder(nowMs, { kind: 'sent', signature }), {}, i % 2 === 0 ? store : elsewhere)),
      );
      const [first] = outcomes.filter(({ kind: came }) => came === 'stored');
      expect(outcomes.filter(({ kind: came }) => came === 'stored')).toHaveLength(1);
      expect(outcomes.filter(({ kind: came }) => came === 'known')).toHaveLength(19);
      const { order } = first as Extract<InsertOutcome, { kind: 'stored' }>;
      for (const outcome of outcomes) expect(outcome).toMatchObject({ order: { id: order.id } });
    });
  });

  describe('several concurrent changes', () => {
    it('are answered in order, each on its own', async () => {
      const orders = await Promise.all(Array.from({ length: 5 }, () => stored()));
      await advance(orders[2]!, { state: 'failed', error: refusal });
      const outcomes = await store.orders.advanceAll(
        orders.toReversed().map((order) => ({ order, change: { state: 'processed' as const }, atMs: nowMs })),
      );
      expect(outcomes.map((outcome) => [outcome.kind, 'order' in outcome ? outcome.order.id : null])).toEqual(
        orders.toReversed().map(({ id }, i) => [i === 2 ? 'stale' : 'advanced', id]),
      );
      expect(await store.orders.advanceAll([])).toEqual([]);
      await expect(
        store.orders.advanceAll(Array.from({ length: maxAdvances + 1 }, () => ({ order: orders[0]!, change: {}, atMs: nowMs }))),
      ).rejects.toThrow(RangeError);
    });

    it('are made all or not at all', async () => {
      const [one, two] = [await stored(), await stored()];
      const advances = [one, two].map((order, i) => ({
        order,
        change: { state: i === 0 ? ('processed' as const) : ('submitted' as const) },
        atMs: nowMs,
      }));
      await expect(store.orders.advanceAll(advances)).rejects.toThrow(RangeError);
      expect([await store.orders.byId(one.id), await store.orders.byId(two.id)]).toEqual([one, two]);
      expect(await store.orders.events(one.id)).toHaveLength(1);
    });

    it('of the same orders, named in any order, do not deadlock', async () => {
      const spend = { wallet: 'wallet', lamports: 1n, dayLimitLamports: null };
      const orders = await Promise.all(Array.from({ length: 20 }, () => stored({}, { spend })));
      const failing = (some: readonly StoredOrder[]) =>
        some.map((order) => ({ order, change: { state: 'failed' as const, error: refusal }, atMs: nowMs }));
      const outcomes = await Promise.all([
        store.orders.advanceAll(failing(orders)),
        elsewhere.orders.advanceAll(failing(orders.toReversed())),
        ...orders.map((order) => elsewhere.orders.advanceAll(failing([order]))),
      ]);
      expect(outcomes.flat().filter(({ kind: came }) => came === 'advanced')).toHaveLength(20);
      expect(await store.orders.spentLamports('wallet', nowMs)).toBe(0n);
    });
  });

  describe('a page', () => {
    it('is of one owner, newest first, and continues after the last order', async () => {
      const mine: StoredOrder[] = [];
      for (let i = 0; i < 7; i++) {
        mine.push(await stored({ ...newOrder(nowMs + i) }));
        await stored({ ...newOrder(nowMs + i), keyId: 'other' });
      }
      const seen: StoredOrder[] = [];
      for (let before: string | null = null; ;) {
        const page = await elsewhere.orders.page({ owner: 'key:key', before, state: null, limit: 3 });
        seen.push(...page);
        before = page.at(-1)?.id ?? null;
        if (page.length < 3) break;
      }
      expect(seen).toEqual(mine.toReversed());
    });

    it('can be limited to one state, and combines the keys of an account', async () => {
      const one = await stored({ accountId: 'account', keyId: 'one' });
      const two = await stored({ accountId: 'account', keyId: 'two' });
      const landed = await advance(two, { state: 'processed' });
      const page = { owner: 'account:account', before: null, limit: 10 } as const;
      expect((await store.orders.page({ ...page, state: null })).map(({ id }) => id)).toEqual([one.id, two.id].sort().toReversed());
      expect(await store.orders.page({ ...page, state: 'processed' })).toEqual([landed]);
      expect(await store.orders.page({ ...page, state: 'expired' })).toEqual([]);
      expect(await store.orders.page({ ...page, owner: 'key:one', state: null })).toEqual([]);
    });
  });

  describe('an Idempotency-Key', () => {
    it('belongs to one order, even if other requests arrive at once', async () => {
      const attempts = Array.from({ length: 100 }, (_, i) => ({ into: i % 2 === 0 ? store : elsewhere, order: newOrder(nowMs) }));
      const spend: SpendReservation = { wallet: 'wallet', lamports: 7n, dayLimitLamports: 10n };
      const outcomes = await Promise.all(attempts.map(({ into, order }) => insert(order, { idempotency: use('once'), spend }, into)));
      expect(outcomes.filter(({ kind: came }) => came === 'stored')).toHaveLength(1);
      expect(outcomes.filter(({ kind: came }) => came === 'replay')).toHaveLength(99);
      const rows = await elsewhere.orders.page({ owner: 'key:key', before: null, state: null, limit: 100 });
      expect(rows).toHaveLength(1);
      for (const outcome of outcomes) expect(outcome).toMatchObject({ order: { id: rows[0]!.id } });
      expect(await store.orders.spentLamports('wallet', nowMs)).toBe(7n);
    });

    it('returns the current order, also after it has ended', async () => {
      const order = await stored({}, { idempotency: use('k') });
      expect(await insert(newOrder(nowMs), { idempotency: use('k') }, elsewhere)).toEqual({ kind: 'replay', order });
      const ended = await advance(order, { state: 'failed', error: refusal });
      expect(await elsewhere.orders.lookUp('key:key', use('k'))).toEqual({ kind: 'replay', order: ended });
      const failed = await advance(await stored({}, { idempotency: use('failed') }), { state: 'failed', error: refusal });
      expect(await elsewhere.orders.lookUp('key:key', use('failed'))).toEqual({ kind: 'replay', order: failed });
    });

    it('refuses another request, and is separate for each owner', async () => {
      await stored({}, { idempotency: use('k') });
      expect(await store.orders.lookUp('key:key', use('k', 2))).toEqual({ kind: 'mismatch' });
      expect(await insert(newOrder(nowMs), { idempotency: use('k', 2) })).toEqual({ kind: 'mismatch' });
      const others = [
        [{ keyId: 'other' }, use('k')],
        [{ accountId: 'key' }, use('k')],
        [{}, use('K')],
      ] as const;
      for (const [more, idempotency] of others)
        expect(await insert(newOrder(nowMs, more), { idempotency })).toMatchObject({ kind: 'stored' });
    });
  });

  describe('several orders at once', () => {
    const part = (index: number, more: Partial<OrderInsert> = {}): OrderInsert => ({
      idempotency: keyOfOrder(use('whole'), index),
      spend: { wallet: 'wallet', lamports: 4n, dayLimitLamports: 10n },
      followedBy: gatewayId,
      ...more,
    });

    it('are all stored, or none: the daily limit counts them together, and the key belongs to all of them', async () => {
      const [one, two, three] = [newOrder(nowMs), newOrder(nowMs), newOrder(nowMs)];
      const refused = await store.orders.insertAll([one, two, three].map((order, at) => [order, part(at)]));
      const outcome = { kind: 'over_day_limit', spentLamports: 8n, limitLamports: 10n };
      expect(refused).toEqual({ kind: 'refused', index: 2, outcome });
      for (const { id } of [one, two, three]) expect(await elsewhere.orders.byId(id)).toBeNull();
      expect(await elsewhere.orders.spentLamports('wallet', nowMs)).toBe(0n);
      expect(await elsewhere.orders.lookUp('key:key', use('whole'))).toEqual({ kind: 'fresh' });

      expect(await store.orders.insertAll([one, two].map((order, at) => [order, part(at)]))).toMatchObject({
        kind: 'stored',
        orders: [{ id: one.id }, { id: two.id }],
      });
      expect(await elsewhere.orders.spentLamports('wallet', nowMs)).toBe(8n);
      const found = await Promise.all([0, 1, 2].map((index) => elsewhere.orders.lookUp('key:key', keyOfOrder(use('whole'), index))));
      expect(found).toMatchObject([
        { kind: 'replay', order: { id: one.id } },
        { kind: 'replay', order: { id: two.id } },
        { kind: 'fresh' },
      ]);
      // The key itself, and each part of it, belongs to this request.
      for (const other of [use('whole', 2), keyOfOrder(use('whole', 2), 0), keyOfOrder(use('whole', 2), 2)])
        expect(await elsewhere.orders.lookUp('key:key', other)).toEqual({ kind: 'mismatch' });
      expect(await insert(three, { idempotency: keyOfOrder(use('whole', 2), 2) })).toEqual({ kind: 'mismatch' });
    });

    it('of two processes with one key are stored once', async () => {
      const inserts = (): readonly OrderToInsert[] => [0, 1].map((index) => [newOrder(nowMs), part(index)]);
      const outcomes = await Promise.all(
        Array.from({ length: 8 }, (_, at) => (at % 2 === 0 ? store : elsewhere).orders.insertAll(inserts())),
      );
      expect(outcomes.filter((outcome) => outcome.kind === 'stored').length).toBe(1);
      expect(await elsewhere.orders.openOf(ours, null, 100)).toHaveLength(2);
    });
  });

  describe("a wallet's day", () => {
    const spend = (lamports: bigint, dayLimitLamports: bigint | null = 1_000n): SpendReservation => ({
      wallet: 'wallet',
      lamports,
      dayLimitLamports,
    });

    it('is never exceeded, to the lamport, by any number of concurrent orders', async () => {
      const outcomes = await Promise.all(
        Array.from({ length: 100 }, (_, i) => insert(newOrder(nowMs), { spend: spend(BigInt(i + 1)) }, i % 2 === 0 ? store : elsewhere)),
      );
      const taken = outcomes.reduce((sum, { kind: came }, i) => (came === 'stored' ? sum + i + 1 : sum), 0);
      expect(taken).toBeLessThanOrEqual(1_000);
      expect(await elsewhere.orders.spentLamports('wallet', nowMs)).toBe(BigInt(taken));
      // Every refused order exceeded the rest when it came, and what remains is less than the smallest refused order.
      const refused = outcomes.flatMap(({ kind: came }, i) => (came === 'over_day_limit' ? [i + 1] : []));
      expect(refused.length).toBeGreaterThan(0);
      expect(taken + Math.min(...refused)).toBeGreaterThan(1_000);
      const left = 1_000n - BigInt(taken);
      expect(await insert(newOrder(nowMs), { spend: spend(left + 1n) })).toEqual({
        kind: 'over_day_limit',
        spentLamports: BigInt(taken),
        limitLamports: 1_000n,
      });
      expect(await insert(newOrder(nowMs), { spend: spend(left) })).toMatchObject({ kind: 'stored' });
    });

    it('begins again with the next day, and without a limit only counts', async () => {
      await stored({}, { spend: spend(1_000n) });
      expect(await insert(newOrder(nowMs), { spend: spend(1n) })).toMatchObject({ kind: 'over_day_limit' });
      expect(await insert(newOrder(nowMs + dayMs), { spend: spend(1_000n) })).toMatchObject({ kind: 'stored' });
      await stored({}, { spend: spend(5n, null) });
      expect(await store.orders.spentLamports('wallet', nowMs + dayMs)).toBe(1_000n);
      expect(await store.orders.spentLamports('wallet', nowMs)).toBe(2_005n);
      expect(await store.orders.spentLamports('another', nowMs)).toBe(0n);
      await expect(insert(newOrder(nowMs), { spend: spend(-1n) })).rejects.toThrow(RangeError);
      await expect(insert(newOrder(nowMs), { spend: spend(1n << 60n) })).rejects.toThrow(RangeError);
    });

    it('gets back what did not land, once, and nothing else', async () => {
      const open = await stored({}, { spend: spend(100n) });
      const landed = await stored({}, { spend: spend(10n) });
      const refused = await stored({}, { spend: spend(1n) });
      expect(await store.orders.spentLamports('wallet', nowMs)).toBe(111n);
      await advance(refused, { state: 'failed', error: refusal });
      await advance(landed, { state: 'finalized' });
      expect(await store.orders.spentLamports('wallet', nowMs)).toBe(110n);
      const unknown = await advance(open, { state: 'unknown' });
      expect(await store.orders.spentLamports('wallet', nowMs)).toBe(110n);
      const expired = await advance(unknown, { state: 'expired' }, nowMs + dayMs);
      expect(await store.orders.spentLamports('wallet', nowMs)).toBe(10n);
      await advance(expired, { error: refusal });
      expect(await store.orders.spentLamports('wallet', nowMs)).toBe(10n);
    });

    it('counts nothing for an order that was not stored', async () => {
      const idempotency = use('k');
      await stored({}, { spend: spend(1n), idempotency });
      await insert(newOrder(nowMs), { spend: spend(2n), idempotency });
      const known = await stored({ kind: 'sent' });
      await insert(newOrder(nowMs, { kind: 'sent', signature: known.signature }), { spend: spend(4n) });
      await expect(insert(newOrder(nowMs, { id: known.id }), { spend: spend(8n) })).rejects.toThrow(known.id);
      expect(await store.orders.spentLamports('wallet', nowMs)).toBe(1n);
    });
  });

  describe('following', () => {
    const claim = (by: string, atMs: number, into = store, limit = 100) =>
      into.orders.claim({ ...ours, gatewayId: by, nowMs: atMs, untilMs: atMs + 5_000, limit });
    const follow = async (by: string, count: number): Promise<readonly StoredOrder[]> => {
      const orders: StoredOrder[] = [];
      for (let i = 0; i < count; i++) orders.push(await stored({ id: newOrder(nowMs + i).id }, { followedBy: by }));
      return orders;
    };

    it('goes to another gateway when the first one is gone, and not before', async () => {
      await claim('a', nowMs);
      const orders = await follow('a', 5);
      await advance(orders[4]!, { state: 'failed', error: refusal });
      expect(await claim('b', nowMs + 4_999, elsewhere)).toEqual([]);
      expect(await claim('b', nowMs + 5_000, elsewhere, 3)).toEqual(orders.slice(0, 3));
      expect(await claim('b', nowMs + 5_001, elsewhere)).toEqual(orders.slice(3, 4));
      expect(await store.orders.openOf({ ...ours, gatewayId: 'b' }, null, 10)).toEqual(orders.slice(0, 4));
      expect(await store.orders.openOf({ ...ours, gatewayId: 'b' }, orders[1]!.id, 1)).toEqual(orders.slice(2, 3));
      const ids = await store.orders.openIdsOf({ ...ours, gatewayId: 'b' }, orders[1]!.id, 1);
      expect(ids.map(({ id }) => id)).toEqual([orders[2]!.id]);
      expect(await store.orders.openOf({ ...ours, gatewayId: 'a' }, null, 10)).toEqual([]);
    });

    it('goes to another gateway if the first one is gone and its clock was ahead', async () => {
      await claim('a', nowMs + dayMs);
      const orders = await follow('a', 2);
      expect(await claim('b', nowMs, elsewhere)).toEqual(orders);
    });

    it('goes to one successor after the other at once, although no claim has expired', async () => {
      await claim('a', nowMs);
      const orders = await follow('a', 2);
      for (const by of ['b', 'c', 'd']) {
        const taken = await elsewhere.orders.claim({ ...ours, gatewayId: by, nowMs, untilMs: nowMs + 5_000, limit: 100, fromAll: true });
        expect(taken).toEqual(orders);
      }
      expect(await claim('e', nowMs)).toEqual([]);
    });

    it('stays with a gateway that renews it, and is free at once when that gateway ends', async () => {
      await claim('a', nowMs);
      const orders = await follow('a', 2);
      for (let atMs = nowMs; atMs < nowMs + 20_000; atMs += 4_000) {
        expect(await claim('a', atMs)).toEqual([]);
        expect(await claim('b', atMs + 1_000, elsewhere)).toEqual([]);
      }
      await store.orders.release('a');
      expect(await claim('b', nowMs + 16_001, elsewhere)).toEqual(orders);
    });

    it('leaves orders of other chains, and of an unknown chain, unchanged', async () => {
      const here = await stored({}, { followedBy: 'a' });
      const other = await stored({ genesisHash: 'another chain' }, { followedBy: 'a' });
      const before = await stored({ id: newOrder(nowMs + 1).id, genesisHash: null }, { followedBy: 'a' });
      const ended = await stored({ genesisHash: 'another chain' }, { followedBy: 'a' });
      await advance(ended, { state: 'failed', error: refusal });
      expect(await store.orders.openOf({ ...ours, gatewayId: 'a' }, null, 10)).toEqual([here]);
      expect(await store.orders.openOf({ gatewayId: 'a', genesisHash: 'another chain' }, null, 10)).toEqual([other]);
      const elsewhereOf = (by: string, after: string | null = null) => store.orders.openElsewhere({ ...ours, gatewayId: by }, after, 10);
      expect(await elsewhereOf('a')).toEqual([other, before]);
      expect(await elsewhereOf('a', other.id)).toEqual([before]);
      // Nobody follows them as long as their gateway has no claim.
      expect(await elsewhereOf('b')).toEqual([other, before]);
      await claim('a', nowMs);
      expect(await elsewhereOf('b')).toEqual([]);
      await store.orders.release('a');
      expect(await claim('b', nowMs, elsewhere)).toEqual([here]);
      expect(await claim('b', nowMs + 20_000, elsewhere)).toEqual([]);
      for (const left of [other, before]) expect(await store.orders.byId(left.id)).toEqual(left);
    });

    it('is claimed by one of many gateways', async () => {
      await claim('a', nowMs - 10_000);
      const orders = await follow('a', 30);
      const taken = await Promise.all(['b', 'c', 'd', 'e'].map((by, i) => claim(by, nowMs, i % 2 === 0 ? store : elsewhere, 10)));
      const ids = taken.flat().map(({ id }) => id);
      expect(ids.sort()).toEqual(orders.map(({ id }) => id));
    });
  });

  it('a probe writes more than an order needs, replaces the probe before, and fails if there is no space', async () => {
    const db = await place.database();
    for (const one of [store, elsewhere, store]) await one.orders.probe();
    expect(await db.all('SELECT length(value) AS bytes FROM checks')).toEqual([{ bytes: 65_536 }]);
    if (kind !== 'SQLite') return;
    await db.run('DELETE FROM checks');
    await db.run('VACUUM');
    const pages = Number((await db.get('PRAGMA page_count'))?.['page_count']);
    await db.get(`PRAGMA max_page_count = ${pages + 12}`);
    await expect(orderTable(db).probe()).rejects.toThrow(StoreUnavailableError);
    expect(await orderTable(db).insert(newOrder(nowMs), { idempotency: null, spend: null, followedBy: gatewayId })).toMatchObject({
      kind: 'stored',
    });
  });

  it('accepts any bytes as a message, and any text', async () => {
    const signedBytes = Uint8Array.from(randomBytes(1_232));
    const order = await stored({ signedBytes, quoteJson: '{"text":"\' ? \\" \u{1F511}"}' }, { idempotency: use('\' " ? \u{1F511}') });
    expect(await elsewhere.orders.byId(order.id)).toEqual(order);
    expect(await elsewhere.orders.lookUp('key:key', use('\' " ? \u{1F511}'))).toMatchObject({ kind: 'replay' });
  });
});
