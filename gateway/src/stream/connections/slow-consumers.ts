import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import { streamLimits } from '@sluice/shared/wire/stream/limits.ts';
import type { StreamStats } from '../fanout/stream-stats.ts';
import type { Connection } from '../session/connection.ts';
import { sliceCount, type Slices } from './slices.ts';

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

/** After this many published bytes all connections are checked at once: well below the distance from the soft to the hard bound. */
const checkAfterBytes = 4 * 1024 * 1024;

/** Closes clients that read too slowly. They can resume. */
export class SlowConsumers {
  readonly #slices: Slices;
  readonly #stats: StreamStats;
  readonly #clock: Clock;
  readonly #buffers = new BufferWatch<Connection>(sliceCount);
  /** Connections for which a message was dropped. Nothing more may be sent to them, because the client would not see the loss. */
  readonly #dropped = new Set<Connection>();
  #cutting: NodeJS.Immediate | null = null;
  #checkedAtBytes = 0;

  constructor(slices: Slices, stats: StreamStats, clock: Clock) {
    this.#slices = slices;
    this.#stats = stats;
    this.#clock = clock;
  }

  /** Bytes buffered for all connections, as of the last second. */
  get bufferedBytes(): number {
    return this.#buffers.bytes;
  }

  onDropped(connection: Connection): void {
    this.#stats.drops++;
    this.#dropped.add(connection);
    // The transport allows no close within its call. `cutDropped` also runs before anything else is published.
    this.#cutting ??= setImmediate(() => this.cutDropped());
  }

  onClose(connection: Connection): void {
    this.#dropped.delete(connection);
  }

  /** Cuts the connections for which a message was dropped. Call it before anything is published or a command is carried out. */
  cutDropped(): void {
    if (this.#cutting === null) return;
    clearImmediate(this.#cutting);
    this.#cutting = null;
    for (const connection of this.#dropped) {
      this.#stats.slowCloses++;
      connection.close('SLOW_CONSUMER', 'slow consumer');
      connection.destroy();
    }
    this.#dropped.clear();
  }

  /** Closes the slow consumers of one slice. A close frame still fits below the hard bound. */
  check(slice: number): void {
    for (const connection of this.#buffers.check(slice, this.#slices.at(slice), this.#clock.steadyMs())) {
      this.#stats.slowCloses++;
      connection.close('SLOW_CONSUMER', 'slow consumer');
    }
    if (this.#buffers.bytes <= maxBufferedBytes) return;
    for (const connection of this.#buffers.shed(this.#slices.each())) {
      this.#stats.slowCloses++;
      // After a close frame the buffered bytes would stay until the client reads them.
      connection.destroy();
    }
  }

  /** Checks all connections if much was published since the last time. */
  checkAfterPublishing(): void {
    if (this.#stats.publishedBytes - this.#checkedAtBytes <= checkAfterBytes) return;
    for (let slice = 0; slice < sliceCount; slice++) this.check(slice);
    this.#checkedAtBytes = this.#stats.publishedBytes;
  }

  close(): void {
    if (this.#cutting !== null) clearImmediate(this.#cutting);
    this.#cutting = null;
  }
}
