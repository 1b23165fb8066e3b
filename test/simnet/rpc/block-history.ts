import type { Block, Chain } from '../chain.ts';

/** Blocks stored for `getBlock`, `getBlockTime`, and for heights and blockhashes by commitment. The oldest are dropped first. */
const maxHistoryBlocks = 2_048;

/** The newest blocks of the chain by slot, without those of dead forks. */
export class BlockHistory {
  private readonly bySlot = new Map<number, Block>();
  private readonly unlisten: () => void;
  private transactions = 0;
  private held = 0;
  private readonly maxTransactions: number;

  /** `maxTransactions`: in all stored blocks together. */
  constructor(chain: Chain, maxTransactions = Infinity) {
    this.maxTransactions = maxTransactions;
    this.unlisten = chain.listen({
      onFrozen: (block) => this.add(block),
      onDead: (slots) => {
        for (const slot of slots) this.remove(slot);
      },
    });
  }

  /** Transactions in all living blocks since this history began. */
  get transactionCount(): number {
    return this.transactions;
  }

  private remove(slot: number): void {
    this.transactions -= this.bySlot.get(slot)?.transactions.length ?? 0;
    this.drop(slot);
  }

  private add(block: Block): void {
    this.transactions += block.transactions.length;
    this.held += block.transactions.length;
    this.bySlot.set(block.slot, block);
    for (const oldest of this.bySlot.keys()) {
      if (this.bySlot.size <= maxHistoryBlocks && this.held <= this.maxTransactions) return;
      this.drop(oldest);
    }
  }

  private drop(slot: number): void {
    this.held -= this.bySlot.get(slot)?.transactions.length ?? 0;
    this.bySlot.delete(slot);
  }

  at(slot: number): Block | null {
    return this.bySlot.get(slot) ?? null;
  }

  /** The newest block at or below `slot`; null if none is stored. */
  newestUpTo(slot: number): Block | null {
    const exact = this.bySlot.get(slot);
    if (exact !== undefined) return exact;
    let best: Block | null = null;
    for (const block of this.bySlot.values()) {
      if (block.slot <= slot && (best === null || block.slot > best.slot)) best = block;
    }
    return best;
  }

  /** Stored slots in `from..to`, ascending. */
  slots(from: number, to: number): readonly number[] {
    return [...this.bySlot.keys()].filter((slot) => slot >= from && slot <= to).sort((a, b) => a - b);
  }

  close(): void {
    this.unlisten();
  }
}
