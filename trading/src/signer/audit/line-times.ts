import type { AuditEntry } from './entry.ts';

/** Decisions whose time is remembered for their `void` lines, which follow in the same batch. */
const maxDecisions = 1_024;

export interface LineTimesOptions {
  readonly nowMs: () => number;
  /** Whether the log has just begun: then all its lines are as of now. */
  readonly isNew: boolean;
  readonly take: (entry: AuditEntry, atMs: number) => void;
}

/**
 * Finds out when each line of one log was written, even if the clock was wrong then. No line was written before the lines above it, nor
 * in the future. A line that is dated in the future was written when the next line with a possible time was written, or now if there is none.
 */
export class LineTimes {
  readonly #options: LineTimesOptions;
  #hasEnded = false;
  #latestMs = Number.NEGATIVE_INFINITY;
  /** Lines that are dated in the future, and those below that have no time of their own. */
  #waiting: AuditEntry[] = [];
  readonly #decisions = new Map<number, number>();

  constructor(options: LineTimesOptions) {
    this.#options = options;
  }

  /** Call it for each line, in order. */
  seen(entry: AuditEntry): void {
    const { nowMs, isNew } = this.#options;
    const now = nowMs();
    // The sums at the beginning of a later segment repeat lines that were seen.
    if (this.#hasEnded && entry.event === 'sums') return;
    if (isNew || this.#hasEnded) return this.#take(entry, now);
    const atMs = entry.event === 'sums' ? this.#latestMs : entry.atMs;
    if (atMs > now || (entry.event === 'sums' && this.#waiting.length > 0)) return void this.#waiting.push(entry);
    this.#latestMs = Math.max(this.#latestMs, atMs);
    this.#takeWaiting(this.#latestMs);
    this.#take(entry, this.#latestMs);
  }

  /** Call it after the last line that was there when the log was opened. Later lines are seen as they are written. */
  end(): void {
    this.#hasEnded = true;
    this.#takeWaiting(this.#options.nowMs());
  }

  #takeWaiting(atMs: number): void {
    for (const entry of this.#waiting) this.#take(entry, atMs);
    this.#waiting = [];
  }

  #take(entry: AuditEntry, atMs: number): void {
    if (entry.event === 'void') return this.#options.take(entry, this.#decisions.get(entry.of) ?? atMs);
    if (entry.event === 'decision') {
      this.#decisions.set(entry.n, atMs);
      this.#decisions.delete(entry.n - maxDecisions);
    }
    this.#options.take(entry, atMs);
  }
}
