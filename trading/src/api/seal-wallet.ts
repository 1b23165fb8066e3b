import type { SealOutcome } from '@sluice/gateway/accounts/wallets.ts';
import { readSecretKey } from '../signer/custody/secret-key-text.ts';
import type { SealedWallet } from '../signer/wire/protocol.ts';

/** Seals the wallet of this secret key; null: a new wallet. `seal` is that of the signing process. */
export async function sealSecretKey(
  seal: (seed: Uint8Array | null) => Promise<SealedWallet | null>,
  secretKey: string | null,
): Promise<SealOutcome> {
  const read = secretKey === null ? null : readSecretKey(secretKey);
  if (read !== null && !read.ok) return { ok: false, reason: 'secret_key', what: read.reason };
  const wallet = await seal(read?.seed ?? null);
  read?.seed.fill(0);
  return wallet === null ? { ok: false, reason: 'unavailable' } : { ok: true, wallet };
}
