import { streamLimits } from '@sluice/shared/wire/stream/limits.ts';

/** Bytes buffered in this process for all clients. Above this bound, the clients with the fullest buffers are cut. */
export const maxBufferedBytes = 256 * 1024 * 1024;
/** Clients are cut until at most this number of bytes is left. */
const bytesAfterShedding = (maxBufferedBytes * 3) / 4;
/** The buffer of a closed socket is freed when the client has read it, or after this time. */
const closingMs = 8_000;

interface Watched {
  bufferedBytes(): number;
}

/** Watches the bytes buffered for each client and for all clients together, one slice of the clients at a time. */
export class BufferWatch<T extends Watched> {
  /** Bytes of each slice, as of its last check. */
  readonly #bytes: Float64Array;
  #closing: { readonly bytes: number; readonly untilMs: number }[] = [];

  constructor(slices: number) {
    this.#bytes = new Float64Array(slices);
  }

  /** Bytes of all clients, including sockets that were closed and may not be freed yet. */
  get bytes(): number {
    return this.#bytes.reduce((sum, bytes) => sum + bytes, 0) + this.#closing.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Checks a slice and returns its slow members. The caller must close them. */
  check(slice: number, members: Iterable<T>, nowMs: number): readonly T[] {
    const slow: T[] = [];
    let buffered = 0;
    if (this.#closing.length > 0) this.#closing = this.#closing.filter(({ untilMs }) => untilMs > nowMs);
    for (const member of members) {
      const bytes = member.bufferedBytes();
      if (bytes <= streamLimits.softBufferBytes) buffered += bytes;
      else {
        slow.push(member);
        this.#closing.push({ bytes, untilMs: nowMs + closingMs });
      }
    }
    this.#bytes[slice] = buffered;
    return slow;
  }

  /** The members to cut until enough memory is free, fullest buffer first. */
  shed(slices: readonly Iterable<T>[]): readonly T[] {
    const all = slices.flatMap((members, slice) => Array.from(members, (member) => ({ member, slice, bytes: member.bufferedBytes() })));
    this.#bytes.fill(0);
    for (const { slice, bytes } of all) this.#bytes[slice]! += bytes;
    const cut: T[] = [];
    for (const { member, slice, bytes } of all.toSorted((a, b) => b.bytes - a.bytes)) {
      if (bytes === 0 || this.bytes <= bytesAfterShedding) break;
      cut.push(member);
      this.#bytes[slice]! -= bytes;
    }
    return cut;
  }
}
