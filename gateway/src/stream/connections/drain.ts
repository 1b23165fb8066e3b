import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { Fanout } from '../fanout/fanout.ts';
import { getsHeartbeats } from './heartbeat.ts';
import type { Slices } from './slices.ts';

/** Time between two batches of closes, and the least number of closes in one: 500 a second are no load for other gateways. */
const drainEveryMs = 100;
const minClosesPerBatch = 50;
/** Share of the time in which the connections are closed. The rest is for clients that connect late. */
const closingShare = 0.95;

export interface DrainTimes {
  readonly withinMs: number;
  readonly reconnectWithinMs: number;
}

/**
 * Closes every connection with 4012, so that its client connects to another gateway. Spreads the closes over at most `withinMs`, so that
 * the other gateways are not overloaded. Connections that open meanwhile are closed too.
 */
export async function drainConnections(
  slices: Slices,
  { batcher }: Pick<Fanout, 'batcher'>,
  { withinMs, reconnectWithinMs }: DrainTimes,
  clock: Clock,
): Promise<void> {
  const startMs = clock.steadyMs();
  const endMs = startMs + withinMs + drainEveryMs;
  const closedByMs = startMs + withinMs * closingShare;
  for (;;) {
    batcher.flushAll();
    // Timers are late under load, so the number of closes follows from the time that is left.
    const leftMs = Math.max(drainEveryMs, closedByMs - clock.steadyMs());
    const closes = Math.max(minClosesPerBatch, Math.ceil((slices.size * drainEveryMs) / leftMs));
    let closed = 0;
    for (const connection of slices.all()) {
      if (closed++ === closes) break;
      if (getsHeartbeats(connection)) connection.notify({ op: 'draining', reconnectWithinMs });
      connection.close('DRAINING', 'restarting');
    }
    if (slices.size === 0) return;
    await new Promise<void>((resolve) => clock.after(drainEveryMs, resolve));
    if (clock.steadyMs() < endMs) continue;
    for (const connection of slices.all()) connection.destroy();
    return;
  }
}
