import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore } from '@sluice/gateway/store/store.ts';
import { SettingError } from '@sluice/shared/config/settings/setting-error.ts';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { fuzzCases, isFullFuzz } from '../support/fuzz.ts';
import { authenticatorOf, makeKey } from '../support/keys.ts';
import { sharedPostgres, startPostgres, type SharedPostgres } from '../support/servers/postgres.ts';
import { until } from '../support/until.ts';
import { newPlace, startProcesses, storeKinds, type StorePlace, type StoreProcesses } from './store-harness.ts';

const processCount = isFullFuzz ? 5 : 3;
const freshStores = fuzzCases(25);

let postgres: SharedPostgres;
let processes: StoreProcesses;
beforeAll(async () => {
  [postgres, processes] = await Promise.all([sharedPostgres(), startProcesses(processCount)]);
});
afterAll(async () => {
  processes.end();
});

async function emptyPlace(kind: (typeof storeKinds)[number]): Promise<StorePlace> {
  const place = await newPlace(kind, postgres);
  onTestFinished(() => place.end());
  return place;
}

describe.each(storeKinds)('several processes on one store in %s', (kind) => {
  it('create a new one at the same moment', async () => {
    for (let round = 0; round < freshStores; round++) {
      const place = await newPlace(kind, postgres);
      const opened = await processes.all({ ...place.settings, work: 'open' });
      expect(opened).toEqual(Array.from({ length: processCount }, () => ['operator']));
      await place.end();
    }
  });

  it('create keys in it that all of them accept, under one pepper', async () => {
    const place = await emptyPlace(kind);
    const made = await processes.all({ ...place.settings, work: 'create' });
    const store = await place.open();
    const listed = (await store.keys.all()).map(({ id }) => id);
    expect(new Set(listed)).toEqual(new Set(made));
    expect(listed).toHaveLength(processCount);
    expect(readdirSync(place.settings.dataDir).filter((name) => name.startsWith('pepper'))).toEqual(['pepper']);
  });

  it('rotate the same key at the same time: the last secrets work, and no more than allowed', async () => {
    const place = await emptyPlace(kind);
    const store = await place.open();
    const authenticator = await authenticatorOf(store);
    const { id, key } = await makeKey(store);
    const rotated = (await processes.all({ ...place.settings, work: 'rotate', id })) as readonly (readonly string[])[];
    await authenticator.refresh();
    const all = rotated.flat();
    expect(new Set(all).size).toBe(processCount * 10);
    const working = all.filter((one) => authenticator.authenticate(one) !== null);
    expect(working).toHaveLength(4);
    expect(authenticator.authenticate(key)).toBeNull();
    const secrets = (await store.keys.byId(id))?.secrets ?? [];
    expect(secrets.map(({ number }) => number)).toEqual([3, 2, 1, 0].map((back) => processCount * 10 + 1 - back));
    expect(secrets.filter(({ endsAtMs }) => endsAtMs === null)).toHaveLength(1);
    await authenticator.close();
  });

  it('use a one-time token: only one succeeds', async () => {
    const place = await emptyPlace(kind);
    const store = await place.open();
    for (let round = 0; round < 10; round++) {
      const hash = randomBytes(32);
      await store.oneTime.put({ hash, accountId: 'operator', expiresAtMs: Date.now() + 60_000 }, Date.now());
      const taken = await processes.all({ ...place.settings, work: 'take', id: hash.toString('hex') });
      expect(taken.filter((got) => got === true)).toHaveLength(1);
    }
  });

  it('detect a revocation soon', async () => {
    const place = await emptyPlace(kind);
    const [here, there] = [await place.open(), await place.open()];
    const authenticator = await authenticatorOf(here);
    const takenMs: number[] = [];
    for (let round = 0; round < 5; round++) {
      const { id, key } = await makeKey(there);
      await until('the new key', () => authenticator.authenticate(key) !== null);
      await there.keys.revoke(id, Date.now());
      const startedMs = performance.now();
      await until('the end of the key', () => authenticator.authenticate(key) === null);
      takenMs.push(performance.now() - startedMs);
    }
    // The median: a busy machine may delay a single round. On an idle one it is 0.1 to 0.2 s.
    expect(takenMs.toSorted((a, b) => a - b)[2]).toBeLessThan(5_000);
    await authenticator.close();
  });
});

describe('a store in PostgreSQL', () => {
  it('works again after its server failed, and earlier revocations are known', async () => {
    const own = await startPostgres();
    onTestFinished(() => own.stop());
    const place = await newPlace('PostgreSQL', own);
    const store = await place.open();
    const authenticator = await authenticatorOf(store);
    const [valid, revoked] = [await makeKey(store), await makeKey(store)];
    await authenticator.refresh();
    await own.kill();
    await expect(store.keys.all()).rejects.toThrow();
    await authenticator.refresh();
    // Known keys stay valid while it is unavailable.
    for (const { key } of [valid, revoked]) expect(authenticator.authenticate(key)).not.toBeNull();
    await own.restart();
    await vi.waitFor(() => store.keys.revoke(revoked.id, Date.now()), { timeout: 60_000, interval: 20 });
    await vi.waitFor(() => expect(authenticator.authenticate(revoked.key)).toBeNull(), { timeout: 60_000, interval: 5 });
    expect(authenticator.authenticate(valid.key)).not.toBeNull();
    await authenticator.close();
    await place.end();
  });

  it('is bound to the pepper of the first machine', async () => {
    const place = await emptyPlace('PostgreSQL');
    const first = await place.open();
    const { key } = await makeKey(first);
    const dataDir = mkdtempSync(join(tmpdir(), 'sluice-second-'));
    onTestFinished(() => rmSync(dataDir, { recursive: true }));
    const second = await openStore({ ...place.settings, dataDir });
    const refused = authenticatorOf(second);
    await expect(refused).rejects.toBeInstanceOf(SettingError);
    await expect(refused).rejects.toThrow(/^DATA_DIR: .*copy DATA_DIR\/pepper from the first machine/);
    // Nothing was created that would have to be removed before the copy.
    expect(readdirSync(dataDir)).toEqual([]);
    const { copyFileSync } = await import('node:fs');
    copyFileSync(join(place.settings.dataDir, 'pepper'), join(dataDir, 'pepper'));
    const authenticator = await authenticatorOf(second);
    expect(authenticator.authenticate(key)).not.toBeNull();
    await authenticator.close();
    await second.close();
  });

  it('stops the start with one line if it cannot be reached, and shows no password', async () => {
    const url = new URL(await postgres.newDatabase());
    const settings = { dataDir: tmpdir() };
    const { password } = url;
    const wrong = (change: (address: URL) => void): string => {
      const address = new URL(url);
      change(address);
      return address.href;
    };
    for (const databaseUrl of [
      wrong((address) => (address.port = '1')),
      wrong((address) => (address.password = 'hunter2')),
      wrong((address) => (address.pathname = '/no_such_database')),
    ]) {
      const refused = openStore({ ...settings, databaseUrl });
      await expect(refused).rejects.toThrow(/^DATABASE_URL: the store cannot be opened: ./);
      await refused.catch((error: Error) => {
        expect(error.message).not.toContain(password);
        expect(error.message).not.toContain('hunter2');
      });
    }
  });
});
