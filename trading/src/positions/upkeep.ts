import type { History, PositionLedger } from '@sluice/followers/positions/ledger.ts';
import type { Balances, WalletState } from '@sluice/followers/positions/wallet-state.ts';

/** Reads of the chain that run at the same time. Wallets that were asked for come first. */
const atOnce = { histories: 2, checks: 4 } as const;
/** How long after a trade, after a question, and at the latest, a balance is compared. */
const afterTradeMs = 3_000;
const afterQuestionMs = 500;
const againAfterMs = 600_000;
/** A balance whose slots are not decided for this long is dropped. */
const waitForMs = 20_000;
const firstPauseMs = 500;
const maxPauseMs = 60_000;
/** A history is read up to this far after the newest known slot: the log may have had trades of it before the wallet was followed. */
const aheadSlots = 2;

export interface ChainReads {
  readonly history: (wallet: string, from: number, to: number) => Promise<History | null>;
  readonly balances: (wallet: string, oldestSlot: number) => Promise<Balances | null>;
  /** The newest slot of the chain; 0 while it is unknown. */
  readonly slot: () => number;
  /** A read rejected, which it does only because of a fault in the program. */
  readonly onFault: (error: unknown, wallet: string) => void;
}

/** What is done for one wallet, and when. Times are of the steady clock. */
interface Care {
  isBusy: boolean;
  nextAtMs: number;
  pauseMs: number;
  askedAtMs: number;
  changedAtMs: number;
  checkedAtMs: number;
  check: { readonly balances: Balances; readonly untilMs: number; isSearched: boolean } | null;
  /** What the last comparison could not explain, and its slot. It counts only if the next comparison shows the same. */
  suspected: { readonly differences: ReadonlyMap<string, bigint>; readonly slot: number } | null;
}

/**
 * Keeps positions true to the chain: reads the history of wallets whose trades are missing, and compares balances. A difference is first searched in the
 * history. What trades do not explain counts as a transfer, once a second comparison shows the same: a read in the middle of a slot, or a false slot, would
 * otherwise move tokens and cost. Reads run while the log is followed, and `apply` applies their results.
 */
export class Upkeep {
  readonly counts = { histories: 0, checks: 0, differences: 0, failures: 0 };
  readonly #ledger: PositionLedger;
  readonly #reads: ChainReads;
  readonly #cares = new Map<string, Care>();
  readonly #running = { histories: 0, checks: 0 };
  #results: (() => void)[] = [];

  constructor(ledger: PositionLedger, reads: ChainReads) {
    this.#ledger = ledger;
    this.#reads = reads;
  }

  asked(wallet: string, nowMs: number): void {
    this.#care(wallet).askedAtMs = nowMs;
  }

  changed(wallet: string, nowMs: number): void {
    this.#care(wallet).changedAtMs = nowMs;
  }

  forget(wallet: string): void {
    this.#cares.delete(wallet);
  }

  /** Starts reads that are due. */
  start(nowMs: number): void {
    if (this.#reads.slot() === 0) return;
    const due = [...this.#ledger.wallets()].filter((state) => state.paperSinceMs === null && this.#isDue(state, nowMs));
    const askedFirst = due.toSorted((a, b) => this.#care(b.wallet).askedAtMs - this.#care(a.wallet).askedAtMs);
    for (const state of askedFirst) {
      if (!state.isBehind) this.#check(state, nowMs);
      else if (this.#running.histories < atOnce.histories) this.#readHistory(state, nowMs, this.#reads.slot() + aheadSlots);
    }
  }

  /** Applies what was read. */
  apply(nowMs: number): void {
    for (const result of this.#results.splice(0)) result();
    for (const [wallet, care] of this.#cares) {
      const state = this.#ledger.get(wallet);
      if (state === null) this.#cares.delete(wallet);
      else if (care.check !== null && !care.isBusy) this.#compare(state, care, care.check, nowMs);
    }
  }

  #isDue({ wallet, isBehind }: WalletState, nowMs: number): boolean {
    const { isBusy, nextAtMs, check, askedAtMs, changedAtMs, checkedAtMs } = this.#care(wallet);
    if (isBusy || check !== null || nowMs < nextAtMs) return false;
    if (isBehind || nowMs - checkedAtMs >= againAfterMs) return true;
    if (askedAtMs > checkedAtMs && nowMs - checkedAtMs >= afterQuestionMs) return true;
    return changedAtMs > checkedAtMs && nowMs - changedAtMs >= afterTradeMs;
  }

  #readHistory(state: WalletState, nowMs: number, to: number): void {
    const { wallet } = state;
    const from = this.#ledger.historyFrom(state);
    this.#run('histories', wallet, nowMs, this.#reads.history(wallet, from, to), (history, care) => {
      this.#ledger.addHistory(state, history);
      this.counts.histories++;
      if (care.check !== null) care.check.isSearched = true;
    });
  }

  #check({ wallet }: WalletState, nowMs: number): void {
    if (this.#running.checks >= atOnce.checks) return;
    this.#care(wallet).checkedAtMs = nowMs;
    this.#run('checks', wallet, nowMs, this.#reads.balances(wallet, this.#ledger.confirmedSlot), (balances, care) => {
      care.check = { balances, untilMs: nowMs + waitForMs, isSearched: false };
    });
  }

  #compare(state: WalletState, care: Care, check: NonNullable<Care['check']>, nowMs: number): void {
    const { balances } = check;
    const differences = this.#ledger.compare(state, balances);
    if (differences === 'wait' && nowMs < check.untilMs) return;
    if (typeof differences === 'string') {
      care.check = null;
      this.#postpone(care, nowMs);
      return;
    }
    const { suspected } = care;
    const isSeenAgain = suspected !== null && suspected.slot < balances.slot && areSame(suspected.differences, differences);
    if (differences.size > 0 && !check.isSearched && !isSeenAgain) {
      if (nowMs < care.nextAtMs || this.#running.histories >= atOnce.histories) return;
      if (nowMs < check.untilMs) this.#readHistory(state, nowMs, balances.newestSlot);
      else care.check = null;
      return;
    }
    care.check = null;
    care.suspected = { differences, slot: balances.slot };
    if (differences.size > 0 && !isSeenAgain) {
      care.nextAtMs = nowMs + afterQuestionMs;
      care.checkedAtMs = Number.NEGATIVE_INFINITY;
      return;
    }
    this.#ledger.correct(state, differences, balances);
    this.counts.checks++;
    if (differences.size > 0) this.counts.differences++;
    care.suspected = null;
  }

  /** Runs one read of a wallet. After a failure it is repeated later and later. */
  #run<T>(kind: keyof typeof atOnce, wallet: string, nowMs: number, read: Promise<T | null>, use: (result: T, care: Care) => void): void {
    const care = this.#care(wallet);
    care.isBusy = true;
    this.#running[kind]++;
    const end = (result: T | null): void => {
      this.#running[kind]--;
      this.#results.push(() => {
        care.isBusy = false;
        // The wallet may have been dropped meanwhile, and followed again.
        if (this.#cares.get(wallet) !== care || !this.#ledger.has(wallet)) return;
        if (result === null) {
          this.counts.failures++;
          this.#postpone(care, nowMs);
          return;
        }
        care.pauseMs = firstPauseMs;
        use(result, care);
      });
    };
    read.then(end, (error: unknown) => {
      this.#reads.onFault(error, wallet);
      end(null);
    });
  }

  #postpone(care: Care, nowMs: number): void {
    care.nextAtMs = nowMs + care.pauseMs;
    care.pauseMs = Math.min(maxPauseMs, care.pauseMs * 2);
    care.checkedAtMs = Number.NEGATIVE_INFINITY;
  }

  #care(wallet: string): Care {
    let care = this.#cares.get(wallet);
    if (care !== undefined) return care;
    const never = Number.NEGATIVE_INFINITY;
    care = {
      isBusy: false,
      nextAtMs: 0,
      pauseMs: firstPauseMs,
      askedAtMs: never,
      changedAtMs: never,
      checkedAtMs: never,
      check: null,
      suspected: null,
    };
    this.#cares.set(wallet, care);
    return care;
  }
}

function areSame(one: ReadonlyMap<string, bigint>, other: ReadonlyMap<string, bigint>): boolean {
  return one.size === other.size && [...one].every(([mint, change]) => other.get(mint) === change);
}
