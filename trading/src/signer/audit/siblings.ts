import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { Fault, type LogHead } from '../wire/protocol.ts';
import { ChainReader, cutFault, type RecordedEndOf } from './mac-chain.ts';
import type { LineTimes } from './line-times.ts';
import { findTail, isBegun, logsIn, maxSlots, segmentFile, slotName, type LogName } from './segments.ts';

const pieceBytes = 1 << 18;

export interface SiblingsOptions {
  readonly folder: string;
  readonly keystore: string;
  readonly ownSlot: number;
  readonly key: Uint8Array;
  readonly recordedEnd: RecordedEndOf;
  /** Gets the lines of one log. */
  readonly times: () => LineTimes;
}

/**
 * The audit logs of the other signing processes on a folder. Throws a `Fault` if one is damaged, or the file system's error. A signing process first writes its own line and then reads the others. So of two processes that
 * sign at the same moment, at least one sees the other's line. The lock file of a slot is created before its log, and the lowest free
 * slot is used, so a new process is found by checking for the next lock file only. Logs that exist at the start always count, because lock
 * files may have been removed, or left out of a backup.
 */
export class Siblings {
  readonly #options: SiblingsOptions;
  readonly #logs: SiblingLog[] = [];
  readonly #lastLogged: number;
  #slots = 0;

  constructor(options: SiblingsOptions) {
    this.#options = options;
    const logged = logsIn(options.folder);
    this.#lastLogged = Array.from({ length: maxSlots }, (_, slot) => logged.has(slotName(options.keystore, slot))).lastIndexOf(true);
  }

  /** Reads the lines written since the last call (at first, those of the newest segments). Returns whether there were any. */
  read(): boolean {
    const { folder, keystore, ownSlot } = this.#options;
    for (; this.#slots < maxSlots; this.#slots++) {
      const name = slotName(keystore, this.#slots);
      if (this.#slots > this.#lastLogged && !existsSync(join(folder, `${name}.lock`))) break;
      if (this.#slots !== ownSlot) this.#logs.push(new SiblingLog({ folder, name }, this.#options));
    }
    return this.#logs.map((log) => log.read()).includes(true);
  }

  close(): void {
    for (const log of this.#logs) log.close();
  }
}

class SiblingLog {
  readonly #log: LogName;
  readonly #options: SiblingsOptions;
  readonly #times: LineTimes;
  readonly #piece = Buffer.allocUnsafe(pieceBytes);
  #segment = 0;
  #fd: number | null = null;
  #at = 0;
  #reader: ChainReader | null = null;

  constructor(log: LogName, options: SiblingsOptions) {
    [this.#log, this.#options, this.#times] = [log, options, options.times()];
  }

  read(): boolean {
    if (this.#fd === null) return this.#open();
    let any = this.#readOn();
    // A full segment is not written any more.
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
    const recordedEnd = state?.logId == null ? null : this.#options.recordedEnd(state.logId);
    const cut = state === undefined ? null : cutFault(state.head, recordedEnd);
    if (cut !== null) throw new Fault('audit_damaged', `${tail.file}: line ${cut.line} ${cut.reason}`);
    this.#times.end();
    return any;
  }

  #begin(segment: number, from: LogHead | null): void {
    this.close();
    this.#fd = openSync(segmentFile(this.#log, segment), 'r');
    [this.#segment, this.#at] = [segment, 0];
    this.#reader = new ChainReader(this.#options.key, (entry) => this.#times.seen(entry), this.#options.recordedEnd, from);
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
    // An incomplete line is read again later. If its process has ended, the next process on that log removes it.
    this.#at = reader.rewind();
    return this.#at > from;
  }
}
