import type { LogMessage } from './message.ts';

/** Bytes of live messages that wait while history is read. */
const maxPendingBytes = 32 * 1024 * 1024;

/**
 * Live messages that wait until the history is read up to them. Beyond `maxBytes` all are dropped and `overflowed` is set: they must then be
 * read from the log.
 */
export class PendingMessages {
  overflowed = false;
  readonly #maxBytes: number;
  #messages: LogMessage[] = [];
  #bytes = 0;

  constructor(maxBytes: number = maxPendingBytes) {
    this.#maxBytes = maxBytes;
  }

  get length(): number {
    return this.#messages.length;
  }

  push(message: LogMessage): void {
    if (this.#bytes + message.bytes > this.#maxBytes) {
      this.clear();
      this.overflowed = true;
      return;
    }
    this.#messages.push(message);
    this.#bytes += message.bytes;
  }

  /** Removes messages from the front as long as `take` returns true. */
  drain(take: (message: LogMessage) => boolean): void {
    let count = 0;
    for (const message of this.#messages) {
      if (!take(message)) break;
      this.#bytes -= message.bytes;
      count += 1;
    }
    this.#messages.splice(0, count);
  }

  /** Of the first `count` messages, drops those of another epoch. */
  dropOtherEpochs(epoch: string, count: number): void {
    this.#messages = this.#messages.filter((message, index) => index >= count || message.epoch === epoch);
    this.#bytes = this.#messages.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  clear(): void {
    this.#messages = [];
    this.#bytes = 0;
  }
}
