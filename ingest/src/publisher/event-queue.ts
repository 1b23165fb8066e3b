import type { TokenMetadataEvent } from '@sluice/shared/wire/events/events.ts';
import { Dropped } from './dropped.ts';
import type { Outgoing } from './outgoing.ts';

/** Bounds of the queue. Above these limits, the oldest events are dropped; an entry in their place reports it. */
const maxEvents = 50_000;
const maxBytes = 64 * 1024 * 1024;
/** Memory of a trade, price or migration. Names and links of a creation are added. */
const eventBytes = 1_200;
/** The same of a record of a program: most are short, and `maxProgramDataChars` bounds them. */
const programBytes = 4_096;

/**
 * Events that wait to be published, in order. Methods that drop events for a bound return their number. One entry before all others then
 * says which slots the dropped events were of.
 */
export class EventQueue {
  /** New tokens, opened pools and migrations that overtake the others. */
  #urgent: Outgoing[] = [];
  /** The other events are `#events[#from..]`. */
  #events: Outgoing[] = [];
  #from = 0;
  #bytes = 0;
  #dropped: Dropped | null = null;

  get length(): number {
    return this.#urgent.length + this.#count + (this.#dropped === null ? 0 : 1);
  }

  /** `mayOvertake`: an urgent event goes before the events of other tokens. */
  push(event: Outgoing, mayOvertake = false): number {
    if (mayOvertake && isUrgent(event) && !this.#has(event.mint)) this.#urgent.push(event);
    else this.#events.push(event);
    this.#bytes += weightOf(event);
    return this.#dropBeyondBounds();
  }

  /** The next events, at most `count`. Urgent ones are a batch of their own, which is short. */
  take(count: number): Outgoing[] {
    if (this.#urgent.length > 0 && this.#dropped === null) {
      const urgent = this.#urgent.splice(0, count);
      for (const event of urgent) this.#bytes -= weightOf(event);
      return urgent;
    }
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
    // Of these and the urgent ones, none may overtake.
    this.#events = [...batch, ...this.#urgent, ...this.#events.slice(this.#from)];
    this.#urgent = [];
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
    const recent = this.#urgent.filter(({ ts }) => ts.received >= timeUs);
    for (const event of this.#urgent) if (!recent.includes(event)) this.#bytes -= weightOf(event);
    this.#urgent = recent;
  }

  /** Whether an event of the token waits. */
  #has(mint: string): boolean {
    for (let at = this.#from; at < this.#events.length; at++) {
      const event = this.#events[at]!;
      if ('mint' in event && event.mint === mint) return true;
    }
    return false;
  }

  get #count(): number {
    return this.#events.length - this.#from;
  }

  #dropBeyondBounds(): number {
    let dropped = 0;
    while (this.#urgent.length + this.#count > maxEvents || this.#bytes > maxBytes) {
      if (this.#count === 0) {
        this.#events = this.#urgent;
        this.#from = 0;
        this.#urgent = [];
      }
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

const urgentTypes: ReadonlySet<Outgoing['type']> = new Set(['newToken', 'migration', 'pool']);

function isUrgent(event: Outgoing): event is Extract<Outgoing, { readonly mint: string }> {
  return urgentTypes.has(event.type);
}

function weightOf(event: Outgoing): number {
  if ('program' in event) return eventBytes + programBytes;
  if (event.type !== 'newToken' && event.type !== 'tokenMetadata') return eventBytes;
  const metadataChars = event.type === 'newToken' ? 0 : charsOf(event.description) + charsOf(event.image) + linkChars(event);
  return eventBytes + 2 * (event.name.length + event.symbol.length + event.uri.length + metadataChars);
}

const linkChars = ({ twitter, telegram, website }: TokenMetadataEvent): number => charsOf(twitter) + charsOf(telegram) + charsOf(website);

const charsOf = (text: string | null): number => (text === null ? 0 : text.length);
