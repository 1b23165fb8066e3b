import { closeSync, fsyncSync, openSync } from 'node:fs';

/** Writes the names in a folder to the disk, so that files that were created, renamed or deleted in it stay so after a power failure. */
export function syncFolder(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
