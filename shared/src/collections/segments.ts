/** Bytes of one segment. */
export const segmentBytes = 4 * 1024 * 1024;

/**
 * Memory in large pieces for data that has a bound of its own and leaves in the order in which it came. Pieces that are given back are
 * used again, so no view of them may be held beyond that. It is shared memory, which the engine leaves out of its count: for every 64 MB of
 * other buffers it looks through the whole heap for garbage, of which there is none here.
 */
export class Segments {
  readonly #spare: Buffer[] = [];

  /** One of `segmentBytes`, or of so many where that is more; its content has no meaning. */
  take(bytes: number): Buffer {
    if (bytes > segmentBytes) return allocate(bytes);
    return this.#spare.pop() ?? allocate(segmentBytes);
  }

  give(segment: Buffer): void {
    if (segment.length === segmentBytes) this.#spare.push(segment);
  }
}

/** The segment that holds `index`, which is in one of them. They are ordered by their first indexes. */
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
