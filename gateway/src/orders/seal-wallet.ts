import { readSecretKey } from '../custody/secret-key-text.ts';
import type { SealedWallet } from '../signer/protocol.ts';

/** `secret_key`: the text is not a secret key; `what` says why, without any part of it. `paper`: wallets on paper have no secret keys. */
export type SealOutcome =
  | { readonly ok: true; readonly wallet: SealedWallet }
  | { readonly ok: false; readonly reason: 'paper' | 'unavailable' }
  | { readonly ok: false; readonly reason: 'secret_key'; readonly what: string };

/** Seals the wallet of this secret key; null: a new wallet. Never rejects. */
export type SealWallet = (secretKey: string | null) => Promise<SealOutcome>;

/** `seal` is that of the signing process. */
export async function sealWallet(
  seal: (seed: Uint8Array | null) => Promise<SealedWallet | null>,
  secretKey: string | null,
): Promise<SealOutcome> {
  const read = secretKey === null ? null : readSecretKey(secretKey);
  if (read !== null && !read.ok) return { ok: false, reason: 'secret_key', what: read.reason };
  const wallet = await seal(read?.seed ?? null);
  read?.seed.fill(0);
  return wallet === null ? { ok: false, reason: 'unavailable' } : { ok: true, wallet };
}
