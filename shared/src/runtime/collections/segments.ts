/** Bytes of one segment. */
export const segmentBytes = 4 * 1024 * 1024;

/**
 * Memory in large pieces, for data that has its own bound and is removed in order of arrival. Returned pieces are reused, so no view of
 * them may be used afterwards. It is shared memory, which the engine does not count: for every 64 MB of other buffers, the engine scans the
 * whole heap for garbage, and here there is none.
 */
export class Segments {
  readonly #spare: Buffer[] = [];

  /** A piece of `segmentBytes`, or of this size if it is larger. Its content is undefined. */
  take(bytes: number): Buffer {
    if (bytes > segmentBytes) return allocate(bytes);
    return this.#spare.pop() ?? allocate(segmentBytes);
  }

  give(segment: Buffer): void {
    if (segment.length === segmentBytes) this.#spare.push(segment);
  }
}

/** The segment that contains `index`, which must be in one of them. They are ordered by their first indexes. */
export function segmentOf<Segment extends { readonly firstIndex: number }>(segments: readonly Segment[], index: number): Segment {
  let low = 0;
  let high = segments.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (segments[middle]!.firstIndex <= index) low = middle;
    else high = middle - 1;
  }
  return segments[low]!;
}

function allocate(bytes: number): Buffer {
  return Buffer.from(new SharedArrayBuffer(bytes));
}
