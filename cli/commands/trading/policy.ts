import { keystoreName, readPassphrase } from '@sluice/trading/signer/custody/passphrase.ts';
import { unlockKeystore } from '@sluice/trading/signer/custody/keystore.ts';
import { readSecretKey } from '@sluice/trading/signer/custody/secret-key-text.ts';
import { auditKey } from '@sluice/trading/signer/audit/mac-chain.ts';
import {
  readPin,
  readPolicy,
  writePin,
  writePolicy,
  type PolicyFiles,
  maxListed,
  openPolicy,
  signPolicy,
  type Policy,
} from '@sluice/trading/signer/limits/policy-file.ts';
import { isAddress } from '@sluice/shared/solana/encoding/base58.ts';
import { signerFolder } from '@sluice/gateway/store/halt/halt-mark.ts';
import { makeFolder } from '@sluice/gateway/store/files/files.ts';
import { readTextFile } from '@sluice/shared/config/text-file.ts';
import { readSol } from '@sluice/shared/config/setting-reader.ts';
import { generateKeypair } from '@sluice/shared/solana/addresses/keypair.ts';
import { venues } from '@sluice/venues/registry.ts';
import { action, type Command, CommandError, inQuotes, loadConfig, option, required, UsageError } from '../../command-line/command.ts';
import { writeKeyFile } from '../keys/key-file.ts';
import { noteOperator, withStore } from '../store/with-store.ts';

/** Maximum size of a policy file or key file. */
const maxFileBytes = 1 << 20;

const keygen = action({
  about: 'Create the key that signs policies. Write it to FILE and print its public key. Move FILE to another machine.',
  args: { FILE: 'a file that does not exist yet' },
  async run(_, [file = '']) {
    const keypair = generateKeypair();
    const { publicKey } = keypair;
    writeKeyFile(file, keypair);
    return { json: { publicKey }, text: `${publicKey}\nMove ${file} to another machine. Next: sluice wallets policy pin ${publicKey}` };
  },
});

const pin = action({
  about: 'Set the public key that policies must be signed with. From then on, nothing is signed without a policy that this key has signed.',
  args: { PUBLIC_KEY: 'base58, as printed by sluice wallets policy keygen' },
  async run(_, [publicKey = '']) {
    if (!isAddress(publicKey)) throw new UsageError('PUBLIC_KEY must be the base58 key that `sluice wallets policy keygen` prints');
    await withPolicyFiles(`pin ${publicKey}`, async (files, isWallet) => {
      if (await isWallet(publicKey))
        throw new CommandError(
          'This key is a wallet of the keystore. The signing process could then sign its own policy. Create a separate key: sluice wallets policy keygen',
        );
      writePin(files, publicKey);
    });
    return {
      json: { publicKey },
      text: `From now on, the signing processes of ${signerFolder(loadConfig())} accept only policies that ${publicKey} has signed. They sign nothing until a policy is installed.`,
    };
  },
});

const sign = action({
  about: 'Sign a policy and print it as JSON. It needs the key only: no store, no gateway, no network.',
  options: {
    key: required('FILE', 'the key that sluice wallets policy keygen wrote'),
    version: required('N', 'higher than the version of the previous policy'),
    'max-order-sol': option('X', 'most SOL that one order may spend'),
    'max-hour-sol': option('X', 'most SOL that one wallet may spend in an hour (UTC)'),
    'max-day-sol': option('X', 'most SOL that one wallet may spend on a day (UTC)'),
    'max-token-sol': option('X', 'most SOL that one wallet may spend for one token on a day (UTC)'),
    tokens: option('LIST', 'mints that may be traded, comma-separated'),
    venues: option('LIST', `venues that may be used, comma-separated: ${venues.map(({ name }) => name).join(', ')}`),
    keystore: option('NAME', 'cluster or simnet. Default: cluster'),
  },
  more: 'If you leave out an option, the policy does not set that limit. The signing process also applies its own limits.',
  examples: [`wallets policy sign --key operator.json --version 2 --max-hour-sol 5 --venues ${venues[0]!.name} > policy.json`],
  async run(values) {
    const secret = readSecretKey(readFile(values.key));
    if (!secret.ok) throw new CommandError(`${inQuotes(values.key)} is not a secret key: ${secret.reason}.`);
    const version = Number(values.version);
    if (!Number.isSafeInteger(version) || version < 1)
      throw new UsageError('--version takes a whole number, higher than the version of the previous policy');
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
    return { json: signPolicy(policyToSign, generateKeypair(secret.seed)), text: null };
  },
});

const install = action({
  about: 'Install a signed policy. Signing processes apply it within a second.',
  args: { FILE: 'what sluice wallets policy sign printed' },
  async run(_, [file = '']) {
    const content = readFile(file);
    const installed = await withPolicyFiles('install', async (files) => {
      const key = readPin(files);
      if (key === null) throw new CommandError('No key is pinned yet. Pin one: sluice wallets policy pin PUBLIC_KEY');
      if (key === false)
        throw new CommandError('The pinned key was changed without the passphrase. Pin it again: sluice wallets policy pin PUBLIC_KEY');
      const opened = openPolicy(content, key, files.keystore);
      if ('fault' in opened) throw new CommandError(`The policy is not valid: ${opened.fault}.`);
      const current = readPolicy(files, 0);
      if (current.ok && current.inForce !== null && current.inForce.policy.version >= opened.version) {
        throw new CommandError(`Policy ${current.inForce.policy.version} is in force. Sign the new one with a higher --version.`);
      }
      writePolicy(files, content);
      return opened;
    });
    return { json: policyJson(installed), text: `Policy ${installed.version} is installed.` };
  },
});

const show = action({
  about: 'Print the policy in force as JSON; null if there is none. Amounts are in lamports.',
  async run() {
    const reading = await withPolicyFiles('show', async (files) => readPolicy(files, 0));
    if (!reading.ok) throw new CommandError(`Nothing can be signed: ${reading.reason}.`);
    const { inForce } = reading;
    return { json: inForce === null ? null : { key: inForce.key, ...policyJson(inForce.policy) }, text: null };
  },
});

export const policy: Command = {
  about: 'Limit what the signing process signs, by a policy that the operator signs on another machine.',
  actions: { keygen, pin, sign, install, show },
  more: 'pin, install and show need KEYSTORE_PASSPHRASE_FILE.',
};

/** Runs `work` on the policy files of this machine. Unlocks the keystore first, because it has the key that protects these files. */
function withPolicyFiles<T>(
  what: string,
  work: (files: PolicyFiles, isWallet: (publicKey: string) => Promise<boolean>) => Promise<T>,
): Promise<T> {
  const config = loadConfig();
  const keystore = keystoreName(config);
  const passphrase = readPassphrase(config);
  if (passphrase === null) throw new CommandError('KEYSTORE_PASSPHRASE_FILE is not set. Its passphrase protects the pinned key.');
  return withStore(config, async (store) => {
    const stored = await store.wallets.keystore(keystore);
    if (stored === null) throw new CommandError('There is no wallet yet. Create one: sluice wallets create');
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

function policyJson(policyToShow: Policy): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(policyToShow).map(([name, value]) => [name, typeof value === 'bigint' ? value.toString() : value]),
  );
}

function lamportsOf(name: string, text: string | undefined): bigint | null {
  if (text === undefined) return null;
  const lamports = readSol(text);
  if (lamports === null || lamports === 0n) throw new UsageError(`${name} takes an amount of SOL above 0, with at most nine decimals`);
  return lamports;
}

function listOf(of: string, text: string | undefined, read: (name: string) => string | null): readonly string[] | null {
  if (text === undefined) return null;
  const names = text.split(',').map((name) => name.trim());
  if (names.length > maxListed) throw new UsageError(`${of} takes at most ${maxListed} names`);
  return names.map((name) => read(name) ?? fail(`${of}: ${inQuotes(name)} is unknown`));
}

function fail(what: string): never {
  throw new UsageError(what);
}

function readFile(file: string): string {
  try {
    const content = readTextFile(file);
    if (content.length <= maxFileBytes) return content;
  } catch (error) {
    throw new CommandError(`The file ${inQuotes(file)} does not exist or cannot be read.`, { cause: error });
  }
  throw new CommandError(`${inQuotes(file)} is too large for a policy or a key.`);
}
