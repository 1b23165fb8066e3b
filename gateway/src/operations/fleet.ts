import type { Bus, BusStatus } from '@sluice/shared/bus/bus.ts';
import type { Config } from '@sluice/shared/config/config.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type { RecordSeal } from '../auth/record-seal.ts';
import { createTickets, type Tickets } from '../auth/tickets.ts';
import { orClose } from './process-life.ts';
import { announce, gatewayStatusPrefix } from './presence.ts';
import { createLimiter } from '../ratelimit/create.ts';
import type { CountingLimiter } from '../ratelimit/limiter.ts';

/** Greatest age of the other processes' statuses in an answer. */
const statusAgeMs = 1_000;

/** What a gateway shares with all others on the same bus. */
export interface Fleet {
  /** Limits of keys, counted over all gateways. */
  readonly limiter: CountingLimiter;
  /** A ticket of one gateway is valid at all of them. */
  readonly tickets: Tickets;
  readonly seal: RecordSeal;
  /** The statuses that all processes report. Empty while the bus does not answer. */
  statuses(): Promise<readonly BusStatus[]>;
  /** Gateways on the bus, as of the last look; this one among them. */
  size(): number;
  /** Notifies the others that this gateway has ended. */
  close(): Promise<void>;
}

export interface FleetOptions {
  readonly config: Pick<Config, 'redisUrls'>;
  readonly bus: Bus;
  readonly seal: RecordSeal;
  readonly log: Logger;
  /** Used in place of an own limiter. Its creator closes it. */
  readonly limiter: CountingLimiter | undefined;
}

/** Connects to the other gateways. Rejects with a `BusError` if Redis cannot be reached. */
export async function joinFleet({ config: { redisUrls }, bus, seal, log, limiter: given }: FleetOptions): Promise<Fleet> {
  const statuses = cachedStatuses(bus);
  const limiter = given ?? (await createLimiter({ redisUrls, log, gateways: () => statuses.gateways() }));
  const closeLimiter = (): void => {
    if (given === undefined) limiter.close();
  };
  const tickets = await orClose(createTickets(redisUrls, seal, log), { close: closeLimiter });
  const presence = await orClose(announce({ bus, log, onReported: () => void statuses.read() }), tickets, { close: closeLimiter });
  return {
    limiter,
    tickets,
    seal,
    statuses: () => statuses.read(),
    size: () => statuses.gateways(),
    close: async () => {
      await presence.close();
      tickets.close();
      closeLimiter();
    },
  };
}

interface Statuses {
  read(): Promise<readonly BusStatus[]>;
  /** Gateways among the last ones that were read; this one at least. */
  gateways(): number;
}

/** The statuses of all processes, asked for at most once in `statusAgeMs`; empty while the bus does not answer. */
function cachedStatuses(bus: Bus): Statuses {
  let asked: Promise<readonly BusStatus[]> = Promise.resolve([]);
  let askedAtMs = Number.NEGATIVE_INFINITY;
  let gateways = 1;
  const ask = async (): Promise<readonly BusStatus[]> => {
    const found = await bus.statuses().catch(() => null);
    // The last known number counts while the bus does not answer.
    if (found !== null) gateways = Math.max(1, found.filter(({ name }) => name.startsWith(gatewayStatusPrefix)).length);
    return found ?? [];
  };
  return {
    read: () => {
      if (performance.now() - askedAtMs > statusAgeMs) {
        askedAtMs = performance.now();
        asked = ask();
      }
      return asked;
    },
    gateways: () => gateways,
  };
}
