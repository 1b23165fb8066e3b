import { randomBytes } from 'node:crypto';
import { chownSync, closeSync, fsyncSync, linkSync, mkdirSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { SettingError } from '@sluice/shared/config/settings/setting-error.ts';

/** Whether the error has this code, for example `ENOENT`. */
export function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

/** Runs `work`. If it throws, throws a `SettingError` about `DATA_DIR` with the text `what` and the error's message. */
export function aboutDataDir<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new SettingError('DATA_DIR', `${what}: ${error instanceof Error ? error.message : String(error)}`, error);
  }
}

/**
 * Creates a folder, and those above it, accessible to its owner only. Throws the system's error. The option `recursive` of `mkdirSync`
 * is not used: it never returns below a broken link, or in a file system that answers ENOENT to every `mkdir`.
 */
export function makeFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (isCode(error, 'EEXIST') && statSync(path).isDirectory()) return;
    if (!isCode(error, 'ENOENT') || dirname(path) === path) throw error;
    makeFolder(dirname(path));
    mkdirSync(path, { mode: 0o700 });
  }
}

/**
 * Creates an empty file, readable by its owner only, and the folders above it. An existing file is not opened, because closing it
 * would release the locks that this process has on it. Throws the system's error.
 */
export function makeFile(path: string): void {
  makeFolder(dirname(path));
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if (!isCode(error, 'EEXIST')) throw error;
  }
}

/** Gives a file that root created to the owner of its folder, who could otherwise not read it. */
export function giveToOwner(file: string, folder: string): void {
  if (process.geteuid?.() !== 0) return;
  const { uid, gid } = statSync(folder);
  chownSync(file, uid, gid);
}

/** Writes the names in a folder to the disk, so that files that were created, renamed or deleted in it stay so after a power failure. */
export function syncFolder(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

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
