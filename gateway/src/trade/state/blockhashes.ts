import type { Logger } from '@sluice/shared/log/log.ts';
import { startDeadline, type Deadline } from '@sluice/shared/abort/deadline.ts';
import type { Rpc } from '@sluice/shared/solana/rpc.ts';
import { believe, blockhashLifetime, readBlockhash, type ToldBlockhash } from './blockhash-belief.ts';
import type { ChainView } from './chain-view.ts';

const everyMs = 1_000;
/** An endpoint that takes longer is not waited for. */
const withinMs = 2_000;
/** Those that answer later than the first are waited for this long, to be compared with it. */
const graceMs = 150;
/** An older one is not traded with: it lives some 30 seconds. */
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
  /** Answers that cannot be true, or contradict the others. */
  refused: number;
  /** Rounds in which nobody could be believed. */
  contradicted: number;
}

/** The newest confirmed blockhash, asked of all endpoints about once a second. */
export class Blockhashes {
  readonly counts: BlockhashCounts = { rounds: 0, failures: 0, refused: 0, contradicted: 0 };
  readonly #endpoints: readonly Rpc[];
  readonly #chain: ChainView;
  readonly #log: Logger;
  readonly #signal: AbortSignal;
  #held: ToldBlockhash | null = null;
  #timer: NodeJS.Timeout | null = null;
  #wasContradicted = false;

  constructor(endpoints: readonly Rpc[], chain: ChainView, log: Logger, signal: AbortSignal) {
    [this.#endpoints, this.#chain, this.#log, this.#signal] = [endpoints, chain, log, signal];
    signal.addEventListener('abort', () => this.#timer !== null && clearTimeout(this.#timer), { once: true });
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

  /** Asks once, and from then on about once a second. */
  async start(): Promise<void> {
    await this.refresh();
    if (this.#signal.aborted) return;
    this.#timer = setTimeout(() => void this.start(), everyMs);
    this.#timer.unref();
  }

  /** Never rejects. */
  async refresh(): Promise<void> {
    this.counts.rounds++;
    const answers: ToldBlockhash[] = [];
    const within = startDeadline(withinMs, this.#signal);
    const asked = this.#endpoints.map(async (rpc) => {
      const told = await this.#ask(rpc, within);
      if (told !== null) answers.push(told);
      return told !== null;
    });
    // Those that are not waited for have their time too.
    void Promise.all(asked).finally(() => within.end());
    // Where nothing is held that an answer has to agree with, none is believed before all others have had their time to contradict it.
    await (this.#young() === null ? Promise.all(asked) : firstAndSome(asked));
    if (!this.#signal.aborted) this.#judge([...answers]);
  }

  #young(): ToldBlockhash | null {
    if (this.#held === null) return null;
    const ageMs = Date.now() - this.#held.askedAtMs;
    return ageMs >= 0 && ageMs <= maxBlockhashAgeMs ? this.#held : null;
  }

  async #ask(rpc: Rpc, within: Deadline): Promise<ToldBlockhash | null> {
    const askedAtMs = Date.now();
    try {
      const answer = await rpc.call('getLatestBlockhash', [{ commitment: 'confirmed' }], within);
      const told = readBlockhash(answer, this.#chain.newestSlot, askedAtMs);
      if (told === null) this.counts.refused++;
      return told;
    } catch {
      // Told by the age of what is held, which nobody renews.
      this.counts.failures++;
      return null;
    }
  }

  #judge(answers: readonly ToldBlockhash[]): void {
    const belief = believe(answers, this.#young());
    if (belief.kind === 'believed') {
      this.counts.refused += belief.refused;
      if (this.#held === null || belief.told.slot >= this.#held.slot || this.#young() === null) this.#held = belief.told;
    } else if (belief.kind === 'contradicted') this.counts.contradicted++;
    const isContradicted = belief.kind === 'contradicted';
    if (isContradicted && !this.#wasContradicted) {
      this.#log.error(
        { answers: answers.map(({ slot, lastValidBlockHeight }) => ({ slot, lastValidBlockHeight })) },
        'blockhash_contradicted',
      );
    }
    this.#wasContradicted = isContradicted;
  }
}

/** Until all are done, or `graceMs` after the first that gave something. */
async function firstAndSome(asked: readonly Promise<boolean>[]): Promise<void> {
  let late: NodeJS.Timeout | undefined;
  await new Promise<void>((resolve) => {
    for (const one of asked) void one.then((gave) => gave && (late ??= setTimeout(resolve, graceMs)));
    void Promise.all(asked).then(() => resolve());
  });
  clearTimeout(late);
}
