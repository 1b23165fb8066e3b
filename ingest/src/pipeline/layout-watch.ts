import type { VenueCounts } from './decode.ts';

/** What is seen in this time counts. */
const windowMs = 300_000;
/** Fewer events or accounts say nothing. */
const minSeen = 20;
/** A new kind of event that nobody needs is seldom. Above this share, events that clients need are missing. */
const changedShare = 0.05;

interface Sum {
  readonly all: number;
  readonly undecoded: number;
}
type Sums = ReadonlyMap<string, Sum>;

/**
 * Notices that a program has changed the layout of its events or accounts: the venues of which many could not be decoded in the last minutes. Events and
 * accounts count apart, because a venue has many events for each account.
 */
export class LayoutWatch {
  #before: Sums = new Map();
  #sinceMs = Number.NEGATIVE_INFINITY;
  /** Venues of the last whole window, which stay until the next one shows otherwise. */
  #stored: readonly string[] = [];
  changed: readonly string[] = [];

  /** Called once a second with the counts since the start. */
  take(venues: Readonly<Record<string, { readonly events: VenueCounts; readonly accounts: VenueCounts }>>, nowMs: number): void {
    const sums = new Map<string, Sum>();
    const current = new Set<string>();
    for (const [name, { events, accounts }] of Object.entries(venues)) {
      for (const [kind, { decoded, ignored, unknown, malformed }] of Object.entries({ events, accounts })) {
        const key = `${name} ${kind}`;
        const sum = { all: decoded + ignored + unknown + malformed, undecoded: unknown + malformed };
        const before = this.#before.get(key) ?? { all: 0, undecoded: 0 };
        const seen = sum.all - before.all;
        if (seen >= minSeen && sum.undecoded - before.undecoded > seen * changedShare) current.add(name);
        sums.set(key, sum);
      }
    }
    this.changed = [...new Set([...this.#stored, ...current])];
    if (nowMs - this.#sinceMs < windowMs) return;
    this.#stored = [...current];
    this.changed = this.#stored;
    this.#before = sums;
    this.#sinceMs = nowMs;
  }
}
