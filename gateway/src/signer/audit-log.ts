import {
  closeSync,
  constants,
  existsSync,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  writeSync,
} from 'node:fs';
import { randomBytes } from 'node:crypto';
import { dirname } from 'node:path';
import { auditLine, checkChain, logIdOf, macOf, noMac, type AuditEntry } from './audit-chain.ts';
import type { LogHead } from './protocol.ts';

/** The log is not as this process left it, or cannot be added to. Nothing is signed any more. */
export class AuditError extends Error {}

type NewEntry = AuditEntry extends infer Entry ? (Entry extends AuditEntry ? Omit<Entry, 'n'> : never) : never;

/** The audit log, open at its end. Throws `AuditError`, or what the file system throws. */
export interface AuditLog {
  /** How far it is written. */
  readonly head: LogHead;
  /** Adds a line in memory. */
  add(entry: NewEntry): void;
  /** Writes what was added: whatever becomes of this process, it is in the file. */
  write(): void;
  /** What was written outlives the machine's power when it returns. */
  sync(): void;
  /** The same, while the process goes on: what was written before the call is on the disk when it resolves. */
  flush(): Promise<void>;
  close(): void;
}

export type OpenedAudit =
  | { readonly ok: true; readonly log: AuditLog; readonly torn: number }
  | { readonly ok: false; readonly line: number; readonly reason: string };

/** The id of the log in `file`; begins one where there is none, or nothing whole in it. */
export function auditLogId(file: string, key: Uint8Array, keystore: string, atMs: number): string {
  const known = existsSync(file) ? logIdOf(file) : null;
  if (known !== null) return known;
  const logId = randomBytes(12).toString('hex');
  const fd = openSync(file, constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND, 0o600);
  try {
    // A first line that was being written; whole lines without a beginning are a damage that the check finds.
    if (!fileHasLines(file)) ftruncateSync(fd, 0);
    const log = appender(fd, key, { lines: 0, mac: noMac }, fstatSync(fd).size);
    log.add({ event: 'begin', logId, keystore, atMs });
    log.write();
    log.sync();
  } finally {
    closeSync(fd);
  }
  syncFolder(dirname(file));
  return logId;
}

/** Checks the whole log, tells its entries to `seen`, and opens it at the end; a line that was being written is cut off. */
export function openAuditLog(file: string, key: Uint8Array, head: LogHead | null, seen: (entry: AuditEntry) => void): OpenedAudit {
  const chain = checkChain(file, key, head, seen);
  if (!chain.ok) return chain;
  const fd = openSync(file, constants.O_WRONLY | constants.O_APPEND);
  if (chain.torn > 0) ftruncateSync(fd, chain.bytes);
  return { ok: true, log: appender(fd, key, chain.head, chain.bytes), torn: chain.torn };
}

function appender(fd: number, key: Uint8Array, from: LogHead, size: number): AuditLog {
  let written = from;
  let added = from;
  let bytes = size;
  let pending = '';
  return {
    get head() {
      return written;
    },
    add: (entry) => {
      const json = JSON.stringify({ n: added.lines + 1, ...entry });
      added = { lines: added.lines + 1, mac: macOf(key, added.mac, json) };
      pending += auditLine(added.mac, json);
    },
    write: () => {
      if (pending === '') return;
      // Two processes on one log would break the chain for both.
      if (fstatSync(fd).size !== bytes) throw new AuditError('somebody else has written to the audit log');
      const block = Buffer.from(pending);
      pending = '';
      for (let at = 0; at < block.length;) at += writeSync(fd, block, at);
      bytes += block.length;
      written = added;
    },
    sync: () => fdatasyncSync(fd),
    flush: () => new Promise((resolve, reject) => fdatasync(fd, (error) => (error === null ? resolve() : reject(error)))),
    close: () => closeSync(fd),
  };
}

function fileHasLines(file: string): boolean {
  return !checkChain(file, noMac, null, () => undefined).ok;
}

/** So that a new file's name survives a loss of power. */
function syncFolder(folder: string): void {
  const fd = openSync(folder, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
