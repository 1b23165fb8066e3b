import type { Distribution } from './metric.ts';

/** Buckets within each power of two: an error of at most 1/32. */
const steps = 16;
const powers = 36;

/** Bucket bounds for Prometheus, in microseconds: from a tenth of a millisecond to ten seconds. */
const boundsUs = [
  100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000,
];

/** A histogram of microseconds since the start, with bounded memory and about 3 % error. */
export class LatencyHistogram {
  readonly #counts = new Float64Array(steps * powers);
  #total = 0;
  #max = 0;
  #sum = 0;

  get count(): number {
    return this.#total;
  }

  record(us: number): void {
    const value = us < 0 ? 0 : us;
    this.#total++;
    this.#sum += value;
    if (value > this.#max) this.#max = value;
    const at = bucketOf(value);
    this.#counts[at] = this.#counts[at]! + 1;
  }

  /** The value below which `fraction` of the records are (lower edge of its bucket); null without records. */
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
    return { count: this.#total, p50: this.percentile(0.5), p90: this.percentile(0.9), p99: this.percentile(0.99), max: this.#max };
  }

  /** In seconds. A value in the same internal bucket as a bound is treated as above the bound. */
  distribution(): Distribution {
    const buckets: { le: number; count: number }[] = [];
    let at = 0;
    let below = 0;
    for (const us of boundsUs) {
      for (const end = bucketOf(us); at < end; at++) below += this.#counts[at]!;
      buckets.push({ le: us / 1e6, count: below });
    }
    return { buckets, sum: this.#sum / 1e6, count: this.#total };
  }
}

function bucketOf(us: number): number {
  const power = us < steps ? 0 : Math.floor(Math.log2(us / steps)) + 1;
  const step = power === 0 ? Math.floor(us) : Math.floor(us / 2 ** (power - 1)) - steps;
  return Math.min(power * steps + step, steps * powers - 1);
}
