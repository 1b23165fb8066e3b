/** A measure of a process, and how much it may grow from the beginning of the judged time to its end. */
export interface Bound {
  readonly name: string;
  /** The larger of both is allowed: an absolute amount, and a share of the measure. */
  readonly amount: number;
  readonly share: number;
}

export interface Sample {
  readonly atMs: number;
  readonly value: number;
}

export interface Growth {
  /** Median of the judged time. */
  readonly level: number;
  /** Growth over the judged time, by the fitted slope. */
  readonly grown: number;
  readonly allowed: number;
  readonly isGrowing: boolean;
}

/** The first part of the time, in which buffers, caches and compiled code reach their size. */
const warmUpShare = 1 / 3;

/**
 * The slope of the last two thirds, as the median of the slopes between all pairs of samples. It follows neither a peak nor a step that
 * returns. Null for fewer than three samples to judge.
 */
export function growthOf(samples: readonly Sample[], { amount, share }: Bound): Growth | null {
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined) return null;
  const fromMs = first.atMs + (last.atMs - first.atMs) * warmUpShare;
  const judged = samples.filter(({ atMs }) => atMs >= fromMs);
  if (judged.length < 3) return null;
  const slopes = judged.flatMap((a, i) => judged.slice(i + 1).map((b) => (b.value - a.value) / (b.atMs - a.atMs)));
  const level = median(judged.map(({ value }) => value));
  const grown = median(slopes) * (judged.at(-1)!.atMs - judged[0]!.atMs);
  const allowed = Math.max(amount, share * level);
  return { level, grown, allowed, isGrowing: grown > allowed };
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
