import type { Principal } from '../auth/principal.ts';
import { operatorAccountId } from '../store/account-table.ts';
import type { StoredWallet, WalletTable } from '../store/wallet-table.ts';

/** Whether a key may trade with a custodial wallet: both are of one account. Keys and wallets without an account are the operator's. */
export function mayUseWallet(principal: Pick<Principal, 'accountId'>, wallet: Pick<StoredWallet, 'accountId'>): boolean {
  return (principal.accountId ?? operatorAccountId) === (wallet.accountId ?? operatorAccountId);
}

/** Which wallets a key may use. */
export interface WalletAccess {
  /** False also where there is no such wallet: whose it is, is nobody's business. Rejects where the store does not answer. */
  mayUse(principal: Pick<Principal, 'accountId'>, publicKey: string): Promise<boolean>;
}

/** Asks the store once for each wallet: whose one is never changes. */
export function createWalletAccess(wallets: Pick<WalletTable, 'byPublicKey'>, keystore: string): WalletAccess {
  // As many as a keystore holds at most.
  const known = new Map<string, Pick<StoredWallet, 'accountId'>>();
  return {
    async mayUse(principal, publicKey) {
      const wallet = known.get(publicKey) ?? (await wallets.byPublicKey(keystore, publicKey));
      if (wallet === null) return false;
      known.set(publicKey, wallet);
      return mayUseWallet(principal, wallet);
    },
  };
}
