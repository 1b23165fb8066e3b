import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import { majorityOf } from '@sluice/shared/solana/rpc/quorum/votes.ts';
import type { AccountView, ReportedState } from './account-view.ts';
import type { Link } from './link.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';

/** How long an endpoint is not trusted after a false report. Doubled each time, until it was right for `regainedAfterMs`. */
const firstDistrustMs = 10_000;
const maxDistrustMs = 600_000;
const regainedAfterMs = 600_000;

/** Whether the account reports of one endpoint are trusted. Times are those of `performance.now`. */
export class LinkTrust {
  readonly #endpoint: number;
  readonly #log: Logger;
  #untilMs = Number.NEGATIVE_INFINITY;
  #times = 0;

  constructor(endpoint: number, log: Logger) {
    [this.#endpoint, this.#log] = [endpoint, log];
  }

  isTrusted(nowMs: number): boolean {
    return nowMs >= this.#untilMs;
  }

  /** Call when the endpoint omitted a change (`lost`), or reported one that never happened (`false`). Only the first time in a row is logged. */
  distrust(address: string, event: 'account_update_lost' | 'account_update_false', nowMs: number): void {
    if (nowMs - this.#untilMs > regainedAfterMs) this.#times = 0;
    if (this.#times === 0) this.#log.warn({ endpoint: this.#endpoint + 1, address }, event);
    this.#untilMs = nowMs + Math.min(maxDistrustMs, firstDistrustMs * 2 ** Math.min(this.#times++, 10));
  }
}

/**
 * A read of an account that changes often may show a moment inside a slot. If no majority reports how the slot ended, an endpoint is distrusted
 * when it differs from three reads in a row. If it reported no change in the slot, it is distrusted at once.
 */
const maxDoubts = 3;
/** A read is compared with the endpoints that reach its slot within this long. */
const truthForMs = 5_000;

/** An account that is followed on every endpoint. */
export interface Watched {
  readonly address: string;
  /** Number of `follow` calls without a `release`. */
  users: number;
  /** One for each link. */
  readonly views: readonly AccountView[];
  /** Since when the endpoints differ (`performance.now`); null if they agree. */
  differsSinceMs: number | null;
  verifiedAtMs: number;
  /** What a majority of the endpoints returned for a read. Null after all links were compared with it. */
  truth: Truth | null;
}

/** What a majority of the endpoints returned for a read of an account. */
export interface Truth {
  readonly state: ReportedState;
  /** The account had this state in one of the slots up to `lastSlot`; endpoints may report a wrong slot with an answer. */
  readonly slot: number;
  readonly lastSlot: number;
  readonly atMs: number;
  /** Links that were not compared with it yet. */
  readonly waiting: Set<Link>;
}

/** Counts what `WatchedAccounts` reports. */
interface Counts {
  lostUpdates: number;
  falseUpdates: number;
}

/** Compares the reports of the endpoints with reads on which a majority agrees. An endpoint that reported something else is distrusted. */
export class ReadComparison {
  readonly #links: readonly Link[];
  readonly #trust: readonly LinkTrust[];
  readonly #counts: Counts;
  readonly #clock: Pick<Clock, 'steadyMs'>;
  /** Accounts with a `truth`. */
  readonly #judged = new Set<Watched>();

  constructor(links: readonly Link[], trust: readonly LinkTrust[], counts: Counts, clock: Pick<Clock, 'steadyMs'>) {
    this.#links = links;
    this.#trust = trust;
    this.#counts = counts;
    this.#clock = clock;
  }

  add(watched: Watched, read: Pick<Truth, 'state' | 'slot' | 'lastSlot'>): void {
    watched.truth = { ...read, atMs: this.#clock.steadyMs(), waiting: new Set(this.#links) };
    this.#judged.add(watched);
  }

  drop(watched: Watched): void {
    watched.truth = null;
    this.#judged.delete(watched);
  }

  check(nowMs: number): void {
    for (const watched of this.#judged) this.#judge(watched, nowMs);
  }

  /** Compares an account's read with the endpoints that have reached its slot. */
  #judge(watched: Watched, nowMs: number): void {
    const { lastSlot, atMs, waiting } = watched.truth!;
    for (const link of waiting) {
      const { isComplete } = watched.views[link.index]!;
      if (isComplete && (!link.isLive(nowMs) || link.appliedSlot <= lastSlot)) continue;
      if (!isComplete || this.#compare(watched, watched.truth!, link, nowMs)) waiting.delete(link);
    }
    if (waiting.size > 0 && nowMs - atMs < truthForMs) return;
    this.drop(watched);
  }

  /** Compares one endpoint that has reported all slots of the read with it. Returns false if other endpoints must reach these slots first. */
  #compare(watched: Watched, { state, slot, lastSlot }: Truth, { index }: Link, nowMs: number): boolean {
    const view = watched.views[index]!;
    const reported = view.reported(slot, lastSlot);
    if (reported === null) return true;
    if (reported.end === state) {
      view.doubts = 0;
      return true;
    }
    if (reported.hasChanged || reported.end === null) {
      // The read may show a moment inside a slot. The majority of the endpoints knows how the slot ended.
      const most = reported.end === null ? null : this.#majorityAt(watched, lastSlot, nowMs);
      if (most === 'unknown') return false;
      if (most !== state) {
        if (most !== null && most === reported.end) view.doubts = 0;
        else if (!reported.states.includes(state)) view.doubts++;
        if (view.doubts < maxDoubts) return true;
      }
    }
    // If two endpoints reported the old state, it was true once, so this endpoint omitted the change from it. Otherwise it invented the state.
    const isLost = (reported.end ?? view.state)?.isConfirmed === true;
    this.#counts[isLost ? 'lostUpdates' : 'falseUpdates']++;
    this.#trust[index]!.distrust(watched.address, isLost ? 'account_update_lost' : 'account_update_false', nowMs);
    // The view continues from the next read.
    view.doubts = 0;
    view.markIncomplete();
    return true;
  }

  /** The account at the end of a slot, as a majority of the endpoints reports it. Null if there is no majority; `unknown` while there may still be one. */
  #majorityAt({ views }: Watched, slot: number, nowMs: number): ReportedState | null | 'unknown' {
    const ends: ReportedState[] = [];
    let isOpen = false;
    for (const link of this.#links) {
      const view = views[link.index]!;
      if (!view.isComplete || !link.isLive(nowMs)) continue;
      if (link.appliedSlot <= slot) isOpen = true;
      else {
        const end = view.reported(slot, slot)?.end ?? null;
        if (end !== null) ends.push(end);
      }
    }
    const most = ends.find((end) => ends.filter((one) => one === end).length >= majorityOf(this.#links.length));
    return most ?? (isOpen ? 'unknown' : null);
  }
}
