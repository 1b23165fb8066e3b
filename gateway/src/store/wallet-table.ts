export interface StoredKeystore {
  readonly salt: Uint8Array;
  /** A known text under the passphrase's key: tells a wrong passphrase. */
  readonly proof: Uint8Array;
}

export interface StoredWallet {
  readonly publicKey: string;
  /** Whose keys may trade with it; null: the operator's. */
  readonly accountId: string | null;
  readonly label: string | null;
  readonly imported: boolean;
  readonly sealedSeed: Uint8Array;
  readonly createdAtMs: number;
}

/** Custodial wallets as stored: sealed, never a secret in the clear. */
export interface WalletTable {
  keystore(name: string): Promise<StoredKeystore | null>;
  /** False: another process made it first. */
  insertKeystore(name: string, keystore: StoredKeystore, atMs: number): Promise<boolean>;
  /** Oldest first. */
  list(keystore: string): Promise<readonly StoredWallet[]>;
  /** Public keys of an account's wallets, oldest first and at most `limit`; those of no account are the operator's. */
  publicKeysOf(keystore: string, accountId: string, limit: number): Promise<readonly string[]>;
  /** Null: the keystore has no such wallet. */
  byPublicKey(keystore: string, publicKey: string): Promise<StoredWallet | null>;
  /** False: the keystore has this wallet, or `maxWallets` of them, already. Rejects where there is no such account. */
  insert(keystore: string, wallet: StoredWallet): Promise<boolean>;
}

/** Wallets of one keystore; beyond them a new one is refused. */
export const maxWallets = 10_000;
