import type { Config } from '@sluice/shared/config/config.ts';
import { decodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { isOnCurve, isSmallOrder } from '@sluice/shared/solana/addresses/curve.ts';
import { verifySignature } from '@sluice/shared/solana/addresses/keypair.ts';
import { newKeyId } from '../../auth/key-format.ts';
import type { Store } from '../../store/store.ts';
import type { PublicOrigin } from '../public-origins.ts';
import type { SignInBody } from '../schemas.ts';
import { nonceMs, type Nonce, type Nonces } from './nonces.ts';
import { tokenHash } from '../sessions/sessions.ts';
import { parseSignInText, type SignInMessage } from './sign-in-message.ts';

/** How far the clock of a wallet may be ahead. Some wallets set the time themselves. */
const aheadMs = 60_000;
const statement = 'Sign in to the sluice dashboard. This costs nothing and sends no transaction.';

/** The input of the feature `solana:signIn`, which the wallet signs. It has no address, because the wallet chooses it. */
export type SignInInput = Required<
  Pick<SignInMessage, 'domain' | 'statement' | 'uri' | 'version' | 'nonce' | 'issuedAt' | 'expirationTime'>
>;

/** Creates the message for one sign-in. It is not stored, so any number may be requested. */
export function offerSignIn(nonces: Nonces, { origin, domain }: PublicOrigin, nowMs: number): SignInInput {
  const { text: nonce } = nonces.make(nowMs);
  const issuedAt = new Date(nowMs).toISOString();
  const expirationTime = new Date(nowMs + nonceMs).toISOString();
  return { domain, statement, uri: origin, version: '1', nonce, issuedAt, expirationTime };
}

type MessageFault = 'address' | 'encoding' | 'message' | 'domain' | 'time' | 'signature' | 'nonce';
/** Why a sign-in is refused, for the log. The caller learns only that it was refused, or why a link does not work: nobody can guess one. */
export type SignInFault = MessageFault | 'link' | 'link_used' | 'sign_up' | 'account';

export type SignInOutcome =
  | { readonly ok: true; readonly accountId: string; readonly isNew: boolean }
  | { readonly ok: false; readonly fault: SignInFault };

/** Signs in by a signed message. The nonce is marked as used only if everything else is valid and the wallet has an account. */
export async function signInByWallet(
  { store, nonces, signUp }: { readonly store: Store; readonly nonces: Nonces; readonly signUp: Config['signUp'] },
  body: SignInBody,
  origin: PublicOrigin,
  nowMs: number,
): Promise<SignInOutcome> {
  const nonce = readSignedMessage(body, nonces, origin, nowMs);
  if (typeof nonce === 'string') return { ok: false, fault: nonce };
  const outcome = await accountOf(store, signUp, body.publicKey, nowMs);
  if (!outcome.ok) return outcome;
  return (await store.accounts.useNonce(outcome.accountId, nonce.number, nowMs)) ? outcome : { ok: false, fault: 'nonce' };
}

/** Signs in by a one-time link. */
export async function signInByLink(store: Store, token: string, nowMs: number): Promise<SignInOutcome> {
  const link = await store.oneTime.take(tokenHash(token), nowMs);
  if (link === null || link === 'used') return { ok: false, fault: link === null ? 'link' : 'link_used' };
  return { ok: true, accountId: link.accountId, isNew: false };
}

/** All checks of a signed message that do not need the store. */
function readSignedMessage(
  { publicKey, signedMessage, signature }: SignInBody,
  nonces: Nonces,
  origin: PublicOrigin,
  nowMs: number,
): Nonce | MessageFault {
  const key = decodeBase58(publicKey);
  // Anyone can make signatures for a key of small order.
  if (key === null || key.length !== 32 || !isOnCurve(key) || isSmallOrder(key)) return 'address';
  const [messageBytes, signatureBytes] = [readBase64(signedMessage), readBase64(signature)];
  if (messageBytes === null || signatureBytes?.length !== 64) return 'encoding';
  const message = parseSignInText(messageBytes.toString('latin1'));
  if (message === null || message.address !== publicKey || message.nonce === undefined) return 'message';
  // Only our own statement is accepted.
  if (message.version !== '1' || message.statement !== statement) return 'message';
  if (message.requestId !== undefined || message.resources !== undefined || message.notBefore !== undefined) return 'message';
  if (message.domain !== origin.domain || message.uri !== origin.origin) return 'domain';
  if (!isTimely(message, nowMs)) return 'time';
  const nonce = nonces.read(message.nonce, nowMs);
  if (nonce === null) return 'nonce';
  return verifySignature(publicKey, messageBytes, signatureBytes) ? nonce : 'signature';
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
  // Buffer ignores invalid characters. The text was valid base64 only if encoding the bytes gives the same text.
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
