import { randomBytes } from 'node:crypto';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { isOnCurve } from '@sluice/shared/solana/addresses/curve.ts';
import { paperKeystore } from '../../signer/custody/passphrase.ts';
import { operatorAccountId } from '@sluice/gateway/store/sql/tables/accounts.ts';
import { limitsOf, type StoredWallet } from '@sluice/gateway/store/sql/tables/wallets.ts';
import type { Store } from '@sluice/gateway/store/store.ts';
import type { Refusal } from '../outcome.ts';

/** Maximum number of paper wallets of one account. */
const maxPaperWallets = 100;
const tooMany = {
  error: 'FORBIDDEN',
  message: `An account has at most ${maxPaperWallets} paper wallets. Reset the balance of one.`,
  details: { limit: maxPaperWallets },
} as const;
const full = { error: 'UPSTREAM_UNAVAILABLE', message: 'The store has no space for another paper wallet.' } as const;
const nothing = new Uint8Array(0);

/** Makes a paper wallet: an address off the curve, for which no secret key exists. */
export async function createPaperWallet(
  { wallets, time }: Pick<Store, 'wallets' | 'time'>,
  { accountId, label }: { readonly accountId: string | null; readonly label: string | null },
): Promise<StoredWallet | (Refusal & { readonly message: string })> {
  const of = accountId === operatorAccountId ? null : accountId;
  const createdAtMs = time.nowMs();
  await wallets.insertKeystore(paperKeystore, { salt: nothing, proof: nothing }, createdAtMs);
  const wallet = { publicKey: addressWithoutKey(), accountId: of, label, imported: false, sealedSeed: nothing, createdAtMs };
  const inserted = await wallets.insert(paperKeystore, wallet, limitsOf(of, maxPaperWallets));
  if (inserted === 'stored') return wallet;
  return inserted === 'account_full' ? tooMany : full;
}

function addressWithoutKey(): string {
  for (;;) {
    const bytes = randomBytes(32);
    if (!isOnCurve(bytes)) return encodeBase58(bytes);
  }
}
