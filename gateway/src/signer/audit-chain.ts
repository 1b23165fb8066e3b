import { createHmac, hkdfSync } from 'node:crypto';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import type { LogHead } from './protocol.ts';
import type { Rule } from './verdict.ts';

/**
 * The audit log: one line for each decision, `<mac> <JSON>`. The mac is an HMAC-SHA-256 over the mac before it and the JSON, under a
 * key that comes of the keystore's: without the passphrase no line can be changed, left out, moved or added so that it fits.
 */
export type AuditEntry =
  | { readonly n: number; readonly event: 'begin'; readonly logId: string; readonly keystore: string; readonly atMs: number }
  | {
      readonly n: number;
      readonly event: 'start';
      readonly maxOrderLamports: string;
      readonly maxDayLamports: string;
      readonly atMs: number;
    }
  | DecisionEntry;

export interface DecisionEntry {
  readonly n: number;
  readonly event: 'decision';
  readonly order: string;
  /** Null: none that is unlocked. */
  readonly wallet: string | null;
  /** SHA-256 of the message, hexadecimal digits. */
  readonly message: string;
  readonly verdict: 'signed' | 'refused';
  readonly rule: Rule | null;
  /** Most SOL that could leave by it; null where that was not reckoned. */
  readonly lamports: string | null;
  readonly atMs: number;
}

export const noMac = new Uint8Array(32);
const macDigits = 64;
/** Longest line; ours have some 400 characters. */
const maxLineBytes = 4_096;
const chunkBytes = 1 << 20;
const newline = 10;

/** `torn` bytes behind the last whole line were being written when the process ended: no signature was given for them. */
export type ChainOutcome =
  | { readonly ok: true; readonly logId: string | null; readonly head: LogHead; readonly bytes: number; readonly torn: number }
  | { readonly ok: false; readonly line: number; readonly reason: string };

export function auditKey(keystoreKey: Uint8Array, keystore: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', keystoreKey, new Uint8Array(0), `sluice-audit|1|${keystore}`, 32));
}

export function macOf(key: Uint8Array, before: Uint8Array, json: string): Uint8Array {
  return createHmac('sha256', key).update(before).update(json).digest();
}

export function auditLine(mac: Uint8Array, json: string): string {
  return `${Buffer.from(mac).toString('hex')} ${json}\n`;
}

/**
 * Reads a log from its first line to its last and checks every one of them; `seen` is told each entry. `head`: how far the log is
 * known to have come at the least. Throws what the file system throws; a file that is not there is none of ours to judge.
 */
export function checkChain(file: string, key: Uint8Array, head: LogHead | null, seen: (entry: AuditEntry) => void): ChainOutcome {
  const chain = { mac: noMac, lines: 0, bytes: 0, logId: null as string | null };
  let rest: Buffer = Buffer.alloc(0);
  for (const piece of pieces(file)) {
    rest = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    let from = 0;
    for (let end = rest.indexOf(newline); end >= 0; end = rest.indexOf(newline, from)) {
      const fault = checkLine(rest.toString('utf8', from, end), key, chain, head, seen);
      if (fault !== null) return { ok: false, line: chain.lines + 1, reason: fault };
      chain.bytes += end + 1 - from;
      from = end + 1;
    }
    rest = Buffer.from(rest.subarray(from));
    if (rest.length > maxLineBytes) return { ok: false, line: chain.lines + 1, reason: 'longer than any line' };
  }
  if (head !== null && head.lines > chain.lines) {
    return { ok: false, line: chain.lines + 1, reason: `the log ends here, and had ${head.lines} lines already` };
  }
  return { ok: true, logId: chain.logId, head: { lines: chain.lines, mac: chain.mac }, bytes: chain.bytes, torn: rest.length };
}

/** The id of a log, unchecked; null where it has no whole first line yet. */
export function logIdOf(file: string): string | null {
  const [first] = pieces(file);
  const end = first?.indexOf(newline) ?? -1;
  if (first === undefined || end < 0) return null;
  const entry = parseEntry(first.toString('utf8', macDigits + 1, end));
  return entry?.event === 'begin' ? entry.logId : null;
}

interface Chain {
  mac: Uint8Array;
  lines: number;
  logId: string | null;
}

/** What is wrong with the next line; null where it fits, and then it is added. */
function checkLine(line: string, key: Uint8Array, chain: Chain, head: LogHead | null, seen: (entry: AuditEntry) => void): string | null {
  const json = line.slice(macDigits + 1);
  const mac = macOf(key, chain.mac, json);
  if (`${line}\n` !== auditLine(mac, json)) return 'does not follow from the line before';
  const entry = parseEntry(json);
  if (entry === null || entry.n !== chain.lines + 1 || (entry.n === 1) !== (entry.event === 'begin')) return 'no entry that belongs here';
  if (entry.event === 'begin') chain.logId = entry.logId;
  if (head?.lines === entry.n && Buffer.compare(head.mac, mac) !== 0) return 'not the line that was noted';
  chain.mac = mac;
  chain.lines++;
  seen(entry);
  return null;
}

/** Our own lines alone get here: their mac fits. */
function parseEntry(json: string): AuditEntry | null {
  try {
    return JSON.parse(json) as AuditEntry;
  } catch {
    return null;
  }
}

function* pieces(file: string): Generator<Buffer> {
  const fd = openSync(file, 'r');
  try {
    const size = fstatSync(fd).size;
    for (let at = 0; at < size;) {
      const piece = Buffer.allocUnsafe(Math.min(chunkBytes, size - at));
      const read = readSync(fd, piece, 0, piece.length, at);
      if (read === 0) return;
      at += read;
      yield piece.subarray(0, read);
    }
  } finally {
    closeSync(fd);
  }
}
