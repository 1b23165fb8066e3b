import { readFileSync } from 'node:fs';

/** Reads a passphrase from a file. Null: the file is empty. Throws the system's error if it cannot be read. */
export function readPassphraseFile(file: string): string | null {
  const text = readFileSync(file, 'utf8').replace(/\r?\n$/, '');
  return text === '' ? null : text;
}
