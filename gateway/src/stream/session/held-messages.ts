interface Held {
  readonly bytes: Uint8Array;
  readonly binary: boolean;
}

/** Messages of one client that wait while it is judged. */
const maxMessages = 64;
/** Bytes of those. */
const maxBytes = 64 * 1024;

/** Keeps, in order, what a client sends while its key is judged; beyond the bounds it takes no more. */
export class HeldMessages {
  readonly #messages: Held[] = [];
  #bytes = 0;

  /** False where there is no room; the bytes are copied. */
  add(bytes: Uint8Array, binary: boolean): boolean {
    this.#bytes += bytes.byteLength;
    if (this.#messages.length === maxMessages || this.#bytes > maxBytes) return false;
    this.#messages.push({ bytes: Uint8Array.from(bytes), binary });
    return true;
  }

  all(): readonly Held[] {
    return this.#messages;
  }
}
