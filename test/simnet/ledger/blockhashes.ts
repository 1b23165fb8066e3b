/** A blockhash is valid for this many blocks. */
export const blockhashLifetime = 150;

/** Blockhashes of the living fork with the height of their block. Expired ones are dropped. */
export class Blockhashes {
  readonly #heights = new Map<string, number>();

  add(blockhash: string, height: number): void {
    this.#heights.set(blockhash, height);
    for (const [old, oldHeight] of this.#heights) {
      if (oldHeight >= height - blockhashLifetime) break;
      this.#heights.delete(old);
    }
  }

  remove(blockhash: string): void {
    this.#heights.delete(blockhash);
  }

  /** Whether a transaction with this blockhash may go into a block of this height. */
  isValidAt(blockhash: string, height: number): boolean {
    const added = this.#heights.get(blockhash);
    return added !== undefined && height <= added + blockhashLifetime;
  }
}
