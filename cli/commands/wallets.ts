import { readFileSync } from 'node:fs';
import { text as readAll } from 'node:stream/consumers';
import { listWallets, openKeystore, unlockKeystore, type Keystore, type WalletInfo } from '@sluice/gateway/custody/keystore.ts';
import { keystoreCost, keystoreName, readPassphrase } from '@sluice/gateway/custody/passphrase.ts';
import { readSecretKey } from '@sluice/gateway/custody/secret-key-text.ts';
import { logIdsIn } from '@sluice/gateway/signer/audit/segments.ts';
import { checkAuditLogs } from '@sluice/gateway/signer/audit/report.ts';
import { operatorAccountId } from '@sluice/gateway/store/account-table.ts';
import { signerFolder } from '@sluice/gateway/store/halt-mark.ts';
import type { Store } from '@sluice/gateway/store/store.ts';
import { CommandError, actionOf, loadConfig, parseCommand, positionalsOf, printJson, printTable, shown, type Command } from '../command.ts';
import { readLabel } from '../key-options.ts';
import { noteOperator } from '../operator-log.ts';
import { isoTime } from '../times.ts';
import { withStore } from '../with-store.ts';
import { policy, policyHelp } from './policy.ts';

export const walletsCommand: Command = {
  help: `Usage:
  sluice wallets create [--label L] [--account ID]
  sluice wallets import [FILE] [--label L] [--account ID]
      reads a 64-byte secret key, base58 or a JSON array, from the file, or from standard input.
  sluice wallets list
  sluice wallets audit [--forget LOG]
      checks the logs of all that was signed, or refused, on this DATA_DIR, line by line; ends with 1 where one was changed, or is missing.
      --forget takes away the store's note of a log that is lost for good: without it no signing process starts.
  sluice wallets reads
      who read or opened somebody's wallets or orders by a command, newest first.
${policyHelp}

A wallet is the operator's, or that of the account: only keys of the same account trade with it. All take --json. Secrets are sealed under the passphrase of KEYSTORE_PASSPHRASE_FILE and never shown.
Wallets of simnet are separate from those of a real cluster.`,
  async run(argv) {
    const [work, rest] = actionOf('wallets', argv, actions);
    return work(rest);
  },
};

/** Lines of the operator log that are shown. */
const shownReads = 1_000;
const newWalletOptions = { label: { type: 'string' }, account: { type: 'string' }, json: { type: 'boolean' } } as const;

type Action = (argv: readonly string[]) => Promise<number>;
const actions: ReadonlyMap<string, Action> = new Map(Object.entries({ create, import: importWallet, list, audit, reads, policy }));

async function create(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseCommand(argv, newWalletOptions);
  positionalsOf(positionals);
  const label = readLabel(values.label);
  const wallet = await withKeystore(values.account, (keystore, accountId) => keystore.create(label, accountId));
  if (wallet === null) throw new CommandError('The keystore is full.');
  report(wallet, values.json === true, 'made');
  return 0;
}

async function importWallet(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseCommand(argv, newWalletOptions);
  const [file] = positionalsOf(positionals, ...(positionals.length > 0 ? ['FILE'] : []));
  const label = readLabel(values.label);
  const secretKey = readSecretKey(file === undefined ? await readStandardInput() : readKeyFile(file));
  if (!secretKey.ok) throw new CommandError(`That is no secret key: ${secretKey.reason}.`);
  const wallet = await withKeystore(values.account, (keystore, accountId) => keystore.import(secretKey.seed, label, accountId));
  if (wallet === null) throw new CommandError('This wallet is in the keystore already, or the keystore is full.');
  report(wallet, values.json === true, 'imported');
  return 0;
}

async function list(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseCommand(argv, { json: { type: 'boolean' } });
  positionalsOf(positionals);
  const config = loadConfig();
  const wallets = await withStore(config, async (store) => {
    await noteOperator(store, 'wallets list', 'all wallets');
    return listWallets(store, keystoreName(config));
  });
  if (values.json === true) {
    printJson(wallets);
  } else if (wallets.length === 0) {
    console.log('There are no wallets yet: sluice wallets create');
  } else {
    printTable(
      ['public key', 'account', 'created', 'from', 'label'],
      wallets.map((wallet) => [
        wallet.publicKey,
        wallet.accountId ?? operatorAccountId,
        isoTime(wallet.createdAtMs),
        wallet.imported ? 'import' : 'sluice',
        wallet.label ?? '',
      ]),
    );
  }
  return 0;
}

async function audit(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseCommand(argv, { forget: { type: 'string' }, json: { type: 'boolean' } });
  positionalsOf(positionals);
  const { forget } = values;
  const config = loadConfig();
  const name = keystoreName(config);
  const passphrase = readPassphrase(config);
  if (passphrase === null) throw new CommandError('KEYSTORE_PASSPHRASE_FILE is not set: the logs are checked with a key that comes of it.');
  const reports = await withStore(config, async (store) => {
    await noteOperator(store, 'wallets audit', forget === undefined ? 'all wallets' : `forgets log ${forget}`);
    const stored = await store.wallets.keystore(name);
    if (stored === null) return [];
    const key = await unlockKeystore(name, stored, passphrase);
    if (key === null) throw new CommandError('The passphrase does not unlock the keystore.');
    if (forget !== undefined && (logIdsIn(signerFolder(config)).has(forget) || !(await store.auditHeads.forget(forget)))) {
      throw new CommandError(`There is no lost log ${shown(forget)}: sluice wallets audit`);
    }
    return checkAuditLogs(store, { folder: signerFolder(config), keystore: name, keystoreKey: key });
  });
  const damaged = reports.filter((one) => one.fault !== null);
  if (values.json === true) printJson(reports);
  else if (reports.length === 0) console.log('Nothing was signed on this DATA_DIR yet.');
  else {
    printTable(
      ['log', 'lines', 'signed', 'refused', 'until', 'state'],
      reports.map(({ file, lines, signed, refused, lastAtMs, fault }) => [
        file,
        String(lines),
        String(signed),
        String(refused),
        lastAtMs === null ? '' : isoTime(lastAtMs),
        fault ?? 'whole',
      ]),
    );
  }
  return damaged.length > 0 ? 1 : 0;
}

async function reads(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseCommand(argv, { json: { type: 'boolean' } });
  positionalsOf(positionals);
  const lines = await withStore(loadConfig(), async (store) => {
    await noteOperator(store, 'wallets reads', 'the operator log');
    return store.operatorLog.newest(shownReads);
  });
  if (values.json === true) printJson(lines);
  else
    printTable(
      ['when', 'who', 'command', 'whose'],
      lines.map(({ atMs, user, command, subject }) => [isoTime(atMs), user, command, subject]),
    );
  return 0;
}

/** `accountId` as asked for, where there is such an account and it is not disabled; null: the operator's. */
async function accountOf(store: Store, accountId: string | undefined): Promise<string | null> {
  if (accountId === undefined || accountId === operatorAccountId) return null;
  const account = await store.accounts.byId(accountId);
  if (account !== null && account.disabledAtMs === null) return account.id;
  throw new CommandError(`There is no account ${shown(accountId)} that could have a wallet: sluice accounts list`);
}

function withKeystore<T>(account: string | undefined, work: (keystore: Keystore, accountId: string | null) => Promise<T>): Promise<T> {
  const config = loadConfig();
  const passphrase = readPassphrase(config);
  if (passphrase === null) throw new CommandError('KEYSTORE_PASSPHRASE_FILE is not set: nothing would seal the wallet.');
  return withStore(config, async (store) => {
    const accountId = await accountOf(store, account);
    await noteOperator(store, 'wallets create or import', `account ${accountId ?? operatorAccountId}`);
    const outcome = await openKeystore(store, keystoreName(config), passphrase, keystoreCost(config));
    if (!outcome.ok) throw new CommandError('The passphrase does not unlock the keystore.');
    return work(outcome.keystore, accountId);
  });
}

async function readStandardInput(): Promise<string> {
  if (process.stdin.isTTY) console.error('Paste the secret key, then press Enter and Ctrl-D:');
  return readAll(process.stdin);
}

function readKeyFile(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    // A secret key given in place of a file name is not repeated.
    throw new CommandError('There is no such file, or it cannot be read. The secret key itself is never an argument.', { cause: error });
  }
}

function report(wallet: WalletInfo, json: boolean, what: string): void {
  if (json) printJson(wallet);
  else console.log(`Wallet ${wallet.publicKey} is ${what}.`);
}
