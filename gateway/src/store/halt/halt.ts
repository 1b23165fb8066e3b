import { systemClock, type Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
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

/**
 * The halt switch in the store, as this process knows it. Trading is treated as halted until the first reading. A thread passes no log: the main
 * thread logs changes.
 */
export class Halt {
  readonly #store: Pick<Store, 'halt'>;
  readonly #log: Logger | null;
  readonly #clock: Clock;
  readonly #listeners = new Set<(halted: boolean) => void>();
  readonly #stopPolling: () => void;
  #last: HaltReading = { halted: true, readAtNs: 0n };
  #lastAtMs = -Infinity;
  #lastReason: string | null = null;
  #reported = true;
  #unreadable = false;
  #stalePolls = 0;
  #reading: Promise<HaltReading> | null = null;

  constructor(store: Pick<Store, 'halt'>, log: Logger | null, clock: Clock = systemClock) {
    this.#store = store;
    this.#log = log;
    this.#clock = clock;
    this.#stopPolling = clock.every(haltPollMs, () => this.#poll(), { ref: false });
    void this.#begin();
  }

  /** From memory. True if trading is halted, or if the last reading is older than `maxHaltAgeMs`. */
  get halted(): boolean {
    return this.#last.halted || this.#isOld;
  }

  /** The last reading if it is recent; otherwise reads the store. Never rejects: a switch that cannot be read is treated as halted. */
  read(): HaltReading | Promise<HaltReading> {
    return this.#ageMs <= freshMs ? this.#last : this.#begin();
  }

  /** From memory if the last reading is recent enough; otherwise reads the store, for at most `maxHaltAgeMs`. Never rejects. */
  status(): HaltStatus | Promise<HaltStatus> {
    return this.#isOld ? this.#readStatus() : this.#last.halted ? 'halted' : 'running';
  }

  /** Calls the listener within a second after each change of the switch. Returns a function that removes the listener. */
  onChange(listener: (halted: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  close(): void {
    this.#stopPolling();
    this.#listeners.clear();
  }

  get #ageMs(): number {
    return this.#clock.steadyMs() - this.#lastAtMs;
  }

  get #isOld(): boolean {
    return this.#ageMs > maxHaltAgeMs;
  }

  #poll(): void {
    if (this.#isOld) this.#stalePolls++;
    this.#report();
    void this.#begin();
  }

  #begin(): Promise<HaltReading> {
    return (this.#reading ??= this.#readNow());
  }

  async #readNow(): Promise<HaltReading> {
    const [readAtNs, readAtMs] = [process.hrtime.bigint(), this.#clock.steadyMs()];
    try {
      const { halted, reason } = await this.#store.halt.read();
      this.#last = { halted, readAtNs };
      this.#lastAtMs = readAtMs;
      this.#lastReason = reason;
      this.#unreadable = false;
      this.#stalePolls = 0;
    } catch (error) {
      // The last reading stays valid until it is too old, but this caller asked for a new one and gets "halted".
      if (!this.#unreadable) this.#log?.error({ reason: reasonOf(error) }, 'halt_unreadable');
      this.#unreadable = true;
      return { halted: true, readAtNs };
    } finally {
      this.#reading = null;
      this.#report();
    }
    return this.#last;
  }

  async #readStatus(): Promise<HaltStatus> {
    let cancel = (): void => undefined;
    const timedOut = new Promise<null>((resolve) => (cancel = this.#clock.after(maxHaltAgeMs, () => resolve(null))));
    try {
      for (let readings = 0; readings < maxReadings && this.#isOld; readings++) {
        if ((await Promise.race([this.#begin(), timedOut])) === null) break;
      }
    } finally {
      cancel();
    }
    return this.#isOld ? 'unknown' : this.#last.halted ? 'halted' : 'running';
  }

  #report(): void {
    const halted = this.#last.halted || this.#stalePolls >= maxStalePolls;
    if (halted === this.#reported) return;
    this.#reported = halted;
    if (halted) this.#log?.warn({ reason: this.#last.halted ? this.#lastReason : 'the switch cannot be read' }, 'trading_halted');
    else this.#log?.info({}, 'trading_resumed');
    for (const listener of this.#listeners) listener(halted);
  }
}
