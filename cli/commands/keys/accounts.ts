import { newToken, tokenHash } from '@sluice/gateway/accounts/sessions/sessions.ts';
import { newKeyId } from '@sluice/gateway/auth/key-format.ts';
import { maxAccounts, operatorAccountId } from '@sluice/gateway/store/sql/tables/accounts.ts';
import type { Store } from '@sluice/gateway/store/store.ts';
import { decodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { isOnCurve, isSmallOrder } from '@sluice/shared/solana/addresses/curve.ts';
import { planNames } from '@sluice/shared/wire/values/plans.ts';
import { action, type Command, CommandError, inQuotes, loadConfig, option, required, UsageError } from '../../command-line/command.ts';
import { readPlan } from './key-options.ts';
import { isoTime, tableText } from '../../command-line/terminal.ts';
import { noteOperator, storeNote, withStore } from '../store/with-store.ts';

/** How long a sign-in link is valid. */
const linkLifeMs = 10 * 60_000;

const create = action({
  about: 'Create an account.',
  options: {
    plan: required(planNames.join('|'), 'the plan of the account and of its keys'),
    wallet: option(
      'ADDRESS',
      'Solana wallet with which the owner signs in to the dashboard, base58. Default: none; the owner then signs in with a link (sluice accounts link)',
    ),
  },
  examples: ['accounts create --plan premium --wallet 7xKXtg2CW87d97TXJSDpbD5jBkheTqA83TZRuJosgAsU'],
  async run(values) {
    const plan = readPlan('--plan', values.plan);
    const wallet = values.wallet ?? null;
    if (wallet !== null && !canSign(wallet)) throw new UsageError('--wallet takes the base58 address of a wallet that can sign');
    const id = newKeyId();
    const outcome = await withStore(loadConfig(), (store) => store.accounts.create({ id, wallet, plan, createdAtMs: store.time.nowMs() }));
    if (outcome === 'taken') throw new CommandError('An account with this wallet exists already. List the accounts: sluice accounts list');
    if (outcome === 'full') throw new CommandError(`The store already has ${maxAccounts} accounts, the most that it can have.`);
    return {
      json: { id, kind: 'holder', wallet, plan },
      text: `Account ${id}, ${plan}, is created. ${wallet === null ? `To sign in to it: sluice accounts link ${id}` : ''}`.trim(),
    };
  },
});

const list = action({
  about: 'List all accounts with plan, number of active keys, state and last sign-in.',
  async run() {
    const [accounts, keyCounts] = await withStore(loadConfig(), async (store) => {
      await noteOperator(store, 'accounts list', 'all accounts');
      return [await store.accounts.all(), await countKeys(store)] as const;
    });
    const rows = accounts.map((account) => [
      account.id,
      account.kind,
      account.plan,
      String(keyCounts.get(account.id) ?? 0),
      account.disabledAtMs === null ? 'live' : `disabled ${isoTime(account.disabledAtMs)}`,
      isoTime(account.createdAtMs),
      account.lastSignInAtMs === null ? 'never' : isoTime(account.lastSignInAtMs),
      account.wallet ?? '',
    ]);
    return {
      json: accounts.map((account) => ({ ...account, keys: keyCounts.get(account.id) ?? 0 })),
      text: tableText(['id', 'kind', 'plan', 'keys', 'state', 'created', 'last sign-in', 'wallet'], rows),
    };
  },
});

/** Whether the address can have a secret key. The address of a program's account has none. */
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

const setPlan = action({
  about: 'Change the plan of an account and of all its keys. Running gateways apply it within a second.',
  args: { '<id>': 'the account', '<plan>': planNames.join(', ') },
  examples: ['accounts set-plan 4fKq9Zr1 enterprise'],
  async run(_, [id = '', name]) {
    const plan = readPlan('set-plan', name);
    if (!(await withStore(loadConfig(), (store) => store.accounts.setPlan(id, plan)))) throw noSuchAccount(id);
    return { json: { id, plan }, text: `Account ${id} and its keys now have the plan ${plan}.` };
  },
});

const disable = action({
  about: 'Disable an account permanently. Its keys stop working within a second, its sessions at once. Nobody can sign in to it again.',
  args: { '<id>': 'the account' },
  async run(_, [id = '']) {
    if (!(await withStore(loadConfig(), (store) => store.accounts.disable(id, store.time.nowMs())))) throw noSuchAccount(id);
    return { json: { id, disabled: true }, text: `Account ${id} is disabled. Its keys, sessions and links no longer work.` };
  },
});

const link = action({
  about: 'Print a link that signs in to the dashboard. It works once, within ten minutes. Requires PUBLIC_URL.',
  args: { '[<id>]': 'the account to sign in to. Default: operator' },
  async run(_, [id = operatorAccountId]) {
    const config = loadConfig();
    if (config.publicUrl === null) throw new CommandError('The public URL of the dashboard is unknown. Set PUBLIC_URL.');
    const token = newToken();
    const expiresAtMs = await withStore(config, async (store) => {
      const account = await store.accounts.byId(id);
      if (account === null || account.disabledAtMs !== null) throw noSuchAccount(id);
      await noteOperator(store, 'accounts link', `account ${id}`);
      const nowMs = store.time.nowMs();
      const stored = { hash: tokenHash(token), accountId: id, expiresAtMs: nowMs + linkLifeMs };
      if (!(await store.oneTime.put(stored, nowMs)))
        throw new CommandError('Too many links are still unused. Try again later; each link expires after ten minutes.');
      return stored.expiresAtMs;
    });
    // Browsers do not send the part after `#` to a server, so the token appears in no log.
    const url = `${config.publicUrl}/#sign-in=${token}`;
    return { json: { accountId: id, url, expiresAtMs }, text: `${url}\n\nThe link signs in as ${id}. It works once, within ten minutes.` };
  },
});

function noSuchAccount(id: string): CommandError {
  return new CommandError(`There is no account ${inQuotes(id)} that this command can change. List the accounts: sluice accounts list`);
}

export const command: Command = {
  about: 'Create and manage the accounts that own API keys.',
  actions: { create, list, 'set-plan': setPlan, disable, link },
  more: `The account "operator" always exists. It is yours, and it sees all keys. Every other account sees only its own keys and wallets.

${storeNote}`,
};
