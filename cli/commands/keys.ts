import { createApiKey, endOfKeyMs, rotateApiKey } from '@sluice/gateway/auth/api-keys.ts';
import { planNames, scopes as allScopes, type PlanName, type Scope } from '@sluice/shared/wire/plans.ts';
import type { StoredKey } from '@sluice/gateway/store/key-table.ts';
import { openStore, type Store } from '@sluice/gateway/store/store.ts';
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

const maxLabelLength = 64;

export const keysCommand: Command = {
  help: `Usage:
  sluice keys create --plan standard|premium|enterprise [--scopes stream,read,trade] [--label L] [--expires 30d]
      makes a key and shows it: this once, for only its hash is stored. Without --scopes it has all of them.
  sluice keys list
  sluice keys rotate <id> [--overlap 24h]
      gives the key a new secret; the old one ends at once, or works on for the overlap.
  sluice keys revoke <id>
      ends the key; running gateways refuse it, and close its sockets, within a second.

All take --json. They act on the store under DATA_DIR, also while gateways run on it.`,
  async run(argv) {
    const [work, rest] = actionOf('keys', argv, actions);
    return work(rest);
  },
};

type Action = (argv: readonly string[]) => number;
const actions: ReadonlyMap<string, Action> = new Map(Object.entries({ create, list, rotate, revoke }));

function withStore<T>(work: (store: Store) => T): T {
  const store = openStore(loadConfig());
  try {
    return work(store);
  } finally {
    store.close();
  }
}

function create(argv: readonly string[]): number {
  const { values, positionals } = parseCommand(argv, {
    plan: { type: 'string' },
    scopes: { type: 'string' },
    label: { type: 'string' },
    expires: { type: 'string' },
    json: { type: 'boolean' },
  });
  positionalsOf(positionals);
  const plan = readPlan(values.plan);
  const scopes = readScopes(values.scopes);
  const label = readLabel(values.label);
  const expiresAtMs = values.expires === undefined ? null : Date.now() + parseDuration('--expires', values.expires);
  const shownKey = withStore((store) => createApiKey(store, { plan, scopes, label, expiresAtMs }));
  if (values.json === true) printJson(shownKey);
  else console.log(`${shownKey.key}\n\nKey ${shownKey.id}, ${plan}: ${scopes.join(', ')}. It is shown this once; only its hash is stored.`);
  return 0;
}

function list(argv: readonly string[]): number {
  const { values, positionals } = parseCommand(argv, { json: { type: 'boolean' } });
  positionalsOf(positionals);
  const keys = withStore((store) => store.keys.all());
  if (values.json === true) {
    printJson(keys.map(keyJson));
  } else if (keys.length === 0) {
    console.log('There are no keys yet: sluice keys create --plan standard');
  } else {
    printTable(
      ['id', 'plan', 'scopes', 'state', 'created', 'label'],
      keys.map((key) => [key.id, key.plan, key.scopes.join(','), stateOf(key), isoTime(key.createdAtMs), key.label ?? '']),
    );
  }
  return 0;
}

function rotate(argv: readonly string[]): number {
  const { values, positionals } = parseCommand(argv, { overlap: { type: 'string' }, json: { type: 'boolean' } });
  const [id = ''] = positionalsOf(positionals, '<id>');
  const overlapMs = values.overlap === undefined ? 0 : parseDuration('--overlap', values.overlap);
  const shownKey = withStore((store) => rotateApiKey(store, id, overlapMs));
  if (shownKey === null) throw noSuchKey(id);
  if (values.json === true) printJson(shownKey);
  else console.log(`${shownKey.key}\n\nThe old key ${overlapMs === 0 ? 'has ended' : `works for another ${values.overlap}`}.`);
  return 0;
}

function revoke(argv: readonly string[]): number {
  const { values, positionals } = parseCommand(argv, { json: { type: 'boolean' } });
  const [id = ''] = positionalsOf(positionals, '<id>');
  if (!withStore((store) => store.keys.revoke(id, Date.now()))) throw noSuchKey(id);
  if (values.json === true) printJson({ id, revoked: true });
  else console.log(`Key ${id} is revoked.`);
  return 0;
}

function noSuchKey(id: string): CommandError {
  const hint = id.startsWith('sluice_') ? ' The id is the part between the two underscores.' : '';
  return new CommandError(`There is no key ${shown(id)} that is not revoked.${hint}`);
}

function readPlan(text: string | undefined): PlanName {
  const plan = planNames.find((name) => name === text);
  if (plan === undefined) throw new UsageError(`--plan takes one of ${planNames.join(', ')}`);
  return plan;
}

function readScopes(text: string | undefined): readonly Scope[] {
  if (text === undefined) return allScopes;
  const asked = text.split(',').map((scope) => scope.trim());
  const known = allScopes.filter((scope) => asked.includes(scope));
  if (known.length !== asked.length) throw new UsageError(`--scopes takes some of ${allScopes.join(',')}, each once, separated by commas`);
  return known;
}

export function readLabel(text: string | undefined): string | null {
  if (text === undefined || text === '') return null;
  if (text.length > maxLabelLength || /\p{C}/u.test(text))
    throw new UsageError(`--label takes ${maxLabelLength} printable characters at most`);
  return text;
}

function stateOf(key: StoredKey): string {
  if (key.revokedAtMs !== null) return `revoked ${isoTime(key.revokedAtMs)}`;
  const endMs = endOfKeyMs(key);
  if (endMs === null) return 'live';
  return endMs <= Date.now() ? `expired ${isoTime(endMs)}` : `live until ${isoTime(endMs)}`;
}

function keyJson(key: StoredKey): Readonly<Record<string, unknown>> {
  const { id, plan, scopes, label, createdAtMs, revokedAtMs } = key;
  const endMs = endOfKeyMs(key);
  const live = endMs === null || endMs > Date.now();
  return { id, plan, scopes, label, live, createdAtMs, revokedAtMs, expiresAtMs: revokedAtMs === null ? endMs : null };
}

export function isoTime(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 19).replace('T', ' ');
}
