import { BusError } from '@sluice/shared/bus/bus-error.ts';
import { checkEntry } from '@sluice/shared/bus/entry-checks.ts';
import type { BusEntry, BusPublisher } from '@sluice/shared/bus/bus.ts';
import type { Logger } from '@sluice/shared/log/log.ts';
import { encodeEvent } from '@sluice/shared/wire/codec.ts';
import type { StreamEvent } from '@sluice/shared/wire/events.ts';
import {
  accountTradesTopic,
  allTradesTopic,
  migrationsTopic,
  newTokensTopic,
  pricesTopic,
  tradesTopic,
} from '@sluice/shared/wire/topics.ts';
import { nowUs } from '../clock.ts';

/** What is kept while the bus is slow or away; beyond it the oldest is dropped, counted and reported. */
const maxBufferedEvents = 50_000;
const maxBufferedBytes = 64 * 1024 * 1024;
/** Memory of a trade, price or migration that waits; names and links of a creation come on top. */
const eventBytes = 1_200;
/** Entries handed to the bus at one time. */
const maxBatch = 512;
const firstPauseMs = 50;
const maxPauseMs = 2_000;

export interface PublisherCounts {
  published: number;
  batches: number;
  /** Dropped because the bus did not take events for too long. */
  dropped: number;
  /** Dropped because the bus carries no such entry. */
  refused: number;
  failures: number;
}

export function topicsOf(event: Exclude<StreamEvent, { type: 'retract' }>): string[] {
  switch (event.type) {
    case 'trade':
      return [allTradesTopic, tradesTopic(event.mint), accountTradesTopic(event.trader)];
    case 'price':
      return [pricesTopic(event.mint)];
    case 'newToken':
      return [newTokensTopic];
    case 'migration':
      return [migrationsTopic];
  }
}

export type PublishableEvent = Exclude<StreamEvent, { type: 'retract' }>;

/**
 * Hands events to the bus in their order: all that one read of a socket brought as one batch, one batch at a time. A batch that
 * the bus did not take is handed again until it does (an event's id tells a repeat); meanwhile events gather, up to the bounds.
 */
export class Publisher {
  readonly counts: PublisherCounts = { published: 0, batches: 0, dropped: 0, refused: 0, failures: 0 };
  readonly #bus: BusPublisher;
  readonly #log: Logger;
  /** Ring of what waits: `#events[#from..]`. */
  #events: PublishableEvent[] = [];
  #from = 0;
  #bytes = 0;
  #scheduled = false;
  #inFlight: Promise<void> | null = null;
  #closed = false;
  #wake: (() => void) | null = null;

  constructor(bus: BusPublisher, log: Logger) {
    this.#bus = bus;
    this.#log = log;
  }

  get buffered(): number {
    return this.#events.length - this.#from;
  }

  push(event: PublishableEvent): void {
    if (this.#closed) return;
    this.#events.push(event);
    this.#bytes += weightOf(event);
    if (this.buffered > maxBufferedEvents || this.#bytes > maxBufferedBytes) this.#dropOldest();
    if (!this.#scheduled && this.#inFlight === null) {
      this.#scheduled = true;
      queueMicrotask(() => this.#begin());
    }
  }

  /** Hands over what is left, for at most `withinMs`; what then remains is counted as dropped. */
  async close(withinMs: number): Promise<void> {
    const deadlineMs = performance.now() + withinMs;
    if (this.#inFlight === null && this.buffered > 0) this.#begin();
    while (this.#inFlight !== null && performance.now() < deadlineMs) {
      await Promise.race([this.#inFlight, sleep(Math.min(20, withinMs))]);
    }
    this.#closed = true;
    this.#wake?.();
    if (this.buffered > 0) {
      this.counts.dropped += this.buffered;
      this.#log.error({ events: this.buffered }, 'events_left_at_close');
    }
    await this.#bus.close();
  }

  #begin(): void {
    this.#scheduled = false;
    this.#inFlight ??= this.#run().finally(() => {
      this.#inFlight = null;
    });
  }

  async #run(): Promise<void> {
    while (this.buffered > 0 && !this.#closed) await this.#deliver(this.#take());
  }

  /** Encodes the next batch; `ts.published` is this moment. */
  #take(): BusEntry[] {
    const count = Math.min(maxBatch, this.buffered);
    const published = nowUs();
    const entries: BusEntry[] = [];
    for (let index = this.#from; index < this.#from + count; index++) {
      const event = this.#events[index]!;
      this.#bytes -= weightOf(event);
      event.ts.published = published;
      const { json, msgpack } = encodeEvent(event);
      entries.push({ topics: topicsOf(event), json, msgpack });
    }
    this.#from += count;
    this.#compact();
    return entries;
  }

  async #deliver(batch: BusEntry[]): Promise<void> {
    let entries = batch;
    let pauseMs = firstPauseMs;
    while (entries.length > 0) {
      try {
        await this.#bus.publish(entries);
        this.counts.published += entries.length;
        this.counts.batches++;
        return;
      } catch (error) {
        this.counts.failures++;
        const taken = error instanceof BusError && error.code === 'INVALID' ? entries.filter((entry) => this.#isTaken(entry)) : entries;
        if (taken.length < entries.length) {
          // The bus refused the batch for some of them; the others are handed over at once.
          this.counts.refused += entries.length - taken.length;
          this.#log.error({ err: error, events: entries.length - taken.length }, 'events_refused_by_bus');
          entries = taken;
          continue;
        }
        if (this.#closed) {
          this.counts.dropped += entries.length;
          return;
        }
        if (pauseMs === firstPauseMs) this.#log.error({ err: error, buffered: this.buffered + entries.length }, 'bus_publish_failed');
        await this.#pause(pauseMs);
        pauseMs = Math.min(maxPauseMs, pauseMs * 2);
      }
    }
  }

  #isTaken(entry: BusEntry): boolean {
    try {
      checkEntry(entry);
      return true;
    } catch (error) {
      this.#log.warn({ err: error, topics: entry.topics.length, bytes: entry.json.length }, 'event_refused');
      return false;
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #dropOldest(): void {
    const event = this.#events[this.#from]!;
    this.#from++;
    this.#bytes -= weightOf(event);
    this.counts.dropped++;
    this.#compact();
  }

  #compact(): void {
    if (this.#from === this.#events.length) {
      this.#events = [];
      this.#from = 0;
    } else if (this.#from > 4096 && this.#from * 2 > this.#events.length) {
      this.#events = this.#events.slice(this.#from);
      this.#from = 0;
    }
  }
}

function weightOf(event: PublishableEvent): number {
  return event.type === 'newToken' ? eventBytes + 2 * (event.name.length + event.symbol.length + event.uri.length) : eventBytes;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
