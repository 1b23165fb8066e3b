import type { Logger } from '../log/log.ts';
import type { AgreedTime, Party } from './agreed-time.ts';
import { systemClock, type Clock } from './clock.ts';

/** How often the clocks are compared. */
const lookEveryMs = 10_000;
/** A slower answer says too little about a time. */
const answerWithinMs = 2_000;

/** Reads the clock of another party. Null: it has none. */
export type ReadParty = () => Promise<number | null>;

export interface WatchOptions {
  /** The clocks that are compared with this machine's. */
  readonly parties: Readonly<Partial<Record<Party, ReadParty>>>;
  /** Runs before each comparison, after the clocks were read. If it rejects, they are not compared. */
  readonly beforeLook?: () => Promise<void>;
  readonly log: Pick<Logger, 'info' | 'warn'>;
  readonly clock?: Pick<Clock, 'steadyMs' | 'every'>;
  /** Called after each comparison but the first. */
  readonly onLook?: () => void;
}

/**
 * Keeps `time` in agreement with other clocks until the returned function is called, and logs when a clock begins or ceases to disagree.
 * Resolves after the first comparison. Rejects if `beforeLook` rejects the first time.
 */
export async function watchClocks(time: AgreedTime, options: WatchOptions): Promise<() => void> {
  const { beforeLook, log, clock = systemClock, onLook } = options;
  const parties = Object.entries(options.parties) as (readonly [Party, ReadParty])[];
  let wasFault = false;
  const look = async (): Promise<void> => {
    // The time of a party that does not answer passes by the steady clock.
    await Promise.all(parties.map(([party, read]) => hearParty(time, party, read, clock).catch(() => undefined)));
    await beforeLook?.();
    time.look();
    const fault = time.fault();
    if (fault !== null && !wasFault) log.warn({ reason: fault }, 'clock_disagrees');
    if (fault === null && wasFault) log.info({}, 'clock_agrees');
    wasFault = fault !== null;
  };
  await look();
  let looking = false;
  return clock.every(
    lookEveryMs,
    () => {
      if (looking) return;
      looking = true;
      look()
        .catch((error: unknown) => log.warn({ reason: error instanceof Error ? error.message : String(error) }, 'clock_not_compared'))
        .finally(() => {
          looking = false;
          onLook?.();
        });
    },
    { ref: false },
  );
}

/** Reads a party's clock once. Rejects if the party does not answer. */
export async function hearParty(time: AgreedTime, party: Party, read: ReadParty, clock: Pick<Clock, 'steadyMs'>): Promise<void> {
  const askedAtMs = clock.steadyMs();
  const readMs = await read();
  const answeredAtMs = clock.steadyMs();
  if (readMs !== null && answeredAtMs - askedAtMs <= answerWithinMs) time.heard(party, readMs, (askedAtMs + answeredAtMs) / 2);
}
