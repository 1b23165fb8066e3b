import { readFileSync } from 'node:fs';
import { generateKeypair, signMessage, type Keypair } from '@sluice/shared/solana/addresses/keypair.ts';
import type { Store } from '@sluice/gateway/store/store.ts';
import type { StoredKeystore, StoredWallet } from '@sluice/gateway/store/sql/tables/wallets.ts';
import { deriveKey, makeSalt, seal, unseal } from './seal.ts';

/** A wallet without its secret. */
export type WalletInfo = Omit<StoredWallet, 'sealedSeed'>;

/** Signs for one wallet without revealing its secret. */
export interface Signer {
  readonly publicKey: string;
  sign(message: Uint8Array): Uint8Array;
}

export type KeystoreOutcome =
  | { readonly ok: true; readonly keystore: Keystore }
  | { readonly ok: false; readonly reason: 'wrong-passphrase' };

const proofText = Buffer.from('sluice keystore');

/** Needs no passphrase. Oldest first. */
export async function listWallets(store: Store, name: string): Promise<readonly WalletInfo[]> {
  return (await store.wallets.list(name)).map(walletInfo);
}

/** Unlocks the keystore `name`. Creates it with this passphrase if it does not exist; `cost` is the work of one guess at the passphrase. */
export async function openKeystore(store: Store, name: string, passphrase: string, cost: number): Promise<KeystoreOutcome> {
  const stored = (await store.wallets.keystore(name)) ?? (await createKeystore(store, name, passphrase, cost));
  const key = await unlockKeystore(name, stored, passphrase);
  return key === null ? { ok: false, reason: 'wrong-passphrase' } : { ok: true, keystore: new Keystore(store, name, key) };
}

/** If two processes do this at once, one of them creates it, and both use it. */
async function createKeystore(store: Store, name: string, passphrase: string, cost: number): Promise<StoredKeystore> {
  const salt = makeSalt(cost);
  const key = await deriveKey(passphrase, salt);
  if (key === null) throw new RangeError(`a keystore cannot have the cost ${cost}`);
  await store.wallets.insertKeystore(name, { salt, proof: seal(key, proofText, proofContext(name)) }, store.time.nowMs());
  const stored = await store.wallets.keystore(name);
  if (stored === null) throw new Error(`the keystore ${name} is missing after its creation`);
  return stored;
}

/** The key that opens the wallets of the keystore `name`; null if the passphrase is wrong. Slow on purpose: `passphraseCost`. */
export async function unlockKeystore(name: string, { salt, proof }: StoredKeystore, passphrase: string): Promise<Uint8Array | null> {
  const key = await deriveKey(passphrase, salt);
  if (key === null) return null;
  const proven = unseal(key, proof, proofContext(name));
  return proven !== null && proofText.equals(proven) ? key : null;
}

/** Opens the wallet's keypair. Null: the stored bytes were changed, or copied from another wallet. */
export function openWallet(key: Uint8Array, name: string, wallet: Pick<StoredWallet, 'publicKey' | 'sealedSeed'>): Keypair | null {
  const seed = unseal(key, wallet.sealedSeed, walletContext(name, wallet.publicKey));
  const keypair = seed?.length === 32 ? generateKeypair(seed) : null;
  return keypair?.publicKey === wallet.publicKey ? keypair : null;
}

/** The seed of a wallet as it is stored: only this keystore opens it, and only for this wallet. */
export function sealWallet(key: Uint8Array, name: string, { publicKey, seed }: Keypair): Uint8Array {
  return seal(key, seed, walletContext(name, publicKey));
}

function proofContext(name: string): string {
  return `sluice-keystore|1|${name}`;
}

function walletContext(name: string, publicKey: string): string {
  return `sluice-wallet|1|${name}|${publicKey}`;
}

/** Custodial wallets of one keystore, unlocked. */
export class Keystore {
  readonly #store: Store;
  readonly #name: string;
  readonly #key: Uint8Array;

  constructor(store: Store, name: string, key: Uint8Array) {
    [this.#store, this.#name, this.#key] = [store, name, key];
  }

  /** Null: the keystore already has `maxWallets`. */
  create(label: string | null, accountId: string | null = null): Promise<WalletInfo | null> {
    return this.#add(generateKeypair(), { label, accountId, imported: false });
  }

  /** Null: the keystore already has this wallet, or `maxWallets`. */
  import(seed: Uint8Array, label: string | null, accountId: string | null = null): Promise<WalletInfo | null> {
    return this.#add(generateKeypair(seed), { label, accountId, imported: true });
  }

  /** Null: no such wallet. Rejects if the stored bytes were changed. */
  async signer(publicKey: string): Promise<Signer | null> {
    const wallet = await this.#store.wallets.byPublicKey(this.#name, publicKey);
    if (wallet === null) return null;
    const keypair = openWallet(this.#key, this.#name, wallet);
    if (keypair === null) throw new Error(`wallet ${publicKey} cannot be decrypted: its stored bytes were changed`);
    return { publicKey, sign: (message) => signMessage(keypair, message) };
  }

  async #add(keypair: Keypair, of: Pick<StoredWallet, 'label' | 'accountId' | 'imported'>): Promise<WalletInfo | null> {
    const sealedSeed = sealWallet(this.#key, this.#name, keypair);
    const wallet = { ...of, publicKey: keypair.publicKey, createdAtMs: this.#store.time.nowMs(), sealedSeed };
    return (await this.#store.wallets.insert(this.#name, wallet)) === 'stored' ? walletInfo(wallet) : null;
  }
}

/** Reads a passphrase from a file. Null: the file is empty. Throws the system's error if it cannot be read. */
export function readPassphraseFile(file: string): string | null {
  const text = readFileSync(file, 'utf8').replace(/\r?\n$/, '');
  return text === '' ? null : text;
}

/** A stored wallet without its sealed secret. */
export function walletInfo({ publicKey, accountId, label, imported, createdAtMs }: StoredWallet): WalletInfo {
  return { publicKey, accountId, label, imported, createdAtMs };
}
