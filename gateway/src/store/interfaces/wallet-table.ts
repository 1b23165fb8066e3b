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

/** A key that trades with wallets, and its account. */
export interface WalletUser {
  readonly keyId: string;
  readonly accountId: string;
}

/** The stored custodial wallets. Their seeds are always sealed. */
export interface WalletTable {
  keystore(name: string): Promise<StoredKeystore | null>;
  /** False: another process created it first. */
  insertKeystore(name: string, keystore: StoredKeystore, atMs: number): Promise<boolean>;
  /** Oldest first. */
  list(keystore: string): Promise<readonly StoredWallet[]>;
  /**
   * The wallet with which a key trades if a request names none: the one that `setDefault` set, otherwise the oldest of the key's account. Wallets
   * without an account belong to the operator. Null: the account has no wallet.
   */
  defaultOf(keystore: string, key: WalletUser): Promise<string | null>;
  /** Sets the default wallet of a key. Rejects if there is no such key or wallet. */
  setDefault(keystore: string, keyId: string, publicKey: string): Promise<void>;
  /** False: the keystore has no such wallet. */
  setLabel(keystore: string, publicKey: string, label: string | null): Promise<boolean>;
  /** Null: the keystore has no such wallet. */
  byPublicKey(keystore: string, publicKey: string): Promise<StoredWallet | null>;
  /** False: the keystore has this wallet, or `maxWallets`. Rejects if there is no such account. */
  insert(keystore: string, wallet: StoredWallet): Promise<boolean>;
}

/** Maximum number of wallets of one keystore. A further one is refused. */
export const maxWallets = 10_000;
