import { randomBytes } from 'node:crypto';
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { makeFolder } from './make-folder.ts';
import { isCode } from './system-error.ts';

/** The content of `file`; where there is none, `content` is written to it first, readable by its owner only. */
export function readOrMakeSecret(file: string, content: () => string): string {
  const there = readIfThere(file);
  if (there !== null) return there;
  makeFolder(dirname(file));
  // Written whole under another name and then linked: of two processes at once, one wins and both read the same.
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  writeFileSync(draft, content(), { mode: 0o600, flag: 'wx', flush: true });
  try {
    linkSync(draft, file);
  } catch (error) {
    if (!isCode(error, 'EEXIST')) throw error;
  } finally {
    rmSync(draft);
  }
  return readFileSync(file, 'utf8').trim();
}

/** The content of `file`, trimmed; null where there is none. */
export function readIfThere(file: string): string | null {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    if (isCode(error, 'ENOENT')) return null;
    throw error;
  }
}
