import type { LogEntry } from '@sluice/shared/bus/bus.ts';
import type { ConfirmedFate, ConfirmedSlots } from '@sluice/shared/market/verdicts/confirmed-slots.ts';
import type { StreamEvent } from '@sluice/shared/wire/events/events.ts';

/** An event that is parsed from its JSON on first use, and only once. Redis may have changed it, so it may be unreadable. */
export class LazyEvent {
  readonly #json: Uint8Array;
  #parsed: StreamEvent | null = null;

  constructor(entry: Pick<LogEntry, 'json'>) {
    this.#json = entry.json;
  }

  /** Throws if it is not an event. Its fields are not checked. */
  get event(): StreamEvent {
    if (this.#parsed !== null) return this.#parsed;
    const text = Buffer.from(this.#json.buffer, this.#json.byteOffset, this.#json.byteLength).toString('utf8');
    const value = JSON.parse(text) as StreamEvent | null;
    if (typeof value?.type !== 'string') throw new TypeError('An entry of the bus is not an event.');
    return (this.#parsed = value);
  }

  get isReadable(): boolean {
    return this.#orIfUnreadable(false, () => true);
  }

  /** Unix milliseconds; null if it cannot be read. */
  get publishedAtMs(): number | null {
    return this.#orIfUnreadable(null, (event) =>
      'ts' in event && Number.isSafeInteger(event.ts.published) ? Math.floor(event.ts.published / 1_000) : null,
    );
  }

  /** An unreadable event passes no filter. */
  passes(filter: { test(event: StreamEvent): boolean }): boolean {
    return this.#orIfUnreadable(false, (event) => filter.test(event));
  }

  /** An unreadable event waits for no verdict. */
  fate(slots: Pick<ConfirmedSlots, 'fateOf'>): ConfirmedFate {
    return this.#orIfUnreadable('drop', (event) => slots.fateOf(event));
  }

  #orIfUnreadable<Result>(otherwise: Result, read: (event: StreamEvent) => Result): Result {
    try {
      return read(this.event);
    } catch {
      return otherwise;
    }
  }
}
