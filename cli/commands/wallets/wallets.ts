import { text as readAll } from 'node:stream/consumers';
import { listWallets, openKeystore, unlockKeystore, walletInfo } from '@sluice/trading/signer/custody/keystore.ts';
import type { Keystore, WalletInfo } from '@sluice/trading/signer/custody/keystore.ts';
import { keystoreCost, keystoreName, readPassphrase, tradingKeystore } from '@sluice/trading/signer/custody/passphrase.ts';
import { readSecretKey } from '@sluice/trading/signer/custody/secret-key-text.ts';
import { logIdsIn } from '@sluice/trading/signer/audit/segments.ts';
import { checkAuditLogs } from '@sluice/trading/signer/audit/report.ts';
import { operatorAccountId } from '@sluice/gateway/store/sql/tables/accounts.ts';
import { signerFolder } from '@sluice/gateway/store/halt/halt-mark.ts';
import { createPaperWallet } from '@sluice/trading/place/paper/paper-trading.ts';
import { mayUseWallet } from '@sluice/gateway/accounts/wallet-access.ts';
import type { StoredKey } from '@sluice/gateway/store/sql/tables/keys.ts';
import type { Store } from '@sluice/gateway/store/store.ts';
import { action, type Command, CommandError, inQuotes, loadConfig, option, required, type Printed } from '../../command-line/command.ts';
import { maxLabelChars } from '@sluice/shared/wire/values/values.ts';
import { readLabel, wholeKeyMessage } from '../keys/key-options.ts';
import { withProgress } from '../../command-line/progress.ts';
import { noteOperator, storeNote, withStore } from '../store/with-store.ts';
import { setPaperBalance } from './paper-balance.ts';
import { policy } from '../trading/policy.ts';
import { exportWallet, unlocking } from './wallet-export.ts';
import { isoTime, printError, tableText } from '../../command-line/terminal.ts';
import { paperSol } from '@sluice/shared/wire/rest/wallets/portfolio.ts';
import { readTextFile } from '@sluice/shared/config/text-file.ts';

/** Newest lines of the operator log that are shown. */
const shownReads = 1_000;
const newWalletOptions = {
  label: option('TEXT', `a note that the lists show, up to ${maxLabelChars} characters`),
  account: option('ID', 'the account that owns the wallet. Default: operator'),
};

const create = action({
  about: 'Create a wallet and print its address.',
  options: newWalletOptions,
  examples: ['wallets create --label bot'],
  async run(values) {
    const label = readLabel(values.label);
    const config = loadConfig();
    if (config.trading === 'paper') {
      const made = await withStore(config, async (store) =>
        createPaperWallet(store, { accountId: await accountOf(store, values.account), label }),
      );
      if ('error' in made) throw new CommandError(made.message);
      return changed(walletInfo(made), `created. It trades on paper, with ${paperSol.start} SOL to begin with`);
    }
    const wallet = await withKeystore(values.account, (keystore, accountId) => keystore.create(label, accountId));
    if (wallet === null) throw new CommandError('The keystore is full.');
    return changed(wallet, 'created');
  },
});

const importWallet = action({
  about: 'Import a wallet from its secret key.',
  args: { '[FILE]': 'a secret key of 64 bytes, as base58 or as a JSON array. Default: standard input' },
  options: newWalletOptions,
  examples: ['wallets import id.json --label bot'],
  async run(values, [file]) {
    const label = readLabel(values.label);
    if (file === undefined && process.stdin.isTTY) printError('Paste the secret key, then press Enter and Ctrl-D:');
    const secretKey = readSecretKey(file === undefined ? await readAll(process.stdin) : readKeyFile(file));
    if (!secretKey.ok) throw new CommandError(`This is not a secret key: ${secretKey.reason}.`);
    const wallet = await withKeystore(values.account, (keystore, accountId) => keystore.import(secretKey.seed, label, accountId));
    if (wallet === null) throw new CommandError('This wallet is in the keystore already, or the keystore is full.');
    return changed(wallet, 'imported');
  },
});

const list = action({
  about: 'List all wallets with address, account, origin and label.',
  async run() {
    const config = loadConfig();
    const wallets = await withStore(config, async (store) => {
      await noteOperator(store, 'wallets list', 'all wallets');
      return listWallets(store, tradingKeystore(config));
    });
    const rows = wallets.map((wallet) => [
      wallet.publicKey,
      wallet.accountId ?? operatorAccountId,
      isoTime(wallet.createdAtMs),
      wallet.imported ? 'import' : 'sluice',
      wallet.label ?? '',
    ]);
    const none = 'There are no wallets yet. Create one: sluice wallets create';
    return { json: wallets, text: wallets.length === 0 ? none : tableText(['public key', 'account', 'created', 'from', 'label'], rows) };
  },
});

const defaultWallet = action({
  about:
    'Set the default wallet of an API key, or print it. `POST /api/trade` uses it if a request names no wallet. Until one is set, it is the oldest wallet of the account of the key. A change takes effect with the next order.',
  args: { '[PUBLIC_KEY]': 'the address of a wallet of the same account' },
  options: { key: required('ID', 'the id of the key: sluice_<id>_<secret>') },
  examples: ['wallets default 7fg4UpZBcydz19bmu4hJqHn3Y43LSy45W7NqJEcmmMWd --key 0YNkWn3kq1'],
  async run({ key: keyId }, [chosen]) {
    const config = loadConfig();
    const keystore = tradingKeystore(config);
    const publicKey = await withStore(config, async (store) => {
      await noteOperator(store, 'wallets default', `key ${keyId}${chosen === undefined ? '' : `, wallet ${chosen}`}`);
      const key = await liveKey(store, keyId);
      if (chosen !== undefined) await setDefault(store, keystore, key, chosen);
      return store.wallets.defaultOf(keystore, { keyId, accountId: key.accountId ?? operatorAccountId });
    });
    const none = `The account of key ${keyId} has no wallet. Create one: sluice wallets create`;
    return { json: { keyId, publicKey }, text: publicKey === null ? none : `The default wallet of key ${keyId} is ${publicKey}.` };
  },
});

async function liveKey(store: Store, id: string): Promise<StoredKey> {
  if (id.startsWith('sluice_')) throw new CommandError(wholeKeyMessage);
  const key = await store.keys.byId(id);
  if (key !== null && key.revokedAtMs === null) return key;
  throw new CommandError(`There is no key ${inQuotes(id)}, or it is revoked. List the keys: sluice keys list`);
}

async function setDefault(store: Store, keystore: string, key: StoredKey, publicKey: string): Promise<void> {
  const wallet = await store.wallets.byPublicKey(keystore, publicKey);
  if (wallet === null) throw new CommandError(`There is no wallet ${inQuotes(publicKey)}. List the wallets: sluice wallets list`);
  if (!mayUseWallet(key, wallet)) {
    const [ofWallet, ofKey] = [wallet.accountId ?? operatorAccountId, key.accountId ?? operatorAccountId];
    throw new CommandError(
      `The wallet belongs to the account ${ofWallet}, and the key to the account ${ofKey}. A key trades only with its own.`,
    );
  }
  await store.wallets.setDefault(keystore, key.id, publicKey);
}

const audit = action({
  about:
    'Check every line of the audit logs, which list all that was signed or refused. The exit code is 1 if a log was changed or is missing.',
  options: {
    forget: option('LOG', 'delete the record of a log that is lost permanently. While the record exists, no signing process starts'),
  },
  async run({ forget }) {
    const config = loadConfig();
    const name = keystoreName(config);
    const passphrase = readPassphrase(config);
    if (passphrase === null) throw new CommandError('KEYSTORE_PASSPHRASE_FILE is not set. Its passphrase is needed to check the logs.');
    const reports = await withStore(config, async (store) => {
      await noteOperator(store, 'wallets audit', forget === undefined ? 'all wallets' : `forgets log ${forget}`);
      const stored = await store.wallets.keystore(name);
      if (stored === null) return [];
      const key = await withProgress(unlocking, () => unlockKeystore(name, stored, passphrase));
      if (key === null) throw new CommandError('The passphrase does not unlock the keystore.');
      if (forget !== undefined && (logIdsIn(signerFolder(config)).has(forget) || !(await store.auditHeads.forget(forget)))) {
        throw new CommandError(`There is no lost log ${inQuotes(forget)}. List the logs: sluice wallets audit`);
      }
      const places = { folder: signerFolder(config), keystore: name, keystoreKey: key };
      return withProgress('checking the audit logs', () => checkAuditLogs(store, places));
    });
    const rows = reports.map(({ file, lines, signed, refused, lastAtMs, fault }) => [
      file,
      String(lines),
      String(signed),
      String(refused),
      lastAtMs === null ? '' : isoTime(lastAtMs),
      fault ?? 'whole',
    ]);
    const none = 'Nothing was signed with this DATA_DIR yet.';
    return {
      json: reports,
      text: reports.length === 0 ? none : tableText(['log', 'lines', 'signed', 'refused', 'until', 'state'], rows),
      code: reports.some(({ fault }) => fault !== null) ? 1 : 0,
    };
  },
});

const reads = action({
  about: 'List which user read or opened wallets or orders with a command, newest first.',
  async run() {
    const lines = await withStore(loadConfig(), async (store) => {
      await noteOperator(store, 'wallets reads', 'the operator log');
      return store.operatorLog.newest(shownReads);
    });
    const rows = lines.map(({ atMs, user, command, subject }) => [isoTime(atMs), user, command, subject]);
    return { json: lines, text: tableText(['when', 'who', 'command', 'whose'], rows) };
  },
});

/** The id of an account that exists and is not disabled. Null means the operator. */
async function accountOf(store: Store, accountId: string | undefined): Promise<string | null> {
  if (accountId === undefined || accountId === operatorAccountId) return null;
  const account = await store.accounts.byId(accountId);
  if (account !== null && account.disabledAtMs === null) return account.id;
  throw new CommandError(`There is no account ${inQuotes(accountId)}, or it is disabled. List the accounts: sluice accounts list`);
}

function withKeystore<T>(account: string | undefined, work: (keystore: Keystore, accountId: string | null) => Promise<T>): Promise<T> {
  const config = loadConfig();
  const passphrase = readPassphrase(config);
  if (passphrase === null) throw new CommandError('KEYSTORE_PASSPHRASE_FILE is not set. Its passphrase is needed to encrypt the wallet.');
  return withStore(config, async (store) => {
    const accountId = await accountOf(store, account);
    await noteOperator(store, 'wallets create or import', `account ${accountId ?? operatorAccountId}`);
    const outcome = await withProgress(unlocking, () => openKeystore(store, keystoreName(config), passphrase, keystoreCost(config)));
    if (!outcome.ok) throw new CommandError('The passphrase does not unlock the keystore.');
    return work(outcome.keystore, accountId);
  });
}

function readKeyFile(file: string): string {
  try {
    return readTextFile(file);
  } catch (error) {
    // The argument may be a secret key by mistake, so the message does not repeat it.
    throw new CommandError('The file does not exist or cannot be read. Give the name of a file, never the secret key itself.', {
      cause: error,
    });
  }
}

function changed(wallet: WalletInfo, what: string): Printed {
  return { json: wallet, text: `Wallet ${wallet.publicKey} is ${what}.` };
}

export const command: Command = {
  about: 'Create and manage custodial wallets, and check what was signed with them.',
  actions: {
    create,
    import: importWallet,
    export: exportWallet,
    list,
    default: defaultWallet,
    paper: setPaperBalance,
    audit,
    reads,
    policy,
  },
  more: `A wallet belongs to an account. Only the keys of this account can trade with it. Secret keys are encrypted with the passphrase in
KEYSTORE_PASSPHRASE_FILE and are never printed. Wallets of simnet are separate from those of a real cluster.

With TRADING=paper, \`create\`, \`list\` and \`default\` are about paper wallets. They need no passphrase, because they have no secret keys.
\`paper\` sets their balances.

${storeNote}`,
};
