export interface StoredKeystore {
  readonly salt: Uint8Array;
  /** A known text encrypted under the passphrase's key. It shows whether a passphrase is right. */
  readonly proof: Uint8Array;
}

export interface StoredWallet {
  readonly publicKey: string;
  /** The account whose keys may trade with the wallet. Null: the operator's. */
  readonly accountId: string | null;
  readonly label: string | null;
  readonly imported: boolean;
  readonly sealedSeed: Uint8Array;
  readonly createdAtMs: number;
}

/** The stored custodial wallets. Their seeds are always sealed. */
export interface WalletTable {
  keystore(name: string): Promise<StoredKeystore | null>;
  /** False: another process created it first. */
  insertKeystore(name: string, keystore: StoredKeystore, atMs: number): Promise<boolean>;
  /** Oldest first. */
  list(keystore: string): Promise<readonly StoredWallet[]>;
  /** Public keys of an account's wallets, oldest first, at most `limit`. Wallets without an account belong to the operator. */
  publicKeysOf(keystore: string, accountId: string, limit: number): Promise<readonly string[]>;
  /** Null: the keystore has no such wallet. */
  byPublicKey(keystore: string, publicKey: string): Promise<StoredWallet | null>;
  /** False: the keystore has this wallet, or `maxWallets`. Rejects if there is no such account. */
  insert(keystore: string, wallet: StoredWallet): Promise<boolean>;
}

/** The most wallets of one keystore. A further one is refused. */
export const maxWallets = 10_000;
