import { randomBytes } from 'node:crypto';
import type { NewKey, StoredKey } from '@sluice/gateway/store/sql/tables/keys.ts';
import { maxKeys, maxKeysPerAccount } from '@sluice/gateway/store/sql/tables/keys.ts';
import { maxNonceAheadUs, operatorAccountId } from '@sluice/gateway/store/sql/tables/accounts.ts';
import { maxOneTime } from '@sluice/gateway/store/sql/tables/one-time.ts';
import { maxSessionsPerAccount } from '@sluice/gateway/store/sql/tables/sessions.ts';
import type { Store } from '@sluice/gateway/store/store.ts';
import { afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { newOrder } from '../support/orders.ts';
import { sharedPostgres, type SharedPostgres } from '../support/servers/postgres.ts';
import { newPlace, storeInUse, storeKinds, type StorePlace } from './store-harness.ts';

let postgres: SharedPostgres;
beforeAll(async () => {
  postgres = await sharedPostgres();
});

const nowMs = 1_800_000_000_000;
const dayMs = 24 * 3_600_000;
const hash = (n: number): Uint8Array => new Uint8Array(32).fill(n);

function keyOf(id: string, more: Partial<NewKey> = {}): NewKey {
  return {
    id,
    accountId: null,
    plan: 'standard',
    scopes: ['stream', 'read'],
    label: null,
    ipRanges: [],
    limits: null,
    createdAtMs: nowMs,
    secret: { hash: hash(1), createdAtMs: nowMs, endsAtMs: null },
    ...more,
  };
}

/** An old layout, and the rows that a process with it left. */
const firstLayout = `
  CREATE TABLE migrations (step INTEGER PRIMARY KEY, applied_at_ms INTEGER NOT NULL) STRICT;
  INSERT INTO migrations (step, applied_at_ms) VALUES (1, 1);
  CREATE TABLE versions (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;
  INSERT INTO versions (name, value) VALUES ('api_keys', 7);
  CREATE TABLE api_keys (
    id TEXT PRIMARY KEY, plan TEXT NOT NULL, scopes TEXT NOT NULL, label TEXT, created_at_ms INTEGER NOT NULL, revoked_at_ms INTEGER
  ) STRICT;
  CREATE TABLE api_key_secrets (
    key_id TEXT NOT NULL REFERENCES api_keys (id) ON DELETE CASCADE, number INTEGER NOT NULL, hash BLOB NOT NULL,
    created_at_ms INTEGER NOT NULL, ends_at_ms INTEGER, PRIMARY KEY (key_id, number)
  ) STRICT;
  CREATE TABLE keystores (name TEXT PRIMARY KEY, salt BLOB NOT NULL, proof BLOB NOT NULL, created_at_ms INTEGER NOT NULL) STRICT;
  CREATE TABLE wallets (
    keystore TEXT NOT NULL REFERENCES keystores (name), public_key TEXT NOT NULL, label TEXT, imported INTEGER NOT NULL,
    sealed_seed BLOB NOT NULL, created_at_ms INTEGER NOT NULL, PRIMARY KEY (keystore, public_key)
  ) STRICT`;

const ids = (keys: readonly StoredKey[]): readonly string[] => keys.map(({ id }) => id);

describe.each(storeKinds)('the store in %s', (kind) => {
  let place: StorePlace;
  let store: Store;
  /** Another process, as far as the store can tell. */
  let elsewhere: Store;
  beforeEach(async () => {
    place = await newPlace(kind, postgres);
    [store, elsewhere] = [await place.open(), await place.open()];
  });
  afterEach(() => place.end());

  /** Rows of the numbers from 1, as `i`. */
  const seriesUpTo = (last: number): string =>
    kind === 'SQLite'
      ? `(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${last}) SELECT i FROM n) AS series`
      : `generate_series(1, ${last}) AS i`;

  const holder = async (id: string, wallet: string | null = `wallet of ${id}`): Promise<void> => {
    expect(await store.accounts.create({ id, wallet, plan: 'standard', createdAtMs: nowMs })).toBe('stored');
  };

  describe('keys', () => {
    it('are returned as stored, by every kind of lookup', async () => {
      await holder('holder');
      const key = keyOf('one', {
        accountId: 'holder',
        plan: 'premium',
        label: 'a \'label\' with \u{1F511}, "quotes" and ?',
        ipRanges: ['10.0.0.0/8', '2001:db8::/32'],
        limits: { requestsPerMinute: 5, connections: 1 },
        secret: { hash: randomBytes(32), createdAtMs: nowMs, endsAtMs: nowMs + 1 },
      });
      expect(await store.keys.insert(key)).toBe('stored');
      const { secret, ...rest } = key;
      const stored = {
        ...rest,
        lastUsedAtMs: null,
        revokedAtMs: null,
        version: await elsewhere.keys.version(),
        secrets: [{ ...secret, hash: Uint8Array.from(secret.hash), number: 1 }],
      };
      expect(await elsewhere.keys.byId('one')).toEqual(stored);
      expect(await elsewhere.keys.all()).toEqual([stored]);
      expect(await elsewhere.keys.ofAccount('holder')).toEqual([stored]);
      expect(await elsewhere.keys.changed({ version: -1, id: '' }, 10)).toEqual([stored]);
      expect(await elsewhere.keys.byId('two')).toBeNull();
      expect(await elsewhere.keys.ofAccount('operator')).toEqual([]);
    });

    it('are listed oldest first', async () => {
      for (const [id, createdAtMs] of [
        ['c', 3],
        ['a', 2],
        ['b', 2],
      ] as const)
        await store.keys.insert(keyOf(id, { createdAtMs }));
      expect(ids(await elsewhere.keys.all())).toEqual(['a', 'b', 'c']);
    });

    it('show every change after a version, page by page, and no other', async () => {
      const names = Array.from({ length: 7 }, (_, index) => `key${index}`);
      for (const name of names) await store.keys.insert(keyOf(name));
      const before = await elsewhere.keys.version();
      const seen: string[] = [];
      for (let cursor = { version: -1, id: '' }; ;) {
        const page = await elsewhere.keys.changed(cursor, 3);
        seen.push(...ids(page));
        const last = page.at(-1);
        if (last === undefined || page.length < 3) break;
        cursor = last;
      }
      expect(seen).toEqual(names);
      await store.keys.revoke('key3', nowMs);
      await store.keys.addSecret('key1', { hash: hash(2), createdAtMs: nowMs }, nowMs);
      await store.keys.remove('key5', nowMs);
      expect(await elsewhere.keys.version()).toBeGreaterThan(before);
      const changed = await elsewhere.keys.changed({ version: before + 1, id: '' }, 10);
      expect(ids(changed)).toEqual(['key3', 'key1', 'key5']);
      expect(changed.map(({ secrets, revokedAtMs }) => [secrets.length, revokedAtMs])).toEqual([
        [1, nowMs],
        [2, null],
        [1, nowMs],
      ]);
    });

    it('all show if they change together, by their account', async () => {
      await holder('holder');
      for (const id of ['a', 'b', 'c']) await store.keys.insert(keyOf(id, { accountId: 'holder' }));
      await store.keys.insert(keyOf('other'));
      const before = await store.keys.version();
      expect(await store.accounts.setPlan('holder', 'premium')).toBe(true);
      const first = await elsewhere.keys.changed({ version: before + 1, id: '' }, 2);
      const second = await elsewhere.keys.changed(first[1] ?? { version: -1, id: '' }, 2);
      expect([...first, ...second].map(({ id, plan }) => [id, plan])).toEqual(['a', 'b', 'c'].map((id) => [id, 'premium']));
      expect((await store.keys.byId('other'))?.plan).toBe('standard');
    });

    it('get a new secret, and the other secrets end by then at the latest', async () => {
      await store.keys.insert(keyOf('one', { secret: { hash: hash(1), createdAtMs: nowMs, endsAtMs: null } }));
      const rotated = await store.keys.addSecret('one', { hash: hash(2), createdAtMs: nowMs + 1 }, nowMs + 100);
      expect(rotated).toEqual(await elsewhere.keys.byId('one'));
      expect(rotated?.secrets).toEqual([
        { number: 1, hash: hash(1), createdAtMs: nowMs, endsAtMs: nowMs + 100 },
        { number: 2, hash: hash(2), createdAtMs: nowMs + 1, endsAtMs: null },
      ]);
      await store.keys.addSecret('one', { hash: hash(3), createdAtMs: nowMs + 2 }, nowMs + 500);
      expect((await store.keys.byId('one'))?.secrets.map(({ endsAtMs }) => endsAtMs)).toEqual([nowMs + 100, nowMs + 500, null]);
      for (let n = 4; n <= 6; n++) await store.keys.addSecret('one', { hash: hash(n), createdAtMs: nowMs + n }, nowMs + 900);
      expect((await store.keys.byId('one'))?.secrets.map(({ number }) => number)).toEqual([3, 4, 5, 6]);
    });

    it('retain their end over rotations, and accept no later one', async () => {
      await store.keys.insert(keyOf('one', { secret: { hash: hash(1), createdAtMs: nowMs, endsAtMs: nowMs + 50 } }));
      const rotated = await store.keys.addSecret('one', { hash: hash(2), createdAtMs: nowMs + 1 }, nowMs + 10);
      expect(rotated?.secrets.map(({ endsAtMs }) => endsAtMs)).toEqual([nowMs + 10, nowMs + 50]);
      expect(await store.keys.addSecret('one', { hash: hash(3), createdAtMs: nowMs + 50 }, nowMs + 60)).toBeNull();
    });

    it('are revoked once, and deleted once', async () => {
      await store.keys.insert(keyOf('one'));
      await store.keys.insert(keyOf('two'));
      expect(await store.keys.countLive()).toBe(2);
      expect([await store.keys.revoke('one', nowMs), await elsewhere.keys.revoke('one', nowMs + 1)]).toEqual([true, false]);
      expect((await store.keys.byId('one'))?.revokedAtMs).toBe(nowMs);
      expect(await store.keys.addSecret('one', { hash: hash(2), createdAtMs: nowMs }, nowMs)).toBeNull();
      expect([await store.keys.remove('one', nowMs + 2), await elsewhere.keys.remove('one', nowMs + 2)]).toEqual([true, false]);
      expect(await store.keys.byId('one')).toBeNull();
      expect(await store.keys.remove('two', nowMs + 3)).toBe(true);
      expect(await store.keys.all()).toEqual([]);
      expect(await store.keys.countLive()).toBe(0);
      for (const id of ['one', 'two', 'three']) {
        expect(await store.keys.addSecret(id, { hash: hash(2), createdAtMs: nowMs }, nowMs)).toBeNull();
        expect(await store.keys.remove(id, nowMs)).toBe(false);
      }
      expect(await store.keys.revoke('three', nowMs)).toBe(false);
    });

    it('are deleted a month after they were revoked, and an hour after they were deleted', async () => {
      for (const id of ['revoked', 'deleted', 'live']) await store.keys.insert(keyOf(id));
      await store.keys.revoke('revoked', nowMs);
      await store.keys.remove('deleted', nowMs);
      const passUntil = await storeInUse(await place.database(), nowMs);
      const seenAt = async (createdAtMs: number): Promise<readonly string[]> => {
        await passUntil(createdAtMs);
        await store.keys.insert(keyOf(`at${createdAtMs}`, { createdAtMs }));
        return ids(await store.keys.changed({ version: -1, id: '' }, 100)).filter((id) => !id.startsWith('at'));
      };
      expect(await seenAt(nowMs + 3_000_000)).toEqual(['live', 'revoked', 'deleted']);
      // A clock that is ahead decides nothing.
      await store.keys.insert(keyOf('at', { createdAtMs: nowMs + 31 * dayMs }));
      expect(await seenAt(nowMs + 3_100_000)).toEqual(['live', 'revoked', 'deleted']);
      expect(await seenAt(nowMs + 7_300_000)).toEqual(['live', 'revoked']);
      expect(await seenAt(nowMs + 32 * dayMs)).toEqual(['live']);
    });

    it('record when they were last used, without changing a version', async () => {
      for (const id of ['a', 'b', 'c']) await store.keys.insert(keyOf(id));
      const version = await store.keys.version();
      await store.keys.noteUses(
        new Map([
          ['a', nowMs + 10],
          ['b', nowMs + 20],
          ['gone', nowMs],
        ]),
      );
      await elsewhere.keys.noteUses(
        new Map([
          ['a', nowMs + 5],
          ['b', nowMs + 30],
        ]),
      );
      await elsewhere.keys.noteUses(new Map());
      expect((await store.keys.all()).map(({ lastUsedAtMs }) => lastUsedAtMs)).toEqual([nowMs + 10, nowMs + 30, null]);
      expect(await store.keys.version()).toBe(version);
    });

    it('are limited for each holder, including deleted ones, but not for the operator', async () => {
      await holder('holder');
      const insert = (id: string, accountId: string | null): Promise<string> => store.keys.insert(keyOf(id, { accountId }));
      for (let n = 0; n < maxKeysPerAccount; n++) {
        expect(await insert(`h${n}`, 'holder')).toBe('stored');
        expect(await insert(`o${n}`, 'operator')).toBe('stored');
      }
      expect(await insert('more', 'holder')).toBe('account-full');
      expect(await insert('more', 'operator')).toBe('stored');
      expect(await insert('nobodys', null)).toBe('stored');
      await store.keys.remove('h0', nowMs);
      expect(await insert('again', 'holder')).toBe('stored');
      let made = maxKeysPerAccount + 1;
      for (; made < 1_000; made++) {
        await store.keys.remove(made === maxKeysPerAccount + 1 ? 'again' : `again${made - 1}`, nowMs);
        if ((await insert(`again${made}`, 'holder')) !== 'stored') break;
      }
      expect(made).toBe(5 * maxKeysPerAccount);
    });

    it('are limited in total', async () => {
      const db = await place.database();
      const series = seriesUpTo(maxKeys - 1);
      await db.run(
        `INSERT INTO api_keys (id, plan, scopes, created_at_ms) SELECT CAST(i AS TEXT), 'standard', 'read', CAST(? AS BIGINT) FROM ${series}`,
        nowMs,
      );
      expect(await store.keys.insert(keyOf('last'))).toBe('stored');
      expect(await store.keys.insert(keyOf('one more'))).toBe('store-full');
      await store.keys.remove('last', nowMs);
      const passUntil = await storeInUse(db, nowMs);
      expect(await store.keys.insert(keyOf('too early', { createdAtMs: nowMs + dayMs }))).toBe('store-full');
      await passUntil(nowMs + dayMs);
      expect(await store.keys.insert(keyOf('in its place', { createdAtMs: nowMs + dayMs }))).toBe('stored');
    });

    it('need an existing account', async () => {
      expect(await store.keys.insert(keyOf('one', { accountId: 'nobody' }))).toBe('no-account');
      await holder('holder');
      await store.accounts.disable('holder', nowMs);
      expect(await store.keys.insert(keyOf('one', { accountId: 'holder' }))).toBe('no-account');
      expect(await store.keys.all()).toEqual([]);
    });

    it('respect their limit when many are created at once', async () => {
      await holder('holder');
      const outcomes = await Promise.all(
        Array.from({ length: 2 * maxKeysPerAccount }, (_, n) =>
          (n % 2 ? store : elsewhere).keys.insert(keyOf(`k${n}`, { accountId: 'holder' })),
        ),
      );
      expect(outcomes.filter((outcome) => outcome === 'stored')).toHaveLength(maxKeysPerAccount);
      expect(await store.keys.ofAccount('holder')).toHaveLength(maxKeysPerAccount);
      const versions = (await store.keys.all()).map(({ version }) => version);
      expect(new Set(versions).size).toBe(maxKeysPerAccount);
    });
  });

  it('revokes all keys at once, each once, and the check becomes invalid', async () => {
    for (const id of ['one', 'two', 'three']) await store.keys.insert(keyOf(id));
    await store.keys.revoke('two', nowMs + 1);
    const before = await store.keys.version();
    expect(await store.keys.revokeAll(nowMs + 2)).toBe(2);
    const changed = await elsewhere.keys.changed({ version: before + 1, id: '' }, 10);
    expect(changed.map((key) => [key.id, key.revokedAtMs])).toEqual([
      ['one', nowMs + 2],
      ['three', nowMs + 2],
    ]);
    expect(await store.keys.revokeAll(nowMs + 3)).toBe(0);
    await store.checks.agree('a check', hash(1));
    expect([await elsewhere.checks.remove('a check'), await store.checks.remove('a check')]).toEqual([true, false]);
  });

  describe('accounts', () => {
    it('include the operator from the beginning, whose plan and end cannot be set', async () => {
      expect(await elsewhere.accounts.all()).toMatchObject([{ id: 'operator', kind: 'operator', wallet: null, disabledAtMs: null }]);
      expect(await store.accounts.setPlan('operator', 'standard')).toBe(false);
      expect(await store.accounts.disable('operator', nowMs)).toBe(false);
      expect(await store.accounts.create({ id: 'operator', wallet: 'w', plan: 'standard', createdAtMs: nowMs })).toBe('taken');
    });

    it('accept each number of a nonce once, and none below it', async () => {
      const us = nowMs * 1000;
      for (let n = 0; n < 10; n++) {
        const used = await Promise.all(
          Array.from({ length: 6 }, (_, i) => (i % 2 ? store : elsewhere).accounts.useNonce('operator', us + n, nowMs)),
        );
        expect(used.filter(Boolean)).toHaveLength(1);
      }
      expect(await store.accounts.useNonce('operator', us + 8, nowMs)).toBe(false);
      expect(await store.accounts.useNonce('nobody', us, nowMs)).toBe(false);
    });

    it('drop the number of a nonce from a clock that is more than a minute ahead', async () => {
      const us = nowMs * 1000;
      expect(await store.accounts.useNonce('operator', us + maxNonceAheadUs, nowMs)).toBe(true);
      expect(await store.accounts.useNonce('operator', us, nowMs)).toBe(false);
      expect(await store.accounts.useNonce('operator', us + maxNonceAheadUs + 1, nowMs)).toBe(true);
      expect(await store.accounts.useNonce('operator', us, nowMs)).toBe(true);
    });

    it('are returned as stored, one for each wallet', async () => {
      await holder('one', 'wallet 1');
      await holder('walletless', null);
      await holder('walletless too', null);
      const stored = {
        id: 'one',
        kind: 'holder',
        wallet: 'wallet 1',
        plan: 'standard',
        createdAtMs: nowMs,
        disabledAtMs: null,
        lastSignInAtMs: null,
      };
      expect(await elsewhere.accounts.byId('one')).toEqual(stored);
      expect(await elsewhere.accounts.byWallet('wallet 1')).toEqual(stored);
      expect(await elsewhere.accounts.byWallet('wallet 2')).toBeNull();
      expect(await elsewhere.accounts.byId('two')).toBeNull();
      expect(await elsewhere.accounts.create({ id: 'two', wallet: 'wallet 1', plan: 'premium', createdAtMs: nowMs })).toBe('taken');
      expect(await elsewhere.accounts.all()).toHaveLength(4);
    });

    it('of one wallet are created once, by any number of concurrent calls', async () => {
      const outcomes = await Promise.all(
        Array.from({ length: 10 }, (_, n) =>
          (n % 2 ? store : elsewhere).accounts.create({ id: `a${n}`, wallet: 'w', plan: 'standard', createdAtMs: nowMs }),
        ),
      );
      expect(outcomes.filter((outcome) => outcome === 'stored')).toHaveLength(1);
    });

    it('end with their keys, sessions and links, and are still stored', async () => {
      await holder('holder');
      await holder('other');
      for (const id of ['holder', 'other']) {
        await store.keys.insert(keyOf(`key of ${id}`, { accountId: id }));
        const tokenHash = hash(id.length);
        await store.sessions.create({ tokenHash, accountId: id, csrfHash: hash(0), createdAtMs: nowMs, expiresAtMs: nowMs + 100 });
        await store.oneTime.put({ hash: tokenHash, accountId: id, expiresAtMs: nowMs + 100 }, nowMs);
      }
      expect([await elsewhere.accounts.disable('holder', nowMs), await store.accounts.disable('holder', nowMs)]).toEqual([true, false]);
      expect((await store.accounts.byWallet('wallet of holder'))?.disabledAtMs).toBe(nowMs);
      expect((await store.keys.byId('key of holder'))?.revokedAtMs).toBe(nowMs);
      expect(await store.sessions.byTokenHash(hash('holder'.length), nowMs)).toBeNull();
      expect(await store.oneTime.take(hash('holder'.length), nowMs)).toBeNull();
      expect((await store.keys.byId('key of other'))?.revokedAtMs).toBeNull();
      expect(await store.sessions.byTokenHash(hash('other'.length), nowMs)).not.toBeNull();
      expect(await store.oneTime.take(hash('other'.length), nowMs)).not.toBeNull();
      expect(await store.accounts.setPlan('holder', 'premium')).toBe(false);
      const late = { tokenHash: hash(9), accountId: 'holder', csrfHash: hash(0), createdAtMs: nowMs, expiresAtMs: nowMs + 100 };
      expect(await store.sessions.create(late)).toBe(false);
    });
  });

  describe('sessions', () => {
    const begin = (n: number, more: { readonly accountId?: string; readonly createdAtMs?: number } = {}): Promise<boolean> => {
      const createdAtMs = more.createdAtMs ?? nowMs + n;
      const accountId = more.accountId ?? 'operator';
      return store.sessions.create({
        tokenHash: hash(n),
        accountId,
        csrfHash: hash(100 + n),
        createdAtMs,
        expiresAtMs: createdAtMs + 1000,
      });
    };

    it('are returned until they end, and are the account’s last sign-in', async () => {
      expect(await begin(1)).toBe(true);
      const stored = {
        tokenHash: hash(1),
        accountId: 'operator',
        csrfHash: hash(101),
        createdAtMs: nowMs + 1,
        expiresAtMs: nowMs + 1001,
        lastSeenAtMs: nowMs + 1,
      };
      expect(await elsewhere.sessions.byTokenHash(hash(1), nowMs + 1000)).toEqual(stored);
      expect(await elsewhere.sessions.byTokenHash(hash(1), nowMs + 1001)).toBeNull();
      expect(await elsewhere.sessions.byTokenHash(hash(2), nowMs)).toBeNull();
      expect((await store.accounts.byId('operator'))?.lastSignInAtMs).toBe(nowMs + 1);
      expect(await begin(2, { accountId: 'nobody' })).toBe(false);
    });

    it('are extended by each use', async () => {
      await begin(1);
      expect(await elsewhere.sessions.touch(hash(1), nowMs + 500, nowMs + 2000)).toBe(true);
      expect(await store.sessions.byTokenHash(hash(1), nowMs + 1500)).toMatchObject({
        lastSeenAtMs: nowMs + 500,
        expiresAtMs: nowMs + 2000,
      });
      expect(await store.sessions.touch(hash(1), nowMs + 2000, nowMs + 3000)).toBe(false);
      expect(await store.sessions.touch(hash(7), nowMs, nowMs + 1)).toBe(false);
    });

    it('are limited for each account: the oldest is removed', async () => {
      await holder('holder');
      await begin(90, { accountId: 'holder', createdAtMs: nowMs });
      for (let n = 0; n < maxSessionsPerAccount + 3; n++) await begin(n);
      const alive = async (n: number): Promise<boolean> => (await store.sessions.byTokenHash(hash(n), nowMs + 100)) !== null;
      const found = await Promise.all(Array.from({ length: maxSessionsPerAccount + 3 }, (_, n) => alive(n)));
      expect(found).toEqual(Array.from({ length: maxSessionsPerAccount + 3 }, (_, n) => n >= 3));
      expect(await alive(90)).toBe(true);
    });

    it('end one by one', async () => {
      for (let n = 0; n < 2; n++) await begin(n);
      expect([await elsewhere.sessions.remove(hash(0)), await store.sessions.remove(hash(0))]).toEqual([true, false]);
      expect(await store.sessions.byTokenHash(hash(0), nowMs)).toBeNull();
      expect(await store.sessions.byTokenHash(hash(1), nowMs)).not.toBeNull();
    });

    it('are deleted when they have ended', async () => {
      await begin(1);
      await begin(2, { createdAtMs: nowMs + 5000 });
      const db = await place.database();
      expect(await db.all('SELECT created_at_ms FROM sessions')).toEqual([{ created_at_ms: nowMs + 5000 }]);
    });
  });

  describe('one-time tokens', () => {
    it('can be used once, before they expire', async () => {
      const entry = { hash: hash(1), accountId: 'operator', expiresAtMs: nowMs + 10 } as const;
      expect(await store.oneTime.put(entry, nowMs)).toBe(true);
      expect(await elsewhere.oneTime.take(hash(2), nowMs)).toBeNull();
      expect(await elsewhere.oneTime.take(hash(1), nowMs + 9)).toEqual(entry);
      expect(await store.oneTime.take(hash(1), nowMs + 9)).toBe('used');
      expect(await elsewhere.oneTime.take(hash(1), nowMs + 10)).toBeNull();
      await store.oneTime.put({ ...entry, hash: hash(3) }, nowMs + 10);
      expect(await store.oneTime.take(hash(3), nowMs + 10)).toBeNull();
      const db = await place.database();
      expect(await db.all('SELECT kind FROM one_time')).toEqual([]);
    });

    it('go to one of many concurrent users', async () => {
      for (let n = 0; n < 20; n++) {
        await store.oneTime.put({ hash: hash(n), accountId: 'operator', expiresAtMs: nowMs + 10 }, nowMs);
        const taken = await Promise.all(Array.from({ length: 6 }, (_, i) => (i % 2 ? store : elsewhere).oneTime.take(hash(n), nowMs)));
        expect(taken.filter((entry) => entry !== 'used')).toHaveLength(1);
      }
    });

    it('are limited, and make room when they expire', async () => {
      const db = await place.database();
      const bytes = kind === 'SQLite' ? 'CAST(i AS BLOB)' : "decode(lpad(to_hex(i), 8, '0'), 'hex')";
      await db.run(
        `INSERT INTO one_time (kind, hash, expires_at_ms) SELECT 'link', ${bytes}, CAST(? AS BIGINT) FROM ${seriesUpTo(maxOneTime)}`,
        nowMs + 10,
      );
      const link = { hash: hash(1), accountId: 'operator', expiresAtMs: nowMs + 100 } as const;
      expect(await store.oneTime.put(link, nowMs + 9)).toBe(false);
      expect(await store.oneTime.put(link, nowMs + 10)).toBe(true);
    });
  });

  describe('wallets', () => {
    const wallet = (publicKey: string, createdAtMs = nowMs) => ({
      publicKey,
      accountId: null,
      label: 'mine',
      imported: true,
      sealedSeed: randomBytes(61),
      createdAtMs,
    });

    it('are returned sealed, of their keystore, oldest first', async () => {
      const keystore = { salt: hash(1), proof: hash(2) };
      expect(await store.wallets.keystore('cluster')).toBeNull();
      expect(await store.wallets.insertKeystore('cluster', keystore, nowMs)).toBe(true);
      expect(await elsewhere.wallets.insertKeystore('cluster', { salt: hash(3), proof: hash(4) }, nowMs)).toBe(false);
      expect(await elsewhere.wallets.keystore('cluster')).toEqual(keystore);
      const [young, old] = [wallet('young', nowMs + 1), wallet('old')];
      expect(await store.wallets.insert('cluster', young)).toBe('stored');
      expect(await store.wallets.insert('cluster', old)).toBe('stored');
      expect(await elsewhere.wallets.insert('cluster', { ...old, imported: false })).toBe('exists');
      const plain = (one: typeof old) => ({ ...one, sealedSeed: Uint8Array.from(one.sealedSeed) });
      expect(await elsewhere.wallets.list('cluster')).toEqual([plain(old), plain(young)]);
      expect(await elsewhere.wallets.byPublicKey('cluster', 'old')).toEqual(plain(old));
      expect(await elsewhere.wallets.byPublicKey('simnet', 'old')).toBeNull();
      await store.wallets.insertKeystore('simnet', keystore, nowMs);
      expect(await elsewhere.wallets.list('simnet')).toEqual([]);
    });

    it('belong to an existing account, or to the operator', async () => {
      await store.wallets.insertKeystore('cluster', { salt: hash(1), proof: hash(2) }, nowMs);
      await holder('holder');
      expect(await store.wallets.insert('cluster', { ...wallet('one'), accountId: 'holder' })).toBe('stored');
      expect((await elsewhere.wallets.byPublicKey('cluster', 'one'))?.accountId).toBe('holder');
      await expect(store.wallets.insert('cluster', { ...wallet('two'), accountId: 'nobody' })).rejects.toThrow();
      expect(await elsewhere.wallets.byPublicKey('cluster', 'two')).toBeNull();
    });

    it('are found by their account, and by the key whose default they are', async () => {
      for (const name of ['cluster', 'simnet']) await store.wallets.insertKeystore(name, { salt: hash(1), proof: hash(2) }, nowMs);
      await holder('holder');
      for (const [at, publicKey] of ['c', 'b', 'a'].entries()) {
        await store.wallets.insert('cluster', { ...wallet(publicKey, nowMs + at), accountId: 'holder' });
      }
      await store.wallets.insert('cluster', wallet('free'));
      await store.wallets.insert('cluster', { ...wallet('named', nowMs + 9), accountId: operatorAccountId });
      await store.wallets.insert('simnet', { ...wallet('elsewhere'), accountId: 'holder' });
      const defaultOf = (accountId: string, keyId = 'k1', keystore = 'cluster') =>
        elsewhere.wallets.defaultOf(keystore, { keyId, accountId });
      expect([await defaultOf('holder'), await defaultOf(operatorAccountId), await defaultOf('nobody')]).toEqual(['c', 'free', null]);
      await store.keys.insert(keyOf('k1', { accountId: 'holder' }));
      await store.wallets.setDefault('cluster', 'k1', 'b');
      await store.wallets.setDefault('cluster', 'k1', 'a');
      expect([await defaultOf('holder'), await defaultOf('holder', 'k2'), await defaultOf('holder', 'k1', 'simnet')]).toEqual([
        'a',
        'c',
        'elsewhere',
      ]);
      await expect(store.wallets.setDefault('cluster', 'k1', 'elsewhere')).rejects.toThrow();
      await expect(store.wallets.setDefault('cluster', 'k9', 'a')).rejects.toThrow();
    });

    it('are never more than an account or the keystore may have, also if processes insert them at once', async () => {
      for (const name of ['cluster', 'simnet']) await store.wallets.insertKeystore(name, { salt: hash(1), proof: hash(2) }, nowMs);
      await holder('holder');
      const insertions = (accountId: string | null, limits: object, names: readonly string[]): Promise<readonly string[]> =>
        Promise.all(names.map((name, at) => [store, elsewhere][at % 2]!.wallets.insert('cluster', { ...wallet(name), accountId }, limits)));
      await store.wallets.insert('simnet', { ...wallet('other'), accountId: 'holder' });
      expect((await insertions('holder', { ofAccount: 2 }, ['a', 'b', 'c', 'd'])).toSorted()).toEqual([
        'account_full',
        'account_full',
        'stored',
        'stored',
      ]);
      // Wallets without an account are the operator's.
      expect(await insertions(null, { ofAccount: 1 }, ['e'])).toEqual(['stored']);
      expect(await insertions(operatorAccountId, { ofAccount: 1 }, ['f'])).toEqual(['account_full']);
      expect((await insertions(null, { inKeystore: 4 }, ['g', 'h'])).toSorted()).toEqual(['full', 'stored']);
      expect(await store.wallets.list('cluster')).toHaveLength(4);
    });

    it('need a keystore', async () => {
      await expect(store.wallets.insert('nowhere', wallet('one'))).rejects.toThrow();
    });
  });

  describe('a value that processes agree on', () => {
    it('is the first one that was proposed', async () => {
      expect(await store.checks.get('a')).toBeNull();
      expect(await store.checks.agree('a', hash(1))).toBe(true);
      expect(await elsewhere.checks.agree('a', hash(1))).toBe(true);
      expect(await elsewhere.checks.agree('a', hash(2))).toBe(false);
      expect(await elsewhere.checks.agree('a', hash(1).slice(1))).toBe(false);
      expect(await elsewhere.checks.get('a')).toEqual(hash(1));
    });
  });

  describe('the switch that halts trading', () => {
    it('has the value that was last set, for every reader', async () => {
      expect(await store.halt.read()).toEqual({ halted: false, reason: null, changedAtMs: 0 });
      expect(await store.halt.set(true, 'a node lies', nowMs)).toBe(true);
      expect(await elsewhere.halt.set(true, 'again', nowMs + 1)).toBe(false);
      const halted = { halted: true, reason: 'a node lies', changedAtMs: nowMs };
      expect(await elsewhere.halt.read()).toEqual(halted);
      expect(await (await place.open()).halt.read()).toEqual(halted);
      expect(await elsewhere.halt.set(false, null, nowMs + 2)).toBe(true);
      expect(await store.halt.read()).toEqual({ halted: false, reason: null, changedAtMs: nowMs + 2 });
    });

    it('does not return by itself if its row was removed', async () => {
      await (await place.database()).run('DELETE FROM trading_halt');
      await expect(store.halt.read()).rejects.toThrow(/lost/);
    });
  });

  describe('the recorded ends of audit logs', () => {
    it('only move forward', async () => {
      const head = (lines: number) => ({ logId: 'one', lines, mac: hash(lines), notedAtMs: nowMs + lines, place: 'here' });
      expect(await store.auditHeads.all()).toEqual([]);
      await store.auditHeads.note(head(5));
      await elsewhere.auditHeads.note(head(4));
      expect(await elsewhere.auditHeads.all()).toEqual([head(5)]);
      await elsewhere.auditHeads.note(head(6));
      await store.auditHeads.note({ ...head(1), logId: 'two' });
      expect(await store.auditHeads.all()).toEqual([{ ...head(1), logId: 'two' }, head(6)]);
      expect([await store.auditHeads.forget('two'), await elsewhere.auditHeads.forget('two')]).toEqual([true, false]);
      expect(await store.auditHeads.all()).toEqual([head(6)]);
    });
  });

  describe('the layout', () => {
    it('is refused if a newer version has written it', async () => {
      const db = await place.database();
      await db.run('INSERT INTO migrations (step, applied_at_ms) VALUES (?, ?)', 999, 0);
      await expect(place.open()).rejects.toThrow(new RegExp(`^${kind === 'SQLite' ? 'DATA_DIR' : 'DATABASE_URL'}: .*newer version`));
    });

    it('is taken back from steps that no release had, and retains the keys of its orders', async () => {
      const order = newOrder(nowMs);
      const idempotency = { endpoint: 'tradeBuy', key: 'one', fingerprint: hash(1) };
      await store.orders.insert(order, { idempotency, spend: null, followedBy: 'gateway' });
      const db = await place.database();
      const unreleased = `
        CREATE TABLE used_keys (owner TEXT NOT NULL, idempotency_key TEXT NOT NULL, fingerprint BLOB NOT NULL,
          order_id TEXT NOT NULL REFERENCES orders (id) ON DELETE CASCADE, used_at_ms INTEGER NOT NULL,
          PRIMARY KEY (owner, idempotency_key)) STRICT;
        INSERT INTO used_keys SELECT owner, idempotency_key, fingerprint, order_id, used_at_ms FROM order_keys;
        DROP TABLE order_keys;
        ALTER TABLE used_keys RENAME TO order_keys;
        CREATE INDEX order_keys_by_use ON order_keys (used_at_ms);
        CREATE INDEX order_keys_by_order ON order_keys (order_id);
        INSERT INTO migrations (step, applied_at_ms) VALUES (10, 1), (11, 1);
        DROP TABLE additions;
        DROP TABLE paper_accounts;
        DROP TABLE paper_wallets;
        DROP TABLE trigger_keys;
        DROP TABLE trigger_terms;
        DROP TABLE triggers;
        DROP TABLE wallet_states;
        DROP TABLE wallet_terms;
        DROP TABLE wallet_follows;
        DROP INDEX orders_not_counted;
        ALTER TABLE orders DROP COLUMN counted_at_ms`;
      for (const statement of db.dialect.layout(unreleased)) await db.run(statement);
      const migrated = await place.open();
      expect((await db.get('SELECT max(step) AS step FROM migrations'))?.['step']).toBe(9);
      // The endpoint is unknown, so the key is refused and buys nothing a second time.
      expect(await migrated.orders.lookUp('key:key', idempotency)).toEqual({ kind: 'mismatch' });
      const next = { ...idempotency, key: 'two' };
      expect(await migrated.orders.insert(newOrder(nowMs), { idempotency: next, spend: null, followedBy: 'gateway' })).toMatchObject({
        kind: 'stored',
      });
    });

    it('is migrated from the first layout, and retains its keys', async () => {
      const old = await newPlace(kind, postgres);
      onTestFinished(() => old.end());
      const db = await old.database();
      for (const statement of db.dialect.layout(firstLayout)) await db.run(statement);
      const oldKey = 'INSERT INTO api_keys (id, plan, scopes, label, created_at_ms, revoked_at_ms) VALUES (?, ?, ?, ?, ?, ?)';
      await db.run(oldKey, 'old', 'premium', 'stream,trade', null, nowMs, null);
      const oldSecret = 'INSERT INTO api_key_secrets (key_id, number, hash, created_at_ms, ends_at_ms) VALUES (?, ?, ?, ?, ?)';
      await db.run(oldSecret, 'old', 1, hash(1), nowMs, null);
      const grown = await old.open();
      const { secret, ...rest } = keyOf('old', { plan: 'premium', scopes: ['stream', 'trade'] });
      const noMore = { lastUsedAtMs: null, revokedAtMs: null, version: 0 };
      expect(await grown.keys.changed({ version: -1, id: '' }, 10)).toEqual([{ ...rest, ...noMore, secrets: [{ ...secret, number: 1 }] }]);
      expect(await grown.accounts.byId('operator')).not.toBeNull();
      expect(await grown.keys.revoke('old', nowMs)).toBe(true);
    });

    it('undoes all of a failed transaction', async () => {
      const db = await place.database();
      const failing = db.transaction('accounts', async (sql) => {
        await sql.run("UPDATE versions SET value = 1000 WHERE name = 'api_keys'");
        await sql.run('INSERT INTO nowhere (a) VALUES (1)');
      });
      await expect(failing).rejects.toThrow(/nowhere/);
      expect(await store.keys.version()).toBe(0);
      expect(await store.keys.insert(keyOf('one'))).toBe('stored');
    });
  });
});
