import type { ReportedState, AccountView } from './account-view.ts';
import type { Link } from './link.ts';

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
