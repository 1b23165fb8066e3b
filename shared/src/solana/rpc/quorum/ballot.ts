import { countVotes, type Verdict, type Vote } from './votes.ts';

interface HeldVote<T> extends Vote<T> {
  readonly askedAtMs: number;
}

export interface BallotOptions<T> {
  /** Number of endpoints that are asked. */
  readonly endpoints: number;
  /** Older answers are ignored. */
  readonly maxAgeMs: number;
  /** Whether both answers can be true. */
  readonly agree: (one: T, other: T) => boolean;
}

/** The newest answer of each endpoint to a question that is asked repeatedly. Times are passed in, in milliseconds of one clock. */
export class Ballot<T> {
  readonly #options: BallotOptions<T>;
  readonly #votes: (HeldVote<T> | null)[];
  /** It has answered or failed before, so it is no longer waited for. */
  readonly #isHeard: boolean[];

  constructor(options: BallotOptions<T>) {
    this.#options = options;
    this.#votes = Array.from({ length: options.endpoints }, () => null);
    this.#isHeard = this.#votes.map(() => false);
  }

  /** Records an answer to the question that was asked at `askedAtMs`. If an answer to a later question arrived before, nothing changes. */
  answered(endpoint: number, value: T, askedAtMs: number): void {
    this.#isHeard[endpoint] = true;
    const held = this.#votes[endpoint];
    if (held === undefined || (held !== null && held.askedAtMs > askedAtMs)) return;
    this.#votes[endpoint] = { endpoint, value, askedAtMs };
  }

  /** Records that the endpoint gave no usable answer. Its previous answer counts until it is too old. */
  failed(endpoint: number): void {
    this.#isHeard[endpoint] = true;
  }

  /** Number of endpoints that have neither answered nor failed yet. */
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
