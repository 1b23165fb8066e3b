import type { MarketHealth } from '../reads/market-health.ts';

/** How far the stream is behind the chain, if known. */
export interface Lag {
  /** Slots by which ingest is behind the newest slot that this gateway knows itself; null if it knows none. */
  readonly slots: number | null;
  /** Time since ingest received a new slot, as of its last report; null if no ingest process reports one. */
  readonly ms: number | null;
}

/** Greatest age of the newest report of ingest that is no fault. Ingest reports ten times a second, and the gateway reads the reports as often. */
const reportAgeMs = 2_000;
const sampleEveryMs = 500;

interface LagMeterOptions {
  /** The newest slot that this gateway knows itself; 0 if it knows none. */
  readonly ownSlot: () => number;
  readonly health: Pick<MarketHealth, 'slot' | 'reportedSlotAgeMs'>;
  /** Steady milliseconds. */
  readonly now: () => number;
}

/**
 * Compares what ingest reported with what this gateway knew at the time of the oldest possible report. Without that, a stream that is not behind at
 * all would seem to be behind by the slots of one or two seconds.
 */
export class LagMeter {
  readonly #options: LagMeterOptions;
  #samples: { readonly slot: number; readonly atMs: number }[] = [];
  #timer: NodeJS.Timeout | null = null;

  constructor(options: LagMeterOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => this.sample(), sampleEveryMs);
    this.#timer.unref();
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
  }

  sample(): void {
    const atMs = this.#options.now();
    this.#samples.push({ slot: this.#options.ownSlot(), atMs });
    const oldest = this.#samples.findLastIndex((sample) => sample.atMs <= atMs - reportAgeMs);
    if (oldest > 0) this.#samples.splice(0, oldest);
  }

  get lag(): Lag {
    const { health, now } = this.#options;
    const ownSlot = this.#samples.findLast(({ atMs }) => atMs <= now() - reportAgeMs)?.slot ?? 0;
    const slots = ownSlot > 0 && health.slot > 0 ? Math.max(0, ownSlot - health.slot) : null;
    return { slots, ms: health.reportedSlotAgeMs };
  }
}
