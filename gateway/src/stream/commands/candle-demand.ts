import type { Logger } from '@sluice/shared/log/log.ts';
import { marketLimits, wantTtlMs, type MarketReader } from '@sluice/shared/market/market.ts';

/** How often it is said again what is followed; well within what a word holds for. */
const sayEveryMs = wantTtlMs / 5;
/** How soon it is tried again where the market did not answer. */
const retryMs = 1_000;

export interface WantsOptions {
  readonly market: Pick<MarketReader, 'want'>;
  readonly log: Logger;
  isFollowed(topic: string): boolean;
  /** Nobody makes candles of this topic: there are more of them to make than can be. */
  onRefused(topic: string): void;
}

/**
 * Candles are made for topics that somebody follows. Says which ones are followed here: at once when one comes to be, and again
 * every minute while it is. What nobody follows any more is not said again, and ends by itself.
 */
export class Wants {
  readonly #options: WantsOptions;
  readonly #topics = new Set<string>();
  /** Followed, and not said yet. */
  #unsaid = new Set<string>();
  readonly #refused = new Set<string>();
  readonly #timer: NodeJS.Timeout;
  #saying: Promise<void> | null = null;
  #retry: NodeJS.Timeout | null = null;
  #answered = true;
  #closed = false;

  constructor(options: WantsOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#sayAll(), sayEveryMs);
  }

  /** Whether one more topic has room; one that is followed has. */
  takes(topic: string): boolean {
    return this.#topics.has(topic) || this.#topics.size < marketLimits.wantedTopics;
  }

  /** Somebody follows a topic from now on. */
  add(topic: string): void {
    this.#topics.add(topic);
    this.#unsaid.add(topic);
    this.#say();
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#timer);
    if (this.#retry !== null) clearTimeout(this.#retry);
  }

  #sayAll(): void {
    for (const topic of this.#topics) {
      if (this.#options.isFollowed(topic)) this.#unsaid.add(topic);
      else {
        this.#topics.delete(topic);
        this.#refused.delete(topic);
      }
    }
    this.#say();
  }

  /** Says what of one turn was added, one call at a time. */
  #say(): void {
    if (this.#saying !== null || this.#unsaid.size === 0 || this.#retry !== null || this.#closed) return;
    this.#saying = Promise.resolve().then(() => this.#sayUnsaid());
  }

  async #sayUnsaid(): Promise<void> {
    const topics = this.#unsaid;
    this.#unsaid = new Set();
    try {
      const refused = new Set(await this.#options.market.want([...topics]));
      for (const topic of topics) this.#note(topic, refused.has(topic));
      this.#answered = true;
    } catch (error) {
      for (const topic of topics) this.#unsaid.add(topic);
      if (this.#answered && !this.#closed) this.#options.log.warn({ err: error, topics: topics.size }, 'candle_topics_not_said');
      this.#answered = false;
      this.#retry = setTimeout(() => {
        this.#retry = null;
        this.#say();
      }, retryMs);
    }
    this.#saying = null;
    this.#say();
  }

  #note(topic: string, refused: boolean): void {
    if (!refused) this.#refused.delete(topic);
    else if (!this.#refused.has(topic) && !this.#closed) {
      this.#refused.add(topic);
      this.#options.onRefused(topic);
    }
  }
}
