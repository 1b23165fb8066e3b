import { UndecidedEvents } from '../kit/undecided.ts';
import type { Position } from './position.ts';
import { newWallet, WalletState, type Balances, type StoredWalletState } from './wallet-state.ts';
import type { PositionEvent, WalletTrade } from './wallet-trade.ts';

/** Trades of one wallet that can still be retracted. While trades of its history are missing, nothing is settled; a further trade is then read from the history, too. */
const mostWaiting = 2_000;
/** Trades that can still be retracted, of all wallets. Above this limit, the oldest count for good. */
const mostUndecided = 100_000;
/** `completeTo` is this far behind the newest confirmed slot, because trades can be reported late. */
const lateSlots = 100;
/** A difference is searched in the history of this many slots. The movements of a wallet that are remembered reach further back. */
const searchedSlots = 500;

/** What changed of a wallet since the last call of `takeChanges`. A position is null if it was dropped. */
export interface WalletChange {
  readonly wallet: string;
  readonly state: StoredWalletState;
  readonly positions: ReadonlyMap<string, Position | null>;
}

/** What the history of the chain shows: all trades of slots after `from`, up to `to`, in chain order. */
export interface History {
  readonly from: number;
  readonly trades: readonly WalletTrade[];
  readonly to: number;
  readonly isCut: boolean;
}

/**
 * The positions of wallets, from their trades. A trade counts at once in what is shown, and for good when its slot is confirmed. Holds state, but uses no
 * I/O and no clock.
 */
export class PositionLedger {
  /** Newest confirmed slot; 0 before the first. */
  confirmedSlot = 0;
  readonly #wallets = new Map<string, WalletState>();
  readonly #undecided = new UndecidedEvents<WalletTrade, WalletState>({
    of: (trade) => trade,
    fold: (wallet, trade) => wallet.settle(trade),
    undo: (wallet, at) => this.#show(wallet, wallet.waiting[at]!),
    mostOfLine: mostWaiting,
  });
  /** Wallets whose state changed since it was stored. */
  readonly #changed = new Set<WalletState>();
  readonly #dropped = new Set<string>();
  /** Mints of wallets whose shown position changed. */
  #shown = new Map<string, Set<string>>();

  get size(): number {
    return this.#wallets.size;
  }

  /** Trades that can still be retracted. */
  get undecided(): number {
    return this.#undecided.size;
  }

  has(wallet: string): boolean {
    return this.#wallets.has(wallet);
  }

  wallets(): Iterable<WalletState> {
    return this.#wallets.values();
  }

  get(wallet: string): WalletState | null {
    return this.#wallets.get(wallet) ?? null;
  }

  /** Follows a wallet. `stored`: what was stored of it; a new wallet needs its history. */
  add(wallet: string, stored: StoredWalletState | null, positions: ReadonlyMap<string, Position> = new Map()): WalletState {
    const state = new WalletState(wallet, stored ?? newWallet, positions);
    this.#wallets.set(wallet, state);
    if (stored === null) this.#changed.add(state);
    else this.#undecided.resume(state);
    return state;
  }

  /** Follows a wallet no longer. */
  drop(wallet: string): void {
    const state = this.#wallets.get(wallet);
    if (state === undefined) return;
    for (const { id } of state.waiting.toReversed()) this.#undecided.retract(state, id);
    this.#wallets.delete(wallet);
    this.#changed.delete(state);
    this.#shown.delete(wallet);
    this.#dropped.add(wallet);
  }

  /** Entries of the log are missing: the history of the chain must show what they had. */
  markBehind(): void {
    for (const wallet of this.#wallets.values()) if (wallet.paperSinceMs === null) this.#behind(wallet);
  }

  take(events: readonly PositionEvent[]): void {
    for (const event of events) {
      if (event.kind === 'slots') {
        this.#undecided.decide(event.verdict);
        this.confirmedSlot = Math.max(this.confirmedSlot, ...event.verdict.alive, event.verdict.decidedTo ?? 0);
        continue;
      }
      const wallet = this.#wallets.get(event.wallet);
      if (wallet === undefined) continue;
      if (event.kind === 'retract') this.#undecided.retract(wallet, event.id);
      else this.#trade(wallet, event.trade);
    }
    this.#settle();
    while (this.#undecided.size > mostUndecided && this.#undecided.release()) this.#settle();
  }

  /** The slot after which the history of a wallet must be read: what is missing, or what explains a difference of its balances. */
  historyFrom({ isBehind, completeTo }: WalletState): number {
    return Math.max(0, isBehind ? completeTo - lateSlots : this.confirmedSlot - searchedSlots);
  }

  /** Adds what the history of the chain shows. Trades that were counted before are skipped. */
  addHistory(wallet: WalletState, { from, trades, to, isCut }: History): void {
    const shown = new Set(trades.map(({ signature }) => signature));
    // Trades that wait and are in the history are settled with the others, in the order of the chain. Those that it lacks were retracted, in entries that
    // are missing.
    const isDecided = ({ slot, signature }: WalletTrade): boolean => shown.has(signature) || (wallet.isBehind && slot > from && slot <= to);
    for (const { id } of wallet.waiting.filter(isDecided)) this.#undecided.retract(wallet, id);
    // Before anything is added, because a transaction may have several trades.
    const fresh = trades.filter(({ signature, slot }) => slot > from && !wallet.hasMoved(signature));
    for (const trade of fresh) {
      wallet.settle(trade, true);
      this.#show(wallet, trade);
    }
    wallet.completeTo = Math.max(wallet.completeTo, to);
    wallet.isCut ||= isCut;
    // All of it was unknown until now.
    if (wallet.isBehind) for (const mint of wallet.mints) this.#showMint(wallet.wallet, mint);
    wallet.isBehind = false;
    this.#changed.add(wallet);
    this.#undecided.await(wallet, 0);
    this.#settle();
  }

  /**
   * What the wallet has more than its positions explain. `wait`: trades of these slots are not decided yet. `void`: these balances cannot be compared any
   * more, or their wallet is behind.
   */
  compare(wallet: WalletState, balances: Balances): ReadonlyMap<string, bigint> | 'wait' | 'void' {
    const { newestSlot } = balances;
    if (wallet.isBehind) return 'void';
    if (this.confirmedSlot < newestSlot || wallet.waiting.some(({ slot }) => slot <= newestSlot)) return 'wait';
    return wallet.differences(balances) ?? 'void';
  }

  /** Counts what trades do not explain. */
  correct(wallet: WalletState, differences: ReadonlyMap<string, bigint>, balances: Balances): void {
    wallet.correct(differences, balances);
    for (const mint of differences.keys()) this.#showMint(wallet.wallet, mint);
    this.#changed.add(wallet);
  }

  /** Counts a trade that cannot be retracted, as one on paper. */
  settle(wallet: WalletState, trade: WalletTrade): void {
    wallet.settle(trade);
    this.#show(wallet, trade);
    this.#changed.add(wallet);
  }

  charge(wallet: WalletState, mint: string, lamports: bigint): void {
    wallet.charge(mint, lamports);
    this.#showMint(wallet.wallet, mint);
    this.#changed.add(wallet);
  }

  clear(wallet: WalletState, paperSinceMs: number): void {
    for (const mint of wallet.mints) this.#showMint(wallet.wallet, mint);
    wallet.clear();
    wallet.paperSinceMs = paperSinceMs;
    this.#changed.add(wallet);
  }

  /** What is to be stored, of all wallets that changed since the last call. */
  takeChanges(): readonly WalletChange[] {
    const changes = [...this.#changed].map((state): WalletChange => {
      if (!state.isBehind) state.completeTo = Math.max(state.completeTo, this.confirmedSlot - lateSlots);
      const positions = new Map([...state.changed].map((mint) => [mint, state.settled(mint)]));
      state.changed.clear();
      return { wallet: state.wallet, state: state.stored, positions };
    });
    this.#changed.clear();
    return changes;
  }

  /** Wallets that were dropped since the last call. */
  takeDropped(): readonly string[] {
    const dropped = [...this.#dropped];
    this.#dropped.clear();
    return dropped;
  }

  /** Mints of wallets whose shown positions changed since the last call. */
  takeShown(): ReadonlyMap<string, ReadonlySet<string>> {
    const shown = this.#shown;
    this.#shown = new Map();
    return shown;
  }

  #trade(wallet: WalletState, trade: WalletTrade): void {
    if (wallet.hasRead(trade.signature)) return;
    if (wallet.waiting.length >= mostWaiting && wallet.isBehind) return;
    if (this.#undecided.add(wallet, trade) === null) return;
    this.#show(wallet, trade);
    this.#changed.add(wallet);
  }

  #settle(): void {
    for (let wallet = this.#undecided.nextDue(); wallet !== undefined; wallet = this.#undecided.nextDue()) {
      // One that is behind is due again when its history is known.
      if (!wallet.isBehind) this.#undecided.settle(wallet);
      this.#changed.add(wallet);
    }
  }

  #behind(wallet: WalletState): void {
    if (wallet.isBehind) return;
    wallet.isBehind = true;
    this.#changed.add(wallet);
  }

  #show(wallet: WalletState, { legs }: WalletTrade): void {
    for (const { mint } of legs) this.#showMint(wallet.wallet, mint);
  }

  #showMint(wallet: string, mint: string): void {
    const mints = this.#shown.get(wallet);
    if (mints === undefined) this.#shown.set(wallet, new Set([mint]));
    else mints.add(mint);
  }
}
