import { operatorAccountId } from '../../store/account-table.ts';
import type { Owner } from '../model/owner.ts';
import type { StoredWallet, WalletTable } from '../../store/wallet-table.ts';

/** Whether a key may trade with a custodial wallet: both are of one account. Keys and wallets without an account are the operator's. */
export function mayUseWallet(owner: Pick<Owner, 'accountId'>, wallet: Pick<StoredWallet, 'accountId'>): boolean {
  return (owner.accountId ?? operatorAccountId) === (wallet.accountId ?? operatorAccountId);
}

/** Which wallets a key may use. */
export interface WalletAccess {
  /** False also where there is no such wallet: whose it is, is nobody's business. Rejects where the store does not answer. */
  mayUse(owner: Pick<Owner, 'accountId'>, publicKey: string): Promise<boolean>;
  /** The one wallet of the account that a key is of; null where it has none or several. Rejects where the store does not answer. */
  onlyOne(owner: Pick<Owner, 'accountId'>): Promise<string | null>;
}

/** Asks the store once for each wallet: whose one is never changes. */
export function createWalletAccess(wallets: Pick<WalletTable, 'byPublicKey' | 'publicKeysOf'>, keystore: string): WalletAccess {
  // As many as a keystore holds at most.
  const known = new Map<string, Pick<StoredWallet, 'accountId'>>();
  return {
    async mayUse(owner, publicKey) {
      const wallet = known.get(publicKey) ?? (await wallets.byPublicKey(keystore, publicKey));
      if (wallet === null) return false;
      known.set(publicKey, wallet);
      return mayUseWallet(owner, wallet);
    },
    // Never remembered: an account may get another one.
    async onlyOne({ accountId }) {
      const [first = null, second] = await wallets.publicKeysOf(keystore, accountId ?? operatorAccountId, 2);
      return second === undefined ? first : null;
    },
  };
}
