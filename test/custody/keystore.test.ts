import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listWallets, openKeystore, unlockKeystore, type Keystore } from '@sluice/trading/signer/custody/keystore.ts';
import { keystoreCost } from '@sluice/trading/signer/custody/passphrase.ts';
import { randomPassphraseCost } from '@sluice/trading/signer/custody/seal.ts';
import { readSecretKey } from '@sluice/trading/signer/custody/secret-key-text.ts';
import { openSqlite } from '@sluice/gateway/store/sql/sqlite/sqlite.ts';
import type { Store } from '@sluice/gateway/store/store.ts';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { generateKeypair, verifySignature } from '@sluice/shared/solana/addresses/keypair.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openEmbeddedStore } from '../support/keys.ts';

let dataDir: string;
let store: Store;
beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'sluice-custody-'));
  store = await openEmbeddedStore(dataDir);
});
afterEach(async () => {
  await store.close();
  rmSync(dataDir, { recursive: true });
});

async function unlock(passphrase = 'a passphrase', name = 'cluster'): Promise<Keystore> {
  const outcome = await openKeystore(store, name, passphrase, randomPassphraseCost);
  if (!outcome.ok) throw new Error(outcome.reason);
  return outcome.keystore;
}

describe('the keystore', () => {
  it('signs with a wallet that it created, also after it was opened again', async () => {
    const wallet = await (await unlock()).create('mine');
    if (wallet === null) throw new Error('no wallet');
    const message = Buffer.from('a message');
    const signature = (await (await unlock()).signer(wallet.publicKey))?.sign(message) ?? new Uint8Array();
    expect(verifySignature(wallet.publicKey, message, signature)).toBe(true);
    expect(await listWallets(store, 'cluster')).toMatchObject([{ publicKey: wallet.publicKey, label: 'mine', imported: false }]);
  });

  it('refuses another passphrase', async () => {
    await unlock();
    expect(await openKeystore(store, 'cluster', 'another one', randomPassphraseCost)).toEqual({ ok: false, reason: 'wrong-passphrase' });
    expect(await openKeystore(store, 'cluster', '', randomPassphraseCost)).toEqual({ ok: false, reason: 'wrong-passphrase' });
  });

  it('costs a guess at the passphrase of a real cluster 128 MiB, and less only for a random passphrase of simnet', async () => {
    const rpc = { httpUrls: ['http://127.0.0.1:1'], wsUrls: ['ws://127.0.0.1:1'] };
    expect(keystoreCost({ rpc, dataDir, keystorePassphraseFile: 'file' })).toBe(17);
    expect(keystoreCost({ rpc: null, dataDir, keystorePassphraseFile: 'file' })).toBe(17);
    expect(keystoreCost({ rpc: null, dataDir, keystorePassphraseFile: null })).toBe(12);
    const created = await openKeystore(store, 'cluster', 'a passphrase', 17);
    expect(created).toMatchObject({ ok: true });
    const stored = (await store.wallets.keystore('cluster'))!;
    expect(stored.salt[0]).toBe(17);
    expect(await unlockKeystore('cluster', stored, 'a passphrase')).not.toBeNull();
  });

  it('does not open at another cost, or with a salt that it did not create', async () => {
    await unlock();
    const { salt, proof } = (await store.wallets.keystore('cluster'))!;
    for (const cost of [0, 11, 13, 18, 255]) {
      const changed = Buffer.concat([Uint8Array.of(cost), salt.subarray(1)]);
      expect(await unlockKeystore('cluster', { salt: changed, proof }, 'a passphrase'), String(cost)).toBeNull();
    }
    expect(await unlockKeystore('cluster', { salt: salt.subarray(0, 32), proof }, 'a passphrase')).toBeNull();
  });

  it('separates the wallets of two keystores', async () => {
    const wallet = await (await unlock('a', 'simnet')).create(null);
    const cluster = await unlock('b', 'cluster');
    expect(await cluster.signer(wallet?.publicKey ?? '')).toBeNull();
    expect(await listWallets(store, 'cluster')).toEqual([]);
  });

  it('opens no wallet with any bit changed, and none that was moved to another address', async () => {
    const keystore = await unlock();
    const wallet = await keystore.create(null);
    const other = await keystore.create(null);
    if (wallet === null || other === null) throw new Error('no wallet');
    const db = await openSqlite(join(dataDir, 'sluice.db'));
    const sealed = (await store.wallets.byPublicKey('cluster', wallet.publicKey))?.sealedSeed ?? new Uint8Array();
    expect(sealed.length).toBe(1 + 12 + 16 + 32);
    const put = (publicKey: string, bytes: Uint8Array): Promise<number> =>
      db.run('UPDATE wallets SET sealed_seed = ? WHERE public_key = ?', bytes, publicKey);
    for (let bit = 0; bit < sealed.length * 8; bit++) {
      const flipped = Uint8Array.from(sealed);
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      await put(wallet.publicKey, flipped);
      await expect(keystore.signer(wallet.publicKey), `bit ${bit}`).rejects.toThrow(/were changed/);
    }
    await put(wallet.publicKey, sealed);
    expect(await keystore.signer(wallet.publicKey)).not.toBeNull();
    await put(other.publicKey, sealed);
    await expect(keystore.signer(other.publicKey)).rejects.toThrow(/were changed/);
    await db.close();
  });

  it('stores neither seed nor passphrase', async () => {
    const { seed } = generateKeypair();
    const keystore = await unlock('a passphrase of some length');
    await keystore.import(seed, null);
    for (const file of readdirSync(dataDir)) {
      const content = readFileSync(join(dataDir, file));
      expect(content.includes(Buffer.from(seed)), file).toBe(false);
      expect(content.includes('a passphrase of some length'), file).toBe(false);
    }
  });

  it('imports a wallet once', async () => {
    const { seed, publicKey } = generateKeypair();
    const keystore = await unlock();
    expect((await keystore.import(seed, null))?.publicKey).toBe(publicKey);
    expect(await keystore.import(seed, null)).toBeNull();
  });
});

describe('a secret key as text', () => {
  const keypair = generateKeypair(Uint8Array.from({ length: 32 }, (_, index) => index));
  const secretKey = Uint8Array.from([...keypair.seed, ...keypair.publicKeyBytes]);

  it('is read as base58 and as a JSON array', () => {
    for (const text of [encodeBase58(secretKey), JSON.stringify([...secretKey]), ` ${encodeBase58(secretKey)}\n`]) {
      const outcome = readSecretKey(text);
      expect(outcome.ok && Buffer.from(outcome.seed).equals(keypair.seed)).toBe(true);
    }
  });

  it.each([
    ['nothing', ''],
    ['a public key', keypair.publicKey],
    ['no base58', '0OIl'],
    ['no array', '{"a":1}'],
    ['broken JSON', '[1,2'],
    ['numbers that are not bytes', JSON.stringify(Array.from({ length: 64 }, () => 256))],
    ['too few bytes', JSON.stringify(Array.from(secretKey.slice(1)))],
    ['halves that do not belong together', JSON.stringify(Array.from(secretKey.toReversed()))],
    ['a book', 'a'.repeat(100_000)],
  ])('is refused if it is %s, without repeating it', (_what, text) => {
    const outcome = readSecretKey(text);
    expect(outcome.ok).toBe(false);
    if (!outcome.ok && text.length > 3) expect(outcome.reason).not.toContain(text.slice(0, 8));
  });
});
