import type { ChainAccount } from '../../../chain/account-reader.ts';
import { isSameAccount } from '../../../chain/voted-accounts.ts';

/** States that an endpoint told of an account of late: several of one slot at most, as some tell them. */
const maxRecent = 8;

/** A state of an account: one object, whoever tells it. */
export interface AccountState {
  readonly account: ChainAccount | null;
  /** Each state has another. */
  readonly number: number;
  /** Endpoints, as bits by their number, that answered with it when they were asked, and since when nobody told a change. */
  readers: number;
  /** Two endpoints told it, or there is but one: who holds it says what is true, as far as it has not changed. */
  isConfirmed: boolean;
}

/** Of `AccountState.readers`: more than half of the endpoints. */
export const votedReaders = -1;

/** A state, from its slot on until the next one. */
interface Held {
  readonly slot: number;
  readonly state: AccountState;
  /** It was told, and not read. */
  readonly isTold: boolean;
}

/** What an endpoint says of some slots in a row. */
export interface Said {
  /** The account at their end; null where so much was told since that it is not remembered. */
  readonly end: AccountState | null;
  /** The account before them, and as it was told in them. */
  readonly states: readonly AccountState[];
  /** Whether it was told in them: a read may be of a moment between two states. */
  readonly hasChanged: boolean;
}

/** What one endpoint's PubSub says of one account. */
export class AccountView {
  /** Null where nothing is known of it. */
  state: AccountState | null = null;
  /** Slot of that state; -1 where none is known. */
  slot = -1;
  /** It was told, and not read. */
  isTold = false;
  /** Reads of older slots are not believed: they may be of a fork that died. */
  oldestRead = 0;
  /** Reads in a row that contradict it, each of which might be of a moment inside a slot. */
  doubts = 0;
  /** From here on every change has been told; null where one may be missing. */
  #coveredFrom: number | null = null;
  #recent: Held[] = [];

  /** Every change since its state has been told. */
  get isCovered(): boolean {
    return this.#coveredFrom !== null;
  }

  /** `coversFrom`: from this slot on all changes are told; null where that is not known. */
  tell(slot: number, state: AccountState, coversFrom: number | null): void {
    this.#push({ slot, state, isTold: true });
    if (coversFrom !== null && slot >= coversFrom) this.#coveredFrom ??= slot;
  }

  /** The state that it goes on from, as it was read: all later changes are told. */
  base(slot: number, state: AccountState): void {
    if (this.#coveredFrom === null || this.state !== state) this.#coveredFrom = slot;
    this.#push({ slot, state, isTold: false });
  }

  /** A change may be missing. */
  uncover(): void {
    this.#coveredFrom = null;
  }

  /** Its fork died at `slot`: it is to be read anew. */
  die(slot: number): void {
    this.#recent = [];
    this.uncover();
    [this.state, this.slot, this.isTold, this.oldestRead] = [null, -1, false, slot];
  }

  /**
   * The last slot for which it confirms a state that it told in `slot`, last or before another one; null if it did not. Of what followed its
   * last state it confirms nothing here: a change may be missing.
   */
  confirmsUntil(slot: number, state: AccountState): number | null {
    const at = this.#recent.findLastIndex((one) => one.isTold && one.slot === slot && one.state === state);
    if (at === -1) return null;
    const next = this.#recent[at + 1];
    return next === undefined ? slot : next.slot - 1;
  }

  /** Whether it told this state in this slot, last or before another one. */
  toldIn(slot: number, state: AccountState): boolean {
    return this.#recent.some((one) => one.isTold && one.slot === slot && one.state === state);
  }

  /** What it says of these slots; null where a change may be missing. */
  said(from: number, to: number): Said | null {
    if (this.#coveredFrom === null || from < this.#coveredFrom) return null;
    const inside = this.#recent.filter(({ slot }) => slot >= from && slot <= to);
    const before = this.#recent.findLast(({ slot }) => slot < from);
    const states = [...(before === undefined ? [] : [before]), ...inside].map(({ state }) => state);
    return { end: states.at(-1) ?? null, states, hasChanged: inside.length > 0 };
  }

  /** The known state with these bytes; null where it has told none. */
  find(account: ChainAccount | null): AccountState | null {
    if (this.state !== null && isSameAccount(this.state.account, account)) return this.state;
    return this.#recent.find(({ state }) => isSameAccount(state.account, account))?.state ?? null;
  }

  #push(held: Held): void {
    const isSame = !held.isTold && this.state === held.state;
    // Read again, it is as it was known to be.
    if (!isSame && this.#recent.push(held) > maxRecent) this.#recent.shift();
    [this.state, this.slot, this.isTold] = [held.state, held.slot, held.isTold];
  }
}

/** Whether two endpoints tell different things of one slot, and neither is but a step behind the other inside of it. */
export function contradict(a: AccountView, b: AccountView): boolean {
  if (!a.isTold || !b.isTold || a.slot !== b.slot || a.state === null || b.state === null || a.state === b.state) return false;
  return a.toldIn(a.slot, b.state) === b.toldIn(b.slot, a.state);
}
