import { timingSafeEqual } from 'node:crypto';
import type { StoredAccount } from '../store/account-table.ts';
import type { StoredSession } from '../store/session-table.ts';
import type { Store } from '../store/store.ts';
import { csrfTokenOf, newToken, tokenHash } from './secrets.ts';

/** A session that is not used for this time ends, milliseconds. */
const idleMs = 24 * 60 * 60_000;
/** Every session ends after this time, milliseconds. */
export const wholeMs = 7 * 24 * 60 * 60_000;
/** The last use of a session is stored at most this often, to avoid a write for each request, milliseconds. */
const noteEveryMs = 60_000;

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
  if (nowMs - session.lastSeenAtMs > noteEveryMs) {
    await store.sessions.touch(session.tokenHash, nowMs, Math.min(nowMs + idleMs, session.createdAtMs + wholeMs));
  }
  return { account, session, csrfToken: csrfTokenOf(token) };
}

export function isCsrfTokenOf({ session }: SignedIn, text: string | undefined): boolean {
  return text !== undefined && timingSafeEqual(tokenHash(text), session.csrfHash);
}
