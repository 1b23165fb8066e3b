import { writeFileSync } from 'node:fs';
import type { Keypair } from '@sluice/shared/solana/addresses/keypair.ts';
import { CommandError, inQuotes } from '../../command-line/command.ts';

/** Writes a secret key to a new file that only this user can read, in the form of the Solana command line. */
export function writeKeyFile(file: string, { seed, publicKeyBytes }: Keypair): void {
  try {
    writeFileSync(file, `${JSON.stringify([...seed, ...publicKeyBytes])}\n`, { mode: 0o600, flag: 'wx', flush: true });
  } catch (error) {
    throw new CommandError(`${inQuotes(file)} exists already or cannot be written. An existing file is never overwritten.`, {
      cause: error,
    });
  }
}
