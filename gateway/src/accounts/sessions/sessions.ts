import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { StoredAccount } from '../../store/sql/tables/accounts.ts';
import type { StoredSession } from '../../store/sql/tables/sessions.ts';
import type { Store } from '../../store/store.ts';

/** Milliseconds after which an unused session ends. */
const idleMs = 24 * 60 * 60_000;
/** Milliseconds after which every session ends. */
export const maxSessionMs = 7 * 24 * 60 * 60_000;
/** Minimum interval, in milliseconds, at which the last use of a session is stored. It avoids a write for each request. */
const storeLastUseEveryMs = 60_000;
/** Longest `Cookie` header that is read. */
const maxCookieChars = 8 * 1024;

/** A visitor who is signed in. */
export interface SignedIn {
  readonly account: StoredAccount;
  readonly session: StoredSession;
  /** Must be sent as `X-CSRF-Token` with every request that changes something. */
  readonly csrfToken: string;
}

/** Begins a session with a new token, and ends the previous session `before`. Null: the account is disabled or missing. */
export async function beginSession(store: Store, accountId: string, before: string | null, nowMs: number): Promise<string | null> {
  const token = newToken();
  const begun = await store.sessions.create({
    tokenHash: tokenHash(token),
    accountId,
    csrfHash: tokenHash(csrfTokenOf(token)),
    createdAtMs: nowMs,
    expiresAtMs: nowMs + idleMs,
  });
  if (before !== null) await store.sessions.remove(tokenHash(before));
  return begun ? token : null;
}

export async function findSession(store: Store, token: string, nowMs: number): Promise<SignedIn | null> {
  const session = await store.sessions.byTokenHash(tokenHash(token), nowMs);
  if (session === null) return null;
  const account = await store.accounts.byId(session.accountId);
  if (account === null || account.disabledAtMs !== null) return null;
  if (nowMs - session.lastSeenAtMs > storeLastUseEveryMs) {
    await store.sessions.touch(session.tokenHash, nowMs, Math.min(nowMs + idleMs, session.createdAtMs + maxSessionMs));
  }
  return { account, session, csrfToken: csrfTokenOf(token) };
}

export function isCsrfTokenOf({ session }: SignedIn, text: string | undefined): boolean {
  return text !== undefined && timingSafeEqual(tokenHash(text), session.csrfHash);
}

/** A new token for a session or a link: 256 random bits as 64 hexadecimal digits. */
export function newToken(): string {
  return randomBytes(32).toString('hex');
}

function isToken(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text);
}

/** The stored hash of a token. The token has 256 random bits, so a plain hash reveals nothing and the token cannot be guessed. */
export function tokenHash(token: string): Uint8Array {
  return new Uint8Array(createHash('sha256').update(token).digest());
}

/** The CSRF token of a session. It is derived from the session's token, so it need not be stored, and belongs to this session only. */
function csrfTokenOf(sessionToken: string): string {
  return createHmac('sha256', sessionToken).update('sluice dashboard csrf').digest('hex');
}

/** Browsers accept `__Host-` and `Secure` only over https. On plain http, which is allowed on the loopback only, the name has no prefix. */
function cookieName(secure: boolean): string {
  return secure ? '__Host-sluice_session' : 'sluice_session';
}

/**
 * The session token in a `Cookie` header; null if there is none. Also null if there are two such cookies: one may have been set by an
 * attacker for another path, and nobody knows which of the two is ours.
 */
export function sessionTokenOf(cookies: string | undefined, secure: boolean): string | null {
  if (cookies === undefined || cookies.length > maxCookieChars) return null;
  const head = `${cookieName(secure)}=`;
  const [own, ...more] = cookies
    .split(';')
    .map((cookie) => cookie.trim())
    .filter((cookie) => cookie.startsWith(head))
    .map((cookie) => cookie.slice(head.length));
  return own !== undefined && more.length === 0 && isToken(own) ? own : null;
}

/** A `Set-Cookie` header. Browsers return the cookie to this host only, hide the cookie from scripts, and send no cookie with requests from other sites. */
export function sessionCookie(token: string, secure: boolean, maxAgeSeconds: number): string {
  return `${cookieName(secure)}=${token}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${maxAgeSeconds}${secure ? '; Secure' : ''}`;
}

export function endedSessionCookie(secure: boolean): string {
  return sessionCookie('', secure, 0);
}
