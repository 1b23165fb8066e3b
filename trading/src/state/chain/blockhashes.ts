import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { startDeadline } from '@sluice/shared/runtime/abort/deadline.ts';
import { Ballot } from '@sluice/shared/solana/rpc/quorum/ballot.ts';
import type { Rpc } from '@sluice/shared/solana/rpc/rpc.ts';
import { agree, blockhashLifetime, readBlockhash, type ReportedBlockhash } from './blockhash-belief.ts';
import type { ChainView } from './chain-view.ts';
import { RecentBlockhashes } from './recent-blockhashes.ts';

const everyMs = 500;
/** A slower endpoint is treated as failed. */
const withinMs = 2_000;
/** Older blockhashes are not used for trading, because one lives for about 30 seconds. Older answers are ignored too. */
export const maxBlockhashAgeMs = 10_000;
/** A transaction uses an older blockhash only if the endpoints give no newer one within `refreshWithinMs`. */
export const usualBlockhashAgeMs = 1_000;
const refreshWithinMs = 400;

export interface Blockhash {
  readonly blockhash: string;
  readonly lastValidBlockHeight: number;
  readonly slot: number;
  readonly ageMs: number;
}

/** Height of the newest confirmed block. */
export interface BlockHeight {
  readonly height: number;
  readonly slot: number;
  readonly ageMs: number;
}

export interface BlockhashCounts {
  rounds: number;
  failures: number;
  /** Answers that cannot be true, or that a majority contradicts. */
  refused: number;
  /** Answers after which the endpoints contradicted each other without a majority. */
  contradicted: number;
}

/** The newest confirmed blockhash that the endpoints agree on. Each endpoint is asked about twice a second. */
export class Blockhashes {
  readonly counts: BlockhashCounts = { rounds: 0, failures: 0, refused: 0, contradicted: 0 };
  readonly #endpoints: readonly Rpc[];
  readonly #chain: ChainView;
  readonly #log: Logger;
  readonly #signal: AbortSignal;
  readonly #ballot: Ballot<ReportedBlockhash>;
  readonly #isAsked: boolean[];
  readonly #recent = new RecentBlockhashes();
  #held: ReportedBlockhash | null = null;
  #wasContradicted = false;
  /** Transactions wait for a newer blockhash. Null if none does. */
  #refresh: { readonly done: Promise<void>; readonly end: () => void } | null = null;

  constructor(endpoints: readonly Rpc[], chain: ChainView, log: Logger, signal: AbortSignal) {
    [this.#endpoints, this.#chain, this.#log, this.#signal] = [endpoints, chain, log, signal];
    this.#ballot = new Ballot({ endpoints: endpoints.length, maxAgeMs: maxBlockhashAgeMs, agree });
    this.#isAsked = endpoints.map(() => false);
  }

  /** Null if no blockhash is known that is fresh enough to trade with. */
  get current(): Blockhash | null {
    const held = this.#young();
    if (held === null) return null;
    const { blockhash, lastValidBlockHeight, slot, askedAtMs } = held;
    return { blockhash, lastValidBlockHeight, slot, ageMs: performance.now() - askedAtMs };
  }

  get height(): BlockHeight | null {
    const held = this.#young();
    if (held === null) return null;
    return { height: held.lastValidBlockHeight - blockhashLifetime, slot: held.slot, ageMs: performance.now() - held.askedAtMs };
  }

  /**
   * The blockhash for a new transaction, at most `usualBlockhashAgeMs` old. If the endpoints give none in time, the current one. Returns a
   * promise only if it must wait.
   */
  fresh(): Blockhash | null | Promise<Blockhash | null> {
    const { current } = this;
    if (current !== null && current.ageMs <= usualBlockhashAgeMs) return current;
    return this.#newer().then(() => this.current);
  }

  /** Null if it is not one of the blockhashes that the endpoints agreed on in the last minute. */
  lastValidBlockHeightOf(blockhash: string): number | null {
    return this.#recent.lastValidBlockHeightOf(blockhash);
  }

  /** Milliseconds until the chain passes this height; 0 if it has. Null if no current height is known. */
  msUntilAfter(blockHeight: number): number | null {
    const { height } = this;
    return height === null ? null : Math.max(0, (blockHeight - height.height) * this.#recent.blockMs - height.ageMs);
  }

  /** Asks now, and then about twice a second. */
  start(): void {
    this.#askAll();
    const timer = setInterval(() => this.#askAll(), everyMs);
    timer.unref();
    this.#signal.addEventListener('abort', () => clearInterval(timer), { once: true });
  }

  /** Asks all endpoints. Resolves when they have agreed on a young blockhash, or after `refreshWithinMs`. */
  #newer(): Promise<void> {
    if (this.#refresh !== null) return this.#refresh.done;
    let end = (): void => undefined;
    const done = new Promise<void>((resolve) => {
      const timer = setTimeout(() => end(), refreshWithinMs);
      end = () => {
        clearTimeout(timer);
        this.#refresh = null;
        resolve();
      };
    });
    this.#refresh = { done, end };
    this.#askAll();
    return done;
  }

  #young(): ReportedBlockhash | null {
    if (this.#held === null) return null;
    const ageMs = performance.now() - this.#held.askedAtMs;
    return ageMs >= 0 && ageMs <= maxBlockhashAgeMs ? this.#held : null;
  }

  #askAll(): void {
    this.counts.rounds++;
    for (const [endpoint, rpc] of this.#endpoints.entries()) if (this.#isAsked[endpoint] !== true) void this.#ask(endpoint, rpc);
  }

  /** Never rejects. */
  async #ask(endpoint: number, rpc: Rpc): Promise<void> {
    const askedAtMs = performance.now();
    const within = startDeadline(withinMs, this.#signal);
    this.#isAsked[endpoint] = true;
    let reported: ReportedBlockhash | null = null;
    try {
      const answer = await rpc.call('getLatestBlockhash', [{ commitment: 'confirmed' }], within);
      reported = readBlockhash(answer, this.#chain.newestSlot, askedAtMs);
      if (reported === null) this.counts.refused++;
    } catch {
      // Without answers the current blockhash becomes too old, which `/readyz` reports.
      this.counts.failures++;
    }
    within.end();
    this.#isAsked[endpoint] = false;
    if (this.#signal.aborted) return;
    if (reported === null) this.#ballot.failed(endpoint);
    else this.#ballot.answered(endpoint, reported, askedAtMs);
    this.#judge(endpoint);
  }

  #hold(reported: ReportedBlockhash): void {
    this.#held = reported;
    this.#recent.note(reported);
    const { current } = this;
    if (current !== null && current.ageMs <= usualBlockhashAgeMs) this.#refresh?.end();
  }

  /** Replaces the current blockhash by the one that the endpoints agree on, unless the current one is newer and compatible with it. */
  #judge(endpoint: number): void {
    const nowMs = performance.now();
    const verdict = this.#ballot.verdict(nowMs);
    const isContradicted = verdict.kind === 'contradicted';
    if (verdict.kind === 'agreed') {
      if (verdict.outvoted.includes(endpoint)) this.counts.refused++;
      const reported = verdict.votes.map(({ value }) => value).reduce((best, one) => (one.slot > best.slot ? one : best));
      const young = this.#young();
      if (young === null || reported.slot >= young.slot || !agree(reported, young)) this.#hold(reported);
    } else if (isContradicted) this.counts.contradicted++;
    if (isContradicted && !this.#wasContradicted) {
      const answers = this.#ballot.votes(nowMs).map(({ endpoint: index, value: { slot, lastValidBlockHeight } }) => ({
        endpoint: index + 1,
        slot,
        lastValidBlockHeight,
      }));
      this.#log.error({ answers }, 'blockhash_contradicted');
    }
    if (verdict.kind !== 'waiting') this.#wasContradicted = isContradicted;
  }
}
