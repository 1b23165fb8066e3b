import { randomBytes } from 'node:crypto';
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { makeFolder } from './make-folder.ts';
import { isCode } from './system-error.ts';

/** The content of `file`. If the file does not exist, it is created with `content` first, readable by its owner only. */
export function readOrMakeSecret(file: string, content: () => string): string {
  const existing = readIfThere(file);
  if (existing !== null) return existing;
  makeFolder(dirname(file));
  // The file is written completely under another name and then linked. Of two processes at once, one wins and both read its content.
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

/** The content of `file`, trimmed. Null: no such file. */
export function readIfThere(file: string): string | null {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    if (isCode(error, 'ENOENT')) return null;
    throw error;
  }
}
