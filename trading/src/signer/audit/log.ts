import { closeSync, constants, fdatasync, fdatasyncSync, fstatSync, fsyncSync, ftruncateSync, openSync, rmSync, writeSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import type { LogHead } from '../wire/protocol.ts';
import { auditLine, checkChain, cutFault, firstLine, macOf, noMac, type RecordedEndOf } from './mac-chain.ts';
import type { AuditEntry, NewEntry, SpendSum } from './entry.ts';
import { findTail, segmentFile, type LogFault, type LogName } from './segments.ts';

/** Length at which a new segment begins. So a signing process reads about 10,000 decisions at most when it starts. */
export const segmentBytes = 4 << 20;
/** Maximum number of sums in one line, so that a line stays below the length limit of the reader. */
const sumsInLine = 16;

/** Somebody else changed the log, or it cannot be written. Nothing more is signed. */
export class AuditError extends Error {}

/** The sums over all earlier segments. */
export interface SegmentSums {
  readonly sums: readonly SpendSum[];
  readonly policyVersion: number;
}

/** The audit log, open for appending. Throws `AuditError` or the file system's error. */
export interface AuditLog {
  readonly logId: string;
  /** The number of written lines and the MAC of the last one. */
  readonly head: LogHead;
  /** Whether the newest segment has reached its length. */
  readonly isFull: boolean;
  /** Adds a line in memory, and returns its number. */
  add(entry: NewEntry): number;
  /** Writes the added lines to the file, so that they survive the end of this process. */
  write(): void;
  /** Flushes the file: the written lines survive a power failure when it returns. */
  sync(): void;
  /** As `sync`, without blocking: everything written before the call is on the disk when it resolves. */
  flush(): Promise<void>;
  /** Begins a new segment. Call `write` first. When this function returns, all lines are on the disk. */
  beginSegment(sums: SegmentSums): void;
  close(): void;
}

export interface AuditOptions extends LogName {
  readonly key: Uint8Array;
  readonly keystore: string;
  /** Returns the recorded end of a log. */
  readonly recordedEnd: RecordedEndOf;
  /** Called with every entry of the newest segment, in order. */
  readonly seen: (entry: AuditEntry) => void;
  readonly segmentBytes: number;
  readonly nowMs: () => number;
}

export type OpenedAudit = { readonly ok: true; readonly log: AuditLog; readonly torn: number } | LogFault;

/**
 * Checks the newest segment, calls `seen` with its entries, removes an incomplete last line, and opens the segment at its end. Creates
 * the log if it does not exist.
 */
export function openAuditLog(options: AuditOptions): OpenedAudit {
  const { key, seen, recordedEnd } = options;
  const first = segmentFile(options, 0);
  const tail = findTail(options, key);
  if (tail === null || (tail.ok && tail.segment === 0 && firstLine(tail.file) === null)) begin(options, first);
  else if (!tail.ok) return tail;
  else if (tail.unfinished !== null) rmSync(tail.unfinished);
  const file = tail?.ok === true ? tail.file : first;
  const chain = checkChain(file, key, recordedEnd, seen);
  if (!chain.ok) return { file, ...chain };
  const logId = chain.logId ?? '';
  const cut = cutFault(chain.head, recordedEnd(logId));
  if (cut !== null) return { file, ...cut };
  const fd = openSync(file, constants.O_WRONLY | constants.O_APPEND);
  if (chain.torn > 0) ftruncateSync(fd, chain.bytes);
  return { ok: true, log: appender(options, { ...chain, logId, fd, segment: tail?.ok === true ? tail.segment : 0 }), torn: chain.torn };
}

/** Writes the first line of a log. Overwrites an incomplete first line. */
function begin(options: AuditOptions, file: string): void {
  const logId = randomBytes(12).toString('hex');
  const fd = openSync(file, constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND, 0o600);
  ftruncateSync(fd, 0);
  const log = appender(options, { logId, fd, segment: 0, head: { lines: 0, mac: noMac }, bytes: 0 });
  log.add({ event: 'begin', logId, keystore: options.keystore, atMs: options.nowMs() });
  log.write();
  log.sync();
  log.close();
  syncFolder(options.folder);
}

interface End {
  readonly logId: string;
  readonly fd: number;
  readonly segment: number;
  readonly head: LogHead;
  readonly bytes: number;
}

function appender(options: AuditOptions, end: End): AuditLog {
  const { key, folder, keystore } = options;
  let { fd, segment, bytes, head: written } = end;
  let added = end.head;
  let pending = '';
  let flushes = 0;
  /** File descriptors of full segments. They stay open while a flush is in progress. */
  let full: number[] = [];
  const closeFull = (): void => {
    if (flushes > 0) return;
    for (const one of full) closeSync(one);
    full = [];
  };
  const add = (entry: NewEntry): number => {
    const json = JSON.stringify({ n: added.lines + 1, ...entry });
    added = { lines: added.lines + 1, mac: macOf(key, added.mac, json) };
    pending += auditLine(added.mac, json);
    return added.lines;
  };
  const write = (): void => {
    if (pending === '') return;
    // If two processes wrote to one log, the chain would break for both.
    if (fstatSync(fd).size !== bytes) throw new AuditError('somebody else has written to the audit log');
    const block = Buffer.from(pending);
    pending = '';
    for (let at = 0; at < block.length;) at += writeSync(fd, block, at);
    bytes += block.length;
    written = added;
  };
  return {
    logId: end.logId,
    get head() {
      return written;
    },
    get isFull() {
      return bytes >= options.segmentBytes;
    },
    add,
    write,
    sync: () => fdatasyncSync(fd),
    flush: () =>
      new Promise((resolve, reject) => {
        flushes++;
        fdatasync(fd, (error) => {
          flushes--;
          closeFull();
          if (error === null) resolve();
          else reject(error);
        });
      }),
    beginSegment: ({ sums, policyVersion }) => {
      if (pending !== '') throw new AuditError('beginSegment was called before the added lines were written');
      fdatasyncSync(fd);
      const next = openSync(
        segmentFile(options, segment + 1),
        constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_APPEND,
        0o600,
      );
      full.push(fd);
      const before = Buffer.from(written.mac).toString('hex');
      const lines = Math.ceil(sums.length / sumsInLine);
      add({
        event: 'segment',
        logId: end.logId,
        keystore,
        segment: segment + 1,
        before,
        bytes,
        sums: lines,
        policyVersion,
        atMs: options.nowMs(),
      });
      for (let at = 0; at < sums.length; at += sumsInLine) add({ event: 'sums', sums: sums.slice(at, at + sumsInLine) });
      [fd, segment, bytes] = [next, segment + 1, 0];
      write();
      fdatasyncSync(fd);
      syncFolder(folder);
      closeFull();
    },
    close: () => {
      for (const one of [...full, fd]) closeSync(one);
    },
  };
}

/** Flushes a folder, so that the name of a new file survives a power failure. */
function syncFolder(folder: string): void {
  const fd = openSync(folder, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
