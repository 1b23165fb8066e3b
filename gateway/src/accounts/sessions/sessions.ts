import { timingSafeEqual } from 'node:crypto';
import type { StoredAccount } from '../../store/sql/tables/accounts.ts';
import type { StoredSession } from '../../store/sql/tables/sessions.ts';
import type { Store } from '../../store/store.ts';
import { csrfTokenOf, newToken, tokenHash } from '../secrets.ts';

/** Milliseconds after which an unused session ends. */
const idleMs = 24 * 60 * 60_000;
/** Milliseconds after which every session ends. */
export const maxSessionMs = 7 * 24 * 60 * 60_000;
/** Minimum interval, in milliseconds, at which the last use of a session is stored. It avoids a write for each request. */
const storeLastUseEveryMs = 60_000;

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

/** The visitor with this session token; null if there is no such session. */
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
