import { isAbsolute } from 'node:path';
import type { Config } from '../config.ts';
import { inQuotes, type Fault, type Get } from '../fault.ts';

const lamportDigits = 9;
/** All SOL together has nine digits before the point. */
const solForm = /^(\d{1,9})(?:\.(\d{1,9}))?$/;

/** Reads an amount of SOL; returns lamports. Null if the text is not an amount, or has more than nine decimals. */
export function readSol(text: string): bigint | null {
  const match = solForm.exec(text);
  return match === null ? null : BigInt(`${match[1]}${(match[2] ?? '').padEnd(lamportDigits, '0')}`);
}

/** Longest path of a Unix socket on Linux. */
const maxPathLength = 107;

/** Reads an absolute path, so that processes that run in different folders use the same file. */
export function readPlace(name: 'SIGNER_SOCKET' | 'SIGNER_DIR', get: Get, fault: Fault): string | null {
  const path = get(name);
  if (path === null) return null;
  if (!isAbsolute(path) || path.length > maxPathLength)
    fault(name, `${inQuotes(path)} is not an absolute path of at most ${maxPathLength} characters`);
  return path;
}

export function readSignerLimits(get: Get, fault: Fault): Config['signerLimits'] {
  const read = (name: 'SIGNER_MAX_ORDER_SOL' | 'SIGNER_MAX_DAY_SOL', fallback: string): bigint => {
    const text = get(name) ?? fallback;
    const lamports = readSol(text) ?? 0n;
    if (lamports === 0n) fault(name, `${inQuotes(text)} is not an amount of SOL above 0 with at most nine decimals`);
    return lamports;
  };
  const limits = { maxOrderLamports: read('SIGNER_MAX_ORDER_SOL', '101'), maxDayLamports: read('SIGNER_MAX_DAY_SOL', '1000') };
  if (limits.maxDayLamports > 0n && limits.maxDayLamports < limits.maxOrderLamports) {
    fault('SIGNER_MAX_DAY_SOL', 'is less than SIGNER_MAX_ORDER_SOL. Set it at least as high');
  }
  return limits;
}
