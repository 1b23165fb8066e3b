import { systemClock, type Clock } from '@sluice/shared/clock/clock.ts';
import type { Logger } from '@sluice/shared/log/log.ts';
import type { Store } from '../store.ts';
import { reasonOf } from '../store-unavailable.ts';

/** Pause between two reads of the switch. */
export const haltPollMs = 200;
/** `read` reads again if the last reading is older than this. */
const freshMs = 500;
/** Trading is treated as halted if the last successful reading began longer ago than this. */
export const maxHaltAgeMs = 1_000;

/**
 * How many polls in a row must find the last reading too old before the halt is reported. After a pause of the process, one poll finds
 * an old reading, and the next one a new reading.
 */
const maxStalePolls = 3;
/** How many readings one call of `status` waits for. More than one, because the process may be paused during a reading. */
const maxReadings = 3;

export interface HaltReading {
  readonly halted: boolean;
  /** When the store was asked, on the machine's monotonic clock (`process.hrtime`), which its processes share. */
  readonly readAtNs: bigint;
}

/** `unknown`: the switch cannot be read; until it can, trading is treated as halted. */
export type HaltStatus = 'running' | 'halted' | 'unknown';

/** The halt switch, as this process knows it. */
export interface Halt {
  /** From memory. True if trading is halted, or if the last reading is older than `maxHaltAgeMs`. */
  readonly halted: boolean;
  /** The last reading if it is recent; otherwise reads the store. Never rejects: a switch that cannot be read is treated as halted. */
  read(): HaltReading | Promise<HaltReading>;
  /** From memory if the last reading is recent enough; otherwise reads the store, for at most `maxHaltAgeMs`. Never rejects. */
  status(): HaltStatus | Promise<HaltStatus>;
  /** Calls the listener within a second after each change of the switch. Returns a function that removes the listener. */
  onChange(listener: (halted: boolean) => void): () => void;
  close(): void;
}

/** Follows the switch in the store. Trading is treated as halted until the first reading. A thread passes no log: the main thread logs changes. */
export function createHalt(store: Pick<Store, 'halt'>, log: Logger | null, clock: Clock = systemClock): Halt {
  const listeners = new Set<(halted: boolean) => void>();
  let last: HaltReading = { halted: true, readAtNs: 0n };
  let lastAtMs = -Infinity;
  let lastReason: string | null = null;
  let reported = true;
  let unreadable = false;
  let stalePolls = 0;
  let reading: Promise<HaltReading> | null = null;
  const ageMs = (): number => clock.steadyMs() - lastAtMs;
  const isHalted = (): boolean => last.halted || ageMs() > maxHaltAgeMs;
  const report = (): void => {
    const halted = last.halted || stalePolls >= maxStalePolls;
    if (halted === reported) return;
    reported = halted;
    if (halted) log?.warn({ reason: last.halted ? lastReason : 'the switch cannot be read' }, 'trading_halted');
    else log?.info({}, 'trading_resumed');
    for (const listener of listeners) listener(halted);
  };
  const readNow = async (): Promise<HaltReading> => {
    const [readAtNs, readAtMs] = [process.hrtime.bigint(), clock.steadyMs()];
    try {
      const { halted, reason } = await store.halt.read();
      last = { halted, readAtNs };
      lastAtMs = readAtMs;
      lastReason = reason;
      unreadable = false;
      stalePolls = 0;
    } catch (error) {
      // The last reading stays valid until it is too old, but this caller asked for a new one and gets "halted".
      if (!unreadable) log?.error({ reason: reasonOf(error) }, 'halt_unreadable');
      unreadable = true;
      return { halted: true, readAtNs };
    } finally {
      reading = null;
      report();
    }
    return last;
  };
  const begin = (): Promise<HaltReading> => (reading ??= readNow());
  const readStatus = async (): Promise<HaltStatus> => {
    let cancel = (): void => undefined;
    const timedOut = new Promise<null>((resolve) => (cancel = clock.after(maxHaltAgeMs, () => resolve(null))));
    try {
      for (let readings = 0; readings < maxReadings && ageMs() > maxHaltAgeMs; readings++) {
        if ((await Promise.race([begin(), timedOut])) === null) break;
      }
    } finally {
      cancel();
    }
    return ageMs() > maxHaltAgeMs ? 'unknown' : last.halted ? 'halted' : 'running';
  };
  const poll = (): void => {
    if (ageMs() > maxHaltAgeMs) stalePolls++;
    report();
    void begin();
  };
  const stopPolling = clock.every(haltPollMs, poll, { ref: false });
  void begin();
  return {
    get halted() {
      return isHalted();
    },
    read: () => (ageMs() <= freshMs ? last : begin()),
    status: () => (ageMs() > maxHaltAgeMs ? readStatus() : last.halted ? 'halted' : 'running'),
    onChange: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close: () => {
      stopPolling();
      listeners.clear();
    },
  };
}
