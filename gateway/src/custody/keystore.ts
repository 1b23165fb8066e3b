import { randomBytes } from 'node:crypto';
import { generateKeypair, signMessage, type Keypair } from '@sluice/shared/solana/keypair.ts';
import type { Store } from '../store/store.ts';
import type { StoredWallet } from '../store/wallet-table.ts';
import { deriveKey, saltLength, seal, unseal } from './seal.ts';

/** A wallet without its secret. */
export interface WalletInfo {
  readonly publicKey: string;
  readonly label: string | null;
  readonly imported: boolean;
  readonly createdAtMs: number;
}

/** Signs for one wallet; the secret stays inside. */
export interface Signer {
  readonly publicKey: string;
  sign(message: Uint8Array): Uint8Array;
}

/** Custodial wallets of one keystore, unlocked. */
export interface Keystore {
  /** Null: `maxWallets` are there already. */
  create(label: string | null): Promise<WalletInfo | null>;
  /** Null: this wallet, or `maxWallets`, are there already. */
  import(seed: Uint8Array, label: string | null): Promise<WalletInfo | null>;
  /** Null: no such wallet. Rejects where what is stored was changed. */
  signer(publicKey: string): Promise<Signer | null>;
}

export type KeystoreOutcome =
  | { readonly ok: true; readonly keystore: Keystore }
  | { readonly ok: false; readonly reason: 'wrong-passphrase' };

const proofText = Buffer.from('sluice keystore');

/** Needs no passphrase. Oldest first. */
export async function listWallets(store: Store, name: string): Promise<readonly WalletInfo[]> {
  return (await store.wallets.list(name)).map(walletInfo);
}

/** Unlocks the keystore `name`; makes it with this passphrase where there is none. Takes a third of a second on purpose. */
export async function openKeystore(store: Store, name: string, passphrase: string): Promise<KeystoreOutcome> {
  const proofContext = `sluice-keystore|1|${name}`;
  if ((await store.wallets.keystore(name)) === null) {
    const salt = randomBytes(saltLength);
    const proof = seal(await deriveKey(passphrase, salt), proofText, proofContext);
    // Of two processes at once, one makes it; the other reads that one's below.
    await store.wallets.insertKeystore(name, { salt, proof }, Date.now());
  }
  const stored = await store.wallets.keystore(name);
  if (stored === null) throw new Error(`the keystore ${name} is not there after it was made`);
  const key = await deriveKey(passphrase, stored.salt);
  const proven = unseal(key, stored.proof, proofContext);
  if (proven === null || !proofText.equals(proven)) return { ok: false, reason: 'wrong-passphrase' };
  return { ok: true, keystore: unlocked(store, name, key) };
}

function unlocked(store: Store, name: string, key: Uint8Array): Keystore {
  const walletContext = (publicKey: string): string => `sluice-wallet|1|${name}|${publicKey}`;
  const add = async (keypair: Keypair, label: string | null, imported: boolean): Promise<WalletInfo | null> => {
    const { publicKey, seed } = keypair;
    const wallet = { publicKey, label, imported, createdAtMs: Date.now(), sealedSeed: seal(key, seed, walletContext(publicKey)) };
    return (await store.wallets.insert(name, wallet)) ? walletInfo(wallet) : null;
  };
  return {
    create: (label) => add(generateKeypair(), label, false),
    import: (seed, label) => add(generateKeypair(seed), label, true),
    signer: async (publicKey) => {
      const wallet = await store.wallets.byPublicKey(name, publicKey);
      if (wallet === null) return null;
      const seed = unseal(key, wallet.sealedSeed, walletContext(publicKey));
      const keypair = seed === null ? null : generateKeypair(seed);
      if (keypair?.publicKey !== publicKey) throw new Error(`wallet ${publicKey} does not open: what is stored was changed`);
      return { publicKey, sign: (message) => signMessage(keypair, message) };
    },
  };
}

function walletInfo({ publicKey, label, imported, createdAtMs }: StoredWallet): WalletInfo {
  return { publicKey, label, imported, createdAtMs };
}
