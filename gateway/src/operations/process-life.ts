import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type { OpenRequests } from '../http/open-requests.ts';
import type { Hub } from '../stream/hub.ts';
import type { Transport } from '../transport/transport.ts';

/** Longest time from the signal to the end of the process. Service managers kill a process after 30 seconds. */
export const endWithinMs = 29_000;
/** For handing off the connections: 5 % of them a second. */
const handOffWithinMs = 20_000;
/** Longest wait of a client before it reconnects. Clients are closed in slices already. */
const reconnectWithinMs = 1_000;
/** Time for answers that are due, and for close frames to leave before the sockets are cut. */
const answersWithinMs = 3_000;
const lingerMs = 300;

/** `running`: accepts new connections. `draining`: accepts no new ones. `ending`: starts nothing any more. */
export type LifePhase = 'running' | 'draining' | 'ending';

export interface LifeParts {
  readonly hub: Pick<Hub, 'connections'>;
  readonly transport: Pick<Transport, 'stopListening'>;
  readonly requests: OpenRequests;
  /** How long new connections are still let in, so that a balancer sees `/readyz` first. */
  readonly waitMs: number;
  readonly enter: (phase: LifePhase) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Shuts down in order: refuses new connections, closes the open ones, then finishes the requests in progress. Resolves when all are done. */
export async function drain({ hub, transport, requests, waitMs, enter, clock, log }: LifeParts): Promise<void> {
  const startedMs = clock.steadyMs();
  const pause = (ms: number): Promise<void> => new Promise((resolve) => void clock.after(ms, resolve));
  const connections = hub.connections.size;
  log.info({ connections, requests: requests.open, waitMs }, 'gateway_draining');
  enter('draining');
  if (waitMs > 0) await pause(waitMs);
  await transport.stopListening();
  await hub.connections.drain(handOffWithinMs, reconnectWithinMs);
  const left = await requests.none(answersWithinMs, clock);
  enter('ending');
  if (left > 0) log.warn({ requests: left }, 'requests_left_at_end');
  if (connections > 0) await pause(lingerMs);
  log.info({ connections, tookMs: Math.round(clock.steadyMs() - startedMs) }, 'gateway_drained');
}

/** Resolves like `opening`. If it rejects, closes what was opened before it, and rejects with the same error. */
export async function orClose<Opened>(opening: Promise<Opened>, ...before: readonly { close(): unknown }[]): Promise<Opened> {
  try {
    return await opening;
  } catch (error) {
    for (const part of before) await part.close();
    throw error;
  }
}
