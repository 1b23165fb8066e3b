import type { Config } from '@sluice/shared/config/config.ts';
import { decodeBase58 } from '@sluice/shared/solana/base58.ts';
import { isOnCurve, isSmallOrder } from '@sluice/shared/solana/curve.ts';
import { verifySignature } from '@sluice/shared/solana/keypair.ts';
import { newKeyId } from '../auth/key-format.ts';
import type { Store } from '../store/store.ts';
import type { PublicOrigin } from './public-origins.ts';
import type { SignInBody } from './schemas.ts';
import { newToken, tokenHash } from './secrets.ts';
import { parseSignInText, type SignInMessage } from './sign-in-message.ts';

/** For so long a message may be signed and sent back. */
const nonceMs = 5 * 60_000;
/** How far the clock of a wallet that sets the time by itself may go ahead. */
const aheadMs = 60_000;
const statement = 'Sign in to the sluice dashboard. This costs nothing and sends no transaction.';

/** What a wallet is asked to sign: the input of the feature `solana:signIn`, but for the address, which is the wallet's to say. */
export type SignInInput = Required<
  Pick<SignInMessage, 'domain' | 'statement' | 'uri' | 'version' | 'nonce' | 'issuedAt' | 'expirationTime'>
>;

/** Makes a message for one sign-in. Null: too many wait to be signed already. */
export async function offerSignIn(store: Store, { origin, domain }: PublicOrigin, nowMs: number): Promise<SignInInput | null> {
  const nonce = newToken();
  const expiresAtMs = nowMs + nonceMs;
  const kept = await store.oneTime.put({ kind: 'nonce', hash: tokenHash(nonce), accountId: null, expiresAtMs }, nowMs);
  if (!kept) return null;
  const issuedAt = new Date(nowMs).toISOString();
  const expirationTime = new Date(expiresAtMs).toISOString();
  return { domain, statement, uri: origin, version: '1', nonce, issuedAt, expirationTime };
}

/** Why a sign-in is refused: for our log. The one who tried is told only that it was. */
export type SignInFault = 'address' | 'encoding' | 'message' | 'domain' | 'time' | 'signature' | 'nonce' | 'link' | 'sign_up' | 'account';

export type SignInOutcome =
  | { readonly ok: true; readonly accountId: string; readonly isNew: boolean }
  | { readonly ok: false; readonly fault: SignInFault };

/** Whose wallet signed. The nonce is used up only by a message that is good in every other way. */
export async function signInByWallet(
  { store, signUp }: { readonly store: Store; readonly signUp: Config['signUp'] },
  body: SignInBody,
  origin: PublicOrigin,
  nowMs: number,
): Promise<SignInOutcome> {
  const read = readSignedMessage(body, origin, nowMs);
  if (typeof read === 'string') return { ok: false, fault: read };
  if ((await store.oneTime.take('nonce', tokenHash(read.nonce), nowMs)) === null) return { ok: false, fault: 'nonce' };
  return accountOf(store, signUp, body.publicKey, nowMs);
}

/** Whom a one-time link of the operator's signs in. */
export async function signInByLink(store: Store, token: string, nowMs: number): Promise<SignInOutcome> {
  const link = await store.oneTime.take('link', tokenHash(token), nowMs);
  return link === null || link.accountId === null ? { ok: false, fault: 'link' } : { ok: true, accountId: link.accountId, isNew: false };
}

/** Everything about a signed message that can be said without the store. */
function readSignedMessage(
  { publicKey, signedMessage, signature }: SignInBody,
  origin: PublicOrigin,
  nowMs: number,
): { readonly nonce: string } | SignInFault {
  const key = decodeBase58(publicKey);
  // Anybody can make signatures under a key of small order.
  if (key === null || key.length !== 32 || !isOnCurve(key) || isSmallOrder(key)) return 'address';
  const [messageBytes, signatureBytes] = [readBase64(signedMessage), readBase64(signature)];
  if (messageBytes === null || signatureBytes?.length !== 64) return 'encoding';
  const message = parseSignInText(messageBytes.toString('latin1'));
  if (message === null || message.address !== publicKey || message.nonce === undefined) return 'message';
  // What was not asked for is not agreed to.
  if (message.version !== '1' || message.statement !== statement) return 'message';
  if (message.requestId !== undefined || message.resources !== undefined || message.notBefore !== undefined) return 'message';
  if (message.domain !== origin.domain || message.uri !== origin.origin) return 'domain';
  if (!isTimely(message, nowMs)) return 'time';
  return verifySignature(publicKey, messageBytes, signatureBytes) ? { nonce: message.nonce } : 'signature';
}

function isTimely({ issuedAt = '', expirationTime = '' }: SignInMessage, nowMs: number): boolean {
  const [issuedAtMs, expiresAtMs] = [Date.parse(issuedAt), Date.parse(expirationTime)];
  return (
    issuedAtMs <= nowMs + aheadMs &&
    issuedAtMs > nowMs - nonceMs - aheadMs &&
    expiresAtMs > nowMs &&
    expiresAtMs - issuedAtMs <= nonceMs + aheadMs
  );
}

function readBase64(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64');
  // Buffer reads on over what is no base64; only what makes the same text again was it.
  return bytes.toString('base64').replace(/=+$/, '') === text.replace(/=+$/, '') ? bytes : null;
}

async function accountOf(store: Store, signUp: Config['signUp'], wallet: string, nowMs: number): Promise<SignInOutcome> {
  const known = await store.accounts.byWallet(wallet);
  if (known !== null) return { ok: true, accountId: known.id, isNew: false };
  if (signUp === 'closed') return { ok: false, fault: 'sign_up' };
  const id = newKeyId();
  const made = await store.accounts.create({ id, wallet, plan: 'standard', createdAtMs: nowMs });
  if (made === 'stored') return { ok: true, accountId: id, isNew: true };
  // `taken`: the same wallet signed in elsewhere at the same moment.
  const twin = made === 'taken' ? await store.accounts.byWallet(wallet) : null;
  return twin === null ? { ok: false, fault: 'account' } : { ok: true, accountId: twin.id, isNew: false };
}
