import { setTimeout as delay } from 'node:timers/promises';
import { Sluice, SluiceError } from '@sluice/client';
import { paperKeystore } from '@sluice/trading/signer/custody/passphrase.ts';
import { isAddress } from '@sluice/shared/solana/encoding/base58.ts';
import { paperSol } from '@sluice/shared/wire/rest/wallets/portfolio.ts';
import { action, CommandError, flag, inQuotes, loadConfig, option, UsageError } from '../../command-line/command.ts';
import { gatewayUrl, httpUrl } from '../../gateway/gateway-probe.ts';
import { noteOperator } from '../store/with-store.ts';
import { keyForSluice, openKey, otherStore } from '../keys/command-key.ts';

export const setPaperBalance = action({
  about:
    'Set the SOL of a paper wallet (TRADING=paper), or begin again. A gateway must run: the balance belongs to the chain of its nodes.',
  args: { PUBLIC_KEY: 'the address of a paper wallet', SOL: `the SOL that it has then, up to ${paperSol.max}` },
  options: {
    reset: flag('the wallet also loses all tokens, and its result counts from now on. Its past orders stay'),
    url: option('URL', 'the URL of the gateway. Default: from HOST and PORT'),
    key: option(
      'API_KEY',
      'a key of its account with the scope trade. Default: SLUICE_API_KEY, or else a temporary key that this command creates in the store and deletes at its end',
    ),
  },
  examples: ['wallets paper 7fg4UpZBcydz19bmu4hJqHn3Y43LSy45W7NqJEcmmMWd 25 --reset'],
  async run(values, [publicKey = '', text = '']) {
    if (!isAddress(publicKey)) throw new UsageError(`not an address: ${inQuotes(publicKey)}`);
    if (!/^\d+(\.\d+)?$/.test(text)) throw new UsageError(`SOL is a number like 10 or 2.5, not ${inQuotes(text)}`);
    const config = loadConfig();
    const url = httpUrl(values.url ?? gatewayUrl(config));
    const given = values.key ?? process.env['SLUICE_API_KEY'];
    const key = await openKey(given, config, async (store) => {
      await noteOperator(store, 'wallets paper', `wallet ${publicKey}`);
      const wallet = await store.wallets.byPublicKey(paperKeystore, publicKey);
      if (wallet === null)
        throw new SluiceError(`There is no paper wallet ${inQuotes(publicKey)}. Create one: TRADING=paper sluice wallets create`, {
          code: 'NOT_FOUND',
          retryable: false,
        });
      return { label: 'sluice wallets paper', accountId: wallet.accountId, scopes: ['trade'] };
    });
    let apiKey: Promise<string> | null = null;
    const sluice = new Sluice({ url, apiKey: keyForSluice(url, config, () => (apiKey ??= key.get())), retries: 0 });
    const isNew = (error: unknown): boolean => !given && error instanceof SluiceError && error.code === 'UNAUTHENTICATED';
    try {
      const set = () => sluice.setPaperBalance({ publicKey, amount: Number(text), reset: values.reset });
      // A gateway soon knows the key that was just created.
      const wallet = await retried(set, isNew);
      const note = values.reset ? ' It has no tokens, and its result counts from now on.' : '';
      return { json: wallet, text: `Wallet ${publicKey} has ${wallet.uiAmount} SOL on paper.${note}` };
    } catch (error) {
      if (!(error instanceof SluiceError)) throw error;
      throw new CommandError(isNew(error) ? `${error.message}\n${otherStore('This command', config)}` : error.message, { cause: error });
    } finally {
      sluice.close();
      await key.close();
    }
  },
});

const triedFor = 8;
const pauseMs = 250;

async function retried<T>(work: () => Promise<T>, mayPass: (error: unknown) => boolean): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (tries >= triedFor || !mayPass(error)) throw error;
      await delay(pauseMs);
    }
  }
}
