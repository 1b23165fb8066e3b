import { streamLimits } from '@sluice/shared/wire/limits.ts';

/** Bytes that wait in this process for all clients together; beyond it those for whom most waits are cut … */
export const maxWaitingBytes = 256 * 1024 * 1024;
/** … until no more than this is left. */
const keptBytes = (maxWaitingBytes * 3) / 4;
/** A socket that was closed gives back what waited for it when it was read, or after this long. */
const closingMs = 8_000;

interface Watched {
  bufferedBytes(): number;
}

/** What waits for clients, for each and for all together: looked at slice by slice, as there are many of them. */
export class BufferWatch<T extends Watched> {
  /** Of each slice, as of its last look. */
  readonly #bytes: Float64Array;
  #closing: { readonly bytes: number; readonly untilMs: number }[] = [];

  constructor(slices: number) {
    this.#bytes = new Float64Array(slices);
  }

  /** In all, with what may still wait for sockets that were closed. */
  get bytes(): number {
    return this.#bytes.reduce((sum, bytes) => sum + bytes, 0) + this.#closing.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Those of a slice for whom too much waits; they are to be closed. */
  look(slice: number, members: Iterable<T>, nowMs: number): readonly T[] {
    const slow: T[] = [];
    let waiting = 0;
    if (this.#closing.length > 0) this.#closing = this.#closing.filter(({ untilMs }) => untilMs > nowMs);
    for (const member of members) {
      const bytes = member.bufferedBytes();
      if (bytes <= streamLimits.softBufferBytes) waiting += bytes;
      else {
        slow.push(member);
        this.#closing.push({ bytes, untilMs: nowMs + closingMs });
      }
    }
    this.#bytes[slice] = waiting;
    return slow;
  }

  /** Those that are to be cut so that little enough is left: who has most first. */
  shed(slices: readonly Iterable<T>[]): readonly T[] {
    const held = slices.flatMap((members, slice) => Array.from(members, (member) => ({ member, slice, bytes: member.bufferedBytes() })));
    this.#bytes.fill(0);
    for (const { slice, bytes } of held) this.#bytes[slice]! += bytes;
    const cut: T[] = [];
    for (const { member, slice, bytes } of held.toSorted((a, b) => b.bytes - a.bytes)) {
      if (bytes === 0 || this.bytes <= keptBytes) break;
      cut.push(member);
      this.#bytes[slice]! -= bytes;
    }
    return cut;
  }
}
