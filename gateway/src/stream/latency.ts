/** Buckets a power of two is divided into: an error of at most 1/32. */
const steps = 16;
const powers = 36;

/** A histogram of microseconds with bounded memory and about 3 % error; the whole is since the start, or since `reset`. */
export class LatencyHistogram {
  readonly #counts = new Float64Array(steps * powers);
  #total = 0;
  #max = 0;

  get count(): number {
    return this.#total;
  }

  record(us: number): void {
    const value = us < 0 ? 0 : us;
    this.#total++;
    if (value > this.#max) this.#max = value;
    const power = value < steps ? 0 : Math.floor(Math.log2(value / steps)) + 1;
    const step = power === 0 ? Math.floor(value) : Math.floor(value / 2 ** (power - 1)) - steps;
    const at = Math.min(power * steps + step, this.#counts.length - 1);
    this.#counts[at] = this.#counts[at]! + 1;
  }

  /** The value under which `fraction` of the records lie (lower edge of its bucket); null without records. */
  percentile(fraction: number): number | null {
    if (this.#total === 0) return null;
    let left = Math.ceil(fraction * this.#total);
    for (let at = 0; at < this.#counts.length; at++) {
      left -= this.#counts[at]!;
      if (left <= 0) {
        const power = Math.floor(at / steps);
        return power === 0 ? at : (steps + (at % steps)) * 2 ** (power - 1);
      }
    }
    return this.#max;
  }

  summary(): { count: number; p50: number | null; p90: number | null; p99: number | null; max: number } {
    return {
      count: this.#total,
      p50: this.percentile(0.5),
      p90: this.percentile(0.9),
      p99: this.percentile(0.99),
      max: this.#max,
    };
  }

  reset(): void {
    this.#counts.fill(0);
    this.#total = 0;
    this.#max = 0;
  }
}
