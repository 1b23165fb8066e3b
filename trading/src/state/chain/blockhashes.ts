import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { startDeadline } from '@sluice/shared/runtime/abort/deadline.ts';
import { isAddress } from '@sluice/shared/solana/encoding/base58.ts';
import { contextAndValue, isRecord, isSlot } from '@sluice/shared/solana/encoding/json-forms.ts';
import { Ballot } from '@sluice/shared/solana/rpc/quorum/ballot.ts';
import type { Rpc } from '@sluice/shared/solana/rpc/rpc.ts';
import { repeat } from '../repeat.ts';
import type { ChainView } from './chain-view.ts';

/** Time of a block until it is measured: slots of 200 ms, hardly any of them without a block. */
const usualBlockMs = 200;
/** About a minute of answers of three endpoints, twice the life of a blockhash. The oldest is forgotten. */
const maxRemembered = 512;
/** The time of a block is measured over these spans. */
const leastSpanMs = 2_000;
const mostSpanMs = 20_000;
/** Measured times outside of these limits come from a clock or a chain that jumped. */
const [leastBlockMs, mostBlockMs] = [10, 5_000];

interface Accepted {
  readonly blockhash: string;
  readonly lastValidBlockHeight: number;
  readonly askedAtMs: number;
}

/** The blockhashes that the endpoints agreed on: until when each is valid, and how fast the chain makes blocks. */
class RecentBlockhashes {
  readonly #lastValid = new Map<string, number>();
  #measured: Accepted[] = [];

  note(accepted: Accepted): void {
    const { blockhash, lastValidBlockHeight, askedAtMs } = accepted;
    this.#lastValid.delete(blockhash);
    this.#lastValid.set(blockhash, lastValidBlockHeight);
    if (this.#lastValid.size > maxRemembered) this.#lastValid.delete(this.#lastValid.keys().next().value!);
    // Endpoints answer out of order. What contradicts the newest answer does not count.
    const counts = (one: Accepted): boolean => {
      const ms = askedAtMs - one.askedAtMs;
      return ms >= 0 && ms <= mostSpanMs && one.lastValidBlockHeight <= lastValidBlockHeight;
    };
    this.#measured = [...this.#measured.filter(counts), accepted].slice(-maxRemembered);
  }

  /** Null if the blockhash is not one of them. */
  lastValidBlockHeightOf(blockhash: string): number | null {
    return this.#lastValid.get(blockhash) ?? null;
  }

  /** Time from one block to the next: measured over the last seconds, or the usual one. */
  get blockMs(): number {
    const [first, last] = [this.#measured[0], this.#measured.at(-1)];
    if (first === undefined || last === undefined) return usualBlockMs;
    const [ms, blocks] = [last.askedAtMs - first.askedAtMs, last.lastValidBlockHeight - first.lastValidBlockHeight];
    if (ms < leastSpanMs || blocks === 0) return usualBlockMs;
    const measured = ms / blocks;
    return measured >= leastBlockMs && measured <= mostBlockMs ? measured : usualBlockMs;
  }
}

const everyMs = 500;
/** A slower endpoint is treated as failed. */
const withinMs = 2_000;
/** Older blockhashes are not used for trading, because one lives for about 30 seconds. Older answers are ignored too. */
export const maxBlockhashAgeMs = 10_000;
/** A transaction uses an older blockhash only if the endpoints give no newer one within `refreshWithinMs`. */
export const usualBlockhashAgeMs = 1_000;
const refreshWithinMs = 400;
/** Number of blocks for which a blockhash is valid. */
export const blockhashLifetime = 150;
/** Slots by which honest endpoints may seem to disagree, because they answer at different moments of a fork. */
const slackSlots = 2;

/** A blockhash as one endpoint reported it. */
export interface ReportedBlockhash {
  readonly blockhash: string;
  readonly lastValidBlockHeight: number;
  readonly slot: number;
  /** When it was requested (`performance.now`). */
  readonly askedAtMs: number;
}

/** Reads an answer to `getLatestBlockhash`. Null if it is not of the documented form or cannot be true. */
export function readBlockhash(answer: unknown, newestSlot: number, askedAtMs: number): ReportedBlockhash | null {
  const read = contextAndValue(answer);
  if (read === null || !isRecord(read.value) || read.slot > newestSlot) return null;
  const { blockhash, lastValidBlockHeight } = read.value;
  if (typeof blockhash !== 'string' || !isAddress(blockhash) || !isSlot(lastValidBlockHeight)) return null;
  // No chain has more blocks than slots.
  if (lastValidBlockHeight > read.slot + blockhashLifetime || lastValidBlockHeight < blockhashLifetime) return null;
  return { blockhash, lastValidBlockHeight, slot: read.slot, askedAtMs };
}

/** Whether both can belong to one chain: there are no more blocks than slots between them, and the height grows with the slot. */
export function agree(a: ReportedBlockhash, b: ReportedBlockhash): boolean {
  const [older, newer] = a.slot <= b.slot ? [a, b] : [b, a];
  const slots = newer.slot - older.slot;
  const blocks = newer.lastValidBlockHeight - older.lastValidBlockHeight;
  return blocks >= -slackSlots && blocks <= slots + slackSlots && (slots <= slackSlots || blocks > 0);
}

export interface Blockhash {
  readonly blockhash: string;
  readonly lastValidBlockHeight: number;
  readonly slot: number;
  readonly ageMs: number;
}

/** The newest confirmed blockhash that the endpoints agree on. Each endpoint is asked about twice a second. */
export class Blockhashes {
  /** `refused`: answers that cannot be true, or that a majority contradicts. `contradicted`: without a majority. */
  readonly counts = { rounds: 0, failures: 0, refused: 0, contradicted: 0 };
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

  /** Height of the newest confirmed block; null like `current`. */
  get height(): number | null {
    const held = this.#young();
    return held === null ? null : held.lastValidBlockHeight - blockhashLifetime;
  }

  /** At most `usualBlockhashAgeMs` old, unless the endpoints give none in time. Returns a promise only if it must wait. */
  fresh(): Blockhash | null | Promise<Blockhash | null> {
    const { current } = this;
    if (current !== null && current.ageMs <= usualBlockhashAgeMs) return current;
    return this.#newer().then(() => this.current);
  }

  /** Null if it is not one of the blockhashes that the endpoints agreed on in the last minute. */
  lastValidBlockHeightOf(blockhash: string): number | null {
    return this.#recent.lastValidBlockHeightOf(blockhash);
  }

  /** Milliseconds until the chain passes this height, at its current speed; 0 if it has. Null if no current height is known. */
  msUntilAfter(blockHeight: number): number | null {
    const { current, height } = this;
    return current === null || height === null ? null : Math.max(0, (blockHeight - height) * this.#recent.blockMs - current.ageMs);
  }

  /** As `msUntilAfter`, in whole seconds. */
  secondsUntilAfter(blockHeight: number): number | null {
    const ms = this.msUntilAfter(blockHeight);
    return ms === null ? null : Math.floor(ms / 1_000);
  }

  /** Asks now, and then about twice a second. */
  start(): void {
    this.#askAll();
    repeat(everyMs, () => this.#askAll(), this.#signal);
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
      const answers = this.#ballot
        .votes(nowMs)
        .map(({ endpoint: index, value: { slot, lastValidBlockHeight } }) => ({ endpoint: index + 1, slot, lastValidBlockHeight }));
      this.#log.error({ answers }, 'blockhash_contradicted');
    }
    if (verdict.kind !== 'waiting') this.#wasContradicted = isContradicted;
  }
}
