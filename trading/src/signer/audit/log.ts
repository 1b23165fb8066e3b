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

/** Opens a log at the end of its newest segment, after it was checked and an incomplete last line was removed. Creates a missing log. */
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
  return { ok: true, log: new AuditLog(options, { ...chain, logId, fd, segment: tail?.ok === true ? tail.segment : 0 }), torn: chain.torn };
}

/** Writes the first line of a log. Overwrites an incomplete first line. */
function begin(options: AuditOptions, file: string): void {
  const logId = randomBytes(12).toString('hex');
  const fd = openSync(file, constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND, 0o600);
  ftruncateSync(fd, 0);
  const log = new AuditLog(options, { logId, fd, segment: 0, head: { lines: 0, mac: noMac }, bytes: 0 });
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

/** The audit log, open for appending. Throws `AuditError` or the file system's error. */
export class AuditLog {
  readonly logId: string;
  readonly #options: AuditOptions;
  #fd: number;
  #segment: number;
  #bytes: number;
  #written: LogHead;
  #added: LogHead;
  #pending = '';
  #flushes = 0;
  /** File descriptors of full segments. They stay open while a flush is in progress. */
  #full: number[] = [];

  constructor(options: AuditOptions, { logId, fd, segment, head, bytes }: End) {
    this.#options = options;
    this.logId = logId;
    this.#fd = fd;
    this.#segment = segment;
    this.#bytes = bytes;
    this.#written = head;
    this.#added = head;
  }

  /** The number of written lines and the MAC of the last one. */
  get head(): LogHead {
    return this.#written;
  }

  /** Whether the newest segment has reached its length. */
  get isFull(): boolean {
    return this.#bytes >= this.#options.segmentBytes;
  }

  /** Adds a line in memory, and returns its number. */
  add(entry: NewEntry): number {
    const lines = this.#added.lines + 1;
    const json = JSON.stringify({ n: lines, ...entry });
    this.#added = { lines, mac: macOf(this.#options.key, this.#added.mac, json) };
    this.#pending += auditLine(this.#added.mac, json);
    return lines;
  }

  /** Writes the added lines to the file, so that they survive the end of this process. */
  write(): void {
    if (this.#pending === '') return;
    // If two processes wrote to one log, the chain would break for both.
    if (fstatSync(this.#fd).size !== this.#bytes) throw new AuditError('somebody else has written to the audit log');
    const block = Buffer.from(this.#pending);
    this.#pending = '';
    for (let at = 0; at < block.length;) at += writeSync(this.#fd, block, at);
    this.#bytes += block.length;
    this.#written = this.#added;
  }

  /** Flushes the file: the written lines survive a power failure when it returns. */
  sync(): void {
    fdatasyncSync(this.#fd);
  }

  /** As `sync`, without blocking: everything written before the call is on the disk when it resolves. */
  flush(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#flushes++;
      fdatasync(this.#fd, (error) => {
        this.#flushes--;
        this.#closeFull();
        if (error === null) resolve();
        else reject(error);
      });
    });
  }

  /** Begins a new segment. Call `write` first. When this function returns, all lines are on the disk. */
  beginSegment({ sums, policyVersion }: SegmentSums): void {
    if (this.#pending !== '') throw new AuditError('beginSegment was called before the added lines were written');
    this.sync();
    const { keystore, folder, nowMs } = this.#options;
    const { O_WRONLY, O_CREAT, O_EXCL, O_APPEND } = constants;
    const segment = this.#segment + 1;
    const next = openSync(segmentFile(this.#options, segment), O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0o600);
    this.#full.push(this.#fd);
    const [before, bytes] = [Buffer.from(this.#written.mac).toString('hex'), this.#bytes];
    const lines = Math.ceil(sums.length / sumsInLine);
    this.add({ event: 'segment', logId: this.logId, keystore, segment, before, bytes, sums: lines, policyVersion, atMs: nowMs() });
    for (let at = 0; at < sums.length; at += sumsInLine) this.add({ event: 'sums', sums: sums.slice(at, at + sumsInLine) });
    [this.#fd, this.#segment, this.#bytes] = [next, segment, 0];
    this.write();
    this.sync();
    syncFolder(folder);
    this.#closeFull();
  }

  close(): void {
    for (const one of [...this.#full, this.#fd]) closeSync(one);
  }

  #closeFull(): void {
    if (this.#flushes > 0) return;
    for (const one of this.#full) closeSync(one);
    this.#full = [];
  }
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
