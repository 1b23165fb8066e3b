import type { Logger } from '@sluice/shared/log/log.ts';
import type { Store } from './store.ts';
import { reasonOf } from './store-away.ts';

/** How often the switch is looked at, milliseconds. */
const pollMs = 200;
/** A reading older than this is not used while a newer one can be had, milliseconds. */
const freshMs = 500;
/** Without a reading that began within so long, trading counts as halted, milliseconds. */
export const maxHaltAgeMs = 1_000;

/** Looks in a row that may find the reading too old before it is told: a process that stood still has read anew by its next one. */
const staleLooks = 3;
/** Readings that one question of where trading stands waits for: the process may stand still in the midst of one. */
const maxReadings = 3;

const nsPerMs = 1_000_000n;

export interface HaltReading {
  readonly halted: boolean;
  /** When the store was asked, on the machine's monotonic clock (`process.hrtime`), which its processes share. */
  readonly readAtNs: bigint;
}

/** `unknown`: the switch cannot be read, and trading counts as halted meanwhile. */
export type HaltStanding = 'running' | 'halted' | 'unknown';

/** The kill switch, as this process knows it. */
export interface Halt {
  /** Asks nobody. True where trading is halted, and where nothing that was read within `maxHaltAgeMs` says that it is not. */
  readonly halted: boolean;
  /** A reading of the last moments; reads the store where there is none. Never rejects: what cannot be read is halted. */
  read(): HaltReading | Promise<HaltReading>;
  /** As `halted`, but reads the store before it says so of a reading that is too old, for `maxHaltAgeMs` at most. Never rejects. */
  standing(): HaltStanding | Promise<HaltStanding>;
  /** Tells within a second of each turn of the switch. Returns the way to stop listening. */
  onChange(listener: (halted: boolean) => void): () => void;
  close(): void;
}

/** Follows the switch in the store. It counts as halted until it was read once. */
export function createHalt(store: Pick<Store, 'halt'>, log: Logger): Halt {
  const listeners = new Set<(halted: boolean) => void>();
  let last: HaltReading = { halted: true, readAtNs: 0n };
  let why: string | null = null;
  let told = true;
  let unreadable = false;
  let staleFor = 0;
  let reading: Promise<HaltReading> | null = null;
  const ageMs = (): bigint => (process.hrtime.bigint() - last.readAtNs) / nsPerMs;
  const isHalted = (): boolean => last.halted || ageMs() > maxHaltAgeMs;
  const tell = (): void => {
    const halted = last.halted || staleFor >= staleLooks;
    if (halted === told) return;
    told = halted;
    if (halted) log.warn({ reason: last.halted ? why : 'the switch cannot be read' }, 'trading_halted');
    else log.info({}, 'trading_resumed');
    for (const listener of listeners) listener(halted);
  };
  const readNow = async (): Promise<HaltReading> => {
    const readAtNs = process.hrtime.bigint();
    try {
      const { halted, reason } = await store.halt.read();
      last = { halted, readAtNs };
      why = reason;
      unreadable = false;
      staleFor = 0;
    } catch (error) {
      // What is known stands until it is too old. Whoever asked is told that nothing is known.
      if (!unreadable) log.error({ reason: reasonOf(error) }, 'halt_unreadable');
      unreadable = true;
      return { halted: true, readAtNs };
    } finally {
      reading = null;
      tell();
    }
    return last;
  };
  const begin = (): Promise<HaltReading> => (reading ??= readNow());
  const readAnew = async (): Promise<HaltStanding> => {
    let patience: NodeJS.Timeout | undefined;
    const enough = new Promise<null>((resolve) => (patience = setTimeout(resolve, maxHaltAgeMs, null)));
    try {
      for (let readings = 0; readings < maxReadings && ageMs() > maxHaltAgeMs; readings++) {
        if ((await Promise.race([begin(), enough])) === null) break;
      }
    } finally {
      clearTimeout(patience);
    }
    return ageMs() > maxHaltAgeMs ? 'unknown' : last.halted ? 'halted' : 'running';
  };
  const timer = setInterval(() => {
    if (ageMs() > maxHaltAgeMs) staleFor++;
    tell();
    void begin();
  }, pollMs).unref();
  void begin();
  return {
    get halted() {
      return isHalted();
    },
    read: () => (ageMs() <= freshMs ? last : begin()),
    standing: () => (ageMs() > maxHaltAgeMs ? readAnew() : last.halted ? 'halted' : 'running'),
    onChange: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close: () => {
      clearInterval(timer);
      listeners.clear();
    },
  };
}
