import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

/**
 * This file is loaded into a signing process before its own code, and simulates a faulty disk. A file, whose path is in `DISK`, contains the
 * current fault. `hold`: writes do not become durable until the fault ends. `full`: a write ends in the middle, because there is no space.
 * `broken`: the disk accepts writes, and loses them.
 */
const pollMs = 2;
const file = process.env['DISK'] ?? '';
const { writeSync, fdatasync, fdatasyncSync } = fs;
const clock = new Int32Array(new SharedArrayBuffer(4));

function hasFault(what: 'hold' | 'full' | 'broken'): boolean {
  return fs.existsSync(file) && fs.readFileSync(file, 'utf8') === what;
}

function failure(code: 'ENOSPC' | 'EIO', text: string): Error {
  return Object.assign(new Error(`${code}: ${text}`), { code });
}

fs.writeSync = ((fd: number, block: Uint8Array, at: number): number => {
  if (!hasFault('full')) return writeSync(fd, block, at);
  writeSync(fd, block, at, Math.floor((block.length - at) / 2));
  throw failure('ENOSPC', 'no space left on device, write');
}) as typeof fs.writeSync;

fs.fdatasyncSync = (fd: number): void => {
  while (hasFault('hold')) Atomics.wait(clock, 0, 0, pollMs);
  if (hasFault('broken')) throw failure('EIO', 'i/o error, fdatasync');
  fdatasyncSync(fd);
};

fs.fdatasync = ((fd: number, done: (error: Error | null) => void): void => {
  if (hasFault('hold')) setTimeout(() => fs.fdatasync(fd, done), pollMs);
  else if (hasFault('broken')) done(failure('EIO', 'i/o error, fdatasync'));
  else fdatasync(fd, done);
}) as typeof fs.fdatasync;
syncBuiltinESMExports();
