import { createInterface } from 'node:readline/promises';
import { openWallet, unlockKeystore } from '@sluice/trading/signer/custody/keystore.ts';
import { keystoreName, readPassphrase } from '@sluice/trading/signer/custody/passphrase.ts';
import { isAddress } from '@sluice/shared/solana/encoding/base58.ts';
import { action, CommandError, inQuotes, loadConfig, option, UsageError } from '../../command-line/command.ts';
import { writeKeyFile } from '../keys/key-file.ts';
import { withProgress } from '../../command-line/progress.ts';
import { noteOperator, withStore } from '../store/with-store.ts';

/** The progress of a command that opens wallets: the passphrase is slow to check on purpose. */
export const unlocking = 'unlocking the keystore';

export const exportWallet = action({
  about: 'Write the secret key of a wallet to a new file, in the form of the Solana command line. Other wallets can import it.',
  args: { PUBLIC_KEY: 'the address of the wallet', FILE: 'a file that does not exist yet. Only your user can read it' },
  options: { yes: option('PUBLIC_KEY', 'the address again. Without it, the command asks for the address') },
  more: `The wallet stays in sluice. Anybody with the file can spend its coins, without the limits of sluice. The operator log records the
export.`,
  examples: ['wallets export 7fg4UpZBcydz19bmu4hJqHn3Y43LSy45W7NqJEcmmMWd wallet.json'],
  async run(values, [publicKey = '', file = '']) {
    if (!isAddress(publicKey)) throw new UsageError('PUBLIC_KEY must be the base58 address of a wallet');
    const config = loadConfig();
    const keystore = keystoreName(config);
    const passphrase = readPassphrase(config);
    if (passphrase === null) throw new CommandError('KEYSTORE_PASSPHRASE_FILE is not set. Its passphrase is needed to decrypt the wallet.');
    if ((values.yes ?? (await askAgain(publicKey))) !== publicKey)
      throw new CommandError('The two addresses differ. Nothing was exported.');
    await withStore(config, async (store) => {
      await noteOperator(store, 'wallets export', publicKey);
      const [stored, wallet] = [await store.wallets.keystore(keystore), await store.wallets.byPublicKey(keystore, publicKey)];
      if (stored === null || wallet === null)
        throw new CommandError(`There is no wallet ${inQuotes(publicKey)}. List the wallets: sluice wallets list`);
      const key = await withProgress(unlocking, () => unlockKeystore(keystore, stored, passphrase));
      if (key === null) throw new CommandError('The passphrase does not unlock the keystore.');
      const keypair = openWallet(key, keystore, wallet);
      if (keypair === null) throw new CommandError(`The wallet ${publicKey} cannot be decrypted: its stored bytes were changed.`);
      writeKeyFile(file, keypair);
    });
    return { json: { publicKey, file }, text: `The secret key of ${publicKey} is in ${file}. Move it to a safe place and delete it here.` };
  },
});

async function askAgain(publicKey: string): Promise<string> {
  if (!process.stdin.isTTY) throw new CommandError(`To confirm the export without a terminal, add: --yes ${inQuotes(publicKey)}`);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return (await terminal.question('Anybody with the file can spend the coins. Type the address again to export: ')).trim();
  } finally {
    terminal.close();
  }
}
