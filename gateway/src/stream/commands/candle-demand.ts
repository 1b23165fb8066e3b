import { marketLimits, demandTtlMs, type MarketReader } from '@sluice/shared/market/market.ts';
import type { StreamParts } from '../connections/stream-parts.ts';

/** Every followed topic is reported again this often, well before its demand expires. */
const reportEveryMs = demandTtlMs / 5;
const retryMs = 1_000;

export interface CandleDemandParts extends StreamParts {
  readonly market: Pick<MarketReader, 'reportDemand'>;
}

/**
 * Reports the followed candle topics to ingest, which publishes candles only for those. A new topic is reported at once. Every topic is
 * reported again each minute while it is followed; after that its report expires.
 */
export class CandleDemand {
  readonly #parts: CandleDemandParts;
  readonly #topics = new Set<string>();
  #unreported = new Set<string>();
  readonly #refused = new Set<string>();
  readonly #stop: () => void;
  #reporting: Promise<void> | null = null;
  #cancelRetry: (() => void) | null = null;
  #succeeded = true;
  #closed = false;

  constructor(parts: CandleDemandParts) {
    this.#parts = parts;
    this.#stop = parts.clock.every(reportEveryMs, () => this.#reportAll());
  }

  /** Whether the topic is followed already, or there is room for one more. */
  hasRoomFor(topic: string): boolean {
    return this.#topics.has(topic) || this.#topics.size < marketLimits.candleTopics;
  }

  add(topic: string): void {
    this.#topics.add(topic);
    this.#unreported.add(topic);
    this.#startReport();
  }

  close(): void {
    this.#closed = true;
    this.#stop();
    this.#cancelRetry?.();
  }

  #reportAll(): void {
    for (const topic of this.#topics) {
      if (this.#parts.fanout.isFollowed(topic)) this.#unreported.add(topic);
      else {
        this.#topics.delete(topic);
        this.#refused.delete(topic);
      }
    }
    this.#startReport();
  }

  /** Reports the topics of one turn of the event loop in one call. One call runs at a time. */
  #startReport(): void {
    if (this.#reporting !== null || this.#unreported.size === 0 || this.#cancelRetry !== null || this.#closed) return;
    this.#reporting = Promise.resolve().then(() => this.#report());
  }

  async #report(): Promise<void> {
    const topics = this.#unreported;
    this.#unreported = new Set();
    try {
      const refused = new Set(await this.#parts.market.reportDemand([...topics]));
      for (const topic of topics) this.#onReported(topic, refused.has(topic));
      this.#succeeded = true;
    } catch (error) {
      for (const topic of topics) this.#unreported.add(topic);
      if (this.#succeeded && !this.#closed) this.#parts.log.warn({ err: error, topics: topics.size }, 'candle_demand_not_reported');
      this.#succeeded = false;
      this.#cancelRetry = this.#parts.clock.after(retryMs, () => {
        this.#cancelRetry = null;
        this.#startReport();
      });
    }
    this.#reporting = null;
    this.#startReport();
  }

  #onReported(topic: string, refused: boolean): void {
    if (!refused) this.#refused.delete(topic);
    else if (!this.#refused.has(topic) && !this.#closed) {
      this.#refused.add(topic);
      this.#parts.fanout.reportUnwatched(topic);
    }
  }
}
