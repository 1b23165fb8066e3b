import { readFileSync } from 'node:fs';

/** The passphrase that a file holds; null: it is empty. Throws the system's error where it cannot be read. */
export function readPassphraseFile(file: string): string | null {
  const text = readFileSync(file, 'utf8').replace(/\r?\n$/, '');
  return text === '' ? null : text;
}
