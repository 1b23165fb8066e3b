import { shortestSlotMs } from '../newest-slot.ts';
import { reachedBy } from '../rpc/quorum/votes.ts';

/** How far the chain may appear to jump while one notification is on its way. */
const maxLeapSlots = 64;
/** Two endpoints within this distance confirm each other. An endpoint further behind is lagging: two to four seconds. */
export const laggingSlots = 10;

/**
 * The slot that the chain has reached, according to the endpoints' reports. If a report is further ahead than the chain can have come since the last
 * one, it is used only if another endpoint confirms it. Otherwise one endpoint could make all others seem to lag. When a third endpoint reports for
 * the first time, the slot that a majority has reached replaces the one that one or two endpoints had reported.
 */
export class ChainSlot {
  /** 0 before the first report. */
  slot = 0;
  #atMs = 0;
  /** Three endpoints have reported at the same time, and since then always two or more. */
  #isVoted = false;

  /** `reported` contains the newest slot of each endpoint that is up and has reported one. */
  judge(reported: readonly number[], nowMs: number): void {
    if (reported.length === 0) return;
    if (reported.length >= 3 && !this.#isVoted) {
      this.slot = reachedBy(reported);
      this.#isVoted = true;
    } else if (reported.length === 1) this.#isVoted = false;
    this.slot = reported.length === 1 || this.slot === 0 ? Math.max(...reported) : this.#believed(reported, nowMs);
    this.#atMs = nowMs;
  }

  #believed(reported: readonly number[], nowMs: number): number {
    const reachable = this.slot + maxLeapSlots + (nowMs - this.#atMs) / shortestSlotMs;
    const newestFirst = reported.toSorted((a, b) => b - a);
    const believed = newestFirst.find((slot, index) => {
      const next = newestFirst[index + 1];
      return slot <= reachable || (next !== undefined && slot - next <= laggingSlots);
    });
    return believed ?? this.slot;
  }
}
