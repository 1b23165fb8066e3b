import { readFileSync } from 'node:fs';

/** Reads a file that a person wrote. Some editors put a byte order mark at its beginning; the mark is not part of the text. */
export function readTextFile(file: string): string {
  return withoutMark(readFileSync(file, 'utf8'));
}

export function withoutMark(text: string): string {
  return text.replace(/^\uFEFF/, '');
}
