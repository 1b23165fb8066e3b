import { createApiKey, endOfKeyMs } from '../../auth/api-keys.ts';
import type { Authenticator, Principal } from '../../auth/principal.ts';
import { operatorAccountId, type StoredAccount } from '../../store/sql/tables/accounts.ts';
import { maxKeysPerAccount, type StoredKey } from '../../store/sql/tables/keys.ts';
import type { Store } from '../../store/store.ts';
import { scopes } from '@sluice/shared/wire/values/plans.ts';
import type { Outcome } from '../keys.ts';

/** Label of the keys that the page makes for itself. */
const pageKeyLabel = 'Dashboard';

/**
 * The key with which the page of a session acts: an active key of the account with the scopes `read` and `stream` from any address, if
 * possible with `trade`; the oldest of them. If there is none, one is created. Its secret is discarded, so that only sessions can use it.
 */
export async function choosePageKey(store: Store, account: StoredAccount, nowMs: number): Promise<Outcome> {
  const keys = account.id === operatorAccountId ? await store.keys.all() : await store.keys.ofAccount(account.id);
  const usable = keys.filter((key) => isUsable(key, account, nowMs));
  const chosen = usable.find((key) => key.scopes.includes('trade')) ?? usable[0];
  if (chosen !== undefined) return { value: { id: chosen.id } };
  const made = await createApiKey(store, { plan: account.plan, scopes, label: pageKeyLabel, accountId: account.id });
  if (made.ok) return { value: { id: made.created.id } };
  if (made.reason === 'no-account') return { error: 'UNAUTHENTICATED', message: 'This account is disabled.' };
  const message = `The page needs a key with the scopes read and stream, and the account has ${maxKeysPerAccount} keys. Delete one.`;
  return { error: 'FORBIDDEN', message, details: { limit: maxKeysPerAccount } };
}

function isUsable(key: StoredKey, account: StoredAccount, nowMs: number): boolean {
  return (
    isOwn(key, account) &&
    isActive(key, nowMs) &&
    key.ipRanges.length === 0 &&
    (['read', 'stream'] as const).every((scope) => key.scopes.includes(scope))
  );
}

/** Whether the key belongs to the account. The operator sees the keys of others, but does not act with them. */
function isOwn(key: StoredKey, account: StoredAccount): boolean {
  return (key.accountId ?? operatorAccountId) === account.id;
}

function isActive(key: StoredKey, nowMs: number): boolean {
  const endMs = endOfKeyMs(key);
  return key.revokedAtMs === null && (endMs === null || endMs > nowMs);
}

/** The caller of a session that acts with one of its keys. Null: the key is not the account's, or is not active. */
export async function principalOfKey(
  { store, authenticator }: { readonly store: Store; readonly authenticator: Pick<Authenticator, 'principalOf' | 'refresh'> },
  account: StoredAccount,
  id: string,
  nowMs: number,
): Promise<Principal | null> {
  const key = /^[0-9A-Za-z]{1,64}$/.test(id) ? await store.keys.byId(id) : null;
  if (key === null || !isOwn(key, account) || !isActive(key, nowMs)) return null;
  const newest = key.secrets.at(-1);
  if (newest === undefined) return null;
  const credential = `${id}.${newest.number}`;
  const known = authenticator.principalOf(credential);
  if (known !== null) return known;
  // The key may have been created a moment ago.
  await authenticator.refresh();
  return authenticator.principalOf(credential);
}
