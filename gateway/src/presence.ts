import { randomBytes } from 'node:crypto';
import type { Bus } from '@sluice/shared/bus/bus.ts';
import type { Logger } from '@sluice/shared/log/log.ts';

/** How often a gateway says that it is there. */
const everyMs = 1_000;
/** It counts as gone when it has not said so for this long. */
const ttlMs = 3_500;

/** Names of the statuses by which gateways know of each other. */
export const gatewayStatusPrefix = 'gateway:';

export interface PresenceOptions {
  readonly bus: Bus;
  readonly log: Logger;
  /** Called after each time, so that what is known of the others is as fresh. */
  readonly onTold: () => void;
}

/** Reports to the other processes that this gateway runs, until it is closed. Resolves after the first report or its failure. */
export async function announce({ bus, log, onTold }: PresenceOptions): Promise<{ close(): Promise<void> }> {
  const name = `${gatewayStatusPrefix}${randomBytes(6).toString('hex')}`;
  const startedAtMs = Date.now();
  let failing = false;
  const set = async (lastsMs: number): Promise<void> => {
    try {
      await bus.setStatus(name, { startedAtMs }, lastsMs);
      failing = false;
    } catch (error) {
      if (!failing) log.warn({ reason: (error as Error).message }, 'presence_not_told');
      failing = true;
    }
  };
  const tell = async (): Promise<void> => {
    await set(ttlMs);
    onTold();
  };
  const timer = setInterval(() => void tell(), everyMs);
  timer.unref();
  await tell();
  return {
    close: async () => {
      clearInterval(timer);
      await set(1);
    },
  };
}
