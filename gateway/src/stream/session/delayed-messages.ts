interface DelayedMessage {
  readonly bytes: Uint8Array;
  readonly binary: boolean;
}

/** Messages of one connection that may wait. */
const maxMessages = 5_000;
/** Bytes of the messages of one connection that may wait, and of those of all connections. */
const maxBytes = 1024 * 1024;
const maxBytesOfAll = 64 * 1024 * 1024;
/** What a message costs in addition to its bytes. */
const overheadBytes = 256;

function sizeOf({ bytes }: Pick<DelayedMessage, 'bytes'>): number {
  return bytes.byteLength + overheadBytes;
}

/** The messages of one connection that wait for its rate, in order. Bounded: one more is refused. */
export class DelayedMessages {
  readonly #messages: DelayedMessage[] = [];
  readonly #all: { bytes: number };
  #next = 0;
  #bytes = 0;
  cancelTimer = (): void => undefined;

  /** `all`: the bytes that wait on all connections. */
  constructor(all: { bytes: number }) {
    this.#all = all;
  }

  get first(): DelayedMessage | undefined {
    return this.#messages[this.#next];
  }

  /** Copies the bytes. Returns false if there is no space. */
  add(bytes: Uint8Array, binary: boolean): boolean {
    const size = sizeOf({ bytes });
    const full = this.#messages.length - this.#next >= maxMessages || this.#bytes + size > maxBytes;
    if (full || this.#all.bytes + size > maxBytesOfAll) return false;
    this.#messages.push({ bytes: Uint8Array.from(bytes), binary });
    this.#count(size);
    return true;
  }

  removeFirst(): void {
    if (this.first !== undefined) this.#count(-sizeOf(this.first));
    this.#next++;
    if (this.#next < maxMessages) return;
    this.#messages.splice(0, this.#next);
    this.#next = 0;
  }

  /** Drops all messages, because the connection has closed. */
  end(): void {
    this.cancelTimer();
    this.#count(-this.#bytes);
    this.#messages.length = 0;
    this.#next = 0;
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    this.#all.bytes += bytes;
  }
}
