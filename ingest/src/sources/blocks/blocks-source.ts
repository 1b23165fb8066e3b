import { pause } from '@sluice/shared/runtime/abort/pause.ts';
import { nowUs } from '@sluice/shared/runtime/clock/now-us.ts';
import { systemClock, type Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { isRecord, isSlot } from '@sluice/shared/solana/encoding/json-forms.ts';
import { reachedBy } from '@sluice/shared/solana/rpc/quorum/votes.ts';
import type { Rpc } from '@sluice/shared/solana/rpc/rpc.ts';
import { noCounts, type Source, type SourceCounts, type SourceHealth, type SourceSink } from '../source.ts';
import { isRefusal, isSameBlock, isSkipped, readBlock, readConfirmedBlock, wholeBlock, type ConfirmedBlock } from './confirmed-block.ts';
import { blockReader, type BlockItem } from './block-reader.ts';
import { reportTransactions } from './report-transactions.ts';

/** How often the confirmed slot is requested: two slots. */
const pollEveryMs = 400;
/** Blocks that are read at one time. Each has up to 24 MiB, and all that are parsed at one time 64 MiB (`answers/`). */
const maxReads = 2;
/** Slots that the source reads behind the chain. If it is further behind, it leaves them to the comparison with the records of nodes. */
const maxBehindSlots = 64;
/** How often a block that is not available yet is requested. */
const attempts = 3;
const attemptPauseMs = 200;
/** After endpoints refused to serve blocks, none is requested for this long. */
const refusedPauseMs = 60_000;
/** If no endpoint has answered for this long, the source sees nothing of the chain. */
const blindAfterMs = 10_000;

export interface BlocksOptions {
  /** One for each endpoint, in the order of the settings. */
  readonly rpcs: readonly Rpc[];
  /** Programs whose successful transactions are reported. */
  readonly programs: readonly string[];
  readonly clock?: Clock;
  readonly log: Logger;
}

/** A confirmed block with the transactions of the programs. */
interface FullBlock extends ConfirmedBlock {
  readonly transactions: readonly BlockItem[];
  /** Signatures of failed transactions, of all programs. */
  readonly failed: readonly unknown[];
}

/**
 * Whole transactions from every confirmed block (`getBlock`), without PubSub. A thread parses the blocks and decodes the transactions of the
 * programs. One endpoint sends the whole block. With several, a majority must show the same hash and the same signatures.
 */
export class BlocksSource implements Source {
  readonly name = 'blocks';
  readonly showsWhole = true;
  readonly #options: BlocksOptions;
  readonly #clock: Clock;
  readonly #keep: ReadonlySet<string>;
  readonly #counts: SourceCounts = noCounts();
  #holes = 0;
  #sink!: SourceSink;
  #pausedUntilMs = -Infinity;
  /** The next slot to read; null before the first poll. */
  #next: number | null = null;
  #slot = 0;
  #slotAtMs: number | null = null;
  /** When the endpoints last answered; null before. */
  #answeredAtMs: number | null = null;

  constructor(given: BlocksOptions) {
    this.#options = given;
    this.#clock = given.clock ?? systemClock;
    this.#keep = new Set(given.programs);
  }

  start(sink: SourceSink, signal: AbortSignal): void {
    this.#sink = sink;
    void this.#run(signal);
  }

  health(): SourceHealth {
    const nowMs = this.#clock.steadyMs();
    return {
      slot: this.#slot,
      slotAgeMs: this.#slotAtMs === null ? null : Math.round(nowMs - this.#slotAtMs),
      endpointsUp: this.#answeredAtMs !== null && nowMs - this.#answeredAtMs < blindAfterMs ? this.#options.rpcs.length : 0,
      holes: this.#holes,
      blindPeriods: 0,
      endpoints: [],
      counts: { ...this.#counts },
    };
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const startedAtMs = this.#clock.steadyMs();
      await this.#poll(signal);
      const leftMs = startedAtMs + pollEveryMs - this.#clock.steadyMs();
      if (leftMs > 0) await pause(leftMs, signal, { ref: false, clock: this.#clock });
    }
  }

  /** Reads all blocks up to the slot that a majority has confirmed. */
  async #poll(signal: AbortSignal): Promise<void> {
    const tips = await this.#tips(signal);
    const known = tips.flatMap((tip) => tip ?? []);
    if (known.length === 0 || signal.aborted) return;
    const tip = reachedBy(known);
    const oldest = tip - maxBehindSlots;
    if (this.#next !== null && this.#next < oldest) this.#miss(this.#next, oldest - 1);
    const first = Math.max(this.#next ?? tip, oldest);
    const reads: Promise<FullBlock | 'skipped' | null>[] = [];
    for (let slot = first; slot <= tip && !signal.aborted; slot++) {
      for (let next = reads.length; next < Math.min(tip - first + 1, slot - first + maxReads); next++) {
        reads.push(this.#read(first + next, signal));
      }
      const block = await reads[slot - first]!;
      if (signal.aborted) return;
      this.#next = slot + 1;
      if (block === null) this.#holes++;
      if (block === null || block === 'skipped') continue;
      await this.#report(slot, block);
      for (const [endpoint, reached] of tips.entries()) if (reached !== null && reached >= slot) this.#sink.confirmedSlot(endpoint, slot);
      this.#answeredAtMs = this.#slotAtMs = this.#clock.steadyMs();
      this.#slot = slot;
    }
    // Nothing is new: the chain does not confirm.
    if (first > tip && this.#isOffered) this.#answeredAtMs = this.#clock.steadyMs();
  }

  /** The confirmed slot of each endpoint; null if it gives none. */
  async #tips(signal: AbortSignal): Promise<(number | null)[]> {
    const answers = await Promise.allSettled(this.#options.rpcs.map((rpc) => rpc.call('getSlot', [{ commitment: 'confirmed' }], signal)));
    return answers.map((answer) => (answer.status === 'fulfilled' && isSlot(answer.value) ? answer.value : null));
  }

  /** Null if no endpoint has a block of the slot that a majority shows. */
  async #read(slot: number, signal: AbortSignal): Promise<FullBlock | 'skipped' | null> {
    const { rpcs } = this.#options;
    for (let attempt = 0; attempt < attempts && !signal.aborted && this.#isOffered; attempt++) {
      if (attempt > 0) await pause(attemptPauseMs, signal, { ref: false, clock: this.#clock });
      const agreed = rpcs.length === 1 ? null : await readConfirmedBlock(rpcs, slot, signal);
      if (agreed?.kind === 'refused') this.#refuse(slot);
      if (agreed !== null && agreed.kind !== 'agreed') continue;
      // Another endpoint first at each slot, so that all share the work.
      for (let index = 0; index < rpcs.length; index++) {
        const block = await this.#readFrom(rpcs[(slot + index) % rpcs.length]!, slot, signal);
        if (block === 'skipped' && rpcs.length === 1) return block;
        if (block === 'refused' && rpcs.length === 1) this.#refuse(slot);
        if (block === null || typeof block === 'string') continue;
        if (agreed === null || isSameBlock(agreed.block, block)) return block;
        this.#counts.malformed++;
      }
    }
    return null;
  }

  get #isOffered(): boolean {
    return this.#clock.steadyMs() >= this.#pausedUntilMs;
  }

  #refuse(slot: number): void {
    if (this.#isOffered) this.#options.log.error({ slot }, 'blocks_refused');
    this.#pausedUntilMs = this.#clock.steadyMs() + refusedPauseMs;
  }

  async #readFrom(rpc: Rpc, slot: number, signal: AbortSignal): Promise<FullBlock | 'skipped' | 'refused' | null> {
    try {
      const answer = await rpc.call('getBlock', [slot, wholeBlock], signal, undefined, this.#keep, blockReader);
      const block = readBlock(answer);
      if (block === null || !isRecord(answer) || !Array.isArray(answer['transactions'])) return null;
      const { transactions, failed } = answer;
      return { ...block, transactions: transactions as BlockItem[], failed: Array.isArray(failed) ? failed : [] };
    } catch (error) {
      return isSkipped(error) ? 'skipped' : isRefusal(error) ? 'refused' : null;
    }
  }

  async #report(slot: number, { transactions, failed, ...block }: FullBlock): Promise<void> {
    const sink = this.#sink;
    sink.slot(slot, block.parentSlot);
    const origin = { source: this.name, slot, commitment: 'confirmed', receivedUs: nowUs(), late: false } as const;
    this.#counts.malformed += await reportTransactions({ transactions, failed }, origin, sink);
    sink.block(slot, block);
  }

  #miss(from: number, to: number): void {
    this.#holes += to - from + 1;
    this.#options.log.warn({ source: this.name, fromSlot: from, toSlot: to }, 'slots_not_seen');
    this.#sink.resumed();
  }
}
