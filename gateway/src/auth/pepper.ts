import { createHmac, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { SettingError } from '@sluice/shared/config/setting-error.ts';
import { aboutDataDir } from '../store/about-data-dir.ts';
import { readOrMakeSecret } from '../store/secret-file.ts';

/** Hashes the secret of an API key. The pepper lies beside the store, not in it: a copy of the database alone checks no key. */
export type KeyHash = (keyId: string, secret: string) => Uint8Array;

export function openKeyHash(dataDir: string): KeyHash {
  const file = join(dataDir, 'pepper');
  const digits = aboutDataDir(`the pepper ${file} cannot be read`, () =>
    readOrMakeSecret(file, () => `${randomBytes(32).toString('hex')}\n`),
  );
  const pepper = Buffer.from(digits, 'hex');
  if (pepper.length !== 32) throw new SettingError('DATA_DIR', `${file} is damaged: expected 64 hexadecimal digits`);
  return (keyId, secret) => createHmac('sha256', pepper).update(`${keyId}.${secret}`).digest();
}
