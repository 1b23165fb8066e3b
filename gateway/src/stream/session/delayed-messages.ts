interface DelayedMessage {
  readonly bytes: Uint8Array;
  readonly binary: boolean;
}

/** Messages of one connection that may wait, and their bytes. */
const maxMessages = 5_000;
const maxBytes = 1024 * 1024;
/** What a message costs in addition to its bytes. */
const overheadBytes = 256;

function sizeOf({ bytes }: Pick<DelayedMessage, 'bytes'>): number {
  return bytes.byteLength + overheadBytes;
}

/**
 * The space for the messages of many keys, or of many addresses, that wait. One of them has at most `maxShareBytes`, and at most as much as is
 * still free. So a few that take all they can leave space for others: one alone half of it, two a third.
 */
export class DelayedSpace {
  readonly #spaceBytes: number;
  readonly #maxShareBytes: number;
  #bytes = 0;

  constructor(spaceBytes: number, maxShareBytes: number) {
    this.#spaceBytes = spaceBytes;
    this.#maxShareBytes = maxShareBytes;
  }

  hasRoom(shareBytes: number, more: number): boolean {
    return shareBytes + more <= Math.min(this.#maxShareBytes, this.#spaceBytes - this.#bytes);
  }

  count(bytes: number): void {
    this.#bytes += bytes;
  }
}

/** The part of a space that one key or one address uses. */
export class DelayedShare {
  readonly #space: DelayedSpace;
  #bytes = 0;

  constructor(space: DelayedSpace) {
    this.#space = space;
  }

  hasRoom(more: number): boolean {
    return this.#space.hasRoom(this.#bytes, more);
  }

  count(bytes: number): void {
    this.#bytes += bytes;
    this.#space.count(bytes);
  }
}

/** The messages of one connection that wait for its rate, in order. Bounded: one more is refused. */
export class DelayedMessages {
  readonly #messages: DelayedMessage[] = [];
  #share: DelayedShare;
  #next = 0;
  #bytes = 0;
  cancelTimer = (): void => undefined;

  constructor(share: DelayedShare) {
    this.#share = share;
  }

  get first(): DelayedMessage | undefined {
    return this.#messages[this.#next];
  }

  /** Copies the bytes. Returns false if there is no space. */
  add(bytes: Uint8Array, binary: boolean): boolean {
    const size = sizeOf({ bytes });
    const full = this.#messages.length - this.#next >= maxMessages || this.#bytes + size > maxBytes;
    if (full || !this.#share.hasRoom(size)) return false;
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

  /** The connection has authenticated: its messages now count for its key. */
  moveTo(share: DelayedShare): void {
    this.#share.count(-this.#bytes);
    this.#share = share;
    share.count(this.#bytes);
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
    this.#share.count(bytes);
  }
}
