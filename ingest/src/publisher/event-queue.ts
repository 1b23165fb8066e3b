import type { TokenMetadataEvent } from '@sluice/shared/wire/events/events.ts';
import { Dropped } from './dropped.ts';
import type { Outgoing } from './outgoing.ts';

/** Bounds of the queue. Above these limits, the oldest events are dropped; an entry in their place reports it. */
const maxEvents = 50_000;
const maxBytes = 64 * 1024 * 1024;
/** Memory of a trade, price or migration. Names and links of a creation are added. */
const eventBytes = 1_200;

/**
 * Events that wait to be published, in order. Methods that drop events for a bound return their number. One entry before all others then
 * says which slots the dropped events were of.
 */
export class EventQueue {
  /** The events are `#events[#from..]`. */
  #events: Outgoing[] = [];
  #from = 0;
  #bytes = 0;
  #dropped: Dropped | null = null;

  get length(): number {
    return this.#count + (this.#dropped === null ? 0 : 1);
  }

  push(event: Outgoing): number {
    this.#events.push(event);
    this.#bytes += weightOf(event);
    return this.#dropBeyondBounds();
  }

  /** The oldest events, at most `count`. */
  take(count: number): Outgoing[] {
    const first = this.#dropped === null ? [] : [this.#dropped.news()];
    this.#dropped = null;
    const batch = this.#events.slice(this.#from, this.#from + count - first.length);
    for (const event of batch) this.#bytes -= weightOf(event);
    this.#from += batch.length;
    this.#compact();
    return [...first, ...batch];
  }

  /** Puts events back that were removed, before all others. */
  putBack(batch: readonly Outgoing[]): number {
    this.#events = [...batch, ...this.#events.slice(this.#from)];
    this.#from = 0;
    for (const event of batch) this.#bytes += weightOf(event);
    return this.#dropBeyondBounds();
  }

  /** Reports an event that will not be published, although no bound is reached. */
  lose(event: Outgoing): void {
    this.#dropped ??= new Dropped();
    this.#dropped.add(event);
  }

  /** Drops the oldest events that were received before a time, in microseconds, because another process published them. */
  dropReceivedBefore(timeUs: number): void {
    if (this.#dropped !== null && this.#dropped.receivedUs < timeUs) this.#dropped = null;
    while (this.#count > 0 && this.#events[this.#from]!.ts.received < timeUs) this.#shift();
  }

  get #count(): number {
    return this.#events.length - this.#from;
  }

  #dropBeyondBounds(): number {
    let dropped = 0;
    while (this.#count > maxEvents || this.#bytes > maxBytes) {
      this.#dropped ??= new Dropped();
      dropped += this.#dropped.add(this.#shift());
    }
    return dropped;
  }

  #shift(): Outgoing {
    const oldest = this.#events[this.#from]!;
    this.#bytes -= weightOf(oldest);
    this.#from++;
    this.#compact();
    return oldest;
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

function weightOf(event: Outgoing): number {
  if (event.type !== 'newToken' && event.type !== 'tokenMetadata') return eventBytes;
  const metadataChars = event.type === 'newToken' ? 0 : charsOf(event.description) + charsOf(event.image) + linkChars(event);
  return eventBytes + 2 * (event.name.length + event.symbol.length + event.uri.length + metadataChars);
}

function linkChars({ twitter, telegram, website }: TokenMetadataEvent): number {
  return charsOf(twitter) + charsOf(telegram) + charsOf(website);
}

function charsOf(text: string | null): number {
  return text === null ? 0 : text.length;
}
