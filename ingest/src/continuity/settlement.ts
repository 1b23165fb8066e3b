import { pause } from '@sluice/shared/runtime/abort/pause.ts';
import { whenAborted } from '@sluice/shared/runtime/abort/when-aborted.ts';
import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import { Semaphore } from '@sluice/shared/runtime/collections/semaphore.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type { Rpc } from '@sluice/shared/solana/rpc/rpc.ts';
import type { Publisher } from '../publisher/publisher.ts';
import { readConfirmedBlock } from '../sources/blocks/confirmed-block.ts';

/**
 * Blocks that are read at one time: more than the chain makes while one is read, so slots do not pile up. After a pause of confirmations, this many
 * slots are settled in each round trip.
 */
const maxReads = 64;
/** A block that cannot be read for this long holds the verdict back no longer. */
const maxDelayMs = 10_000;
/** The same for blocks about which endpoints contradict each other. It is shorter, because a lie may last, and slots must not pile up. */
const maxContradictionMs = 2_000;
/**
 * How long settlement waits for another part before it reads a block. `blocks`: it does not wait. `offers`: for the source that reads every block.
 * `lists`: for the next comparison with the lists of nodes, which is made every four seconds.
 */
const settleWaitMs = { blocks: 0, offers: 2_000, lists: 15_000 } as const;
/** After a block that could not be read, the next slots are settled by votes alone for this long. */
const unreadPauseMs = 60_000;
const firstPauseMs = 50;
const maxPauseMs = 1_000;
/** An answer of fewer endpoints than a majority is not used earlier: the others may only be a moment behind. */
const othersWithinMs = 1_000;
/** Slots whose contents are remembered, for events that arrive after their slot was settled: 13 seconds. */
const maxContents = 64;

/**
 * What is known of a slot that a majority confirmed. `unread`: no endpoint returned its block in time, so its events stand as they were reported.
 * `contradicted`: endpoints showed different blocks, and no majority the same. `empty`: nothing of the slot was published, so no block was read.
 */
export type SlotContents = FoundContents | 'unread' | 'contradicted' | 'empty';

/** `parentSlot` is null if only the lists of transactions of our programs were compared. */
export interface FoundContents {
  readonly parentSlot: number | null;
  readonly signatures: ReadonlySet<string>;
}

export interface SettledSlot {
  readonly slot: number;
  readonly contents: SlotContents;
}

export type SettleBy = keyof typeof settleWaitMs;

export interface SettlementParts {
  readonly rpcs: readonly Rpc[];
  readonly publisher: Pick<Publisher, 'fence'>;
  /** Which other part may still show what a slot contains, before its block is read here. */
  readonly settleBy: SettleBy;
  /** Receives slots in ascending order, unless an older one is confirmed later. */
  readonly onSettled: (slots: readonly SettledSlot[]) => void;
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/**
 * Settles confirmed slots while this process leads: reads the confirmed block of each slot that has events, and passes the slots on in order. The
 * identity of a block is its hash. A node may report the transactions of one bank and then replace the bank, so a confirmed slot number alone proves
 * no event.
 */
export class Settlement {
  readonly counts = {
    /** Slots of which the confirmed block was read before their verdict. */
    read: 0,
    /** Slots with events that were confirmed by votes alone, because no endpoint returned their block in time. */
    unread: 0,
    /** Slots about whose block endpoints contradicted each other until the end. */
    contradicted: 0,
    /** Blocks of single endpoints that the majority did not share. */
    outvoted: 0,
  };
  readonly #parts: SettlementParts;
  readonly #running = new Semaphore(maxReads);
  /** Confirmed slots that are not settled yet. Null while the block is being read. */
  readonly #pending = new Map<number, SlotContents | null>();
  /** What was found of the slots that were read last. */
  readonly #contents = new Map<number, SlotContents>();
  /** Ends the wait before the block of a slot is read. */
  readonly #waits = new Map<number, AbortController>();
  #fence: number | null = null;
  #unreadUntilMs = -Infinity;

  constructor(parts: SettlementParts) {
    this.#parts = parts;
  }

  /** Whether blocks can be read; false for a while after one could not be. */
  get readsBlocks(): boolean {
    return this.#parts.clock.steadyMs() >= this.#unreadUntilMs;
  }

  /** Confirmed slots that are not settled yet. */
  get pending(): number {
    return this.#parts.publisher.fence === this.#fence ? this.#pending.size : 0;
  }

  isPending(slot: number): boolean {
    return this.pending > 0 && this.#pending.has(slot);
  }

  /** Whether it is known what the block of a slot contains, or that it cannot be read. Older slots are forgotten. */
  isKnown(slot: number): boolean {
    return this.#contents.has(slot);
  }

  /** Whether the slot was settled by a block that lacks this transaction. */
  isLacking(signature: string, slot: number): boolean {
    const contents = this.#contents.get(slot);
    return contents !== undefined && typeof contents !== 'string' && !contents.signatures.has(signature) && !this.#pending.has(slot);
  }

  /** Settles confirmed slots. `hasEvents` says which of them need their block. Returns false if this process does not lead. */
  settle(slots: readonly number[], hasEvents: (slot: number) => boolean): boolean {
    const { fence } = this.#parts.publisher;
    if (fence !== this.#fence) {
      this.#pending.clear();
      this.#contents.clear();
      this.#fence = fence;
    }
    if (fence === null) return false;
    for (const slot of slots) {
      if (this.#pending.has(slot)) continue;
      const known = this.#contents.get(slot) ?? (hasEvents(slot) ? null : 'empty');
      this.#pending.set(slot, known);
      if (known === null) void this.#begin(slot, fence);
    }
    this.#pass();
    return true;
  }

  /**
   * What became of a slot up to the confirmed one, by its block. `unknown`: endpoints contradict each other, or do not have the block. Never rejects.
   */
  find(slot: number): Promise<'alive' | 'dead' | 'unknown' | 'unreachable'> {
    const { rpcs, signal } = this.#parts;
    return this.#running.run(async () => {
      const answer = await readConfirmedBlock(rpcs, slot, signal);
      if (answer.kind === 'skipped') return 'dead';
      if (answer.kind !== 'agreed') return answer.kind === 'unreachable' ? 'unreachable' : 'unknown';
      this.offer(slot, answer.block);
      return 'alive';
    });
  }

  /** A source read the confirmed block of a slot. */
  offer(slot: number, block: FoundContents): void {
    if (this.#parts.publisher.fence === null || this.#contents.has(slot)) return;
    if (block.parentSlot !== null) this.#unreadUntilMs = -Infinity;
    this.#note(slot, block);
    if (this.#pending.get(slot) !== null) return;
    this.#pending.set(slot, block);
    this.#waits.get(slot)?.abort();
    this.#pass();
  }

  /** Confirmed slots whose contents another part may still show. */
  get waiting(): readonly number[] {
    return [...this.#waits.keys()];
  }

  /** The majority of the endpoints lists these transactions of a slot. If it lacks a published one, the block decides. */
  listed(slot: number, signatures: ReadonlySet<string>, published: Iterable<string>): void {
    if ([...published].every((signature) => signatures.has(signature))) this.offer(slot, { parentSlot: null, signatures });
    else this.#waits.get(slot)?.abort();
  }

  async #begin(slot: number, fence: number): Promise<void> {
    const { settleBy, clock, signal } = this.#parts;
    // A node that serves no blocks serves none to a source either.
    const waitMs = settleBy === 'offers' && !this.readsBlocks ? 0 : settleWaitMs[settleBy];
    if (waitMs > 0) {
      const shown = new AbortController();
      const forget = whenAborted(signal, () => shown.abort());
      this.#waits.set(slot, shown);
      await pause(waitMs, shown.signal, { ref: false, clock });
      this.#waits.delete(slot);
      forget();
    }
    if (this.#pending.get(slot) === null) await this.#running.run(() => this.#read(slot, fence));
  }

  async #read(slot: number, fence: number): Promise<void> {
    const { clock, signal, log } = this.#parts;
    const isOver = (): boolean => signal.aborted || this.#parts.publisher.fence !== fence;
    const late = new AbortController();
    const forget = whenAborted(signal, () => late.abort());
    const cancel = clock.after(maxDelayMs, () => late.abort(), { ref: false });
    const startedAtMs = clock.steadyMs();
    let contents: SlotContents = 'unread';
    let pauseMs = firstPauseMs;
    while (!isOver() && this.readsBlocks) {
      const { rpcs } = this.#parts;
      const answer = await readConfirmedBlock(rpcs, slot, late.signal);
      const tookMs = clock.steadyMs() - startedAtMs;
      if (answer.kind === 'agreed' && (answer.isMajority || tookMs >= othersWithinMs)) {
        this.counts.outvoted += answer.outvoted;
        contents = answer.block;
        break;
      }
      contents = answer.kind === 'contradicted' ? 'contradicted' : 'unread';
      const limitMs = contents === 'contradicted' ? maxContradictionMs : maxDelayMs;
      if (answer.kind === 'refused' || tookMs + pauseMs > limitMs) {
        if (contents === 'unread') {
          log.error({ slot, tookMs: Math.round(tookMs), refused: answer.kind === 'refused' }, 'block_unread');
          this.#unreadUntilMs = clock.steadyMs() + unreadPauseMs;
        }
        break;
      }
      await pause(pauseMs, late.signal, { ref: false, clock });
      pauseMs = Math.min(maxPauseMs, pauseMs * 2);
    }
    cancel();
    forget();
    if (isOver() || this.#fence !== fence || this.#pending.get(slot) !== null) return;
    this.#note(slot, contents);
    this.#pending.set(slot, contents);
    this.#pass();
  }

  #note(slot: number, contents: SlotContents): void {
    if (contents === 'contradicted') this.counts.contradicted++;
    else if (typeof contents === 'string') this.counts.unread++;
    else this.counts.read++;
    this.#contents.set(slot, contents);
    if (this.#contents.size > maxContents) this.#contents.delete(this.#contents.keys().next().value!);
  }

  /** Passes on slots up to the first whose block is still being read: no verdict overtakes an older one. */
  #pass(): void {
    let end = Number.POSITIVE_INFINITY;
    for (const [slot, contents] of this.#pending) if (contents === null && slot < end) end = slot;
    const settled = [...this.#pending].flatMap(([slot, contents]) => (slot < end ? [{ slot, contents: contents! }] : []));
    for (const { slot } of settled) this.#pending.delete(slot);
    if (settled.length > 0) this.#parts.onSettled(settled.toSorted((one, other) => one.slot - other.slot));
  }
}
