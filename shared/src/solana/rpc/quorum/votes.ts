/**
 * Counts the answers of independent endpoints. Pure: no clock, no I/O.
 *
 * | endpoints | believed |
 * |---|---|
 * | 1 | its answer, within the bounds of the fact |
 * | 2 | what both answer; one alone only if the other gives no usable answer |
 * | 3 or more | what more than half of all answer; if some give no usable answer, what more than half of the others answer |
 */

/** How many endpoints must agree: two of three, both of two, one if it is alone. */
export function majorityOf(endpoints: number): number {
  return Math.floor(endpoints / 2) + 1;
}

/** The highest value that a majority has reached: one endpoint cannot raise it, or hold two others back. Throws RangeError for an empty list. */
export function reachedBy(values: readonly number[]): number {
  const reached = values.toSorted((a, b) => b - a)[majorityOf(values.length) - 1];
  if (reached === undefined) throw new RangeError('No value was given.');
  return reached;
}

/** The middle value, the lower one of two. One of three cannot move it beyond the others. Null for an empty list. */
export function lowerMedian(values: readonly bigint[]): bigint | null {
  return values.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0))[Math.floor((values.length - 1) / 2)] ?? null;
}

/** The answer of one endpoint. */
export interface Vote<T> {
  /** Number of the endpoint, from 0. */
  readonly endpoint: number;
  readonly value: T;
}

export interface Electorate {
  /** Number of configured endpoints. */
  readonly endpoints: number;
  /** How many of them have not answered yet and still may. */
  readonly waiting: number;
}

export type Verdict<T> =
  /** `outvoted`: endpoints with another answer. `isMajority`: more than half of all agree; otherwise the others gave no usable answer. */
  | { readonly kind: 'agreed'; readonly votes: readonly Vote<T>[]; readonly outvoted: readonly number[]; readonly isMajority: boolean }
  /** All have answered or failed, and no value has more than half of the answers. */
  | { readonly kind: 'contradicted'; readonly votes: readonly Vote<T>[] }
  /** Too few agree, and some have not answered yet. */
  | { readonly kind: 'waiting' }
  /** Nobody gave a usable answer. */
  | { readonly kind: 'silent' };

/** The largest group of votes that agree with one of its votes; empty if there are no votes. */
export function largestGroup<T>(votes: readonly Vote<T>[], agree: (one: T, other: T) => boolean): readonly Vote<T>[] {
  const groups = votes.map(({ value }) => votes.filter((other) => agree(value, other.value)));
  return groups.reduce<readonly Vote<T>[]>((best, group) => (group.length > best.length ? group : best), []);
}

/** Counts the votes; `agree` decides whether two values can both be true. Pass at most one vote of each endpoint. */
export function countVotes<T>(
  votes: readonly Vote<T>[],
  { endpoints, waiting }: Electorate,
  agree: (one: T, other: T) => boolean,
): Verdict<T> {
  if (votes.length === 0) return { kind: waiting > 0 ? 'waiting' : 'silent' };
  const winners = largestGroup(votes, agree);
  const isMajority = winners.length >= majorityOf(endpoints);
  if (!isMajority && waiting > 0) return { kind: 'waiting' };
  if (winners.length * 2 <= votes.length) return { kind: 'contradicted', votes };
  const outvoted = votes.filter((vote) => !winners.includes(vote)).map(({ endpoint }) => endpoint);
  return { kind: 'agreed', votes: winners, outvoted, isMajority };
}
