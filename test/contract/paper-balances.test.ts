import {
  maxPaperAccounts,
  maxPaperChains,
  paperStartLamports,
  type PaperAccount,
  type PaperMovement,
} from '@sluice/gateway/store/sql/tables/orders/paper.ts';
import type { InsertOutcome } from '@sluice/gateway/store/sql/tables/orders/orders.ts';
import type { Store } from '@sluice/gateway/store/store.ts';
import { tokenProgram } from '@sluice/shared/solana/well-known.ts';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { addressOf } from '../support/events/stream-events.ts';
import { newOrder, orderFill, orderGenesisHash } from '../support/orders.ts';
import { sharedPostgres, type SharedPostgres } from '../support/servers/postgres.ts';
import { newPlace, storeKinds, type StorePlace } from './store-harness.ts';

const nowMs = 1_800_000_000_000;
const sol = 1_000_000_000n;
const wallet = 'wallet';
const place = { wallet, genesisHash: orderGenesisHash };
const [mint, account] = [addressOf(10), addressOf(11)];
const tokens = (amount: bigint, address = account): PaperAccount => ({ address, token: { mint, program: tokenProgram }, amount });

describe.each(storeKinds)('paper balances in %s', (kind) => {
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

  const unsigned = { signature: null, signedBytes: null, blockhash: null, lastValidBlockHeight: null } as const;
  const paperOrder = () => newOrder(nowMs, { ...unsigned, kind: 'paper', state: 'finalized', fill: orderFill });
  const move = (change: Partial<PaperMovement>, key: string | null = null, into = store): Promise<InsertOutcome> => {
    const idempotency = key === null ? null : { endpoint: 'tradeBuy', key, fingerprint: new Uint8Array(32) };
    const paper = { ...place, lamports: 0n, accounts: [], ...change };
    return into.orders.insert(paperOrder(), { idempotency, spend: null, followedBy: 'gateway', paper });
  };

  it('begin with 10 SOL on each chain, and follow orders to the last digit', async () => {
    expect(paperStartLamports).toBe(10n * sol);
    const start = { lamports: 10n * sol, startLamports: 10n * sol, startedAtMs: null, accounts: new Map() };
    expect(await store.paper.balance(place)).toEqual(start);
    const opened = { address: addressOf(12), token: null, amount: 0n };
    const most = 18_446_744_073_709_551_615n;
    expect(await move({ lamports: -3n, accounts: [tokens(most), opened] }, 'buy')).toMatchObject({ kind: 'stored' });
    // The repeated order changes nothing.
    expect(await move({ lamports: -3n, accounts: [tokens(most), opened] }, 'buy', elsewhere)).toMatchObject({ kind: 'replay' });
    const bought = {
      ...start,
      lamports: 10n * sol - 3n,
      startedAtMs: nowMs,
      accounts: new Map([
        [account, tokens(most)],
        [opened.address, opened],
      ]),
    };
    expect(await elsewhere.paper.balance(place)).toEqual(bought);
    await move({ lamports: 2n, accounts: [tokens(-most)] });
    expect((await store.paper.balance(place)).accounts.get(account)).toEqual(tokens(0n));
    expect((await store.paper.balance(place)).lamports).toBe(10n * sol - 1n);
    for (const other of [
      { wallet, genesisHash: 'another chain' },
      { wallet: 'another', genesisHash: orderGenesisHash },
    ])
      expect(await store.paper.balance(other)).toEqual(start);
  });

  it('are never below zero, however many orders come at once, and a refused order is not stored', async () => {
    const each = [store, elsewhere].flatMap((one) => Array.from({ length: 10 }, () => one));
    const buys = await Promise.all(each.map((one) => move({ lamports: -sol, accounts: [tokens(5n)] }, null, one)));
    expect(buys.filter(({ kind: came }) => came === 'stored')).toHaveLength(10);
    const refused = { kind: 'short', unit: 'lamports', have: 0n, need: sol };
    expect(buys.filter(({ kind: came }) => came === 'short')).toEqual(Array.from({ length: 10 }, () => refused));
    const sells = await Promise.all(each.map((one, n) => move({ lamports: sol, accounts: [tokens(-4n)] }, `sell ${n}`, one)));
    expect(sells.filter(({ kind: came }) => came === 'stored')).toHaveLength(12);
    expect(sells.find(({ kind: came }) => came === 'short')).toEqual({ kind: 'short', unit: 'tokens', have: 2n, need: 4n });
    expect(await store.paper.balance(place)).toMatchObject({ lamports: 12n * sol, accounts: new Map([[account, tokens(2n)]]) });
    expect(await store.orders.page({ owner: 'key:key', before: null, state: null, limit: 100 })).toHaveLength(22);
    const isFresh = async (n: number): Promise<boolean> => {
      const use = { endpoint: 'tradeBuy', key: `sell ${n}`, fingerprint: new Uint8Array(32) };
      return (await store.orders.lookUp('key:key', use)).kind === 'fresh';
    };
    expect(await Promise.all(sells.map((_, n) => isFresh(n)))).toEqual(sells.map(({ kind: came }) => came === 'short'));
  });

  it('are set by their owner, with or without what was traded', async () => {
    await move({ lamports: 5n * sol, accounts: [tokens(7n)] });
    const added = await store.paper.set(place, { lamports: 20n * sol, reset: false, atMs: nowMs + 1 });
    // It had gained 5 SOL, and still has.
    expect(added).toMatchObject({ lamports: 20n * sol, startLamports: 15n * sol, startedAtMs: nowMs });
    expect(added.accounts.get(account)).toEqual(tokens(7n));
    const taken = await store.paper.set(place, { lamports: 0n, reset: false, atMs: nowMs + 2 });
    expect(taken).toMatchObject({ lamports: 0n, startLamports: -5n * sol });
    const again = await elsewhere.paper.set(place, { lamports: 3n * sol, reset: true, atMs: nowMs + 3 });
    expect(again).toEqual({ lamports: 3n * sol, startLamports: 3n * sol, startedAtMs: nowMs + 3, accounts: new Map() });
    expect(await store.paper.balance(place)).toEqual(again);
  });

  it('are bounded: empty accounts are forgotten first, and the oldest of too many chains', async () => {
    const many = (amount: bigint) => Array.from({ length: maxPaperAccounts - 1 }, (_, n) => tokens(amount, addressOf(100 + n)));
    await move({ accounts: [tokens(0n), ...many(1n)] });
    expect(await move({ accounts: [tokens(1n, addressOf(20))] })).toMatchObject({ kind: 'stored' });
    const { accounts } = await store.paper.balance(place);
    expect(accounts.size).toBe(maxPaperAccounts);
    expect(accounts.has(account)).toBe(false);
    expect(await move({ lamports: -1n, accounts: [tokens(1n)] })).toEqual({ kind: 'full' });
    expect((await store.paper.balance(place)).lamports).toBe(10n * sol);
    for (let n = 0; n < maxPaperChains; n++) {
      await store.paper.set({ wallet, genesisHash: `chain ${n}` }, { lamports: BigInt(n), reset: true, atMs: nowMs + 1 + n });
    }
    expect(await store.paper.balance(place)).toMatchObject({ startedAtMs: null, accounts: new Map() });
    expect(await store.paper.balance({ wallet, genesisHash: 'chain 0' })).toMatchObject({ lamports: 0n });
  });
});
