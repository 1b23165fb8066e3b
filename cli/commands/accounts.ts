import { newToken, tokenHash } from '@sluice/gateway/accounts/secrets.ts';
import { newKeyId } from '@sluice/gateway/auth/key-format.ts';
import { maxAccounts, operatorAccountId, type StoredAccount } from '@sluice/gateway/store/account-table.ts';
import type { Store } from '@sluice/gateway/store/store.ts';
import type { Config } from '@sluice/shared/config/config.ts';
import { decodeBase58 } from '@sluice/shared/solana/base58.ts';
import { isOnCurve, isSmallOrder } from '@sluice/shared/solana/curve.ts';
import { planNames } from '@sluice/shared/wire/plans.ts';
import {
  CommandError,
  UsageError,
  actionOf,
  loadConfig,
  parseCommand,
  positionalsOf,
  printJson,
  printTable,
  shown,
  type Command,
} from '../command.ts';
import { readPlan } from '../key-options.ts';
import { noteOperator } from '../operator-log.ts';
import { isoTime } from '../times.ts';
import { withStore } from '../with-store.ts';

/** How long a sign-in link may be used. */
const linkLifeMs = 10 * 60_000;

export const accountsCommand: Command = {
  help: `Usage:
  sluice accounts create [--wallet ADDRESS] --plan ${planNames.join('|')}
      makes the account of a holder, who signs in to the dashboard with this wallet, or by a link.
  sluice accounts list
  sluice accounts set-plan <id> ${planNames.join('|')}
      gives the account a plan, and its keys with it.
  sluice accounts disable <id>
      ends the account: its keys end within a second, its sessions at once, and nobody signs in to it any more.
  sluice accounts link [<id>]
      prints a link that signs in to the dashboard once, within ten minutes; without an id, as the operator.

All take --json. They act on the store (DATABASE_URL, or under DATA_DIR), also while gateways run on it.`,
  async run(argv) {
    const [work, rest] = actionOf('accounts', argv, actions);
    return work(rest);
  },
};

type Action = (argv: readonly string[]) => Promise<number>;
const actions: ReadonlyMap<string, Action> = new Map(Object.entries({ create, list, 'set-plan': setPlan, disable, link }));

async function create(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseCommand(argv, {
    wallet: { type: 'string' },
    plan: { type: 'string' },
    json: { type: 'boolean' },
  });
  positionalsOf(positionals);
  const plan = readPlan('--plan', values.plan);
  const wallet = values.wallet ?? null;
  if (wallet !== null && !canSign(wallet)) throw new UsageError('--wallet takes the address of a wallet, in base58');
  const id = newKeyId();
  const outcome = await withStore(loadConfig(), (store) => store.accounts.create({ id, wallet, plan, createdAtMs: Date.now() }));
  if (outcome === 'taken') throw new CommandError('There is an account with this wallet already: sluice accounts list');
  if (outcome === 'full') throw new CommandError(`The store holds ${maxAccounts} accounts already.`);
  if (values.json === true) printJson({ id, kind: 'holder', wallet, plan });
  else console.log(`Account ${id}, ${plan}, is made. ${wallet === null ? `sluice accounts link ${id} signs in to it.` : ''}`.trim());
  return 0;
}

async function list(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseCommand(argv, { json: { type: 'boolean' } });
  positionalsOf(positionals);
  const [accounts, keyCounts] = await withStore(loadConfig(), async (store) => {
    await noteOperator(store, 'accounts list', 'all accounts');
    return [await store.accounts.all(), await countKeys(store)] as const;
  });
  if (values.json === true) {
    printJson(accounts.map((account) => ({ ...account, keys: keyCounts.get(account.id) ?? 0 })));
    return 0;
  }
  printTable(
    ['id', 'kind', 'plan', 'keys', 'state', 'created', 'last sign-in', 'wallet'],
    accounts.map((account) => [
      account.id,
      account.kind,
      account.plan,
      String(keyCounts.get(account.id) ?? 0),
      account.disabledAtMs === null ? 'live' : `disabled ${isoTime(account.disabledAtMs)}`,
      isoTime(account.createdAtMs),
      account.lastSignInAtMs === null ? 'never' : isoTime(account.lastSignInAtMs),
      account.wallet ?? '',
    ]),
  );
  return 0;
}

/** Whether there can be a secret key to this address: a program's account signs nothing. */
function canSign(address: string): boolean {
  const bytes = decodeBase58(address);
  return bytes !== null && bytes.length === 32 && isOnCurve(bytes) && !isSmallOrder(bytes);
}

/** Keys that are not revoked, by account. */
async function countKeys(store: Store): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for (const { accountId, revokedAtMs } of await store.keys.all()) {
    if (accountId !== null && revokedAtMs === null) counts.set(accountId, (counts.get(accountId) ?? 0) + 1);
  }
  return counts;
}

async function setPlan(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseCommand(argv, { json: { type: 'boolean' } });
  const [id = '', name] = positionalsOf(positionals, '<id>', '<plan>');
  const plan = readPlan('set-plan', name);
  if (!(await withStore(loadConfig(), (store) => store.accounts.setPlan(id, plan)))) throw noSuchAccount(id);
  if (values.json === true) printJson({ id, plan });
  else console.log(`Account ${id} and its keys are on the plan ${plan}.`);
  return 0;
}

async function disable(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseCommand(argv, { json: { type: 'boolean' } });
  const [id = ''] = positionalsOf(positionals, '<id>');
  if (!(await withStore(loadConfig(), (store) => store.accounts.disable(id, Date.now())))) throw noSuchAccount(id);
  if (values.json === true) printJson({ id, disabled: true });
  else console.log(`Account ${id} is disabled: its keys, sessions and links have ended.`);
  return 0;
}

async function link(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseCommand(argv, { json: { type: 'boolean' } });
  const [id = operatorAccountId] = positionalsOf(positionals, ...(positionals.length > 0 ? ['<id>'] : []));
  const config = loadConfig();
  const address = dashboardAddress(config);
  const token = newToken();
  const nowMs = Date.now();
  const expiresAtMs = nowMs + linkLifeMs;
  await withStore(config, async (store) => {
    if (!isLive(await store.accounts.byId(id))) throw noSuchAccount(id);
    await noteOperator(store, 'accounts link', `account ${id}`);
    const stored = await store.oneTime.put({ kind: 'link', hash: tokenHash(token), accountId: id, expiresAtMs }, nowMs);
    if (!stored) throw new CommandError('As many links as the store takes wait to be used; they end after ten minutes.');
  });
  // Behind the #: browsers send it to no server, so that it is in no log.
  const url = `${address}/#sign-in=${token}`;
  if (values.json === true) printJson({ accountId: id, url, expiresAtMs });
  else console.log(`${url}\n\nSigns in as ${id}, once, within ten minutes.`);
  return 0;
}

function isLive(account: StoredAccount | null): boolean {
  return account !== null && account.disabledAtMs === null;
}

function dashboardAddress({ publicUrl }: Config): string {
  if (publicUrl !== null) return publicUrl;
  throw new CommandError('The public address of the dashboard is unknown: set PUBLIC_URL.');
}

function noSuchAccount(id: string): CommandError {
  return new CommandError(`There is no account ${shown(id)} that this can be done to: sluice accounts list`);
}
