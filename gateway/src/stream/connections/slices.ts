import type { Connection } from '../session/connection.ts';

/** A second has this many ticks. Each tick serves one slice of the connections, so that no event waits for all of them. */
export const sliceCount = 100;

/** All open connections, by the slice of a second in which they are served. */
export class Slices {
  readonly #slices: readonly Set<Connection>[] = Array.from({ length: sliceCount }, () => new Set<Connection>());
  #size = 0;

  get size(): number {
    return this.#size;
  }

  at(slice: number): ReadonlySet<Connection> {
    return this.#slices[slice]!;
  }

  each(): readonly ReadonlySet<Connection>[] {
    return this.#slices;
  }

  *all(): Generator<Connection> {
    for (const slice of this.#slices) yield* slice;
  }

  add(connection: Connection): void {
    this.#slices[connection.slice]!.add(connection);
    this.#size++;
  }

  delete(connection: Connection): void {
    this.#slices[connection.slice]!.delete(connection);
    this.#size--;
  }
}
