import { randomBytes } from 'node:crypto';
import type { Bus, BusStatus } from '@sluice/shared/bus/bus.ts';
import type { Config } from '@sluice/shared/config/config.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type { RecordSeal } from '../auth/record-seal.ts';
import { createTickets } from '../auth/tickets.ts';
import { orClose } from './process-life.ts';
import { createLimiter } from '../ratelimit/shared-limiter.ts';
import type { CountingLimiter } from '../ratelimit/limiter.ts';

export const gatewayStatusPrefix = 'gateway:';
/** How often a gateway reports that it runs. */
const reportEveryMs = 1_000;
/** A gateway that has not reported for this long is treated as ended. */
const reportTtlMs = 3_500;
/** Greatest age of the other processes' statuses in an answer. */
const statusAgeMs = 1_000;

interface FleetOptions {
  readonly config: Pick<Config, 'redisUrls'>;
  readonly bus: Bus;
  readonly seal: RecordSeal;
  readonly log: Logger;
  /** Used in place of an own limiter. Its creator closes it. */
  readonly limiter: CountingLimiter | undefined;
}

/** What a gateway shares with all others on the same bus. */
export type Fleet = Awaited<ReturnType<typeof joinFleet>>;

/** Connects to the other gateways. Rejects with a `BusError` if Redis cannot be reached. */
export async function joinFleet({ config: { redisUrls }, bus, seal, log, limiter: given }: FleetOptions) {
  const statuses = new Statuses(bus);
  const limiter = given ?? (await createLimiter({ redisUrls, log, gateways: () => statuses.gateways }));
  const closeLimiter = (): void => {
    if (given === undefined) limiter.close();
  };
  const tickets = await orClose(createTickets(redisUrls, seal, log), { close: closeLimiter });
  const leave = await orClose(
    announce(bus, log, () => void statuses.read()),
    tickets,
    { close: closeLimiter },
  );
  return {
    /** Limits of keys, counted over all gateways. */
    limiter,
    /** A ticket of one gateway is valid at all of them. */
    tickets,
    seal,
    /** The statuses that all processes report. Empty while the bus does not answer. */
    statuses: () => statuses.read(),
    /** Gateways on the bus, as of the last look; this one among them. */
    size: () => statuses.gateways,
    /** Notifies the others that this gateway has ended. */
    close: async () => {
      await leave();
      tickets.close();
      closeLimiter();
    },
  };
}

/** The statuses of all processes, asked for at most once in `statusAgeMs`; empty while the bus does not answer. */
class Statuses {
  /** Gateways among the last ones that were read; this one at least. The last known number counts while the bus does not answer. */
  gateways = 1;
  readonly #bus: Bus;
  #asked: Promise<readonly BusStatus[]> = Promise.resolve([]);
  #askedAtMs = Number.NEGATIVE_INFINITY;

  constructor(bus: Bus) {
    this.#bus = bus;
  }

  read(): Promise<readonly BusStatus[]> {
    if (performance.now() - this.#askedAtMs > statusAgeMs) {
      this.#askedAtMs = performance.now();
      this.#asked = this.#ask();
    }
    return this.#asked;
  }

  async #ask(): Promise<readonly BusStatus[]> {
    const found = await this.#bus.statuses().catch(() => null);
    if (found !== null) this.gateways = Math.max(1, found.filter(({ name }) => name.startsWith(gatewayStatusPrefix)).length);
    return found ?? [];
  }
}

/**
 * Reports to the other processes that this gateway runs, until the returned function is called. `onReported` is called after each report, so
 * that the list of other gateways is refreshed equally often. Resolves after the first report or its failure.
 */
async function announce(bus: Bus, log: Logger, onReported: () => void): Promise<() => Promise<void>> {
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
    await set(reportTtlMs);
    onReported();
  };
  const timer = setInterval(() => void report(), reportEveryMs).unref();
  await report();
  return async () => {
    clearInterval(timer);
    await set(1);
  };
}
