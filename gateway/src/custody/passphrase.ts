import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '@sluice/shared/config/config.ts';
import { SettingError } from '@sluice/shared/config/setting-error.ts';
import { aboutDataDir } from '../store/about-data-dir.ts';
import { readOrMakeSecret } from '../store/secret-file.ts';

/**
 * The keystore's passphrase. Null: a real cluster, and KEYSTORE_PASSPHRASE_FILE is not set. On simnet one is made under the
 * data folder, for there is nothing to lose.
 */
export function readPassphrase(config: Config): string | null {
  if (config.keystorePassphraseFile !== null) {
    const text = readFileSync(config.keystorePassphraseFile, 'utf8').replace(/\r?\n$/, '');
    if (text === '') throw new SettingError('KEYSTORE_PASSPHRASE_FILE', 'holds an empty passphrase');
    return text;
  }
  if (config.rpc !== null) return null;
  const file = join(config.dataDir, 'simnet-passphrase');
  return aboutDataDir(`the passphrase ${file} cannot be read`, () => readOrMakeSecret(file, () => `${randomBytes(32).toString('hex')}\n`));
}

/** Wallets of the simulated chain, whose passphrase may lie beside them, are never offered on a real one. */
export function keystoreName(config: Config): string {
  return config.rpc === null ? 'simnet' : 'cluster';
}
