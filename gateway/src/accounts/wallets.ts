import { operatorAccountId, type StoredAccount } from '../store/interfaces/account-table.ts';
import type { Store } from '../store/store.ts';

/** Maximum number of wallets in one list, the newest ones. The list also has the number of the others. */
const maxListed = 200;

/** The custodial wallets of an account, newest first, without their sealed seeds. */
export async function listOwnWallets(store: Store, keystore: string, account: StoredAccount): Promise<unknown> {
  const all = await store.wallets.list(keystore);
  const own = all.filter((wallet) => (wallet.accountId ?? operatorAccountId) === account.id);
  const listed = own.slice(-maxListed).toReversed();
  return {
    wallets: listed.map(({ publicKey, label, imported, createdAtMs }) => ({ publicKey, label, imported, createdAtMs })),
    unlisted: own.length - listed.length,
  };
}
