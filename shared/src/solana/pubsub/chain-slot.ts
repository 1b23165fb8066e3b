import { shortestSlotMs } from '../newest-slot.ts';
import { reachedBy } from '../quorum/votes.ts';

/** Slots that a chain may seem to leap while one notification is on its way. */
const maxLeapSlots = 64;
/** Endpoints that differ by no more confirm one another; one further behind lags: two to four seconds. */
export const laggingSlots = 10;

/**
 * The slot that the chain has reached, out of what the endpoints tell of it. Where they differ, one that leaps ahead of what the
 * chain can have reached since is not believed before another one confirms it: or all others would seem to lag behind it. Nor is what one or
 * two told first, once three tell: then the slot that a majority has reached counts.
 */
export class ChainSlot {
  /** 0 before the first. */
  slot = 0;
  #atMs = 0;
  /** Three told it at some time, and since then two at least. */
  #isVoted = false;

  /** `told` has the newest slot of each endpoint that is up and told one. */
  judge(told: readonly number[], nowMs: number): void {
    if (told.length === 0) return;
    if (told.length >= 3 && !this.#isVoted) {
      this.slot = reachedBy(told);
      this.#isVoted = true;
    } else if (told.length === 1) this.#isVoted = false;
    this.slot = told.length === 1 || this.slot === 0 ? Math.max(...told) : this.#believed(told, nowMs);
    this.#atMs = nowMs;
  }

  #believed(told: readonly number[], nowMs: number): number {
    const reachable = this.slot + maxLeapSlots + (nowMs - this.#atMs) / shortestSlotMs;
    const newestFirst = told.toSorted((a, b) => b - a);
    const believed = newestFirst.find((slot, index) => {
      const next = newestFirst[index + 1];
      return slot <= reachable || (next !== undefined && slot - next <= laggingSlots);
    });
    return believed ?? this.slot;
  }
}
