import type { EventView } from '@sluice/shared/codec/event-view.ts';
import type { ConfirmedFate, ConfirmedSlots } from '@sluice/shared/market/verdicts/confirmed-slots.ts';
import type { StreamEvent } from '@sluice/shared/wire/events/events.ts';

/** An event whose record is read on first use. Redis may have changed it, so it may be unreadable. */
export class LazyEvent {
  readonly #view: Pick<EventView, 'event'>;

  constructor(view: Pick<EventView, 'event'>) {
    this.#view = view;
  }

  /** Throws if it is not an event. Its fields are not checked. */
  get event(): StreamEvent {
    return this.#view.event;
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
