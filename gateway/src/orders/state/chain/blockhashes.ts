import type { Logger } from '@sluice/shared/log/log.ts';
import { startDeadline } from '@sluice/shared/abort/deadline.ts';
import { Ballot } from '@sluice/shared/solana/quorum/ballot.ts';
import type { Rpc } from '@sluice/shared/solana/rpc.ts';
import { agree, blockhashLifetime, readBlockhash, type ToldBlockhash } from './blockhash-belief.ts';
import type { ChainView } from './chain-view.ts';

const everyMs = 1_000;
/** An endpoint that takes longer has failed; until then its answer counts, however late it comes. */
const withinMs = 2_000;
/** An older one is not traded with: it lives some 30 seconds. Nor does an older answer count. */
const maxBlockhashAgeMs = 10_000;

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

/** The newest confirmed blockhash that the endpoints agree on; each is asked about once a second. */
export class Blockhashes {
  readonly counts: BlockhashCounts = { rounds: 0, failures: 0, refused: 0, contradicted: 0 };
  readonly #endpoints: readonly Rpc[];
  readonly #chain: ChainView;
  readonly #log: Logger;
  readonly #signal: AbortSignal;
  readonly #ballot: Ballot<ToldBlockhash>;
  readonly #isAsked: boolean[];
  #held: ToldBlockhash | null = null;
  #wasContradicted = false;

  constructor(endpoints: readonly Rpc[], chain: ChainView, log: Logger, signal: AbortSignal) {
    [this.#endpoints, this.#chain, this.#log, this.#signal] = [endpoints, chain, log, signal];
    this.#ballot = new Ballot({ endpoints: endpoints.length, maxAgeMs: maxBlockhashAgeMs, agree });
    this.#isAsked = endpoints.map(() => false);
  }

  /** Null where none is known that is young enough to trade with. */
  get current(): Blockhash | null {
    const held = this.#young();
    if (held === null) return null;
    const { blockhash, lastValidBlockHeight, slot, askedAtMs } = held;
    return { blockhash, lastValidBlockHeight, slot, ageMs: Date.now() - askedAtMs };
  }

  get height(): BlockHeight | null {
    const held = this.#young();
    if (held === null) return null;
    return { height: held.lastValidBlockHeight - blockhashLifetime, slot: held.slot, ageMs: Date.now() - held.askedAtMs };
  }

  /** Asks now, and from then on about once a second. */
  start(): void {
    this.#askAll();
    const timer = setInterval(() => this.#askAll(), everyMs);
    timer.unref();
    this.#signal.addEventListener('abort', () => clearInterval(timer), { once: true });
  }

  #young(): ToldBlockhash | null {
    if (this.#held === null) return null;
    const ageMs = Date.now() - this.#held.askedAtMs;
    return ageMs >= 0 && ageMs <= maxBlockhashAgeMs ? this.#held : null;
  }

  #askAll(): void {
    this.counts.rounds++;
    for (const [endpoint, rpc] of this.#endpoints.entries()) if (this.#isAsked[endpoint] !== true) void this.#ask(endpoint, rpc);
  }

  /** Never rejects. */
  async #ask(endpoint: number, rpc: Rpc): Promise<void> {
    const askedAtMs = Date.now();
    const within = startDeadline(withinMs, this.#signal);
    this.#isAsked[endpoint] = true;
    let told: ToldBlockhash | null = null;
    try {
      const answer = await rpc.call('getLatestBlockhash', [{ commitment: 'confirmed' }], within);
      told = readBlockhash(answer, this.#chain.newestSlot, askedAtMs);
      if (told === null) this.counts.refused++;
    } catch {
      // Reported by the age of what is held, which nobody renews.
      this.counts.failures++;
    }
    within.end();
    this.#isAsked[endpoint] = false;
    if (this.#signal.aborted) return;
    if (told === null) this.#ballot.failed(endpoint);
    else this.#ballot.answered(endpoint, told, askedAtMs);
    this.#judge(endpoint);
  }

  /** What is held gives way to what the endpoints agree on, unless it can be true beside it and is newer. */
  #judge(endpoint: number): void {
    const nowMs = Date.now();
    const verdict = this.#ballot.verdict(nowMs);
    const isContradicted = verdict.kind === 'contradicted';
    if (verdict.kind === 'agreed') {
      if (verdict.outvoted.includes(endpoint)) this.counts.refused++;
      const told = verdict.votes.map(({ value }) => value).reduce((best, one) => (one.slot > best.slot ? one : best));
      const young = this.#young();
      if (young === null || told.slot >= young.slot || !agree(told, young)) this.#held = told;
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
