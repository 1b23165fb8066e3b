/** Blocks that the fee history covers. */
const coveredBlocks = 150;

interface BlockFees {
  readonly slot: number;
  readonly lowest: bigint;
  readonly byAccount: ReadonlyMap<string, bigint>;
}

export interface PaidPrice {
  readonly unitPrice: bigint;
  readonly writable: readonly string[];
}

/** The lowest unit price of each of the last 150 blocks, over all transactions and for each account that they wrote. */
export class PriorityFees {
  readonly #blocks: BlockFees[] = [];

  append(slot: number, paid: readonly PaidPrice[]): void {
    const byAccount = new Map<string, bigint>();
    let lowest: bigint | null = null;
    for (const { unitPrice, writable } of paid) {
      if (lowest === null || unitPrice < lowest) lowest = unitPrice;
      for (const address of writable) {
        const known = byAccount.get(address);
        if (known === undefined || unitPrice < known) byAccount.set(address, unitPrice);
      }
    }
    this.#blocks.push({ slot, lowest: lowest ?? 0n, byAccount });
    if (this.#blocks.length > coveredBlocks) this.#blocks.shift();
  }

  popNewest(): void {
    this.#blocks.pop();
  }

  /** The same answer as a node's: the lowest price of the block, or the highest of the accounts' lowest prices if that is more. */
  over(accounts: readonly string[]): readonly { readonly slot: number; readonly prioritizationFee: number }[] {
    return this.#blocks.map(({ slot, lowest, byAccount }) => {
      let fee = lowest;
      for (const account of accounts) {
        const price = byAccount.get(account);
        if (price !== undefined && price > fee) fee = price;
      }
      return { slot, prioritizationFee: Number(fee) };
    });
  }
}
