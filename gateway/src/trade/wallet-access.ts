import type { Principal } from '../auth/principal.ts';
import { operatorAccountId } from '../store/account-table.ts';
import type { StoredWallet } from '../store/wallet-table.ts';

/** Whether a key may trade with a custodial wallet: both are of one account. Keys and wallets without an account are the operator's. */
export function mayUseWallet(principal: Pick<Principal, 'accountId'>, wallet: Pick<StoredWallet, 'accountId'>): boolean {
  return (principal.accountId ?? operatorAccountId) === (wallet.accountId ?? operatorAccountId);
}
