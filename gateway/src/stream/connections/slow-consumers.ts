import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { StreamStats } from '../fanout/stream-stats.ts';
import type { Connection } from '../session/connection.ts';
import { BufferWatch, maxBufferedBytes } from './buffer-watch.ts';
import { sliceCount, type Slices } from './slices.ts';

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

  /** A message for this connection was dropped. */
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
