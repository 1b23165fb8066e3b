import type { Config } from '@sluice/shared/config/config.ts';
import type { Plan } from '@sluice/shared/config/plans.ts';
import { createApiKey, deleteApiKey, endOfKeyMs, rotateApiKey } from '../auth/api-keys.ts';
import { planOf } from '../auth/key-ring.ts';
import { readIpRanges } from '../auth/ip-ranges.ts';
import type { Refusal } from '../http/answers.ts';
import type { StoredAccount } from '../store/sql/tables/accounts.ts';
import { maxKeysPerAccount, type StoredKey } from '../store/sql/tables/keys.ts';
import type { Store } from '../store/store.ts';
import type { UsageOfKeys } from '../usage/endpoints.ts';
import type { NewKeyBody } from './schemas.ts';

/** Maximum number of keys in one list; the newest are listed. `unlisted` is the number of the others. */
const maxListed = 500;

/** The result of a request about keys or wallets. */
export type Outcome = { readonly value: unknown } | Refusal;

export const wrongLabel = 'must have printable characters only';

/** The label of a key or a wallet; null if it is empty, undefined if it is not valid. */
export function labelOf({ label }: { readonly label?: string | null }): string | null | undefined {
  const trimmed = label?.trim() ?? '';
  return /\p{C}/u.test(trimmed) ? undefined : trimmed === '' ? null : trimmed;
}

interface ListParts {
  readonly store: Store;
  readonly usage: UsageOfKeys;
  readonly config: Pick<Config, 'plans'>;
}

/** The keys of an account, or all keys for the operator; newest first. */
export async function listKeys({ store, usage, config }: ListParts, account: StoredAccount, nowMs: number): Promise<unknown> {
  const keys = isOperator(account) ? await store.keys.all() : await store.keys.ofAccount(account.id);
  const listed = keys.slice(-maxListed).toReversed();
  return {
    keys: listed.map((key) => ({
      ...shownKey(key, nowMs),
      ...shownUsage(key, usage, planOf(config.plans[key.plan], key.limits), nowMs),
      ...(isOperator(account) ? { accountId: key.accountId, limits: key.limits } : {}),
    })),
    unlisted: keys.length - listed.length,
    gateways: usage.gateways(),
  };
}

/** Creates a key. Only this answer contains its secret. */
export async function makeKey(store: Store, account: StoredAccount, body: NewKeyBody, nowMs: number): Promise<Outcome> {
  if (!isOperator(account) && (body.plan !== undefined || body.limits !== undefined)) {
    return { error: 'FORBIDDEN', message: 'Only the operator can set the plan and the limits of a key.' };
  }
  const fields: Record<string, string> = {};
  const label = labelOf(body);
  if (label === undefined) fields['label'] = wrongLabel;
  const ranges = readIpRanges(body.ipRanges ?? []);
  if (!ranges.ok) fields['ipRanges'] = ranges.fault;
  if (!ranges.ok || Object.keys(fields).length > 0) return { error: 'INVALID_REQUEST', details: { fields } };
  const made = await createApiKey(store, {
    plan: isOperator(account) ? (body.plan ?? account.plan) : account.plan,
    scopes: body.scopes,
    label: label ?? null,
    expiresAtMs: body.lifeSeconds === undefined || body.lifeSeconds === null ? null : nowMs + body.lifeSeconds * 1000,
    accountId: account.id,
    ipRanges: ranges.ranges,
    limits: body.limits ?? null,
  });
  if (made.ok) return { value: made.created };
  if (made.reason === 'no-account') return { error: 'UNAUTHENTICATED', message: 'This account is disabled.' };
  if (made.reason === 'store-full') return { error: 'UPSTREAM_UNAVAILABLE', message: 'The store has no space for another key.' };
  return {
    error: 'FORBIDDEN',
    message: `An account has at most ${maxKeysPerAccount} keys. Delete one that is no longer used.`,
    details: { limit: maxKeysPerAccount },
  };
}

/** Gives a key a new secret, which is shown once. The old secret works for another `overlapSeconds`. */
export async function rotateKey(store: Store, account: StoredAccount, id: string, overlapSeconds: number): Promise<Outcome> {
  if ((await findVisibleKey(store, account, id)) === null) return noSuchKey;
  const shown = await rotateApiKey(store, id, overlapSeconds * 1000);
  return shown === null ? { error: 'NOT_FOUND', message: 'This key has been revoked or has expired.' } : { value: shown };
}

export async function deleteKey(store: Store, account: StoredAccount, id: string): Promise<Outcome> {
  if ((await findVisibleKey(store, account, id)) === null) return noSuchKey;
  return (await deleteApiKey(store, id)) ? { value: { id } } : noSuchKey;
}

const noSuchKey = { error: 'NOT_FOUND', message: 'You have no such key.' } as const;

/** The key, if this account may see it; otherwise null. */
async function findVisibleKey(store: Store, account: StoredAccount, id: string): Promise<StoredKey | null> {
  const key = /^[0-9A-Za-z]{1,64}$/.test(id) ? await store.keys.byId(id) : null;
  return key !== null && (isOperator(account) || key.accountId === account.id) ? key : null;
}

function isOperator({ kind }: StoredAccount): boolean {
  return kind === 'operator';
}

function shownKey(key: StoredKey, nowMs: number): Readonly<Record<string, unknown>> {
  const { id, label, plan, scopes, ipRanges, createdAtMs, lastUsedAtMs, revokedAtMs } = key;
  const endMs = endOfKeyMs(key);
  const secrets = revokedAtMs === null ? key.secrets.filter(({ endsAtMs }) => endsAtMs === null || endsAtMs > nowMs) : [];
  return {
    id,
    prefix: `sluice_${id}`,
    label,
    plan,
    scopes,
    ipRanges,
    createdAtMs,
    lastUsedAtMs,
    expiresAtMs: revokedAtMs === null ? endMs : null,
    state: revokedAtMs !== null ? 'revoked' : endMs !== null && endMs <= nowMs ? 'expired' : 'active',
    secrets: secrets.map((secret) => ({ number: secret.number, createdAtMs: secret.createdAtMs, endsAtMs: secret.endsAtMs })),
  };
}

/** What a key uses on this gateway, and the limits of it. `minutes` is null if it made no request in the counted time. */
function shownUsage({ id }: StoredKey, { minutes, streams }: UsageOfKeys, plan: Plan, nowMs: number): Readonly<Record<string, unknown>> {
  const counts = minutes.of(id, nowMs);
  const isUsed = [counts.accepted, counts.refused].some((each) => each.some((count) => count > 0));
  const { connections, subscriptions } = streams.of(id);
  return {
    minutes: isUsed ? counts : null,
    stream: { connections, subscriptions },
    planLimits: { requestsPerMinute: plan.requestsPerMinute, connections: plan.connections, subscriptions: plan.subscriptions },
  };
}
