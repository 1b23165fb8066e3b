import { readFileSync, writeFileSync } from 'node:fs';
import { keystoreName, readPassphrase } from '@sluice/gateway/custody/passphrase.ts';
import { unlockKeystore } from '@sluice/gateway/custody/keystore.ts';
import { readSecretKey } from '@sluice/gateway/custody/secret-key-text.ts';
import { auditKey } from '@sluice/gateway/signer/audit/chain.ts';
import { readPin, readPolicy, writePin, writePolicy, type PolicyPlace } from '@sluice/gateway/signer/limits/policy-file.ts';
import { isAddress, maxListed, openPolicy, signPolicy, type Policy } from '@sluice/gateway/signer/limits/policy.ts';
import { signerFolder } from '@sluice/gateway/store/halt-mark.ts';
import { makeFolder } from '@sluice/gateway/store/make-folder.ts';
import { readSol } from '@sluice/shared/config/signer-settings.ts';
import { generateKeypair } from '@sluice/shared/solana/keypair.ts';
import { venues } from '@sluice/shared/venues/registry.ts';
import { CommandError, UsageError, actionOf, loadConfig, parseCommand, positionalsOf, printJson, shown } from '../command.ts';
import { noteOperator } from '../operator-log.ts';
import { withStore } from '../with-store.ts';

/** Longest file of a policy, or of a key, that is read. */
const maxFileBytes = 1 << 20;

export const policyHelp = `  sluice wallets policy keygen FILE
      makes the operator's key, which signs policies, and prints its public key. Keep the file on another machine.
  sluice wallets policy pin PUBLIC_KEY
      from then on nothing is signed but under a policy that this key has signed. Takes the passphrase.
  sluice wallets policy sign --key FILE --version N [--max-order-sol X] [--max-hour-sol X] [--max-day-sol X] [--max-token-sol X]
                             [--tokens MINT,…] [--venues NAME,…] [--keystore cluster|simnet]
      prints a signed policy; needs nothing but the key. What is not named is not limited by it. N is higher than that of the policy before.
  sluice wallets policy install FILE
      puts a signed policy in force; signing processes take it up within a second. Takes the passphrase.
  sluice wallets policy show`;

type Action = (argv: readonly string[]) => Promise<number>;
const actions: ReadonlyMap<string, Action> = new Map(Object.entries({ keygen, pin, sign, install, show }));

export async function policy(argv: readonly string[]): Promise<number> {
  const [work, rest] = actionOf('wallets policy', argv, actions);
  return work(rest);
}

async function keygen(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseCommand(argv, { json: { type: 'boolean' } });
  const [file = ''] = positionalsOf(positionals, 'FILE');
  const { seed, publicKey, publicKeyBytes } = generateKeypair();
  try {
    writeFileSync(file, `${JSON.stringify([...seed, ...publicKeyBytes])}\n`, { mode: 0o600, flag: 'wx', flush: true });
  } catch (error) {
    throw new CommandError(`${shown(file)} cannot be written, or is there already. A key is never overwritten.`, { cause: error });
  }
  if (values.json === true) printJson({ publicKey });
  else console.log(`${publicKey}\nKeep ${file} away from this machine. Next: sluice wallets policy pin ${publicKey}`);
  return 0;
}

async function pin(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseCommand(argv, { json: { type: 'boolean' } });
  const [publicKey = ''] = positionalsOf(positionals, 'PUBLIC_KEY');
  if (!isAddress(publicKey)) throw new UsageError('PUBLIC_KEY is the base58 key that `sluice wallets policy keygen` prints');
  await withPlace(`pin ${publicKey}`, async (place, isWallet) => {
    if (await isWallet(publicKey))
      throw new CommandError('This is a wallet of the keystore: its key would set its own limits. sluice wallets policy keygen');
    writePin(place, publicKey);
  });
  if (values.json === true) printJson({ publicKey });
  else
    console.log(
      `Policies of ${signerFolder(loadConfig())} are signed by ${publicKey} from now on. Until one is installed nothing is signed.`,
    );
  return 0;
}

async function sign(argv: readonly string[]): Promise<number> {
  const text = { type: 'string' } as const;
  const { values, positionals } = parseCommand(argv, {
    key: text,
    version: text,
    keystore: text,
    tokens: text,
    venues: text,
    'max-order-sol': text,
    'max-hour-sol': text,
    'max-day-sol': text,
    'max-token-sol': text,
    json: { type: 'boolean' },
  });
  positionalsOf(positionals);
  if (values.key === undefined) throw new UsageError('missing: --key FILE, which `sluice wallets policy keygen` made');
  const secret = readSecretKey(readFile(values.key));
  if (!secret.ok) throw new CommandError(`${shown(values.key)} holds no key: ${secret.reason}.`);
  const version = Number(values.version);
  if (!Number.isSafeInteger(version) || version < 1)
    throw new UsageError('--version takes a number that is higher than that of the policy before');
  const keystore = values.keystore ?? 'cluster';
  if (keystore !== 'cluster' && keystore !== 'simnet') throw new UsageError('--keystore takes cluster or simnet');
  const policyToSign: Policy = {
    version,
    keystore,
    maxOrderLamports: lamportsOf('--max-order-sol', values['max-order-sol']),
    maxHourLamports: lamportsOf('--max-hour-sol', values['max-hour-sol']),
    maxDayLamports: lamportsOf('--max-day-sol', values['max-day-sol']),
    maxTokenLamports: lamportsOf('--max-token-sol', values['max-token-sol']),
    tokens: listOf('--tokens', values.tokens, (mint) => (isAddress(mint) ? mint : null)),
    venues: listOf('--venues', values.venues, (name) => venues.find((venue) => venue.name === name)?.programId ?? null),
  };
  printJson(signPolicy(policyToSign, generateKeypair(secret.seed)));
  return 0;
}

async function install(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseCommand(argv, { json: { type: 'boolean' } });
  const [file = ''] = positionalsOf(positionals, 'FILE');
  const content = readFile(file);
  const installed = await withPlace('install', async (place) => {
    const key = readPin(place);
    if (key === null) throw new CommandError('No key is pinned yet: sluice wallets policy pin PUBLIC_KEY');
    if (key === false)
      throw new CommandError('The pinned key was changed without the passphrase. Pin it again: sluice wallets policy pin PUBLIC_KEY');
    const opened = openPolicy(content, key, place.keystore);
    if ('fault' in opened) throw new CommandError(`The policy does not count: ${opened.fault}.`);
    const now = readPolicy(place, 0);
    if (now.ok && now.inForce !== null && now.inForce.policy.version >= opened.version) {
      throw new CommandError(`Policy ${now.inForce.policy.version} is in force: sign this one with a higher --version.`);
    }
    writePolicy(place, content);
    return opened;
  });
  if (values.json === true) printJson(plain(installed));
  else console.log(`Policy ${installed.version} is installed.`);
  return 0;
}

async function show(argv: readonly string[]): Promise<number> {
  const { positionals } = parseCommand(argv, { json: { type: 'boolean' } });
  positionalsOf(positionals);
  const reading = await withPlace('show', async (place) => readPolicy(place, 0));
  if (!reading.ok) throw new CommandError(`Nothing is signed: ${reading.reason}.`);
  printJson(reading.inForce === null ? null : { key: reading.inForce.key, ...plain(reading.inForce.policy) });
  return 0;
}

/** What is pinned, and in force, on this machine; the keystore has to be unlocked for it. */
function withPlace<T>(
  what: string,
  work: (place: PolicyPlace, isWallet: (publicKey: string) => Promise<boolean>) => Promise<T>,
): Promise<T> {
  const config = loadConfig();
  const keystore = keystoreName(config);
  const passphrase = readPassphrase(config);
  if (passphrase === null)
    throw new CommandError('KEYSTORE_PASSPHRASE_FILE is not set: the pinned key is protected with a key that comes of it.');
  return withStore(config, async (store) => {
    const stored = await store.wallets.keystore(keystore);
    if (stored === null) throw new CommandError('There is no wallet yet to set limits for: sluice wallets create');
    const key = await unlockKeystore(keystore, stored, passphrase);
    if (key === null) throw new CommandError('The passphrase does not unlock the keystore.');
    const folder = signerFolder(config);
    makeFolder(folder);
    await noteOperator(store, 'wallets policy', what);
    return work(
      { folder, keystore, key: auditKey(key, keystore) },
      async (publicKey) => (await store.wallets.byPublicKey(keystore, publicKey)) !== null,
    );
  });
}

function plain(policyInForce: Policy): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(policyInForce).map(([name, value]) => [name, typeof value === 'bigint' ? value.toString() : value]),
  );
}

function lamportsOf(option: string, text: string | undefined): bigint | null {
  if (text === undefined) return null;
  const lamports = readSol(text);
  if (lamports === null || lamports === 0n)
    throw new UsageError(`${option} takes SOL in digits, above 0, with nine of them behind the point at most`);
  return lamports;
}

function listOf(option: string, text: string | undefined, read: (name: string) => string | null): readonly string[] | null {
  if (text === undefined) return null;
  const names = text.split(',').map((name) => name.trim());
  if (names.length > maxListed) throw new UsageError(`${option} takes ${maxListed} at most`);
  return names.map((name) => read(name) ?? fail(`${option}: ${shown(name)} is unknown`));
}

function fail(what: string): never {
  throw new UsageError(what);
}

function readFile(file: string): string {
  try {
    const content = readFileSync(file, 'utf8');
    if (content.length <= maxFileBytes) return content;
  } catch (error) {
    throw new CommandError(`There is no file ${shown(file)}, or it cannot be read.`, { cause: error });
  }
  throw new CommandError(`${shown(file)} is longer than any policy or key.`);
}
