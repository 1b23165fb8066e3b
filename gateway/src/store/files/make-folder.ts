import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { isCode } from './system-error.ts';

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
