import { operatorAccountId } from '../../store/account-table.ts';
import type { Owner } from '../model/owner.ts';
import type { StoredWallet, WalletTable } from '../../store/wallet-table.ts';

/** Whether a key may trade with a custodial wallet: both are of one account. Keys and wallets without an account are the operator's. */
export function mayUseWallet(owner: Pick<Owner, 'accountId'>, wallet: Pick<StoredWallet, 'accountId'>): boolean {
  return (owner.accountId ?? operatorAccountId) === (wallet.accountId ?? operatorAccountId);
}

/** Which wallets a key may use. */
export interface WalletAccess {
  /** Also false if there is no such wallet, so that a caller cannot find out whether it exists. Rejects if the store does not answer. */
  mayUse(owner: Pick<Owner, 'accountId'>, publicKey: string): Promise<boolean>;
  /** The only wallet of the account of a key; null if the account has none or several. Rejects if the store does not answer. */
  onlyOne(owner: Pick<Owner, 'accountId'>): Promise<string | null>;
}

/** Asks the store once for each wallet, because the owner of a wallet never changes. */
export function createWalletAccess(wallets: Pick<WalletTable, 'byPublicKey' | 'publicKeysOf'>, keystore: string): WalletAccess {
  // Bounded by the number of wallets in the keystore.
  const known = new Map<string, Pick<StoredWallet, 'accountId'>>();
  return {
    async mayUse(owner, publicKey) {
      const wallet = known.get(publicKey) ?? (await wallets.byPublicKey(keystore, publicKey));
      if (wallet === null) return false;
      known.set(publicKey, wallet);
      return mayUseWallet(owner, wallet);
    },
    // Not cached, because the account may get another wallet.
    async onlyOne({ accountId }) {
      const [first = null, second] = await wallets.publicKeysOf(keystore, accountId ?? operatorAccountId, 2);
      return second === undefined ? first : null;
    },
  };
}
