import type { Store } from '@sluice/gateway/store/store.ts';
import { maxWalletPlaces, type StatesToSave } from '@sluice/gateway/store/sql/tables/wallet-states.ts';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newOrder, orderFill, orderGenesisHash } from '../support/orders.ts';
import { sharedPostgres, type SharedPostgres } from '../support/servers/postgres.ts';
import { newPlace, storeKinds, type StorePlace } from './store-harness.ts';

const nowMs = 1_800_000_000_000;
const place = 'live:genesis';
const nothing = { place, checkpoint: null, wallets: [], dropped: [], counted: [], atMs: nowMs } as const;
const rowsOf = (wallet: string, rows: Readonly<Record<string, string | null>>) => ({ wallet, rows: new Map(Object.entries(rows)) });

describe.each(storeKinds)('states of wallets in %s', (kind) => {
  let postgres: SharedPostgres;
  let stores: StorePlace;
  let store: Store;
  /** Another process, as far as the store can tell. */
  let elsewhere: Store;
  beforeAll(async () => {
    postgres = await sharedPostgres();
  });
  beforeEach(async () => {
    stores = await newPlace(kind, postgres);
    [store, elsewhere] = [await stores.open(), await stores.open()];
  });
  afterEach(() => stores.end());

  const save = (states: Partial<StatesToSave> & Pick<StatesToSave, 'term'>, into = store) =>
    into.walletStates.save({ ...nothing, ...states });
  const load = async (from = elsewhere) => {
    const { checkpoint, wallets } = await from.walletStates.load(place);
    return { checkpoint, wallets: Object.fromEntries([...wallets].map(([wallet, rows]) => [wallet, Object.fromEntries(rows)])) };
  };

  it('are stored with their place in the log, replaced, deleted and dropped', async () => {
    expect(await load()).toEqual({ checkpoint: null, wallets: {} });
    const term = await store.walletStates.openTerm(place, nowMs);
    const checkpoint = { epoch: 'e', offset: 7 };
    const wallets = [rowsOf('a', { '': 'state', x: '1', y: '2' }), rowsOf('b', { '': 'other' })];
    expect(await save({ term, checkpoint, wallets })).toBe('stored');
    expect(await load()).toEqual({ checkpoint, wallets: { a: { '': 'state', x: '1', y: '2' }, b: { '': 'other' } } });
    const later = { epoch: 'e', offset: 9 };
    expect(await save({ term, checkpoint: later, wallets: [rowsOf('a', { x: '3', y: null })], dropped: ['b'] })).toBe('stored');
    expect(await load()).toEqual({ checkpoint: later, wallets: { a: { '': 'state', x: '3' } } });
    expect(Object.fromEntries(await elsewhere.walletStates.rowsOf(place, 'a'))).toEqual({ '': 'state', x: '3' });
    expect((await elsewhere.walletStates.rowsOf('paper:genesis', 'a')).size).toBe(0);
  });

  it('refuse what an earlier term stores, with all of it', async () => {
    const first = await store.walletStates.openTerm(place, nowMs);
    expect(await save({ term: first, checkpoint: { epoch: 'e', offset: 1 } })).toBe('stored');
    const second = await elsewhere.walletStates.openTerm(place, nowMs);
    expect(second).toBeGreaterThan(first);
    expect(await save({ term: first, checkpoint: { epoch: 'e', offset: 2 }, wallets: [rowsOf('a', { '': 'x' })] })).toBe('fenced');
    expect(await load(store)).toEqual({ checkpoint: { epoch: 'e', offset: 1 }, wallets: {} });
    expect(await save({ term: second, checkpoint: { epoch: 'e', offset: 3 } }, elsewhere)).toBe('stored');
  });

  it('count an order once', async () => {
    const term = await store.walletStates.openTerm(place, nowMs);
    const ended = { state: 'finalized', kind: 'paper', fill: orderFill } as const;
    const unsigned = { signature: null, signedBytes: null, blockhash: null, lastValidBlockHeight: null } as const;
    const order = newOrder(nowMs, { ...unsigned, ...ended });
    await store.orders.insert(order, { idempotency: null, spend: null, followedBy: 'gateway' });
    const uncounted = () => elsewhere.walletStates.uncounted(orderGenesisHash, ['paper']);
    expect(await uncounted()).toMatchObject([{ id: order.id, fill: orderFill }]);
    expect(await elsewhere.walletStates.uncounted(orderGenesisHash, ['lightning', 'sent'])).toEqual([]);
    expect(await elsewhere.walletStates.uncounted('another chain', ['paper'])).toEqual([]);
    expect(await save({ term, counted: [order.id], wallets: [rowsOf('a', { '': 'with it' })] })).toBe('stored');
    expect(await uncounted()).toEqual([]);
    expect(await save({ term, counted: [order.id], wallets: [rowsOf('a', { '': 'twice' })] })).toBe('fenced');
    expect((await load()).wallets).toEqual({ a: { '': 'with it' } });
  });

  it('remember the wallets that a key asked for last, and the places that were used last', async () => {
    const { walletStates } = store;
    const follow = (keyId: string, wallet: string, askedAtMs: number) => walletStates.follow({ keyId, wallet, askedAtMs }, 2);
    for (const [at, wallet] of ['a', 'b', 'a', 'c'].entries()) await follow('key', wallet, nowMs + at);
    await follow('other', 'b', nowMs + 9);
    const found = (await elsewhere.walletStates.follows(nowMs)).map(({ keyId, wallet }) => `${keyId} ${wallet}`);
    expect(found).toEqual(['key a', 'key c', 'other b']);
    expect(await elsewhere.walletStates.follows(nowMs + 9)).toHaveLength(1);
    for (let at = 0; at <= maxWalletPlaces; at++) {
      const term = await walletStates.openTerm(`place ${at}`, nowMs + at);
      await walletStates.save({ ...nothing, place: `place ${at}`, term, wallets: [rowsOf('a', { '': 'x' })], atMs: nowMs + at });
    }
    const remaining = async (at: number) => (await elsewhere.walletStates.load(`place ${at}`)).wallets.size;
    expect([await remaining(0), await remaining(1), await remaining(maxWalletPlaces)]).toEqual([0, 1, 1]);
  });
});
