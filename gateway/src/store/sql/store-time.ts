import type { AgreedTime } from '@sluice/shared/runtime/clock/agreed-time.ts';
import { systemClock, type Clock } from '@sluice/shared/runtime/clock/clock.ts';
import { hearParty, watchClocks, type WatchOptions } from '@sluice/shared/runtime/clock/watch-clocks.ts';
import { integer } from './columns.ts';
import type { Database } from './database.ts';
import { RunningHours } from './running-hours.ts';

/** How often the store's hours are recorded, or as soon as an earlier time than expected is seen. */
const recordEveryMs = 60_000;
const earlierByMs = 1_000;
/** A store that was used until now, or was not used for a while. */
const usualPauseMs = 12 * 3_600_000;

/** Keeps `time` in agreement with the clock of the database, and records the hours of the store. */
export class StoreTime {
  readonly #db: Database;
  readonly #time: AgreedTime;

  constructor(db: Database, time: AgreedTime) {
    [this.#db, this.#time] = [db, time];
  }

  /** Reads the database's clock. Rejects if the database does not answer. */
  async hear(clock: Pick<Clock, 'steadyMs'> = systemClock): Promise<void> {
    await hearParty(this.#time, 'database', () => readClock(this.#db), clock);
  }

  /** Compares the clocks until the returned function is called. Resolves after the first time. Rejects if the store does not answer it. */
  async watch(options: Omit<WatchOptions, 'beforeLook'>): Promise<() => void> {
    const { parties, log, clock = systemClock } = options;
    const hours = new RunningHours(this.#db, clock);
    let [recordedAtMs, expectedMs] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
    /** The earliest time of the newest hour before this process. */
    let lastUseMs: number | null = null;
    // Before the comparison, so that nothing is stored with a time that no recorded hour has.
    const record = async (): Promise<void> => {
      const [steadyMs, earliestMs] = [clock.steadyMs(), this.#time.earliestMs()];
      if (steadyMs - recordedAtMs < recordEveryMs && earliestMs > expectedMs + steadyMs - earlierByMs) return;
      const before = await hours.record(earliestMs);
      if (recordedAtMs === Number.NEGATIVE_INFINITY) lastUseMs = before;
      [recordedAtMs, expectedMs] = [steadyMs, earliestMs - steadyMs];
    };
    const all = { database: () => readClock(this.#db), ...parties };
    const stop = await watchClocks(this.#time, { ...options, parties: all, beforeLook: record });
    if (lastUseMs !== null) reportPause(this.#time, lastUseMs, log);
    return stop;
  }
}

async function readClock(db: Database): Promise<number | null> {
  return db.dialect.clock === null ? null : integer.read((await db.get(db.dialect.clock))?.['ms']);
}

/** With one clock only, nobody can say whether the store was not in use or the clock has jumped. */
function reportPause(time: AgreedTime, newestMs: number, log: WatchOptions['log']): void {
  const hoursLater = Math.round((time.nowMs() - newestMs) / 3_600_000);
  const isOdd = Math.abs(time.nowMs() - newestMs) > usualPauseMs;
  if (isOdd) log.warn({ hoursLater }, 'clock_far_from_last_use');
}
