import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { isCode } from './system-error.ts';

/**
 * Makes a folder, and those above it, for its owner only. Throws the system's error where that cannot be. (Node's own way, the
 * `recursive` of `mkdirSync`, turns for ever under a link that leads nowhere and in file systems that answer ENOENT to any `mkdir`.)
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
