import type { Line } from '../kit/undecided.ts';
import { amountOf, foldLateTrade, foldTrade, foldTransfer, noPosition, type Position } from './position.ts';
import type { WalletTrade } from './wallet-trade.ts';

/**
 * Bounds of one wallet. Above `positions`, those without tokens are dropped, the oldest first, and if all have tokens, a further mint is not
 * counted. `moves`: settled movements that are remembered, with those of the last `movesOfSlots` slots, at most `mostMoves`.
 */
const walletLimits = { positions: 1_000, moves: 256, movesOfSlots: 600, mostMoves: 4_000 } as const;

/** A movement that is settled. A balance that was read at an earlier slot does not contain it. */
export interface Move {
  readonly signature: string;
  readonly slot: number;
  readonly mint: string;
  readonly change: bigint;
  /** It was read from the history of the chain. Its event in the log must not count again. */
  readonly isRead: boolean;
}

/** What a wallet held at a slot, by mint. Mints that it lacks have 0. */
export interface Balances {
  readonly slot: number;
  /** The newest slot of its reads; `slot` is the oldest. A wallet that traded between them is not compared. */
  readonly newestSlot: number;
  readonly amounts: ReadonlyMap<string, bigint>;
  readonly atMs: number;
}

/** What is stored of a wallet, besides its positions. */
export interface StoredWalletState {
  readonly waiting: readonly WalletTrade[];
  readonly moves: readonly Move[];
  /** All its trades up to this slot are counted. 0: its history was not read yet. */
  readonly completeTo: number;
  /** Trades are missing. They must be read from the history of the chain, after `completeTo`. */
  readonly isBehind: boolean;
  /** Its history was longer than what is read of it. Older tokens are unexplained. */
  readonly isCut: boolean;
  /** Slot of the last balance that was compared; 0 before the first. */
  readonly checkedSlot: number;
  readonly checkedAtMs: number;
  /** Of a paper wallet: when its balance was last reset. Null: a wallet of the chain. */
  readonly paperSinceMs: number | null;
}

export const newWallet: StoredWalletState = {
  waiting: [],
  moves: [],
  completeTo: 0,
  isBehind: true,
  isCut: false,
  checkedSlot: 0,
  checkedAtMs: 0,
  paperSinceMs: null,
};

/** The state of one wallet: settled positions, and trades that can still be retracted. */
export class WalletState implements Line<WalletTrade> {
  readonly wallet: string;
  readonly waiting: WalletTrade[];
  completeTo: number;
  isBehind: boolean;
  isCut: boolean;
  checkedSlot: number;
  checkedAtMs: number;
  paperSinceMs: number | null;
  /** Mints whose settled position changed since it was stored. */
  readonly changed = new Set<string>();
  readonly #positions: Map<string, Position>;
  #moves: Move[];

  constructor(wallet: string, { waiting, moves, ...state }: StoredWalletState, positions: ReadonlyMap<string, Position>) {
    this.wallet = wallet;
    this.waiting = [...waiting];
    this.#moves = [...moves];
    this.#positions = new Map(positions);
    this.completeTo = state.completeTo;
    this.isBehind = state.isBehind;
    this.isCut = state.isCut;
    this.checkedSlot = state.checkedSlot;
    this.checkedAtMs = state.checkedAtMs;
    this.paperSinceMs = state.paperSinceMs;
  }

  get stored(): StoredWalletState {
    const { waiting, completeTo, isBehind, isCut, checkedSlot, checkedAtMs, paperSinceMs } = this;
    return { waiting: [...waiting], moves: [...this.#moves], completeTo, isBehind, isCut, checkedSlot, checkedAtMs, paperSinceMs };
  }

  /** Mints that the wallet has or had, with those of trades that wait. */
  get mints(): ReadonlySet<string> {
    return new Set([...this.#positions.keys(), ...this.waiting.flatMap(({ legs }) => legs.map(({ mint }) => mint))]);
  }

  settled(mint: string): Position | null {
    return this.#positions.get(mint) ?? null;
  }

  /** With the trades that wait. Null if the wallet never had the mint. */
  current(mint: string): Position | null {
    let position = this.settled(mint);
    for (const trade of this.waiting) {
      for (const leg of trade.legs) if (leg.mint === mint) position = this.#folded(position ?? noPosition, trade, leg);
    }
    return position;
  }

  /** Whether the history of the chain has shown this transaction already. */
  hasRead(signature: string): boolean {
    return this.#moves.some((move) => move.isRead && move.signature === signature);
  }

  /** Whether a trade of this transaction was settled, as far as movements are remembered. */
  hasMoved(signature: string): boolean {
    return this.#moves.some((move) => move.signature === signature);
  }

  /** A trade counts for good. */
  settle(trade: WalletTrade, isRead = false): void {
    for (const leg of trade.legs) {
      const { mint, side, tokens } = leg;
      if (!this.#put(mint, this.#folded(this.settled(mint) ?? noPosition, trade, leg))) continue;
      const change = side === 'buy' ? tokens : -tokens;
      this.#moves.push({ signature: trade.signature, slot: trade.slot, mint, change, isRead });
    }
    if (this.#moves.length <= walletLimits.moves) return;
    const newest = Math.max(...this.#moves.map(({ slot }) => slot));
    const excess = this.#moves.length - walletLimits.mostMoves;
    this.#moves = this.#moves.filter(({ slot }, at) => at >= excess && slot > newest - walletLimits.movesOfSlots);
  }

  charge(mint: string, lamports: bigint): void {
    const position = this.settled(mint) ?? noPosition;
    this.#put(mint, { ...position, feesLamports: position.feesLamports + lamports });
  }

  clear(): void {
    for (const mint of this.#positions.keys()) this.changed.add(mint);
    this.#positions.clear();
    this.#moves = [];
  }

  /** What the balances have more than the settled positions had at their slot, by mint. Null if that cannot be known any more. */
  differences({ slot, newestSlot, amounts }: Balances): ReadonlyMap<string, bigint> | null {
    const oldestMove = this.#moves[0]?.slot ?? 0;
    if (this.#moves.length >= walletLimits.moves && slot < oldestMove) return null;
    const found = new Map<string, bigint>();
    for (const mint of new Set([...this.#positions.keys(), ...amounts.keys()])) {
      const later = this.#moves.filter((move) => move.mint === mint && move.slot > slot);
      if (later.some((move) => move.slot <= newestSlot)) return null;
      const then = later.reduce((sum, { change }) => sum - change, amountOf(this.settled(mint) ?? noPosition));
      const difference = (amounts.get(mint) ?? 0n) - then;
      if (difference !== 0n) found.set(mint, difference);
    }
    return found;
  }

  /** Counts differences as transfers, and notes the check. */
  correct(differences: ReadonlyMap<string, bigint>, { slot, atMs }: Balances): void {
    for (const [mint, change] of differences) this.#put(mint, foldTransfer(this.settled(mint) ?? noPosition, change, atMs));
    this.checkedSlot = Math.max(this.checkedSlot, slot);
    this.checkedAtMs = Math.max(this.checkedAtMs, atMs);
  }

  /** A trade of a slot whose balance was checked is in that balance. */
  #folded(position: Position, { slot }: WalletTrade, leg: WalletTrade['legs'][number]): Position {
    return slot <= this.checkedSlot ? foldLateTrade(position, leg) : foldTrade(position, leg);
  }

  /** False if there is no room for another mint. */
  #put(mint: string, position: Position): boolean {
    if (!this.#positions.has(mint) && this.#positions.size >= walletLimits.positions && !this.#dropOldest()) return false;
    this.#positions.set(mint, position);
    this.changed.add(mint);
    return true;
  }

  #dropOldest(): boolean {
    for (const [mint, position] of this.#positions) {
      if (amountOf(position) > 0n) continue;
      this.#positions.delete(mint);
      this.changed.add(mint);
      return true;
    }
    return false;
  }
}
