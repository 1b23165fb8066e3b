import { randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** The content of `file`; where there is none, `content` is written to it first, readable by its owner only. */
export function readOrMakeSecret(file: string, content: () => string): string {
  const there = readIfThere(file);
  if (there !== null) return there;
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
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

function readIfThere(file: string): string | null {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    if (isCode(error, 'ENOENT')) return null;
    throw error;
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
