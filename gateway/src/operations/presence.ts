import { randomBytes } from 'node:crypto';
import type { Bus } from '@sluice/shared/bus/bus.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';

/** How often a gateway reports that it runs. */
const everyMs = 1_000;
/** A gateway that has not reported for this long is treated as ended. */
const ttlMs = 3_500;

/** Prefix of the names of these statuses. */
export const gatewayStatusPrefix = 'gateway:';

export interface PresenceOptions {
  readonly bus: Bus;
  readonly log: Logger;
  /** Called after each report, so that the list of other gateways is refreshed equally often. */
  readonly onReported: () => void;
}

/** Reports to the other processes that this gateway runs, until it is closed. Resolves after the first report or its failure. */
export async function announce({ bus, log, onReported }: PresenceOptions): Promise<{ close(): Promise<void> }> {
  const name = `${gatewayStatusPrefix}${randomBytes(6).toString('hex')}`;
  const startedAtMs = Date.now();
  let failing = false;
  const set = async (lastsMs: number): Promise<void> => {
    try {
      await bus.setStatus(name, { startedAtMs }, lastsMs);
      failing = false;
    } catch (error) {
      if (!failing) log.warn({ reason: (error as Error).message }, 'presence_not_reported');
      failing = true;
    }
  };
  const report = async (): Promise<void> => {
    await set(ttlMs);
    onReported();
  };
  const timer = setInterval(() => void report(), everyMs);
  timer.unref();
  await report();
  return {
    close: async () => {
      clearInterval(timer);
      await set(1);
    },
  };
}
