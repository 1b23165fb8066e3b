/** Time of a block until it is measured: slots of 200 ms, hardly any of them without a block. */
const usualBlockMs = 200;
/** About a minute of answers of three endpoints, twice the life of a blockhash. The oldest is forgotten. */
const maxRemembered = 512;
/** The time of a block is measured over these spans. */
const leastSpanMs = 2_000;
const mostSpanMs = 20_000;
/** Measured times outside of these limits come from a clock or a chain that jumped. */
const [leastBlockMs, mostBlockMs] = [10, 5_000];

interface Accepted {
  readonly blockhash: string;
  readonly lastValidBlockHeight: number;
  readonly askedAtMs: number;
}

/** The blockhashes that the endpoints agreed on: until when each is valid, and how fast the chain makes blocks. */
export class RecentBlockhashes {
  readonly #lastValid = new Map<string, number>();
  #measured: Accepted[] = [];

  note(accepted: Accepted): void {
    const { blockhash, lastValidBlockHeight, askedAtMs } = accepted;
    this.#lastValid.delete(blockhash);
    this.#lastValid.set(blockhash, lastValidBlockHeight);
    if (this.#lastValid.size > maxRemembered) this.#lastValid.delete(this.#lastValid.keys().next().value!);
    // Endpoints answer out of order. What contradicts the newest answer does not count.
    const counts = (one: Accepted): boolean => {
      const ms = askedAtMs - one.askedAtMs;
      return ms >= 0 && ms <= mostSpanMs && one.lastValidBlockHeight <= lastValidBlockHeight;
    };
    this.#measured = [...this.#measured.filter(counts), accepted].slice(-maxRemembered);
  }

  /** Null if the blockhash is not one of them. */
  lastValidBlockHeightOf(blockhash: string): number | null {
    return this.#lastValid.get(blockhash) ?? null;
  }

  /** Time from one block to the next: measured over the last seconds, or the usual one. */
  get blockMs(): number {
    const [first, last] = [this.#measured[0], this.#measured.at(-1)];
    if (first === undefined || last === undefined) return usualBlockMs;
    const [ms, blocks] = [last.askedAtMs - first.askedAtMs, last.lastValidBlockHeight - first.lastValidBlockHeight];
    if (ms < leastSpanMs || blocks === 0) return usualBlockMs;
    const measured = ms / blocks;
    return measured >= leastBlockMs && measured <= mostBlockMs ? measured : usualBlockMs;
  }
}
