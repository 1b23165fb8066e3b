import { readFileSync } from 'node:fs';
import { text as readAll } from 'node:stream/consumers';
import { listWallets, openKeystore, type Keystore, type WalletInfo } from '@sluice/gateway/custody/keystore.ts';
import { keystoreName, readPassphrase } from '@sluice/gateway/custody/passphrase.ts';
import { readSecretKey } from '@sluice/gateway/custody/secret-key-text.ts';
import { CommandError, actionOf, loadConfig, parseCommand, positionalsOf, printJson, printTable, type Command } from '../command.ts';
import { readLabel } from '../key-options.ts';
import { isoTime } from '../times.ts';
import { withStore } from '../with-store.ts';

export const walletsCommand: Command = {
  help: `Usage:
  sluice wallets create [--label L]
  sluice wallets import [FILE] [--label L]
      reads a 64-byte secret key, base58 or a JSON array, from the file, or from standard input.
  sluice wallets list

All take --json. Secrets are sealed under the passphrase of KEYSTORE_PASSPHRASE_FILE and never shown.
Wallets of simnet are kept apart from those of a real cluster.`,
  async run(argv) {
    const [work, rest] = actionOf('wallets', argv, actions);
    return work(rest);
  },
};

type Action = (argv: readonly string[]) => Promise<number>;
const actions: ReadonlyMap<string, Action> = new Map(Object.entries({ create, import: importWallet, list }));

async function create(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseCommand(argv, { label: { type: 'string' }, json: { type: 'boolean' } });
  positionalsOf(positionals);
  const label = readLabel(values.label);
  const wallet = await withKeystore((keystore) => keystore.create(label));
  if (wallet === null) throw new CommandError('The keystore is full.');
  report(wallet, values.json === true, 'made');
  return 0;
}

async function importWallet(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseCommand(argv, { label: { type: 'string' }, json: { type: 'boolean' } });
  const [file] = positionalsOf(positionals, ...(positionals.length > 0 ? ['FILE'] : []));
  const label = readLabel(values.label);
  const secretKey = readSecretKey(file === undefined ? await readStandardInput() : readKeyFile(file));
  if (!secretKey.ok) throw new CommandError(`That is no secret key: ${secretKey.reason}.`);
  const wallet = await withKeystore((keystore) => keystore.import(secretKey.seed, label));
  if (wallet === null) throw new CommandError('This wallet is in the keystore already, or the keystore is full.');
  report(wallet, values.json === true, 'imported');
  return 0;
}

async function list(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseCommand(argv, { json: { type: 'boolean' } });
  positionalsOf(positionals);
  const config = loadConfig();
  const wallets = await withStore(config, (store) => listWallets(store, keystoreName(config)));
  if (values.json === true) {
    printJson(wallets);
  } else if (wallets.length === 0) {
    console.log('There are no wallets yet: sluice wallets create');
  } else {
    printTable(
      ['public key', 'created', 'from', 'label'],
      wallets.map((wallet) => [wallet.publicKey, isoTime(wallet.createdAtMs), wallet.imported ? 'import' : 'sluice', wallet.label ?? '']),
    );
  }
  return 0;
}

function withKeystore<T>(work: (keystore: Keystore) => Promise<T>): Promise<T> {
  const config = loadConfig();
  const passphrase = readPassphrase(config);
  if (passphrase === null) throw new CommandError('KEYSTORE_PASSPHRASE_FILE is not set: nothing would seal the wallet.');
  return withStore(config, async (store) => {
    const outcome = await openKeystore(store, keystoreName(config), passphrase);
    if (!outcome.ok) throw new CommandError('The passphrase does not unlock the keystore.');
    return work(outcome.keystore);
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
