import { createHmac, hkdfSync } from 'node:crypto';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import type { LogHead } from '../wire/protocol.ts';
import type { AuditEntry } from './entry.ts';

/**
 * The audit log. Each line is `<mac> <JSON>`. The mac is an HMAC-SHA-256 over the previous mac and the JSON, with a key derived from the
 * keystore's key. Without the passphrase, nobody can change, remove, move or add a line without breaking the chain. A log is a series
 * of segments (`segments.ts`). The first line of each later segment repeats the last mac of the segment before.
 */
export const noMac = new Uint8Array(32);
const macDigits = 64;
/** The longest line that is read. Lines that we write have at most 2,500 characters. */
const maxLineBytes = 4_096;
const chunkBytes = 1 << 20;
const newline = 10;

export type ChainOutcome = (ChainState & { readonly ok: true }) | { readonly ok: false; readonly line: number; readonly reason: string };

/** The recorded end of a log: it must be at least this long. Null: not recorded. */
export type RecordedEndOf = (logId: string) => LogHead | null;

export interface ChainState {
  readonly head: LogHead;
  readonly logId: string | null;
  /** Length up to the end of the last complete line. */
  readonly bytes: number;
  /** Bytes of an incomplete last line. The process ended while it wrote them, so it gave no signature for them. */
  readonly torn: number;
}

export function auditKey(keystoreKey: Uint8Array, keystore: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', keystoreKey, new Uint8Array(0), `sluice-audit|1|${keystore}`, 32));
}

export function macOf(key: Uint8Array, before: Uint8Array, json: string): Uint8Array {
  return createHmac('sha256', key).update(before).update(json).digest();
}

export function auditLine(mac: Uint8Array, json: string): string {
  return `${Buffer.from(mac).toString('hex')} ${json}\n`;
}

/** Checks the lines of one segment one by one, and calls `seen` with each valid entry. */
export class ChainReader {
  readonly #key: Uint8Array;
  readonly #seen: (entry: AuditEntry) => void;
  readonly #recordedEnd: RecordedEndOf;
  readonly #from: LogHead | null;
  #head: LogHead | null = null;
  #mac: Uint8Array = noMac;
  #lines = 0;
  #logId: string | null = null;
  #bytes = 0;
  #rest: Buffer = Buffer.alloc(0);

  /** `from`: the end of the previous segment. Null: taken from the first line. */
  constructor(key: Uint8Array, seen: (entry: AuditEntry) => void, recordedEnd: RecordedEndOf = () => null, from: LogHead | null = null) {
    [this.#key, this.#seen, this.#recordedEnd, this.#from] = [key, seen, recordedEnd, from];
  }

  get state(): ChainState {
    return { head: { lines: this.#lines, mac: this.#mac }, logId: this.#logId, bytes: this.#bytes, torn: this.#rest.length };
  }

  /** Checks the next bytes of the file. Returns what is wrong with them, or null. */
  push(piece: Buffer): string | null {
    const block = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece]);
    let from = 0;
    for (let end = block.indexOf(newline); end >= 0; end = block.indexOf(newline, from)) {
      const fault = this.#take(block.toString('utf8', from, end));
      if (fault !== null) return fault;
      this.#bytes += end + 1 - from;
      from = end + 1;
    }
    this.#rest = Buffer.from(block.subarray(from));
    return this.#rest.length > maxLineBytes ? 'longer than any line' : null;
  }

  /** Discards an incomplete last line. Returns the end of the last complete line. */
  rewind(): number {
    this.#rest = Buffer.alloc(0);
    return this.#bytes;
  }

  #take(line: string): string | null {
    const json = line.slice(macDigits + 1);
    const entry = parseEntry(json);
    const isFirst = this.#bytes === 0;
    const begins = entry?.event === 'begin' || entry?.event === 'segment';
    if (isFirst && entry?.event === 'segment') [this.#mac, this.#lines] = [Buffer.from(entry.before, 'hex'), entry.n - 1];
    const mac = macOf(this.#key, this.#mac, json);
    if (`${line}\n` !== auditLine(mac, json)) return 'does not follow from the line before';
    if (entry === null || entry.n !== this.#lines + 1 || isFirst !== begins) return 'no entry that belongs here';
    const { lines, mac: before } = this.#from ?? { lines: this.#lines, mac: this.#mac };
    if (isFirst && (lines !== this.#lines || Buffer.compare(before, this.#mac) !== 0)) return 'does not follow from the segment before';
    if (begins) [this.#logId, this.#head] = [entry.logId, this.#recordedEnd(entry.logId)];
    if (this.#head?.lines === entry.n && Buffer.compare(this.#head.mac, mac) !== 0) return 'not the line that was recordedEnd';
    this.#mac = mac;
    this.#lines++;
    this.#seen(entry);
    return null;
  }
}

/** Checks all lines of a segment, but not its length (`cutFault`). Throws the file system's error, even if there is no file. */
export function checkChain(
  file: string,
  key: Uint8Array,
  recordedEnd: RecordedEndOf,
  seen: (entry: AuditEntry) => void,
  from: LogHead | null = null,
): ChainOutcome {
  const reader = new ChainReader(key, seen, recordedEnd, from);
  for (const piece of pieces(file)) {
    const fault = reader.push(piece);
    if (fault !== null) return { ok: false, line: reader.state.head.lines + 1, reason: fault };
  }
  return { ok: true, ...reader.state };
}

/** What is wrong with a log that ends at `head` although it had reached `recordedEnd`. Null: nothing. */
export function cutFault(head: LogHead, recordedEnd: LogHead | null): Extract<ChainOutcome, { readonly ok: false }> | null {
  if (recordedEnd === null || recordedEnd.lines <= head.lines) return null;
  return { ok: false, line: head.lines + 1, reason: `the log ends here, and had ${recordedEnd.lines} lines already` };
}

/** The first line of a segment with its newline. Null: it is incomplete. */
export function firstLine(file: string): Buffer | null {
  const [first] = pieces(file, maxLineBytes);
  const end = first?.indexOf(newline) ?? -1;
  return first === undefined || end < 0 ? null : first.subarray(0, end + 1);
}

/** The id of the log that a segment belongs to, unchecked. */
export function logIdOf(file: string): string | null {
  const entry = parseEntry(firstLine(file)?.toString('utf8', macDigits + 1) ?? '');
  return entry?.event === 'begin' || entry?.event === 'segment' ? entry.logId : null;
}

function parseEntry(json: string): AuditEntry | null {
  try {
    return JSON.parse(json) as AuditEntry;
  } catch {
    return null;
  }
}

function* pieces(file: string, pieceBytes = chunkBytes): Generator<Buffer> {
  const fd = openSync(file, 'r');
  try {
    const size = fstatSync(fd).size;
    for (let at = 0; at < size;) {
      const piece = Buffer.allocUnsafe(Math.min(pieceBytes, size - at));
      const read = readSync(fd, piece, 0, piece.length, at);
      if (read === 0) return;
      at += read;
      yield piece.subarray(0, read);
    }
  } finally {
    closeSync(fd);
  }
}
