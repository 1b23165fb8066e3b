interface PendingMessage {
  readonly bytes: Uint8Array;
  readonly binary: boolean;
}

const maxMessages = 64;
const maxBytes = 64 * 1024;

/** The messages that a client sends while its key is checked, in order. Bounded: one more is refused. */
export class PendingMessages {
  readonly #messages: PendingMessage[] = [];
  #bytes = 0;

  /** Copies the bytes. Returns false if there is no space. */
  add(bytes: Uint8Array, binary: boolean): boolean {
    this.#bytes += bytes.byteLength;
    if (this.#messages.length === maxMessages || this.#bytes > maxBytes) return false;
    this.#messages.push({ bytes: Uint8Array.from(bytes), binary });
    return true;
  }

  all(): readonly PendingMessage[] {
    return this.#messages;
  }
}
