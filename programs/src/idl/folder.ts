import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isAddress } from '@sluice/shared/solana/encoding/base58.ts';
import { maxIdlBytes, readIdl, type IdlOutcome } from './idl.ts';

/** IDLs in the folder. More are not read. */
const maxFiles = 256;
const ending = '.json';

/** The programs that the folder has a file for, `<program id>.json`, in the order of their names. */
export function programsIn(folder: string): readonly string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(ending))
    .map((name) => name.slice(0, -ending.length))
    .filter(isAddress)
    .toSorted()
    .slice(0, maxFiles);
}

/** Reads the file of a program. A file that cannot be read is refused like a wrong IDL. */
export function idlInFolder(folder: string, programId: string): IdlOutcome {
  const path = join(folder, `${programId}${ending}`);
  try {
    if (statSync(path).size > maxIdlBytes) return { ok: false, reason: `it has more than ${maxIdlBytes} bytes` };
    return readIdl(readFileSync(path, 'utf8'), programId);
  } catch (error) {
    return { ok: false, reason: error instanceof Error ? error.message : String(error) };
  }
}
