import type { Store } from '@sluice/gateway/store/store.ts';
import { unsealedEvents } from '@sluice/gateway/stream/delivery/private-events.ts';
import { createOrderLedger, type OrderLedger } from '../../trading/src/model/order-ledger.ts';
import { OrderPublisher } from '../../trading/src/model/order-publisher.ts';
import type { OpenOrder, StoredOrder } from '@sluice/gateway/store/order-model/order.ts';
import type { NewOrder } from '@sluice/gateway/store/order-model/order.ts';
import { systemClock } from '@sluice/shared/runtime/clock/clock.ts';
import type { Bus } from '@sluice/shared/bus/bus.ts';
import { createBus } from '@sluice/shared/bus/create.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import { OrderEvent } from '@sluice/shared/wire/orders/orders.ts';
import { orderEndpoint, orderPageEndpoint } from '@sluice/shared/wire/rest/trading/trade.ts';
import { validator } from '@sluice/shared/wire/validate.ts';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newPlace, storeKinds, type StorePlace } from '../contract/store-harness.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { newOrder, orderFill, orderTerms } from '../support/orders.ts';
import { sharedPostgres, type SharedPostgres } from '../support/servers/postgres.ts';
import { run, seqs, StreamClient } from '../support/clients/stream-client.ts';

const log = createLog({ level: 'silent', name: 'test' });
const nowMs = 1_800_000_000_000;
const isOrder = validator(orderEndpoint.answer);
const isPage = validator(orderPageEndpoint.answer);
const isEvent = validator(OrderEvent);
const error = { code: 'SLIPPAGE_EXCEEDED', message: 'It moved.', detailsJson: '{"quoted":"1","actual":"2"}' } as const;

let postgres: SharedPostgres;
beforeAll(async () => {
  postgres = await sharedPostgres();
});

describe.each([
  ['SQLite', 'uws'],
  ['PostgreSQL', 'node'],
] as const)('orders in %s, published over %s', (kind, transport) => {
  let place: StorePlace;
  let store: Store;
  let bus: Bus;
  let server: TestGateway;
  let publisher: OrderPublisher;
  let ledger: OrderLedger;
  const clients: StreamClient[] = [];
  beforeEach(async () => {
    expect(storeKinds).toContain(kind);
    place = await newPlace(kind, postgres);
    store = await place.open();
    bus = await createBus({ redisUrls: null, log });
    server = await startTestGateway({ transport, bus, store, config: { dataDir: place.settings.dataDir } });
    publisher = new OrderPublisher({ bus, events: unsealedEvents, simulated: () => true, log });
    ledger = createOrderLedger({ orders: store.orders, publisher, clock: systemClock, log });
    server.keys.add('mine', { scopes: ['stream', 'read', 'trade'] });
    server.keys.add('other', { scopes: ['stream', 'read', 'trade'] });
    server.keys.add('first', { accountId: 'account', scopes: ['stream', 'trade'] });
    server.keys.add('second', { accountId: 'account', scopes: ['stream', 'trade'] });
    server.keys.add('reader', { accountId: 'account', scopes: ['stream', 'read'] });
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) client.close();
    await server.close();
    await publisher.close();
    await bus.close();
    await place.end();
  });

  const insert = async (more: Partial<NewOrder> = {}): Promise<StoredOrder> => {
    const outcome = await ledger.insert(newOrder(nowMs, { keyId: 'mine', ...more }), {
      idempotency: null,
      spend: null,
      followedBy: 'gateway',
    });
    if (outcome.kind !== 'stored') throw new Error(`not stored: ${outcome.kind}`);
    return outcome.order;
  };
  const ask = async (path: string, key: string): Promise<{ readonly status: number; readonly body: unknown }> => {
    const answer = await fetch(`http://${server.host}${path}`, { headers: { Authorization: `Bearer ${key}` } });
    return { status: answer.status, body: await answer.json() };
  };
  const opened = async (key: string, more = ''): Promise<StreamClient> => {
    const client = new StreamClient(`ws://${server.host}/api/data?api-key=${key}${more}`);
    clients.push(client);
    return client.open();
  };

  describe('GET /trade/orders/{id}', () => {
    it('returns the current order, at both paths, with a UI number for each amount', async () => {
      let order: OpenOrder = await insert({ timingJson: '{"totalMs":1.25,"signMs":0.1}' });
      order = await ledger.apply(order, { kind: 'landed', commitment: 'finalized', error: null, fill: orderFill });
      for (const path of [`/trade/orders/${order.id}`, `/api/trade/orders/${order.id}`]) {
        const { status, body } = await ask(path, 'mine');
        expect(status).toBe(200);
        expect(isOrder(body)).toMatchObject({ ok: true });
        expect(body).toMatchObject({
          orderId: order.id,
          version: 2,
          kind: 'lightning',
          status: 'finalized',
          signature: order.signature,
          side: 'buy',
          mint: orderTerms.mint,
          publicKey: orderTerms.publicKey,
          lastValidBlockHeight: 1_150,
          quote: null,
          error: null,
          timing: { totalMs: 1.25, signMs: 0.1 },
          createdAtMs: nowMs,
          fill: {
            baseAmount: '18446744073709551615',
            baseUiAmount: 18_446_744_073_709.55,
            traderQuoteAmount: '9107199254740993',
            traderQuoteUiAmount: 9_107_199.254740993,
            venueFees: '100000000000000',
            networkFee: '5000',
            otherLamports: '-2039280',
            slot: 123,
            blockTime: 1_800_000_001,
          },
        });
      }
    });

    it('returns the reason of a failure, and nothing about a transaction of unknown fate', async () => {
      const failed = await ledger.apply(await insert(), { kind: 'landed', commitment: 'confirmed', error, fill: null });
      expect((await ask(`/trade/orders/${failed.id}`, 'mine')).body).toMatchObject({
        status: 'failed',
        error: { code: 'SLIPPAGE_EXCEEDED', message: 'It moved.', details: { quoted: '1', actual: '2' } },
      });
      const sent = await insert({ kind: 'sent', terms: null, lastValidBlockHeight: null });
      const { body } = await ask(`/trade/orders/${sent.id}`, 'mine');
      expect(isOrder(body)).toMatchObject({ ok: true });
      expect(body).toMatchObject({
        kind: 'sent',
        side: null,
        mint: null,
        pool: null,
        publicKey: null,
        fill: null,
        signature: sent.signature,
      });
    });

    it('finds nothing under a text that is no id, and refuses what no store can hold', async () => {
      for (const id of ['x', 'ord_', 'ord_%EF%BF%BF', `ord_${'0'.repeat(40)}`, 'ord_%F0%9F%98%80'])
        expect(await ask(`/trade/orders/${id}`, 'mine'), id).toMatchObject({ status: 404, body: { error: { code: 'NOT_FOUND' } } });
      for (const path of ['/trade/orders/ord_%00', '/api/trade/orders/%00', '/trade/orders?before=ord_%00']) {
        expect(await ask(path, 'mine'), path).toMatchObject({ status: 400, body: { error: { code: 'INVALID_REQUEST' } } });
      }
    });

    it('does not find the orders of others, and finds those of all keys of an account', async () => {
      const order = await insert();
      const ofAccount = await insert({ keyId: 'first', accountId: 'account' });
      const missing = await ask('/trade/orders/ord_00000000000000000000000000', 'mine');
      expect(missing).toMatchObject({ status: 404, body: { error: { code: 'NOT_FOUND' } } });
      for (const [id, key] of [
        [order.id, 'other'],
        [order.id, 'first'],
        [ofAccount.id, 'mine'],
      ] as const) {
        const { status, body } = await ask(`/trade/orders/${id}`, key);
        expect(status).toBe(404);
        expect({ ...(body as object), requestId: '' }).toEqual({ ...(missing.body as object), requestId: '' });
      }
      expect((await ask(`/trade/orders/${ofAccount.id}`, 'second')).status).toBe(200);
      expect(await ask(`/trade/orders/${ofAccount.id}`, 'reader')).toMatchObject({ status: 403, body: { error: { code: 'FORBIDDEN' } } });
    });
  });

  describe('GET /trade/orders', () => {
    it('returns all orders of the caller, newest first', async () => {
      const orders: StoredOrder[] = [];
      for (let i = 0; i < 5; i++) {
        orders.push(await insert(newOrder(nowMs + i, { keyId: 'mine' })));
        await insert(newOrder(nowMs + i, { keyId: 'other' }));
      }
      const seen: string[] = [];
      const sizes: number[] = [];
      for (let next: string | null = ''; next !== null;) {
        const { body } = await ask(`/trade/orders?limit=2${next === '' ? '' : `&before=${next}`}`, 'mine');
        expect(isPage(body)).toMatchObject({ ok: true });
        const page = body as { orders: { orderId: string }[]; next: string | null };
        seen.push(...page.orders.map(({ orderId }) => orderId));
        sizes.push(page.orders.length);
        ({ next } = page);
      }
      expect(seen).toEqual(orders.map(({ id }) => id).toReversed());
      expect(sizes).toEqual([2, 2, 1]);
    });

    it('returns those in one state, and refuses a wrong state, limit or parameter', async () => {
      const one = await insert();
      const two = await ledger.apply(await insert(), { kind: 'silence' });
      expect((await ask('/trade/orders?status=unknown', 'mine')).body).toMatchObject({ orders: [{ orderId: two.id }], next: null });
      expect((await ask('/trade/orders?status=submitted', 'mine')).body).toMatchObject({ orders: [{ orderId: one.id }] });
      expect((await ask('/trade/orders?status=accepted', 'mine')).body).toEqual({ orders: [], next: null });
      expect((await ask('/trade/orders', 'first')).body).toEqual({ orders: [], next: null });
      for (const wrong of ['status=lost', 'limit=0', 'limit=201', 'before=', 'before=zzz', 'after=x']) {
        expect(await ask(`/trade/orders?${wrong}`, 'mine')).toMatchObject({ status: 400, body: { error: { code: 'INVALID_REQUEST' } } });
      }
    });
  });

  describe('the channel `orders`', () => {
    it.each(['', '&format=msgpack', '&batch=1'])(
      "publishes every change of the key's own orders, and none of others (%s)",
      async (form) => {
        const [mine, other] = [await opened('mine', form), await opened('other', form)];
        expect(await mine.ask({ op: 'subscribe', channel: 'orders' })).toMatchObject({
          op: 'subscribed',
          channel: 'orders',
          accepted: [],
          rejected: [],
          positions: { 'orders:mine': { seq: 0 } },
        });
        await other.ask({ op: 'subscribe', channel: 'orders' });
        let order: OpenOrder = await insert();
        order = await ledger.apply(order, { kind: 'silence' });
        order = await ledger.apply(order, { kind: 'landed', commitment: 'confirmed', error: null, fill: orderFill });
        const foreign = await insert({ keyId: 'other' });
        const frames = await mine.framesTo('orders:mine', 3);
        expect(seqs(frames)).toEqual([1, 2, 3]);
        expect(frames.map(({ data }) => [data!.id, data!['status'], data!['commitment'], data!['slot']])).toEqual([
          [`${order.id}:1`, 'submitted', null, null],
          [`${order.id}:2`, 'unknown', null, null],
          [`${order.id}:3`, 'confirmed', 'confirmed', 123],
        ]);
        for (const { data } of frames) expect(isEvent(data), JSON.stringify(data)).toMatchObject({ ok: true });
        expect(frames[2]!.data).toMatchObject({ type: 'order', simulated: true, fill: { baseAmount: String(orderFill.baseAmount) } });
        expect((await other.framesTo('orders:other', 1)).map(({ data }) => data!.id)).toEqual([`${foreign.id}:1`]);
        expect(mine.messages.some(({ topic }) => topic === 'orders:other')).toBe(false);
        expect(other.messages.some(({ topic }) => topic === 'orders:mine')).toBe(false);
      },
    );

    it('resumes where a client stopped', async () => {
      const first = await opened('mine');
      await first.ask({ op: 'subscribe', channel: 'orders' });
      let order: OpenOrder = await insert();
      const [seen] = await first.framesTo('orders:mine', 1);
      const { positions } = await first.ask({ op: 'unsubscribe', channel: 'orders' });
      first.close();
      order = await ledger.apply(order, { kind: 'silence' });
      order = await ledger.apply(order, { kind: 'landed', commitment: 'processed', error: null, fill: null });
      await publisher.flushed();
      const second = await opened('mine');
      const epoch = positions!['orders:mine']!.epoch;
      const reply = await second.ask({ op: 'subscribe', channel: 'orders', since: { epoch, seq: seen!.seq } });
      expect(reply).toMatchObject({ op: 'subscribed', positions: { 'orders:mine': { epoch, seq: 1, recovered: true } } });
      await ledger.apply(order, { kind: 'landed', commitment: 'finalized', error: null, fill: orderFill });
      const frames = await second.framesTo('orders:mine', 3);
      expect(seqs(frames)).toEqual(run(2, 4));
      expect(frames.map(({ data }) => data!['status'])).toEqual(['unknown', 'processed', 'finalized']);
    });

    it('refuses topics of others, keys and filters; is listed and ended', async () => {
      const client = await opened('mine');
      const since = { 'orders:other': { epoch: 'x', seq: 0 } };
      const refused = { op: 'error', error: { code: 'INVALID_REQUEST' } };
      expect(await client.ask({ op: 'subscribe', channel: 'orders', since })).toMatchObject(refused);
      expect(await client.ask({ op: 'subscribe', channel: 'orders', accounts: ['other'] })).toMatchObject(refused);
      expect(await client.ask({ op: 'subscribe', channel: 'orders', mints: [orderTerms.mint] })).toMatchObject(refused);
      expect(await client.ask({ op: 'subscribe', channel: 'orders', filter: {} })).toMatchObject(refused);
      await insert();
      await publisher.flushed();
      expect(await client.ask({ op: 'subscribe', channel: 'orders', snapshot: true })).toMatchObject({
        op: 'subscribed',
        snapshot: [{ topic: 'orders:mine', seq: 1, data: { status: 'submitted' } }],
      });
      expect(await client.ask({ op: 'list' })).toMatchObject({
        subscriptions: [{ channel: 'orders', all: true, mints: [], accounts: [], filter: null }],
        total: 1,
      });
      expect(await client.ask({ op: 'unsubscribe', channel: 'orders' })).toMatchObject({ removed: ['orders:mine'] });
      expect(await client.ask({ op: 'unsubscribe', channel: 'orders' })).toMatchObject({ op: 'unsubscribed', removed: [] });
    });

    it('is separate for each key of an account', async () => {
      const [first, second] = [await opened('first'), await opened('second')];
      for (const client of [first, second]) await client.ask({ op: 'subscribe', channel: 'orders' });
      const [one, two] = [await insert({ keyId: 'first', accountId: 'account' }), await insert({ keyId: 'second', accountId: 'account' })];
      expect((await first.framesTo('orders:first', 1)).map(({ data }) => data!['orderId'])).toEqual([one.id]);
      expect((await second.framesTo('orders:second', 1)).map(({ data }) => data!['orderId'])).toEqual([two.id]);
    });
  });
});

describe('a gateway without a store', () => {
  it('has no orders', async () => {
    const server = await startTestGateway();
    server.keys.add('mine', { scopes: ['trade'] });
    const headers = { Authorization: 'Bearer mine' };
    expect(await (await fetch(`http://${server.host}/trade/orders`, { headers })).json()).toEqual({ orders: [], next: null });
    expect((await fetch(`http://${server.host}/trade/orders/x`, { headers })).status).toBe(404);
    await server.close();
  });
});
