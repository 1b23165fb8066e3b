import { randomBytes } from 'node:crypto';
import { encodeBase58 } from '@sluice/shared/solana/base58.ts';
import { isOnCurve } from '@sluice/shared/solana/curve.ts';
import { paperKeystore } from '../../custody/passphrase.ts';
import { operatorAccountId } from '../../store/interfaces/account-table.ts';
import type { StoredWallet } from '../../store/interfaces/wallet-table.ts';
import type { Store } from '../../store/store.ts';
import { mayUseWallet } from '../place/wallet-access.ts';

/** Maximum number of paper wallets of one account. */
export const maxPaperWallets = 100;
const nothing = new Uint8Array(0);

/** Makes a paper wallet: an address off the curve, for which no secret key exists. Null: its account has `maxPaperWallets`, or the store is full. */
export async function createPaperWallet(
  { wallets, time }: Pick<Store, 'wallets' | 'time'>,
  { accountId, label }: { readonly accountId: string | null; readonly label: string | null },
): Promise<StoredWallet | null> {
  const of = accountId === operatorAccountId ? null : accountId;
  const own = (await wallets.list(paperKeystore)).filter((wallet) => mayUseWallet({ accountId: of }, wallet));
  if (own.length >= maxPaperWallets) return null;
  const createdAtMs = time.nowMs();
  await wallets.insertKeystore(paperKeystore, { salt: nothing, proof: nothing }, createdAtMs);
  const wallet = { publicKey: addressWithoutKey(), accountId: of, label, imported: false, sealedSeed: nothing, createdAtMs };
  return (await wallets.insert(paperKeystore, wallet)) ? wallet : null;
}

function addressWithoutKey(): string {
  for (;;) {
    const bytes = randomBytes(32);
    if (!isOnCurve(bytes)) return encodeBase58(bytes);
  }
}
