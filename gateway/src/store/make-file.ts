import { closeSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { makeFolder } from './make-folder.ts';
import { isCode } from './system-error.ts';

/**
 * Makes an empty file, readable by its owner only, and the folders above it; leaves one that is there alone. (To open and close that
 * one would let go of the locks that this process has on it.) Throws the system's error where that cannot be.
 */
export function makeFile(path: string): void {
  makeFolder(dirname(path));
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if (!isCode(error, 'EEXIST')) throw error;
  }
}
