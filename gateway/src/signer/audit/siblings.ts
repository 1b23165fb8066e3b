import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { Fault } from '../fault.ts';
import type { LogHead } from '../protocol.ts';
import { ChainReader, cutFault, type Noted } from './chain.ts';
import type { AuditEntry } from './entry.ts';
import { findTail, isBegun, maxSlots, segmentFile, slotName, type LogName } from './segments.ts';

const pieceBytes = 1 << 18;

/** The audit logs of the other signing processes on a folder. Throws a `Fault` where one is damaged, or what the file system throws. */
export interface Siblings {
  /** Tells `seen` what the others wrote since; their newest segments whole at the first time. Whether there was anything. */
  read(): boolean;
  close(): void;
}

export interface SiblingsOptions {
  readonly folder: string;
  readonly keystore: string;
  readonly ownSlot: number;
  readonly key: Uint8Array;
  readonly noted: Noted;
  readonly seen: (entry: AuditEntry) => void;
}

/**
 * Follows the logs of all other slots. A signing process writes its own line first, then reads the others: of two processes that sign at
 * the same moment one at least sees the line of the other. A lock file stands for each slot before anything of it is written, and slots
 * are taken from the lowest on, so that one look at the next lock file finds a process that is new.
 */
export function followSiblings(options: SiblingsOptions): Siblings {
  const { folder, keystore, ownSlot } = options;
  const logs: SiblingLog[] = [];
  let slots = 0;
  return {
    read: () => {
      for (; slots < maxSlots && existsSync(join(folder, `${keystore}-${slots}.lock`)); slots++) {
        if (slots !== ownSlot) logs.push(new SiblingLog({ folder, name: slotName(keystore, slots) }, options));
      }
      let any = false;
      for (const log of logs) if (log.read()) any = true;
      return any;
    },
    close: () => {
      for (const log of logs) log.close();
    },
  };
}

class SiblingLog {
  readonly #log: LogName;
  readonly #options: SiblingsOptions;
  readonly #piece = Buffer.allocUnsafe(pieceBytes);
  #segment = 0;
  #fd: number | null = null;
  #at = 0;
  #reader: ChainReader | null = null;

  constructor(log: LogName, options: SiblingsOptions) {
    [this.#log, this.#options] = [log, options];
  }

  read(): boolean {
    if (this.#fd === null) return this.#open();
    let any = this.#readOn();
    // A segment that is full is written no more.
    for (
      let next = this.#segment + 1;
      existsSync(segmentFile(this.#log, next)) && isBegun(segmentFile(this.#log, next), this.#options.key, next);
      next++
    ) {
      any = this.#readOn() || any;
      this.#begin(next, this.#reader?.state.head ?? null);
      any = this.#readOn() || any;
    }
    return any;
  }

  close(): void {
    if (this.#fd !== null) closeSync(this.#fd);
    this.#fd = null;
  }

  #open(): boolean {
    const tail = findTail(this.#log, this.#options.key);
    if (tail === null) return false;
    if (!tail.ok) throw new Fault('audit_damaged', `${tail.file}: line ${tail.line} ${tail.reason}`);
    this.#begin(tail.segment, null);
    const any = this.#readOn();
    const state = this.#reader?.state;
    const noted = state?.logId == null ? null : this.#options.noted(state.logId);
    const cut = state === undefined ? null : cutFault(state.head, noted);
    if (cut !== null) throw new Fault('audit_damaged', `${tail.file}: line ${cut.line} ${cut.reason}`);
    return any;
  }

  #begin(segment: number, from: LogHead | null): void {
    this.close();
    this.#fd = openSync(segmentFile(this.#log, segment), 'r');
    [this.#segment, this.#at] = [segment, 0];
    this.#reader = new ChainReader(this.#options.key, this.#options.seen, this.#options.noted, from);
  }

  #readOn(): boolean {
    const [fd, reader] = [this.#fd, this.#reader];
    if (fd === null || reader === null) return false;
    const { size } = fstatSync(fd);
    if (size < this.#at) throw new Fault('audit_damaged', `${segmentFile(this.#log, this.#segment)} was cut`);
    const from = this.#at;
    while (this.#at < size) {
      const read = readSync(fd, this.#piece, 0, Math.min(pieceBytes, size - this.#at), this.#at);
      if (read === 0) break;
      this.#at += read;
      const fault = reader.push(this.#piece.subarray(0, read));
      if (fault !== null)
        throw new Fault('audit_damaged', `${segmentFile(this.#log, this.#segment)}: line ${reader.state.head.lines + 1} ${fault}`);
    }
    // A line that is not whole yet is read again: where its process ended, the next one on that log cuts it off.
    this.#at = reader.rewind();
    return this.#at > from;
  }
}
