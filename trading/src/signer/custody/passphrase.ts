import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Config } from '@sluice/shared/config/config.ts';
import { SettingError } from '@sluice/shared/config/settings/setting-error.ts';
import { aboutDataDir, readOrMakeSecret } from '@sluice/gateway/store/files/files.ts';
import { readPassphraseFile } from './keystore.ts';
import { passphraseCost, randomPassphraseCost } from './seal.ts';

type CustodyConfig = Pick<Config, 'rpc' | 'dataDir' | 'keystorePassphraseFile'>;

/** Null on a real cluster if KEYSTORE_PASSPHRASE_FILE is not set. For simnet, whose wallets have no value, one is created in the data folder. */
export function readPassphrase(config: CustodyConfig): string | null {
  const file = passphraseFileOf(config);
  if (file === null) return null;
  if (config.keystorePassphraseFile !== null) {
    const text = readPassphraseFile(file);
    if (text === null) throw new SettingError('KEYSTORE_PASSPHRASE_FILE', 'contains an empty passphrase');
    return text;
  }
  return aboutDataDir(`the passphrase ${file} cannot be read`, () => readOrMakeSecret(file, () => `${randomBytes(32).toString('hex')}\n`));
}

/** The file of the passphrase, which may not exist yet. Null as for `readPassphrase`. */
export function passphraseFileOf({ rpc, dataDir, keystorePassphraseFile }: CustodyConfig): string | null {
  return keystorePassphraseFile ?? (rpc === null ? join(dataDir, 'simnet-passphrase') : null);
}

/** The work of one guess at the passphrase of a new keystore. */
export function keystoreCost({ rpc, keystorePassphraseFile }: CustodyConfig): number {
  return rpc === null && keystorePassphraseFile === null ? randomPassphraseCost : passphraseCost;
}

/** The name of the keystore. Wallets of the simulated chain, whose passphrase may be next to them, are separate from those of a real one. */
export function keystoreName(config: Pick<Config, 'rpc'>): string {
  return config.rpc === null ? 'simnet' : 'cluster';
}

/** The keystore of paper wallets, for every chain. They have no secret keys, so nothing opens it. */
export const paperKeystore = 'paper';

/** The keystore whose wallets trade with these settings. On paper, live wallets are out of reach. */
export function tradingKeystore(config: Pick<Config, 'rpc' | 'trading'>): string {
  return config.trading === 'paper' ? paperKeystore : keystoreName(config);
}
