import type { AgreedTime, Party } from '@sluice/shared/clock/agreed-time.ts';
import { systemClock, type Clock } from '@sluice/shared/clock/clock.ts';
import type { Logger } from '@sluice/shared/log/log.ts';
import { reasonOf } from '../store-unavailable.ts';
import { integer, type Database } from './database.ts';
import { RunningHours } from './running-hours.ts';

/** How often the clocks are compared. */
const lookEveryMs = 10_000;
/** How often the store's hours are recorded, or as soon as an earlier time than expected is seen. */
const recordEveryMs = 60_000;
const earlierByMs = 1_000;
/** A slower answer says too little about a time. */
const answerWithinMs = 2_000;
/** A store that was used until now, or was not used for a while. */
const usualPauseMs = 12 * 3_600_000;

/** Reads the clock of another party. Null: it has none. */
export type ReadParty = () => Promise<number | null>;

export interface WatchOptions {
  /** Further clocks that are compared. */
  readonly parties?: Readonly<Partial<Record<Party, ReadParty>>>;
  /** Null: nothing is logged. */
  readonly log: Pick<Logger, 'info' | 'warn'> | null;
  readonly clock?: Pick<Clock, 'steadyMs' | 'every'>;
  /** Called after each comparison but the first. */
  readonly onLook?: () => void;
}

/** Keeps `time` in agreement with the clock of the database, and records the hours of the store. */
export class StoreTime {
  readonly #db: Database;
  readonly #time: AgreedTime;

  constructor(db: Database, time: AgreedTime) {
    [this.#db, this.#time] = [db, time];
  }

  /** Reads the database's clock. Rejects if the database does not answer. */
  async hear(clock: Pick<Clock, 'steadyMs'> = systemClock): Promise<void> {
    await hear(this.#time, 'database', () => readClock(this.#db), clock);
  }

  /** Compares the clocks until the returned function is called. Resolves after the first time. Rejects if the store does not answer it. */
  async watch({ parties = {}, log, clock = systemClock, onLook }: WatchOptions): Promise<() => void> {
    const all: readonly (readonly [Party, ReadParty])[] = [
      ['database', () => readClock(this.#db)],
      ...(Object.entries(parties) as (readonly [Party, ReadParty])[]),
    ];
    const hours = new RunningHours(this.#db, clock);
    let [recordedAtMs, expectedMs] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
    let wasFault = false;
    const record = async (): Promise<number | null> => {
      const [steadyMs, earliestMs] = [clock.steadyMs(), this.#time.earliestMs()];
      if (steadyMs - recordedAtMs < recordEveryMs && earliestMs > expectedMs + steadyMs - earlierByMs) return null;
      const before = await hours.record(earliestMs);
      [recordedAtMs, expectedMs] = [steadyMs, earliestMs - steadyMs];
      return before;
    };
    const look = async (): Promise<number | null> => {
      await Promise.all(all.map(([party, read]) => hear(this.#time, party, read, clock).catch(() => undefined)));
      // First, so that nothing is stored with a time that no recorded hour has.
      const before = await record();
      this.#time.look();
      const fault = this.#time.fault();
      if (fault !== null && !wasFault) log?.warn({ reason: fault }, 'clock_disagrees');
      if (fault === null && wasFault) log?.info({}, 'clock_agrees');
      wasFault = fault !== null;
      return before;
    };
    const before = await look();
    if (before !== null) reportPause(this.#time, before, log);
    let looking = false;
    return clock.every(
      lookEveryMs,
      () => {
        if (looking) return;
        looking = true;
        look()
          .catch((error: unknown) => log?.warn({ reason: reasonOf(error) }, 'clock_not_compared'))
          .finally(() => {
            looking = false;
            onLook?.();
          });
      },
      { ref: false },
    );
  }
}

async function hear(time: AgreedTime, party: Party, read: ReadParty, clock: Pick<Clock, 'steadyMs'>): Promise<void> {
  const askedAtMs = clock.steadyMs();
  const readMs = await read();
  const answeredAtMs = clock.steadyMs();
  if (readMs !== null && answeredAtMs - askedAtMs <= answerWithinMs) time.heard(party, readMs, (askedAtMs + answeredAtMs) / 2);
}

async function readClock(db: Database): Promise<number | null> {
  return db.dialect.clock === null ? null : integer((await db.get(db.dialect.clock))?.['ms']);
}

/** With one clock only, nobody can say whether the store was not in use or the clock has jumped. */
function reportPause(time: AgreedTime, newestMs: number, log: WatchOptions['log']): void {
  const hoursLater = Math.round((time.nowMs() - newestMs) / 3_600_000);
  const isOdd = Math.abs(time.nowMs() - newestMs) > usualPauseMs;
  if (isOdd) log?.warn({ hoursLater }, 'clock_far_from_last_use');
}
