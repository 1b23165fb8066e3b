import { closeSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { makeFolder } from './make-folder.ts';
import { isCode } from './system-error.ts';

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
