import { join } from 'node:path';
import { createApiKey, endOfKeyMs, rotateApiKey, type CreatedKey } from '@sluice/gateway/auth/api-keys.ts';
import { maxIpRanges, maxLabelChars } from '@sluice/shared/wire/values.ts';
import { replaceLostPepper } from '@sluice/gateway/auth/pepper.ts';
import { operatorAccountId } from '@sluice/gateway/store/interfaces/account-table.ts';
import { maxKeys, maxKeysPerAccount, type KeyInsertOutcome, type StoredKey } from '@sluice/gateway/store/interfaces/key-table.ts';
import { planNames, scopes as allScopes } from '@sluice/shared/wire/plans.ts';
import {
  CommandError,
  UsageError,
  actionOf,
  loadConfig,
  parseCommand,
  parseDuration,
  positionalsOf,
  printTable,
  inQuotes,
  storeNote,
  type Command,
} from '../../command-line/command.ts';
import { readInteger } from '../../command-line/integer.ts';
import { readLabel, readPlan, readRanges, readScopes, wholeKeyMessage } from './key-options.ts';
import { noteOperator } from '../store/operator-log.ts';
import { isoTime } from '../../command-line/times.ts';
import { withStore } from '../store/with-store.ts';
import { print, printJson } from '../../command-line/terminal.ts';

const maxRequestsPerMinute = 10_000_000;

export const keysCommand: Command = {
  help: `Create and manage API keys.

Usage:
  sluice keys create --plan ${planNames.join('|')} [options]
  sluice keys list
  sluice keys rotate <id> [--overlap TIME]
  sluice keys revoke <id>
  sluice keys reset --yes

${storeNote}`,
  actionHelp: {
    create: `Create an API key and print it. It is printed only once, because the store has only its hash.
Running gateways accept it at once.

Usage: sluice keys create --plan ${planNames.join('|')} [options]

  --plan NAME               the limits of the key (required)
  --scopes LIST             what the key may do, comma-separated: ${allScopes.join(', ')}. Default: all
  --label TEXT              a note that the lists show, up to ${maxLabelChars} characters
  --expires TIME            how long the key works, for example 12h or 30d. Default: it does not expire
  --ip LIST                 addresses or CIDR ranges that may use the key, comma-separated, up to ${maxIpRanges}. Default: any
  --requests-per-minute N   replaces the limit of the plan, 1 to ${maxRequestsPerMinute}
  --account ID              the account that owns the key. Default: operator
  --json                    print JSON

Example: sluice keys create --plan premium --scopes stream,read --label dashboard --expires 90d`,
    list: `List all keys with plan, scopes, account, state and last use. Secrets are not shown.

Usage: sluice keys list [--json]`,
    rotate: `Give a key a new secret and print it. The id, plan and scopes stay.

Usage: sluice keys rotate <id> [--overlap TIME] [--json]

  --overlap TIME  how long the old secret still works, for example 30m or 24h. Default: 0s

Example: sluice keys rotate 4fKq9Zr1 --overlap 24h`,
    revoke: `Revoke a key permanently. Within a second, running gateways refuse it and close its connections.

Usage: sluice keys revoke <id> [--json]`,
    reset: `Revoke all keys and create a new pepper. Use it only if DATA_DIR/pepper is lost on every machine and in every
backup: no key can be checked without it. Stop the gateways first, and copy the new pepper to every machine afterwards.
Wallets and accounts stay.

Usage: sluice keys reset --yes [--json]

  --yes  confirm that all keys end (required)`,
  },
  async run(argv) {
    const [action, rest] = actionOf('keys', argv, actions);
    return action(rest);
  },
};

type Action = (argv: readonly string[]) => Promise<number>;
const actions: ReadonlyMap<string, Action> = new Map(Object.entries({ create, list, rotate, revoke, reset: resetKeys }));

async function create(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseCommand(argv, {
    plan: { type: 'string' },
    scopes: { type: 'string' },
    label: { type: 'string' },
    expires: { type: 'string' },
    ip: { type: 'string' },
    'requests-per-minute': { type: 'string' },
    account: { type: 'string' },
    json: { type: 'boolean' },
  });
  positionalsOf(positionals);
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
  show(
    made.created,
    values.json === true,
    `Key ${id}, ${plan}: ${scopes.join(', ')}. It is printed only this once, because the store has only its hash.`,
  );
  return 0;
}

function show(key: CreatedKey, json: boolean, note: string): void {
  if (json) printJson(key);
  else print(`${key.key}\n\n${note}`);
}

function whyNot(reason: Exclude<KeyInsertOutcome, 'stored'>, accountId: string | null): string {
  if (reason === 'no-account')
    return `There is no account ${inQuotes(accountId ?? '')}, or it is disabled. List the accounts: sluice accounts list`;
  if (reason === 'account-full') return `The account already has ${maxKeysPerAccount} keys, or has created and deleted too many.`;
  return `The store already has ${maxKeys} keys, the most that it can have.`;
}

async function list(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseCommand(argv, { json: { type: 'boolean' } });
  positionalsOf(positionals);
  const [keys, nowMs] = await withStore(loadConfig(), async (store) => [await store.keys.all(), store.time.nowMs()] as const);
  if (values.json === true) {
    printJson(keys.map((key) => keyJson(key, nowMs)));
  } else if (keys.length === 0) {
    print('There are no keys yet. Create one: sluice keys create --plan standard');
  } else {
    printTable(
      ['id', 'prefix', 'plan', 'scopes', 'account', 'state', 'created', 'last used', 'label'],
      keys.map((key) => [
        key.id,
        prefixOf(key),
        key.plan,
        key.scopes.join(','),
        key.accountId ?? '',
        stateOf(key, nowMs),
        isoTime(key.createdAtMs),
        key.lastUsedAtMs === null ? 'never' : isoTime(key.lastUsedAtMs),
        key.label ?? '',
      ]),
    );
  }
  return 0;
}

async function rotate(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseCommand(argv, { overlap: { type: 'string' }, json: { type: 'boolean' } });
  const [id = ''] = positionalsOf(positionals, '<id>');
  const overlapMs = values.overlap === undefined ? 0 : parseDuration('--overlap', values.overlap, 0);
  const rotated = await withStore(loadConfig(), async (store) => {
    await noteOperator(store, 'keys rotate', `key ${id}`);
    return rotateApiKey(store, id, overlapMs);
  });
  if (rotated === null) throw noSuchKey(id, 'revoked or expired');
  const note = `The old secret ${overlapMs === 0 ? 'no longer works' : `still works for ${values.overlap}`}.`;
  show(rotated, values.json === true, note);
  return 0;
}

async function revoke(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseCommand(argv, { json: { type: 'boolean' } });
  const [id = ''] = positionalsOf(positionals, '<id>');
  if (!(await withStore(loadConfig(), (store) => store.keys.revoke(id, store.time.nowMs())))) throw noSuchKey(id, 'revoked');
  if (values.json === true) printJson({ id, revoked: true });
  else print(`Key ${id} is revoked.`);
  return 0;
}

async function resetKeys(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseCommand(argv, { yes: { type: 'boolean' }, json: { type: 'boolean' } });
  positionalsOf(positionals);
  if (values.yes !== true) throw new UsageError('this revokes every key; confirm it with --yes');
  const config = loadConfig();
  const revoked = await withStore(config, (store) => replaceLostPepper(store, store.time.nowMs()));
  if (revoked === null)
    throw new CommandError(`There is nothing to reset: ${join(config.dataDir, 'pepper')} exists, or the store has no key.`);
  if (values.json === true) printJson({ revoked });
  else print(`A new pepper was created. Revoked keys: ${revoked}. Wallets and accounts are unchanged.`);
  return 0;
}

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
