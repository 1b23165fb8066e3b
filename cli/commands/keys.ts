import { join } from 'node:path';
import { createApiKey, endOfKeyMs, rotateApiKey, type ShownKey } from '@sluice/gateway/auth/api-keys.ts';
import { replaceLostPepper } from '@sluice/gateway/auth/pepper.ts';
import { operatorAccountId } from '@sluice/gateway/store/account-table.ts';
import { maxKeys, maxKeysPerAccount, type KeyInsertOutcome, type StoredKey } from '@sluice/gateway/store/key-table.ts';
import { planNames } from '@sluice/shared/wire/plans.ts';
import {
  CommandError,
  UsageError,
  actionOf,
  loadConfig,
  parseCommand,
  parseDuration,
  positionalsOf,
  printJson,
  printTable,
  shown,
  type Command,
} from '../command.ts';
import { readInteger } from '../integer.ts';
import { readLabel, readPlan, readRanges, readScopes } from '../key-options.ts';
import { noteOperator } from '../operator-log.ts';
import { isoTime } from '../times.ts';
import { withStore } from '../with-store.ts';

const maxRequestsPerMinute = 10_000_000;

export const keysCommand: Command = {
  help: `Usage:
  sluice keys create --plan ${planNames.join('|')} [--scopes stream,read,trade] [--label L] [--expires 30d]
                     [--ip CIDR,CIDR] [--requests-per-minute N] [--account ID]
      makes a key and shows it: this once, for only its hash is stored. Without --scopes it has all of them. With --ip it may be
      used from these addresses only. --requests-per-minute replaces the plan's. Running gateways apply it at once.
  sluice keys list
  sluice keys rotate <id> [--overlap 24h]
      gives the key a new secret; the old one ends at once, or works on for the overlap.
  sluice keys revoke <id>
      ends the key; running gateways refuse it, and close its sockets, within a second.
  sluice keys reset --yes
      where DATA_DIR/pepper is lost, on every machine and in every backup: ends all keys, which nothing can check any more, and makes
      a new pepper. Stop the gateways before, and copy the new pepper to every machine.

All take --json. They act on the store (DATABASE_URL, or under DATA_DIR), also while gateways run on it.`,
  async run(argv) {
    const [work, rest] = actionOf('keys', argv, actions);
    return work(rest);
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
    expiresAtMs: values.expires === undefined ? null : Date.now() + parseDuration('--expires', values.expires, 1000),
    ipRanges: readRanges(values.ip),
    limits:
      perMinute === undefined ? null : { requestsPerMinute: readInteger('--requests-per-minute', perMinute, 1, maxRequestsPerMinute) },
    accountId: values.account ?? null,
  };
  const made = await withStore(loadConfig(), async (store) => {
    await noteOperator(store, 'keys create', `account ${request.accountId ?? operatorAccountId}`);
    return createApiKey(store, request);
  });
  if (!made.ok) throw new CommandError(whyNot(made.reason, request.accountId));
  const { id, plan, scopes } = made.shown;
  show(made.shown, values.json === true, `Key ${id}, ${plan}: ${scopes.join(', ')}. It is shown this once; only its hash is stored.`);
  return 0;
}

function show(key: ShownKey, json: boolean, note: string): void {
  if (json) printJson(key);
  else console.log(`${key.key}\n\n${note}`);
}

function whyNot(reason: Exclude<KeyInsertOutcome, 'stored'>, accountId: string | null): string {
  if (reason === 'no-account') return `There is no account ${shown(accountId ?? '')} that is not disabled: sluice accounts list`;
  if (reason === 'account-full') return `The account has ${maxKeysPerAccount} keys already, or has made and deleted too many.`;
  return `The store holds ${maxKeys} keys already.`;
}

async function list(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseCommand(argv, { json: { type: 'boolean' } });
  positionalsOf(positionals);
  const keys = await withStore(loadConfig(), (store) => store.keys.all());
  if (values.json === true) {
    printJson(keys.map(keyJson));
  } else if (keys.length === 0) {
    console.log('There are no keys yet: sluice keys create --plan standard');
  } else {
    printTable(
      ['id', 'prefix', 'plan', 'scopes', 'account', 'state', 'created', 'last used', 'label'],
      keys.map((key) => [
        key.id,
        prefixOf(key),
        key.plan,
        key.scopes.join(','),
        key.accountId ?? '',
        stateOf(key),
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
  const note = `The old key ${overlapMs === 0 ? 'has ended' : `works for another ${values.overlap}`}.`;
  show(rotated, values.json === true, note);
  return 0;
}

async function revoke(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseCommand(argv, { json: { type: 'boolean' } });
  const [id = ''] = positionalsOf(positionals, '<id>');
  if (!(await withStore(loadConfig(), (store) => store.keys.revoke(id, Date.now())))) throw noSuchKey(id, 'revoked');
  if (values.json === true) printJson({ id, revoked: true });
  else console.log(`Key ${id} is revoked.`);
  return 0;
}

async function resetKeys(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseCommand(argv, { yes: { type: 'boolean' }, json: { type: 'boolean' } });
  positionalsOf(positionals);
  if (values.yes !== true) throw new UsageError('this ends every key; --yes says that it is meant');
  const config = loadConfig();
  const revoked = await withStore(config, (store) => replaceLostPepper(store, Date.now()));
  if (revoked === null)
    throw new CommandError(`The pepper is not lost: ${join(config.dataDir, 'pepper')} is there, or no key was ever made.`);
  if (values.json === true) printJson({ revoked });
  else console.log(`There is a new pepper. Keys that have ended: ${revoked}. Wallets and accounts are as they were.`);
  return 0;
}

function noSuchKey(id: string, ended: string): CommandError {
  if (id.startsWith('sluice_')) return new CommandError('That is an API key; its id is the part between the two underscores.');
  return new CommandError(`There is no key ${shown(id)} that is not ${ended}.`);
}

/** What its owner sees of a key that was shown once. */
function prefixOf({ id }: StoredKey): string {
  return `sluice_${id}`;
}

function stateOf(key: StoredKey): string {
  if (key.revokedAtMs !== null) return `revoked ${isoTime(key.revokedAtMs)}`;
  const endMs = endOfKeyMs(key);
  if (endMs === null) return 'live';
  return endMs <= Date.now() ? `expired ${isoTime(endMs)}` : `live until ${isoTime(endMs)}`;
}

function keyJson(key: StoredKey): Readonly<Record<string, unknown>> {
  const { id, plan, scopes, label, accountId, ipRanges, limits, createdAtMs, lastUsedAtMs, revokedAtMs } = key;
  const endMs = endOfKeyMs(key);
  const live = endMs === null || endMs > Date.now();
  const expiresAtMs = revokedAtMs === null ? endMs : null;
  const prefix = prefixOf(key);
  return { id, prefix, plan, scopes, label, accountId, ipRanges, limits, live, createdAtMs, lastUsedAtMs, revokedAtMs, expiresAtMs };
}
