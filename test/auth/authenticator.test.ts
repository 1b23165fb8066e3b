import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApiKey, rotateApiKey } from '@sluice/gateway/auth/api-keys.ts';
import { createAuthenticator } from '@sluice/gateway/auth/authenticator.ts';
import { newApiKey, newKeyId, parseApiKey } from '@sluice/gateway/auth/key-format.ts';
import { openStore, type Store } from '@sluice/gateway/store/store.ts';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

let dataDir: string;
let store: Store;
let authenticator: ReturnType<typeof createAuthenticator>;
/** Another process, as far as the store can tell: a connection of its own. */
let elsewhere: Store;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'sluice-auth-'));
  store = openStore({ dataDir });
  elsewhere = openStore({ dataDir });
  authenticator = createAuthenticator(store);
});
afterEach(() => {
  authenticator.close();
  store.close();
  elsewhere.close();
  rmSync(dataDir, { recursive: true });
});

const request = { plan: 'premium', scopes: ['stream', 'read'], label: 'a label', expiresAtMs: null } as const;

describe('the form of an API key', () => {
  it('is letters, digits and underscores, 40 characters or more, and reads back', () => {
    for (let round = 0; round < 200; round++) {
      const id = newKeyId();
      const { key } = newApiKey(id);
      expect(key).toMatch(/^sluice_[0-9A-Za-z]+_[0-9A-Za-z]+$/);
      expect(key.length).toBeGreaterThanOrEqual(40);
      expect(parseApiKey(key)?.id).toBe(id);
    }
  });

  it('does not read back with any one character changed, cut or added', () => {
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
  it('knows a key, and what it may do', () => {
    const { id, key } = createApiKey(store, request);
    expect(authenticator.authenticate(key)).toEqual({
      keyId: id,
      credential: `${id}.1`,
      plan: 'premium',
      scopes: ['stream', 'read'],
      label: 'a label',
    });
  });

  it('refuses a key with the right id and another secret, and one that was never made', () => {
    const { id } = createApiKey(store, request);
    expect(authenticator.authenticate(newApiKey(id).key)).toBeNull();
    expect(authenticator.authenticate(newApiKey(newKeyId()).key)).toBeNull();
    expect(authenticator.authenticate('')).toBeNull();
  });

  it('knows a key that another process made, at once', () => {
    const { key } = createApiKey(elsewhere, request);
    expect(authenticator.authenticate(key)).not.toBeNull();
  });

  it('refuses within a second a key that another process revoked, and tells of its credential once', async () => {
    const { id, key } = createApiKey(store, request);
    expect(authenticator.authenticate(key)).not.toBeNull();
    const revoked = vi.fn();
    authenticator.onRevoked(revoked);
    elsewhere.keys.revoke(id, Date.now());
    await vi.waitFor(() => expect(revoked).toHaveBeenCalledWith(`${id}.1`, 'revoked'), { timeout: 1000, interval: 10 });
    expect(authenticator.authenticate(key)).toBeNull();
    expect(revoked).toHaveBeenCalledTimes(1);
  });

  it('lets both secrets of a rotated key work for the overlap, then only the new one', async () => {
    const { id, key } = createApiKey(store, request);
    const revoked = vi.fn();
    authenticator.onRevoked(revoked);
    const rotated = rotateApiKey(elsewhere, id, 1500);
    if (rotated === null) throw new Error('not rotated');
    expect(authenticator.authenticate(rotated.key)).toMatchObject({ keyId: id, credential: `${id}.2`, plan: 'premium' });
    expect(authenticator.authenticate(key)?.credential).toBe(`${id}.1`);
    await vi.waitFor(() => expect(revoked).toHaveBeenCalledWith(`${id}.1`, 'expired'), { timeout: 3000, interval: 20 });
    expect(authenticator.authenticate(key)).toBeNull();
    expect(authenticator.authenticate(rotated.key)).not.toBeNull();
  });

  it('ends the old secret at once where there is no overlap', async () => {
    const { id, key } = createApiKey(store, request);
    const rotated = rotateApiKey(elsewhere, id, 0);
    await vi.waitFor(() => expect(authenticator.authenticate(key)).toBeNull(), { timeout: 1000, interval: 10 });
    expect(authenticator.authenticate(rotated?.key ?? '')).not.toBeNull();
  });

  it('refuses a key that has expired', async () => {
    const { id, key } = createApiKey(store, { ...request, expiresAtMs: Date.now() + 300 });
    const revoked = vi.fn();
    authenticator.onRevoked(revoked);
    expect(authenticator.authenticate(key)).not.toBeNull();
    await vi.waitFor(() => expect(authenticator.authenticate(key)).toBeNull(), { timeout: 1000, interval: 10 });
    await vi.waitFor(() => expect(revoked).toHaveBeenCalledWith(`${id}.1`, 'expired'), { timeout: 1000, interval: 10 });
  });

  it('does not rotate a revoked key, nor revoke one twice', () => {
    const { id } = createApiKey(store, request);
    expect(store.keys.revoke(id, Date.now())).toBe(true);
    expect(store.keys.revoke(id, Date.now())).toBe(false);
    expect(rotateApiKey(store, id, 0)).toBeNull();
    expect(rotateApiKey(store, 'nothing', 0)).toBeNull();
  });

  it('checks a known key in well under 20 microseconds', () => {
    const { key } = createApiKey(store, request);
    const rounds = 5_000;
    // Processor time, the best of several: other work on the machine is not the authenticator's.
    const costsUs = Array.from({ length: 8 }, () => {
      const before = process.cpuUsage();
      for (let round = 0; round < rounds; round++) authenticator.authenticate(key);
      const { user, system } = process.cpuUsage(before);
      return (user + system) / rounds;
    });
    expect(Math.min(...costsUs)).toBeLessThan(20);
  });
});

describe('what is stored', () => {
  it('holds no key, and is readable by its owner only', () => {
    const { key } = createApiKey(store, request);
    const secret = parseApiKey(key)?.secret ?? '';
    const files = readdirSync(dataDir);
    expect(files).toEqual(expect.arrayContaining(['pepper', 'sluice.db', 'sluice.db-wal']));
    for (const file of files) {
      expect(statSync(join(dataDir, file)).mode & 0o077, file).toBe(0);
      expect(readFileSync(join(dataDir, file)).includes(secret), file).toBe(false);
    }
  });

  it('checks no key under another pepper', () => {
    const { key } = createApiKey(store, request);
    writeFileSync(join(dataDir, 'pepper'), `${'00'.repeat(32)}\n`);
    const other = createAuthenticator(store);
    expect(other.authenticate(key)).toBeNull();
    other.close();
  });

  it('is the same for two processes that make it at the same time', async () => {
    const folder = join(dataDir, 'fresh');
    const stores = Array.from({ length: 4 }, () => openStore({ dataDir: folder }));
    const keys = stores.map((one) => createApiKey(one, request).key);
    for (const one of stores) {
      const check = createAuthenticator(one);
      for (const key of keys) expect(check.authenticate(key)).not.toBeNull();
      check.close();
      one.close();
    }
    expect(readdirSync(folder).filter((name) => name.startsWith('pepper'))).toEqual(['pepper']);
  });

  it('refuses a store that a newer version wrote', async () => {
    const { openDatabase } = await import('@sluice/gateway/store/database.ts');
    const db = openDatabase(join(dataDir, 'sluice.db'));
    db.run('INSERT INTO migrations (step, applied_at_ms) VALUES (?, ?)', 999, 0);
    db.close();
    expect(() => openStore({ dataDir })).toThrow(/newer version/);
  });
});
