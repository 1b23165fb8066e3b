import type { ChainAccount } from '../../chain/account-reader.ts';
import { isSameAccount } from '../../chain/voted-accounts.ts';

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

/** What one endpoint's PubSub says of one account. */
export class AccountView {
  /** Null where nothing is known of it. */
  state: AccountState | null = null;
  /** Slot of that state; -1 where none is known. */
  slot = -1;
  /** It was told, and not read. */
  isTold = false;
  /** Every change since that state has been told. */
  isCovered = false;
  /** Reads of older slots are not believed: they may be of a fork that died. */
  oldestRead = 0;
  /** Reads in a row that contradict it, each of which might be of a moment inside a slot. */
  doubts = 0;
  #recent: { readonly slot: number; readonly state: AccountState }[] = [];

  tell(slot: number, state: AccountState): void {
    this.#recent.push({ slot, state });
    if (this.#recent.length > maxRecent) this.#recent.shift();
    [this.state, this.slot, this.isTold] = [state, slot, true];
  }

  /** The state that it goes on from, as it was read. */
  base(slot: number, state: AccountState): void {
    [this.state, this.slot, this.isTold] = [state, slot, false];
  }

  /** Its fork died at `slot`: it is to be read anew. */
  die(slot: number): void {
    this.#recent = [];
    [this.state, this.slot, this.isTold, this.isCovered, this.oldestRead] = [null, -1, false, false, slot];
  }

  /** Whether it told this state in this slot, last or before another one. */
  toldIn(slot: number, state: AccountState): boolean {
    return this.#recent.some((one) => one.slot === slot && one.state === state);
  }

  /** Whether it says, or said of late, that the account is so. */
  knows(state: AccountState): boolean {
    return this.state === state || this.#recent.some((one) => one.state === state);
  }

  /** The known state with these bytes; null where it has told none. */
  find(account: ChainAccount | null): AccountState | null {
    if (this.state !== null && isSameAccount(this.state.account, account)) return this.state;
    return this.#recent.find(({ state }) => isSameAccount(state.account, account))?.state ?? null;
  }
}

/** Whether two endpoints tell different things of one slot, and neither is but a step behind the other inside of it. */
export function contradict(a: AccountView, b: AccountView): boolean {
  if (!a.isTold || !b.isTold || a.slot !== b.slot || a.state === null || b.state === null || a.state === b.state) return false;
  return a.toldIn(a.slot, b.state) === b.toldIn(b.slot, a.state);
}
