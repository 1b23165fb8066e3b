interface WaitingMessage {
  readonly bytes: Uint8Array;
  readonly binary: boolean;
}

/** What a message costs in addition to its bytes. */
const overheadBytes = 256;

/** The space for the delayed messages of all keys, or of all addresses. */
export interface DelayedSpace {
  readonly spaceBytes: number;
  readonly maxShareBytes: number;
  usedBytes: number;
}

/**
 * The part of a space that one key or one address uses: at most `maxShareBytes`, and at most as much as is still free. So a few that take all
 * they can leave space for others: one alone half of it, two a third.
 */
export class DelayedShare {
  readonly #space: DelayedSpace;
  #bytes = 0;

  constructor(space: DelayedSpace) {
    this.#space = space;
  }

  hasRoom(more: number): boolean {
    const { spaceBytes, maxShareBytes, usedBytes } = this.#space;
    return this.#bytes + more <= Math.min(maxShareBytes, spaceBytes - usedBytes);
  }

  count(bytes: number): void {
    this.#bytes += bytes;
    this.#space.usedBytes += bytes;
  }
}

/** The messages of one connection that wait, in order. Bounded: one more is refused. */
export class WaitingMessages {
  readonly #bounds: { readonly messages: number; readonly bytes: number };
  readonly #messages: WaitingMessage[] = [];
  #share: DelayedShare | null;
  #bytes = 0;
  cancelTimer = (): void => undefined;

  /** `share`: null if the messages count for no key and no address. */
  constructor(bounds: { readonly messages: number; readonly bytes: number }, share: DelayedShare | null) {
    this.#bounds = bounds;
    this.#share = share;
  }

  get first(): WaitingMessage | undefined {
    return this.#messages[0];
  }

  /** Copies the bytes. Returns false if there is no space. */
  add(bytes: Uint8Array, binary: boolean): boolean {
    const size = bytes.byteLength + overheadBytes;
    const isFull = this.#messages.length >= this.#bounds.messages || this.#bytes + size > this.#bounds.bytes;
    if (isFull || this.#share?.hasRoom(size) === false) return false;
    this.#messages.push({ bytes: Uint8Array.from(bytes), binary });
    this.#count(size);
    return true;
  }

  removeFirst(): void {
    const first = this.#messages.shift();
    if (first !== undefined) this.#count(-first.bytes.byteLength - overheadBytes);
  }

  /** The connection has authenticated: its messages now count for its key. */
  moveTo(share: DelayedShare): void {
    this.#share?.count(-this.#bytes);
    this.#share = share;
    share.count(this.#bytes);
  }

  /** Drops all messages, because the connection has closed. */
  end(): void {
    this.cancelTimer();
    this.#count(-this.#bytes);
    this.#messages.length = 0;
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    this.#share?.count(bytes);
  }
}
