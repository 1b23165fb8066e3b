import type { Store } from '../store/store.ts';
import { newToken, tokenHash } from './secrets.ts';

/** For so long a sign-in link works, once. */
const linkMs = 10 * 60_000;

export interface SignInLink {
  /** What stands behind the origin of the dashboard: a fragment, which browsers send to no server and so reaches no log. */
  readonly path: string;
  readonly expiresAtMs: number;
}

/** Makes a link by which somebody signs in to an account, once. Null: too many wait to be used. */
export async function makeSignInLink(store: Store, accountId: string, nowMs: number): Promise<SignInLink | null> {
  const token = newToken();
  const expiresAtMs = nowMs + linkMs;
  const kept = await store.oneTime.put({ kind: 'link', hash: tokenHash(token), accountId, expiresAtMs }, nowMs);
  return kept ? { path: `/#sign-in=${token}`, expiresAtMs } : null;
}
