import { streamLimits } from '@sluice/shared/wire/stream/limits.ts';
import type { Connection } from '../session/connection.ts';
import { getsHeartbeats, sendHeartbeat } from './heartbeat.ts';
import { sliceCount } from './slices.ts';
import type { StreamParts } from './stream-parts.ts';

const tickMs = streamLimits.heartbeatMs / sliceCount;
/**
 * How often each second the buffer of a connection is checked. The buffer is one block of memory. When it is full, it is copied into a block
 * of twice the size, which blocks the event loop. A stalled client must be detected before its block reaches 4 MiB.
 */
const slowChecksPerSecond = 4;

/** Drives what happens by time: heartbeats, pings, and the closing of silent clients and slow consumers. */
export class Ticker {
  readonly #parts: StreamParts;
  #tick = 0;
  #startedAtMs = 0;
  #stop = (): void => undefined;

  constructor(parts: StreamParts) {
    this.#parts = parts;
  }

  start(): void {
    const { clock } = this.#parts;
    this.#startedAtMs = clock.steadyMs();
    this.#stop = clock.every(tickMs, () => this.#onTimer());
  }

  close(): void {
    this.#stop();
  }

  /** Serves the ticks that are due. After a long pause of the event loop, each slice is served only once. */
  #onTimer(): void {
    this.#parts.slowConsumers.cutDropped();
    const due = Math.floor((this.#parts.clock.steadyMs() - this.#startedAtMs) / tickMs);
    this.#tick = Math.max(this.#tick, due - sliceCount);
    while (this.#tick < due) this.#onTick(++this.#tick);
    this.#parts.catchUps.wake();
  }

  #onTick(tick: number): void {
    const { slices, slowConsumers, heartbeats, fanout } = this.#parts;
    const slice = tick % sliceCount;
    const members = slices.at(slice);
    for (let at = 0; at < sliceCount; at += sliceCount / slowChecksPerSecond) slowConsumers.check((slice + at) % sliceCount);
    this.#checkSilence(members);
    // Before the heartbeats: the first heartbeat of a connection says that the list is complete.
    this.#tellLayouts(members);
    heartbeats.beat(slice);
    for (const connection of members) {
      if (connection.heartbeatRoom !== null || !getsHeartbeats(connection)) continue;
      sendHeartbeat(connection, this.#parts);
      connection.heartbeatAtTick = tick;
    }
    fanout.tick(tick);
  }

  /** Each connection learns of a change within a second, and a new one of what has changed before. */
  #tellLayouts(members: ReadonlySet<Connection>): void {
    const venues = this.#parts.changedVenues();
    for (const connection of members) {
      if (connection.changedVenues === venues || !getsHeartbeats(connection)) continue;
      if (connection.changedVenues !== null || venues.length > 0) connection.notify({ op: 'layout', venues: [...venues] });
      connection.changedVenues = venues;
    }
  }

  #checkSilence(members: ReadonlySet<Connection>): void {
    for (const connection of members) {
      const silentMs = ++connection.silentChecks * streamLimits.heartbeatMs;
      if (silentMs >= streamLimits.silentMs) {
        this.#parts.stats.idleCloses++;
        connection.closeSilent();
      } else if (silentMs === streamLimits.pingAfterMs) connection.ping();
    }
  }
}
