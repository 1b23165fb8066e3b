import { join } from 'node:path';
import { createApiKey, endOfKeyMs, rotateApiKey } from '@sluice/gateway/auth/api-keys.ts';
import { maxIpRanges, maxLabelChars } from '@sluice/shared/wire/values/values.ts';
import { replaceLostPepper } from '@sluice/gateway/auth/pepper.ts';
import { operatorAccountId } from '@sluice/gateway/store/sql/tables/accounts.ts';
import { maxKeys, maxKeysPerAccount, type KeyInsertOutcome, type StoredKey } from '@sluice/gateway/store/sql/tables/keys.ts';
import { planNames, scopes as allScopes } from '@sluice/shared/wire/values/plans.ts';
import {
  action,
  type Command,
  CommandError,
  flag,
  inQuotes,
  loadConfig,
  option,
  parseDuration,
  readInteger,
  required,
  UsageError,
} from '../../command-line/command.ts';
import { readLabel, readPlan, readRanges, readScopes, wholeKeyMessage } from './key-options.ts';
import { isoTime, tableText } from '../../command-line/terminal.ts';
import { noteOperator, storeNote, withStore } from '../store/with-store.ts';

const maxRequestsPerMinute = 10_000_000;

const create = action({
  about:
    'Create an API key and print it. It is printed only once, because the store has only its hash. Running gateways accept it at once.',
  options: {
    plan: required(planNames.join('|'), 'the limits of the key'),
    scopes: option('LIST', `what the key may do, comma-separated: ${allScopes.join(', ')}. Default: all`),
    label: option('TEXT', `a note that the lists show, up to ${maxLabelChars} characters`),
    expires: option('PERIOD', 'how long the key works, for example 12h or 30d. Default: it does not expire'),
    ip: option('LIST', `addresses or CIDR ranges that may use the key, comma-separated, up to ${maxIpRanges}. Default: any`),
    'requests-per-minute': option('N', `replaces the limit of the plan, 1 to ${maxRequestsPerMinute}`),
    account: option('ID', 'the account that owns the key. Default: operator'),
  },
  examples: ['keys create --plan premium --scopes stream,read --label dashboard --expires 90d'],
  async run(values) {
    const perMinute = values['requests-per-minute'];
    const request = {
      plan: readPlan('--plan', values.plan),
      scopes: readScopes(values.scopes),
      label: readLabel(values.label),
      ipRanges: readRanges(values.ip),
      limits:
        perMinute === undefined ? null : { requestsPerMinute: readInteger('--requests-per-minute', perMinute, 1, maxRequestsPerMinute) },
      accountId: values.account ?? null,
    };
    const lifeMs = values.expires === undefined ? null : parseDuration('--expires', values.expires, 1000);
    const made = await withStore(loadConfig(), async (store) => {
      await noteOperator(store, 'keys create', `account ${request.accountId ?? operatorAccountId}`);
      return createApiKey(store, { ...request, expiresAtMs: lifeMs === null ? null : store.time.nowMs() + lifeMs });
    });
    if (!made.ok) throw new CommandError(whyNot(made.reason, request.accountId));
    const { id, plan, scopes } = made.created;
    const note = `Key ${id}, ${plan}: ${scopes.join(', ')}. It is printed only this once, because the store has only its hash.`;
    return { json: made.created, text: `${made.created.key}\n\n${note}` };
  },
});

function whyNot(reason: Exclude<KeyInsertOutcome, 'stored'>, accountId: string | null): string {
  if (reason === 'no-account')
    return `There is no account ${inQuotes(accountId ?? '')}, or it is disabled. List the accounts: sluice accounts list`;
  if (reason === 'account-full') return `The account already has ${maxKeysPerAccount} keys, or has created and deleted too many.`;
  return `The store already has ${maxKeys} keys, the most that it can have.`;
}

const list = action({
  about: 'List all keys with plan, scopes, account, state and last use. Secrets are not shown.',
  async run() {
    const [keys, nowMs] = await withStore(loadConfig(), async (store) => [await store.keys.all(), store.time.nowMs()] as const);
    const rows = keys.map((key) => [
      key.id,
      prefixOf(key),
      key.plan,
      key.scopes.join(','),
      key.accountId ?? '',
      stateOf(key, nowMs),
      isoTime(key.createdAtMs),
      key.lastUsedAtMs === null ? 'never' : isoTime(key.lastUsedAtMs),
      key.label ?? '',
    ]);
    const headings = ['id', 'prefix', 'plan', 'scopes', 'account', 'state', 'created', 'last used', 'label'];
    const none = 'There are no keys yet. Create one: sluice keys create --plan standard';
    return { json: keys.map((key) => keyJson(key, nowMs)), text: keys.length === 0 ? none : tableText(headings, rows) };
  },
});

const rotate = action({
  about: 'Give a key a new secret and print it. The id, plan and scopes stay.',
  args: { '<id>': 'the part of the key between the two underscores' },
  options: { overlap: option('PERIOD', 'how long the old secret still works, for example 30m or 24h. Default: 0s') },
  examples: ['keys rotate 4fKq9Zr1 --overlap 24h'],
  async run(values, [id = '']) {
    const overlapMs = values.overlap === undefined ? 0 : parseDuration('--overlap', values.overlap, 0);
    const rotated = await withStore(loadConfig(), async (store) => {
      await noteOperator(store, 'keys rotate', `key ${id}`);
      return rotateApiKey(store, id, overlapMs);
    });
    if (rotated === null) throw noSuchKey(id, 'revoked or expired');
    const note = `The old secret ${overlapMs === 0 ? 'no longer works' : `still works for ${values.overlap}`}.`;
    return { json: rotated, text: `${rotated.key}\n\n${note}` };
  },
});

const revoke = action({
  about: 'Revoke a key permanently. Within a second, running gateways refuse it and close its connections.',
  args: { '<id>': 'the part of the key between the two underscores' },
  async run(_, [id = '']) {
    if (!(await withStore(loadConfig(), (store) => store.keys.revoke(id, store.time.nowMs())))) throw noSuchKey(id, 'revoked');
    return { json: { id, revoked: true }, text: `Key ${id} is revoked.` };
  },
});

const reset = action({
  about:
    'Revoke all keys and create a new pepper. Use it only if DATA_DIR/pepper is lost on every machine and in every backup: no key can be checked without it. Stop the gateways first, and copy the new pepper to every machine afterwards. Wallets and accounts stay.',
  options: { yes: flag('confirm that all keys end; required') },
  async run(values) {
    if (!values.yes) throw new UsageError('this revokes every key; confirm it with --yes');
    const config = loadConfig();
    const revoked = await withStore(config, (store) => replaceLostPepper(store, store.time.nowMs()));
    if (revoked === null)
      throw new CommandError(`There is nothing to reset: ${join(config.dataDir, 'pepper')} exists, or the store has no key.`);
    return { json: { revoked }, text: `A new pepper was created. Revoked keys: ${revoked}. Wallets and accounts are unchanged.` };
  },
});

function noSuchKey(id: string, ended: string): CommandError {
  if (id.startsWith('sluice_')) return new CommandError(wholeKeyMessage);
  return new CommandError(`There is no key ${inQuotes(id)}, or it is ${ended} already.`);
}

/** The public part of a key. With it, the owner can identify the key. */
function prefixOf({ id }: StoredKey): string {
  return `sluice_${id}`;
}

function stateOf(key: StoredKey, nowMs: number): string {
  if (key.revokedAtMs !== null) return `revoked ${isoTime(key.revokedAtMs)}`;
  const endMs = endOfKeyMs(key);
  if (endMs === null) return 'active';
  return endMs <= nowMs ? `expired ${isoTime(endMs)}` : `active until ${isoTime(endMs)}`;
}

function keyJson(key: StoredKey, nowMs: number): Readonly<Record<string, unknown>> {
  const { id, plan, scopes, label, accountId, ipRanges, limits, createdAtMs, lastUsedAtMs, revokedAtMs } = key;
  const endMs = endOfKeyMs(key);
  const active = endMs === null || endMs > nowMs;
  const expiresAtMs = revokedAtMs === null ? endMs : null;
  const prefix = prefixOf(key);
  return { id, prefix, plan, scopes, label, accountId, ipRanges, limits, active, createdAtMs, lastUsedAtMs, revokedAtMs, expiresAtMs };
}

export const command: Command = { about: 'Create and manage API keys.', actions: { create, list, rotate, revoke, reset }, more: storeNote };
