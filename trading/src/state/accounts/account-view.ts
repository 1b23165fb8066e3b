import type { ChainAccount } from '@sluice/gateway/reads/chain/account-reader.ts';
import { isSameAccount } from '@sluice/gateway/reads/chain/voted-accounts.ts';

/** Most recent states remembered for one endpoint and account. An endpoint may report several states of one slot. */
const maxRecent = 8;

/** A state of an account. All endpoints that report the same bytes share one object. */
export interface ReportedState {
  readonly account: ChainAccount | null;
  /** A different number for each state. */
  readonly number: number;
  /** Bit mask of endpoints whose reads returned this state, as long as no endpoint has reported a change since. */
  readers: number;
  /** Two endpoints reported it, or only one is configured. So the state is true, though it may have changed since. */
  isConfirmed: boolean;
}

/** Value of `ReportedState.readers` if a majority of the endpoints returned the state. */
export const votedReaders = -1;

/** A state that is valid from `slot` until the next state. */
interface TimedState {
  readonly slot: number;
  readonly state: ReportedState;
  /** It came by PubSub notification, and not by a read. */
  readonly isNotified: boolean;
}

/** What an endpoint reported about a range of slots. */
export interface ReportedStates {
  /** The account at the end of the range. Null if it is no longer remembered. */
  readonly end: ReportedState | null;
  /** The account before the range, and all states reported in it. */
  readonly states: readonly ReportedState[];
  /** A state was reported in the range, so a read may show a moment between two states. */
  readonly hasChanged: boolean;
}

/** What one endpoint's PubSub reports about one account. */
export class AccountView {
  /** Null if nothing is known. */
  state: ReportedState | null = null;
  /** Slot of the state; -1 if none is known. */
  slot = -1;
  /** The state came by PubSub notification, and not by a read. */
  isNotified = false;
  /** Reads of older slots are ignored, because they may belong to a dead fork. */
  oldestRead = 0;
  /** Reads in a row that contradict this view, but that may show a moment inside a slot. */
  doubts = 0;
  /** The slot from which every change was reported; null if one may be missing. */
  #completeFrom: number | null = null;
  #recent: TimedState[] = [];

  /** Whether every change since `state` was reported. */
  get isComplete(): boolean {
    return this.#completeFrom !== null;
  }

  /** Adds a notification. `completeFrom`: the slot from which the endpoint reports all changes; null if unknown. */
  update(slot: number, state: ReportedState, completeFrom: number | null): void {
    this.#push({ slot, state, isNotified: true });
    if (completeFrom !== null && slot >= completeFrom) this.#completeFrom ??= slot;
  }

  /**
   * Sets the state from a read. The endpoint must report all later changes. A read that returns the known state changes nothing: with its slot, the
   * view would not count before the endpoint has passed that slot, and frequent reads would keep it from ever counting.
   */
  startFrom(slot: number, state: ReportedState): void {
    if (this.#completeFrom !== null && this.state === state) return;
    this.#completeFrom = slot;
    this.#push({ slot, state, isNotified: false });
  }

  /** Call when a change may be missing. */
  markIncomplete(): void {
    this.#completeFrom = null;
  }

  /** Call when the fork of the state died. `slot`: the slot of the fork that the endpoint follows now. The account must be read again. */
  dropFork(slot: number): void {
    this.#recent = [];
    this.markIncomplete();
    [this.state, this.slot, this.isNotified, this.oldestRead] = [null, -1, false, slot];
  }

  /**
   * The last slot for which this view confirms a state that it reported in `slot`. Null if it did not report that state. Its newest state is
   * confirmed only for its own slot, because a later change may be missing.
   */
  confirmsUntil(slot: number, state: ReportedState): number | null {
    const at = this.#recent.findLastIndex((one) => one.isNotified && one.slot === slot && one.state === state);
    if (at === -1) return null;
    const next = this.#recent[at + 1];
    return next === undefined ? slot : next.slot - 1;
  }

  /** Whether the endpoint reported this state in this slot, even if another state of the slot followed. */
  wasNotified(slot: number, state: ReportedState): boolean {
    return this.#recent.some((one) => one.isNotified && one.slot === slot && one.state === state);
  }

  /** What the endpoint reported about these slots; null if a change may be missing. */
  reported(from: number, to: number): ReportedStates | null {
    if (this.#completeFrom === null || from < this.#completeFrom) return null;
    const inside = this.#recent.filter(({ slot }) => slot >= from && slot <= to);
    const before = this.#recent.findLast(({ slot }) => slot < from);
    const states = [...(before === undefined ? [] : [before]), ...inside].map(({ state }) => state);
    return { end: states.at(-1) ?? null, states, hasChanged: inside.length > 0 };
  }

  /** The remembered state that equals this account; null if there is none. */
  find(account: ChainAccount | null): ReportedState | null {
    if (this.state !== null && isSameAccount(this.state.account, account)) return this.state;
    return this.#recent.find(({ state }) => isSameAccount(state.account, account))?.state ?? null;
  }

  #push(next: TimedState): void {
    const isSame = !next.isNotified && this.state === next.state;
    // A read that returns the known state adds nothing.
    if (!isSame && this.#recent.push(next) > maxRecent) this.#recent.shift();
    [this.state, this.slot, this.isNotified] = [next.state, next.slot, next.isNotified];
  }
}

/** Whether two endpoints report different states of one slot, and neither is merely behind the other within the slot. */
export function contradict(a: AccountView, b: AccountView): boolean {
  if (!a.isNotified || !b.isNotified || a.slot !== b.slot || a.state === null || b.state === null || a.state === b.state) return false;
  return a.wasNotified(a.slot, b.state) === b.wasNotified(b.slot, a.state);
}
