import { operatorAccountId } from '../store/sql/tables/accounts.ts';
import type { Owner } from '../store/order-model/order.ts';
import type { StoredWallet, WalletTable } from '../store/sql/tables/wallets.ts';

/** Whether a key may trade with a custodial wallet: both are of one account. Keys and wallets without an account are the operator's. */
export function mayUseWallet(owner: Pick<Owner, 'accountId'>, wallet: Pick<StoredWallet, 'accountId'>): boolean {
  return (owner.accountId ?? operatorAccountId) === (wallet.accountId ?? operatorAccountId);
}

/** Which wallets a key may use. */
export type WalletAccess = ReturnType<typeof createWalletAccess>;

/** Asks the store once for each wallet, because the owner of a wallet never changes. */
export function createWalletAccess(wallets: Pick<WalletTable, 'byPublicKey' | 'defaultOf'>, keystore: string) {
  // Bounded by the number of wallets in the keystore.
  const known = new Map<string, Pick<StoredWallet, 'accountId'>>();
  return {
    /** Also false if there is no such wallet, so that a caller cannot find out whether it exists. Rejects if the store does not answer. */
    mayUse: async (owner: Pick<Owner, 'accountId'>, publicKey: string): Promise<boolean> => {
      const wallet = known.get(publicKey) ?? (await wallets.byPublicKey(keystore, publicKey));
      if (wallet === null) return false;
      known.set(publicKey, wallet);
      return mayUseWallet(owner, wallet);
    },
    /**
     * The wallet with which a key trades if a request names none; null if its account has none. Not cached, so that a change takes effect with
     * the next order, on every gateway. Rejects if the store does not answer.
     */
    defaultOf: ({ keyId, accountId }: Owner) => wallets.defaultOf(keystore, { keyId, accountId: accountId ?? operatorAccountId }),
  };
}
