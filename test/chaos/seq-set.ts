/** A set of frame numbers with one bit for each, so that a hundred clients with a hundred thousand frames each fit in memory. */
export class SeqSet {
  #words = new Uint32Array(64);

  add(seq: number): void {
    const word = seq >>> 5;
    if (word >= this.#words.length) {
      const grown = new Uint32Array(2 ** Math.ceil(Math.log2(word + 1)));
      grown.set(this.#words);
      this.#words = grown;
    }
    this.#words[word]! |= 1 << (seq & 31);
  }

  has(seq: number): boolean {
    return ((this.#words[seq >>> 5] ?? 0) & (1 << (seq & 31))) !== 0;
  }
}
