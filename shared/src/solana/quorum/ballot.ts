import { countVotes, type Verdict, type Vote } from './votes.ts';

interface HeldVote<T> extends Vote<T> {
  readonly askedAtMs: number;
}

export interface BallotOptions<T> {
  /** Endpoints that are asked. */
  readonly endpoints: number;
  /** An older answer does not count. */
  readonly maxAgeMs: number;
  /** Whether both can be true. */
  readonly agree: (one: T, other: T) => boolean;
}

/**
 * The newest answer of each endpoint to a question that is asked again and again. An answer counts whenever it comes, and until a newer
 * one of the same endpoint replaces it; nothing that was believed before counts. Time is passed in, any milliseconds of one clock.
 */
export class Ballot<T> {
  readonly #options: BallotOptions<T>;
  readonly #votes: (HeldVote<T> | null)[];
  /** It answered or failed before: it is waited for no more. */
  readonly #isHeard: boolean[];

  constructor(options: BallotOptions<T>) {
    this.#options = options;
    this.#votes = Array.from({ length: options.endpoints }, () => null);
    this.#isHeard = this.#votes.map(() => false);
  }

  /** An answer to what was asked at `askedAtMs`; one that comes behind the answer to a later question changes nothing. */
  told(endpoint: number, value: T, askedAtMs: number): void {
    this.#isHeard[endpoint] = true;
    const held = this.#votes[endpoint];
    if (held === undefined || (held !== null && held.askedAtMs > askedAtMs)) return;
    this.#votes[endpoint] = { endpoint, value, askedAtMs };
  }

  /** It gave no usable answer. What it said before counts until it is too old. */
  failed(endpoint: number): void {
    this.#isHeard[endpoint] = true;
  }

  /** Endpoints that have neither answered nor failed yet. */
  get waiting(): number {
    return this.#isHeard.filter((isHeard) => !isHeard).length;
  }

  votes(nowMs: number): readonly Vote<T>[] {
    const oldest = nowMs - this.#options.maxAgeMs;
    return this.#votes.filter((vote): vote is HeldVote<T> => vote !== null && vote.askedAtMs >= oldest);
  }

  verdict(nowMs: number): Verdict<T> {
    const { endpoints, agree } = this.#options;
    return countVotes(this.votes(nowMs), { endpoints, waiting: this.waiting }, agree);
  }
}
