import { operatorAccountId } from './account-table.ts';

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

/** How many wallets there may be after an insertion. */
export interface WalletLimits {
  /** Of the wallet's account. Default: any number. */
  readonly ofAccount?: number;
  /** In the keystore. Default, and the most: `maxWallets`. */
  readonly inKeystore?: number;
}

/** `exists`: the keystore has this wallet. `account_full`, `full`: a limit of the account, of the keystore. */
export type WalletInsertion = 'stored' | 'exists' | 'account_full' | 'full';

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
  /** Counts and inserts at once, so that concurrent insertions keep to the limits. Rejects if there is no such account or keystore. */
  insert(keystore: string, wallet: StoredWallet, limits?: WalletLimits): Promise<WalletInsertion>;
}

/** Maximum number of wallets of one keystore. A further one is refused. */
export const maxWallets = 10_000;
/** Anybody may get an account where sign-up is open. So what accounts add, without the operator's, fills at most half of a keystore. */
const maxOfHolders = maxWallets / 2;

/** The limits of wallets that an account makes for itself. */
export function limitsOf(accountId: string | null, ofAccount: number): WalletLimits {
  return { ofAccount, inKeystore: accountId === null || accountId === operatorAccountId ? maxWallets : maxOfHolders };
}
