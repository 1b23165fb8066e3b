import { isAbsolute } from 'node:path';
import type { Config } from './config.ts';
import { shown, type Fault, type Get } from './fault.ts';

const lamportDigits = 9;
/** Nine digits of SOL are more than there is. */
const solForm = /^(\d{1,9})(?:\.(\d{1,9}))?$/;

/** SOL in decimal digits as lamports; null where it is none, or not whole lamports. */
export function readSol(text: string): bigint | null {
  const match = solForm.exec(text);
  return match === null ? null : BigInt(`${match[1]}${(match[2] ?? '').padEnd(lamportDigits, '0')}`);
}

/** Longest path of a Unix socket on Linux. */
const maxPathLength = 107;

/** An absolute path: processes in different folders mean the same. */
export function readPlace(name: 'SIGNER_SOCKET' | 'SIGNER_DIR', get: Get, fault: Fault): string | null {
  const path = get(name);
  if (path === null) return null;
  if (!isAbsolute(path) || path.length > maxPathLength)
    fault(name, `${shown(path)} is no absolute path of ${maxPathLength} characters at most`);
  return path;
}

export function readSignerLimits(get: Get, fault: Fault): Config['signerLimits'] {
  const read = (name: 'SIGNER_MAX_ORDER_SOL' | 'SIGNER_MAX_DAY_SOL', fallback: string): bigint => {
    const text = get(name) ?? fallback;
    const lamports = readSol(text) ?? 0n;
    if (lamports === 0n) fault(name, `${shown(text)} is no sum of SOL: digits, above 0, with nine of them behind the point at most`);
    return lamports;
  };
  const limits = { maxOrderLamports: read('SIGNER_MAX_ORDER_SOL', '101'), maxDayLamports: read('SIGNER_MAX_DAY_SOL', '1000') };
  if (limits.maxDayLamports > 0n && limits.maxDayLamports < limits.maxOrderLamports) {
    fault('SIGNER_MAX_DAY_SOL', 'is less than SIGNER_MAX_ORDER_SOL: no order could be that large');
  }
  return limits;
}
