import type { VenueCounts } from './decode.ts';

/** Events of this time count. */
const windowMs = 300_000;
/** Fewer events say nothing. */
const minEvents = 20;
/** A new kind of event that nobody needs is seldom. Above this share, events that clients need are missing. */
const changedShare = 0.05;

type Sums = ReadonlyMap<string, { readonly all: number; readonly undecoded: number }>;

/** Notices that a program has changed the layout of its events: the venues of which many events of the last minutes could not be decoded. */
export class LayoutWatch {
  #before: Sums = new Map();
  #sinceMs = Number.NEGATIVE_INFINITY;
  /** Venues of the last whole window, which stay until the next one shows otherwise. */
  #stored: readonly string[] = [];
  changed: readonly string[] = [];

  /** Called once a second with the counts since the start. */
  take(venues: Readonly<Record<string, { readonly events: VenueCounts }>>, nowMs: number): void {
    const sums: Sums = new Map(
      Object.entries(venues).map(([name, { events }]) => {
        const undecoded = events.unknown + events.malformed;
        return [name, { all: events.decoded + events.ignored + undecoded, undecoded }];
      }),
    );
    const current = [...sums].flatMap(([name, { all, undecoded }]) => {
      const before = this.#before.get(name) ?? { all: 0, undecoded: 0 };
      const events = all - before.all;
      return events >= minEvents && undecoded - before.undecoded > events * changedShare ? [name] : [];
    });
    this.changed = [...new Set([...this.#stored, ...current])];
    if (nowMs - this.#sinceMs < windowMs) return;
    this.#stored = current;
    this.changed = current;
    this.#before = sums;
    this.#sinceMs = nowMs;
  }
}
