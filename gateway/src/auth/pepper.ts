import { createHmac, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { readOrMakeSecret } from '../store/secret-file.ts';

/** Hashes the secret of an API key. The pepper lies beside the store, not in it: a copy of the database alone checks no key. */
export type KeyHash = (keyId: string, secret: string) => Uint8Array;

export function openKeyHash(dataDir: string): KeyHash {
  const file = join(dataDir, 'pepper');
  const pepper = Buffer.from(
    readOrMakeSecret(file, () => `${randomBytes(32).toString('hex')}\n`),
    'hex',
  );
  if (pepper.length !== 32) throw new Error(`${file} is damaged: expected 64 hexadecimal digits`);
  return (keyId, secret) => createHmac('sha256', pepper).update(`${keyId}.${secret}`).digest();
}
