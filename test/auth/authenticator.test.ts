import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deleteApiKey, rotateApiKey } from '@sluice/gateway/auth/api-keys.ts';
import { createAuthenticator, type StoreAuthenticator } from '@sluice/gateway/auth/authenticator.ts';
import { newApiKey, newKeyId, parseApiKey } from '@sluice/gateway/auth/key-format.ts';
import { openSqlite } from '@sluice/gateway/store/sql/sqlite/sqlite.ts';
import type { Store } from '@sluice/gateway/store/store.ts';
import { defaultPlans } from '@sluice/shared/config/plans.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { authenticatorOf, makeKey, openEmbeddedStore } from '../support/keys.ts';

let dataDir: string;
let store: Store;
let authenticator: StoreAuthenticator;
/** Another process, from the store's view: a connection of its own. */
let elsewhere: Store;

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'sluice-auth-'));
  store = await openEmbeddedStore(dataDir);
  elsewhere = await openEmbeddedStore(dataDir);
  authenticator = await authenticatorOf(store);
});
afterEach(async () => {
  await authenticator.close();
  await store.close();
  await elsewhere.close();
  rmSync(dataDir, { recursive: true });
});

const request = { plan: 'premium', scopes: ['stream', 'read'], label: 'a label' } as const;

/** A key that the authenticator knows. */
async function knownKey(more: Parameters<typeof makeKey>[1] = {}): Promise<{ readonly id: string; readonly key: string }> {
  const made = await makeKey(store, { ...request, ...more });
  await authenticator.refresh();
  return made;
}

function soon(check: () => void): Promise<void> {
  return vi.waitFor(check, { timeout: 60_000, interval: 5 });
}

/** Lets time pass at once. */
function passTime(ms: number): void {
  vi.spyOn(store.time, 'nowMs').mockReturnValue(store.time.nowMs() + ms);
}

describe('the form of an API key', () => {
  it('has letters, digits and underscores, at least 40 characters, and is parsed back', () => {
    for (let round = 0; round < 200; round++) {
      const id = newKeyId();
      const { key } = newApiKey(id);
      expect(key).toMatch(/^sluice_[0-9A-Za-z]+_[0-9A-Za-z]+$/);
      expect(key.length).toBeGreaterThanOrEqual(40);
      expect(parseApiKey(key)?.id).toBe(id);
    }
  });

  it('is refused if any character is changed, cut or added', () => {
    const { key } = newApiKey(newKeyId());
    for (let index = 0; index < key.length; index++) {
      const other = key[index] === 'A' ? 'B' : 'A';
      expect(parseApiKey(key.slice(0, index) + other + key.slice(index + 1)), `at ${index}`).toBeNull();
      expect(parseApiKey(key.slice(0, index) + key.slice(index + 1))).toBeNull();
    }
    for (const text of ['', ' ', key + key, `${key} `, `${key}\n`, key.toUpperCase(), '\u0000'.repeat(58), 'x'.repeat(100_000)]) {
      expect(parseApiKey(text)).toBeNull();
    }
  });
});

describe('the authenticator', () => {
  it('accepts a key and knows its rights', async () => {
    const { id, key } = await knownKey({ ipRanges: ['10.0.0.0/8'] });
    expect(authenticator.authenticate(key)).toEqual({
      keyId: id,
      credential: `${id}.1`,
      accountId: null,
      plan: defaultPlans.premium,
      plans: defaultPlans,
      scopes: ['stream', 'read'],
      ipRanges: ['10.0.0.0/8'],
      label: 'a label',
      expiresAtMs: null,
    });
  });

  it("applies the key's own limit instead of the plan's, with the matching burst", async () => {
    const plain = await knownKey({ limits: { requestsPerMinute: 5_000 } });
    expect(authenticator.authenticate(plain.key)?.plan).toEqual({ ...defaultPlans.premium, requestsPerMinute: 5_000, burst: 5_000 });
    const own = await knownKey({ plan: 'enterprise', limits: { requestsPerMinute: 30, burst: 7, connections: 2 } });
    expect(authenticator.authenticate(own.key)?.plan).toEqual({
      ...defaultPlans.enterprise,
      requestsPerMinute: 30,
      burst: 7,
      connections: 2,
    });
    const slow = await knownKey({ plan: 'enterprise', limits: { requestsPerMinute: 1 } });
    expect(authenticator.authenticate(slow.key)?.plan.burst).toBe(1);
  });

  it('uses the plans of the settings', async () => {
    const { key } = await makeKey(store, request);
    const premium = { ...defaultPlans.premium, requestsPerMinute: 7 };
    const other = await createAuthenticator({
      store,
      plans: { ...defaultPlans, premium },
      log: createLog({ level: 'silent', name: 'test' }),
    });
    expect(other.authenticate(key)?.plan).toEqual(premium);
    await other.close();
  });

  it('refuses a key with a wrong secret, and an unknown key', async () => {
    const { id, key } = await knownKey();
    for (let round = 0; round < 2; round++) {
      expect(authenticator.authenticate(newApiKey(id).key)).toBeNull();
      expect(authenticator.authenticate(newApiKey(newKeyId()).key)).toBeNull();
      expect(authenticator.authenticate('')).toBeNull();
      // In the second round the secret was presented before.
      expect(authenticator.authenticate(key)).not.toBeNull();
    }
  });

  it('accepts a new key after a refresh, also if another process created it', async () => {
    for (const maker of [store, elsewhere]) {
      const { key } = await makeKey(maker, request);
      await authenticator.refresh();
      expect(authenticator.authenticate(key)).not.toBeNull();
    }
  });

  it('accepts a key that another process has created', async () => {
    const { key } = await makeKey(elsewhere, request);
    await soon(() => expect(authenticator.authenticate(key)).not.toBeNull());
  });

  it('reads the store at most a few times a second, however many unknown keys are presented', async () => {
    const version = vi.spyOn(store.keys, 'version');
    const beganAt = performance.now();
    const unknown = Array.from({ length: 64 }, () => newApiKey(newKeyId()).key);
    let shown = 0;
    while (performance.now() - beganAt < 500) {
      for (const key of unknown) expect(authenticator.authenticate(key)).toBeNull();
      shown += unknown.length;
      await new Promise((resolve) => setImmediate(resolve));
    }
    const seconds = (performance.now() - beganAt) / 1000;
    expect(shown).toBeGreaterThan(500);
    expect(version.mock.calls.length).toBeLessThanOrEqual(20 * seconds + 2);
    // No request is refused meanwhile.
    const { key } = await makeKey(elsewhere, request);
    await authenticator.refresh();
    expect(authenticator.authenticate(key)).not.toBeNull();
  });

  it('reads only what changed, not all keys', async () => {
    for (let count = 0; count < 50; count++) await makeKey(store, request);
    await authenticator.refresh();
    const changed = vi.spyOn(store.keys, 'changed');
    const { id } = await makeKey(elsewhere, request);
    await authenticator.refresh();
    expect(changed).toHaveBeenCalledTimes(1);
    const read = await changed.mock.results[0]?.value;
    expect(read).toMatchObject([{ id }]);
  });

  it('refuses a key within a second after another process revoked it, and reports its credential once', async () => {
    const { id, key } = await knownKey();
    expect(authenticator.authenticate(key)).not.toBeNull();
    const revoked = vi.fn();
    authenticator.onRevoked(revoked);
    await elsewhere.keys.revoke(id, Date.now());
    await soon(() => expect(revoked).toHaveBeenCalledWith(`${id}.1`, 'revoked'));
    expect(authenticator.authenticate(key)).toBeNull();
    await authenticator.refresh();
    expect(revoked).toHaveBeenCalledTimes(1);
  });

  it('refuses a key that was deleted, or whose account was disabled', async () => {
    await store.accounts.create({ id: 'holder', wallet: 'a wallet', plan: 'premium', createdAtMs: Date.now() });
    const [deleted, disabled] = [await knownKey(), await knownKey({ accountId: 'holder' })];
    const revoked = vi.fn();
    authenticator.onRevoked(revoked);
    expect(authenticator.authenticate(disabled.key)?.accountId).toBe('holder');
    expect(await deleteApiKey(elsewhere, deleted.id)).toBe(true);
    expect(await elsewhere.accounts.disable('holder', Date.now())).toBe(true);
    await soon(() => expect(revoked).toHaveBeenCalledTimes(2));
    for (const { id, key } of [deleted, disabled]) {
      expect(revoked).toHaveBeenCalledWith(`${id}.1`, 'revoked');
      expect(authenticator.authenticate(key)).toBeNull();
    }
    expect((await store.keys.all()).map(({ id }) => id)).toEqual([disabled.id]);
  });

  it('gives keys the new plan of their account', async () => {
    await store.accounts.create({ id: 'holder', wallet: 'a wallet', plan: 'standard', createdAtMs: Date.now() });
    const { key } = await knownKey({ plan: 'standard', accountId: 'holder' });
    await elsewhere.accounts.setPlan('holder', 'premium');
    await soon(() => expect(authenticator.authenticate(key)?.plan.name).toBe('premium'));
  });

  it('accepts both secrets of a rotated key during the overlap, then only the new one', async () => {
    const overlapMs = 3_600_000;
    const { id, key } = await knownKey();
    const revoked = vi.fn();
    authenticator.onRevoked(revoked);
    const rotated = await rotateApiKey(elsewhere, id, overlapMs);
    if (rotated === null) throw new Error('not rotated');
    await authenticator.refresh();
    expect(authenticator.authenticate(rotated.key)).toMatchObject({ keyId: id, credential: `${id}.2`, plan: { name: 'premium' } });
    expect(authenticator.authenticate(key)?.credential).toBe(`${id}.1`);
    passTime(overlapMs);
    await soon(() => expect(revoked).toHaveBeenCalledWith(`${id}.1`, 'expired'));
    expect(authenticator.authenticate(key)).toBeNull();
    expect(authenticator.authenticate(rotated.key)).not.toBeNull();
  });

  it('ends the old secret at once if there is no overlap', async () => {
    const { id, key } = await knownKey();
    const rotated = await rotateApiKey(elsewhere, id, 0);
    await authenticator.refresh();
    expect(authenticator.authenticate(key)).toBeNull();
    expect(authenticator.authenticate(rotated?.key ?? '')).not.toBeNull();
  });

  it('refuses an expired key, and reports it even while the store is unavailable', async () => {
    const lifeMs = 3_600_000;
    const { id, key } = await knownKey({ expiresAtMs: store.time.nowMs() + lifeMs });
    const revoked = vi.fn();
    authenticator.onRevoked(revoked);
    vi.spyOn(store.keys, 'version').mockRejectedValue(new Error('unavailable'));
    expect(authenticator.authenticate(key)).not.toBeNull();
    passTime(lifeMs);
    expect(authenticator.authenticate(key)).toBeNull();
    await soon(() => expect(revoked).toHaveBeenCalledWith(`${id}.1`, 'expired'));
    vi.restoreAllMocks();
  });

  it('accepts an unexpired key again after the time was wrong for a moment, and does not follow a jump of the wall clock', async () => {
    const { id, key } = await knownKey({ expiresAtMs: Date.now() + 3_600_000 });
    const revoked = vi.fn();
    authenticator.onRevoked(revoked);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 86_400_000 });
    expect(authenticator.authenticate(key)).not.toBeNull();
    vi.useRealTimers();
    const wrong = vi.spyOn(store.time, 'nowMs').mockReturnValue(Date.now() + 86_400_000);
    expect(authenticator.authenticate(key)).toBeNull();
    await soon(() => expect(revoked).toHaveBeenCalledWith(`${id}.1`, 'expired'));
    wrong.mockRestore();
    await soon(() => expect(authenticator.authenticate(key)).not.toBeNull());
    expect(authenticator.principalOf(`${id}.1`)).not.toBeNull();
  });

  it('retains the expiry of a key when it is rotated, and does not rotate an expired one', async () => {
    const endsAtMs = Date.now() + 60_000;
    const { id } = await knownKey({ expiresAtMs: endsAtMs });
    await rotateApiKey(store, id, 0);
    expect((await store.keys.byId(id))?.secrets.at(-1)?.endsAtMs).toBe(endsAtMs);
    const expired = await knownKey({ expiresAtMs: Date.now() - 1 });
    expect(await rotateApiKey(store, expired.id, 0)).toBeNull();
  });

  it('does not rotate a revoked key, nor revoke one twice', async () => {
    const { id } = await knownKey();
    expect(await store.keys.revoke(id, Date.now())).toBe(true);
    expect(await store.keys.revoke(id, Date.now())).toBe(false);
    expect(await rotateApiKey(store, id, 0)).toBeNull();
    expect(await rotateApiKey(store, 'nothing', 0)).toBeNull();
  });

  it('accepts known keys for half a minute while the store is unavailable, then none, and all again afterwards', async () => {
    const { key } = await knownKey();
    const unavailable = vi.spyOn(store.keys, 'version').mockRejectedValue(new Error('unavailable'));
    await authenticator.refresh();
    expect(authenticator.authenticate(key)).not.toBeNull();
    const laterMs = performance.now() + 31_000;
    const now = vi.spyOn(performance, 'now').mockReturnValue(laterMs);
    expect(authenticator.authenticate(key)).toBeNull();
    unavailable.mockRestore();
    await authenticator.refresh();
    expect(authenticator.authenticate(key)).not.toBeNull();
    now.mockRestore();
  });

  it('reads all keys again after the store was restored to an older state', async () => {
    const { key } = await knownKey();
    const gone = await knownKey();
    const revoked = vi.fn();
    authenticator.onRevoked(revoked);
    const db = await openSqlite(join(dataDir, 'sluice.db'));
    await db.run('DELETE FROM api_keys WHERE id = ?', gone.id);
    await db.run("UPDATE versions SET value = value - 1 WHERE name = 'api_keys'");
    await db.close();
    await authenticator.refresh();
    expect(revoked).toHaveBeenCalledWith(`${gone.id}.1`, 'revoked');
    expect(authenticator.authenticate(gone.key)).toBeNull();
    expect(authenticator.authenticate(key)).not.toBeNull();
  });

  it('reports a key whose plan changed, however it was changed, and no other change', async () => {
    await store.accounts.create({ id: 'holder', wallet: null, plan: 'standard', createdAtMs: 1 });
    const { id, key } = await knownKey({ accountId: 'holder', plan: 'standard' });
    const own = await knownKey({ plan: 'standard' });
    const [replanned, revoked] = [vi.fn(), vi.fn()];
    authenticator.onReplanned(replanned);
    authenticator.onRevoked(revoked);
    await rotateApiKey(elsewhere, own.id, 60_000);
    await rotateApiKey(elsewhere, id, 60_000);
    await authenticator.refresh();
    expect(replanned).not.toHaveBeenCalled();
    await elsewhere.accounts.setPlan('holder', 'premium');
    await soon(() => expect(replanned).toHaveBeenCalledTimes(2));
    expect(replanned.mock.calls.map(([principal]) => [principal.credential, principal.plan])).toEqual([
      [`${id}.1`, defaultPlans.premium],
      [`${id}.2`, defaultPlans.premium],
    ]);
    expect(authenticator.authenticate(key)?.plan.name).toBe('premium');
    expect(revoked).not.toHaveBeenCalled();
  });

  it('stores the last use when it closes, without a new version', async () => {
    const { id, key } = await knownKey();
    const version = await store.keys.version();
    const before = store.time.nowMs();
    expect(authenticator.authenticate(key)).not.toBeNull();
    expect((await store.keys.byId(id))?.lastUsedAtMs).toBeNull();
    await authenticator.close();
    expect((await store.keys.byId(id))?.lastUsedAtMs).toBeGreaterThanOrEqual(before);
    expect(await store.keys.version()).toBe(version);
  });

  it('checks a known key in far less than 20 microseconds', async () => {
    const { key } = await knownKey();
    const rounds = 5_000;
    // Processor time, the best of several, because other work on the machine does not count.
    const costsUs = Array.from({ length: 8 }, () => {
      const before = process.cpuUsage();
      for (let round = 0; round < rounds; round++) authenticator.authenticate(key);
      const { user, system } = process.cpuUsage(before);
      return (user + system) / rounds;
    });
    expect(Math.min(...costsUs)).toBeLessThan(20);
  });
});

describe('the store of keys', () => {
  it('contains no key, and only its owner can read it', async () => {
    const { key } = await makeKey(store, request);
    const secret = parseApiKey(key)?.secret ?? '';
    const files = readdirSync(dataDir);
    expect(files).toEqual(expect.arrayContaining(['pepper', 'sluice.db', 'sluice.db-wal']));
    for (const file of files) {
      expect(statSync(join(dataDir, file)).mode & 0o077, file).toBe(0);
      expect(readFileSync(join(dataDir, file)).includes(secret), file).toBe(false);
    }
  });

  it('accepts no key if any bit of its hash is changed', async () => {
    const { id, key } = await makeKey(store, request);
    const hash = (await store.keys.byId(id))?.secrets[0]?.hash ?? new Uint8Array();
    expect(hash.length).toBe(32);
    const db = await openSqlite(join(dataDir, 'sluice.db'));
    const opensWith = async (bytes: Uint8Array): Promise<boolean> => {
      await db.run('UPDATE api_key_secrets SET hash = ? WHERE key_id = ?', bytes, id);
      const fresh = await authenticatorOf(store);
      const opened = fresh.authenticate(key) !== null;
      await fresh.close();
      return opened;
    };
    for (let bit = 0; bit < hash.length * 8; bit += 5) {
      const flipped = Uint8Array.from(hash);
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(await opensWith(flipped), `bit ${bit}`).toBe(false);
    }
    expect(await opensWith(hash)).toBe(true);
    await db.close();
  });

  it('is refused with another pepper, and without one', async () => {
    await makeKey(store, request);
    const file = join(dataDir, 'pepper');
    const pepper = readFileSync(file, 'utf8');
    writeFileSync(file, `${'00'.repeat(32)}\n`);
    await expect(authenticatorOf(store)).rejects.toThrow(/^DATA_DIR: .*copy DATA_DIR\/pepper from the first machine/);
    await expect(makeKey(store, request)).rejects.toThrow(/^DATA_DIR: /);
    rmSync(file);
    await expect(authenticatorOf(store)).rejects.toThrow(/^DATA_DIR: the file .* is missing.*copy DATA_DIR\/pepper from the first machine/);
    expect(readdirSync(dataDir)).not.toContain('pepper');
    writeFileSync(file, pepper);
    await (await authenticatorOf(store)).close();
  });

  it('is the same for two processes that create it at the same time', async () => {
    const folder = join(dataDir, 'fresh');
    const stores = await Promise.all(Array.from({ length: 4 }, () => openEmbeddedStore(folder)));
    const keys = await Promise.all(stores.map((one) => makeKey(one, request)));
    for (const one of stores) {
      const check = await authenticatorOf(one);
      for (const { key } of keys) expect(check.authenticate(key)).not.toBeNull();
      await check.close();
      await one.close();
    }
    expect(readdirSync(folder).filter((name) => name.startsWith('pepper'))).toEqual(['pepper']);
  });
});
