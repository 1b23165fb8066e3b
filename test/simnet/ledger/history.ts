import type { Block, TransactionRecord } from '../chain.ts';

export interface HistoryBounds {
  /** If more transactions or blocks than this are stored, whole final blocks are dropped, oldest first. */
  readonly transactions: number;
  readonly blocks: number;
}

/** 20,000 transactions are about 40 minutes of the default market, 20,000 blocks are 67 minutes of 200 ms slots. */
export const defaultHistoryBounds: HistoryBounds = { transactions: 20_000, blocks: 20_000 };

/** The newest final block is this many blocks behind the newest block. */
export const finalizedDepth = 31;
/**
 * The newest blocks that are never dropped. If a block were dropped before it is final, it would never become final, and no later block
 * either.
 */
const leastBlocks = finalizedDepth + 1;
/** The newest blocks whose records still have `written`. */
const keepsWritten = 2 * leastBlocks;

const noRecords: readonly TransactionRecord[] = [];

/** Blocks of the living fork and their transactions, by signature and by account. Bounded; the oldest are dropped first. */
export class History {
  readonly #bounds: HistoryBounds;
  readonly #blocks: Block[] = [];
  readonly #bySignature = new Map<string, TransactionRecord>();
  readonly #byAddress = new Map<string, TransactionRecord[]>();

  constructor(bounds: HistoryBounds) {
    this.#bounds = bounds;
  }

  get blocks(): readonly Block[] {
    return this.#blocks;
  }

  get transactions(): number {
    return this.#bySignature.size;
  }

  append(block: Block): void {
    this.#blocks.push(block);
    for (const record of block.transactions) {
      this.#bySignature.set(record.signature, record);
      for (const address of record.accountKeys) {
        const list = this.#byAddress.get(address);
        if (list === undefined) this.#byAddress.set(address, [record]);
        // Once each, even if a key appears twice.
        else if (list[list.length - 1] !== record) list.push(record);
      }
    }
    this.#dropWritten();
    while (this.#isAbove()) {
      const oldest = this.#blocks.shift();
      if (oldest === undefined) break;
      this.#forget(oldest, 'oldest');
    }
  }

  #isAbove(): boolean {
    if (this.#blocks.length <= leastBlocks) return false;
    return this.#bySignature.size > this.#bounds.transactions || this.#blocks.length > this.#bounds.blocks;
  }

  /** Drops old versions of accounts: they would take most of the memory, and nobody reads them once all commitments have passed. */
  #dropWritten(): void {
    const old = this.#blocks[this.#blocks.length - 1 - keepsWritten];
    for (const { written } of old?.transactions ?? []) if (written instanceof Map) written.clear();
  }

  /** Removes the newest block (its fork died). */
  popNewest(): Block {
    const block = this.#blocks.pop();
    if (block === undefined) throw new Error('no block to remove');
    this.#forget(block, 'newest');
    return block;
  }

  transaction(signature: string): TransactionRecord | null {
    return this.#bySignature.get(signature) ?? null;
  }

  /** Newest first, strictly older than `before` and newer than `until` if these are known. */
  signaturesFor(address: string, limit: number, before?: string, until?: string): readonly TransactionRecord[] {
    const list = this.#byAddress.get(address) ?? noRecords;
    let end = list.length;
    if (before !== undefined) {
      const at = this.#position(list, before);
      if (at === null) return noRecords;
      end = at;
    }
    const found: TransactionRecord[] = [];
    for (let i = end - 1; i >= 0 && found.length < limit; i--) {
      const record = list[i];
      if (record === undefined || record.signature === until) break;
      found.push(record);
    }
    return found;
  }

  /** The index in an address's list where the records older than this signature end; null if the signature is not known. */
  #position(list: readonly TransactionRecord[], signature: string): number | null {
    const record = this.#bySignature.get(signature);
    if (record === undefined) return null;
    let low = 0;
    let high = list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const other = list[middle];
      if (other !== undefined && (other.slot < record.slot || (other.slot === record.slot && other.index < record.index))) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #forget(block: Block, end: 'oldest' | 'newest'): void {
    for (const record of block.transactions) {
      this.#bySignature.delete(record.signature);
      for (const address of new Set(record.accountKeys)) {
        const list = this.#byAddress.get(address);
        if (list === undefined) continue;
        if (end === 'oldest') list.shift();
        else list.pop();
        if (list.length === 0) this.#byAddress.delete(address);
      }
    }
  }
}
