/**
 * How the answers of independent endpoints are counted. Pure: no clock, no I/O.
 *
 * | endpoints | believed |
 * |---|---|
 * | 1 | what it says, within the bounds of the fact |
 * | 2 | what both say; one alone only where the other gives no usable answer |
 * | 3 or more | what more than half of all say; where some give no usable answer, what more than half of the others say |
 */

/** Endpoints that must say the same: two of three, both of two, one where it is alone. */
export function majorityOf(endpoints: number): number {
  return Math.floor(endpoints / 2) + 1;
}

/** The highest value that a majority has reached: one alone leads nobody ahead, and holds no two others back. Throws RangeError for none. */
export function reachedBy(values: readonly number[]): number {
  const reached = values.toSorted((a, b) => b - a)[majorityOf(values.length) - 1];
  if (reached === undefined) throw new RangeError('No value was given.');
  return reached;
}

/** The middle value, the lower one of two: one of three cannot move it beyond the others, and one of two cannot raise it. Null for none. */
export function lowerMedian(values: readonly bigint[]): bigint | null {
  return values.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0))[Math.floor((values.length - 1) / 2)] ?? null;
}

/** What one endpoint says of a fact. */
export interface Vote<T> {
  /** Number of the endpoint, from 0. */
  readonly endpoint: number;
  readonly value: T;
}

export interface Electorate {
  /** All endpoints that are set. */
  readonly endpoints: number;
  /** Of these, how many have not answered yet and still may. */
  readonly waiting: number;
}

export type Verdict<T> =
  /**
   * `votes`: those that say the same. `outvoted`: endpoints that say something else. `isMajority`: more than half of all endpoints say it;
   * otherwise the rest gave no usable answer.
   */
  | { readonly kind: 'agreed'; readonly votes: readonly Vote<T>[]; readonly outvoted: readonly number[]; readonly isMajority: boolean }
  /** Everybody has answered or failed, and no value has more than half of the answers. */
  | { readonly kind: 'contradicted'; readonly votes: readonly Vote<T>[] }
  /** Too few say the same, and some have not answered yet. */
  | { readonly kind: 'waiting' }
  /** Nobody gave a usable answer. */
  | { readonly kind: 'silent' };

/** The votes that agree with one of them, of the one with which most do; empty where there are none. */
export function largestGroup<T>(votes: readonly Vote<T>[], agree: (one: T, other: T) => boolean): readonly Vote<T>[] {
  const groups = votes.map(({ value }) => votes.filter((other) => agree(value, other.value)));
  return groups.reduce<readonly Vote<T>[]>((best, group) => (group.length > best.length ? group : best), []);
}

/** Counts the votes; `agree` says whether two values can both be true. Several votes of one endpoint must not be passed. */
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
