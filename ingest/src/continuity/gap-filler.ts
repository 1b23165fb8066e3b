import { setMaxListeners } from 'node:events';
import { pause } from '@sluice/shared/runtime/abort/pause.ts';
import { BusError } from '@sluice/shared/bus/bus-error.ts';
import type { Bus } from '@sluice/shared/bus/bus.ts';
import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type { SlotLoss } from '@sluice/shared/market/verdicts/slot-verdict.ts';
import { reachedBy } from '@sluice/shared/solana/rpc/quorum/votes.ts';
import type { Rpc } from '@sluice/shared/solana/rpc/rpc.ts';
import { whenAborted } from '@sluice/shared/runtime/abort/when-aborted.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import type { PublishableEvent } from '../publisher/outgoing.ts';
import type { Publisher } from '../publisher/publisher.ts';
import { overlapSlots, transactionIn, type PublishedSlots } from '../publisher/published-slots.ts';
import type { Loss } from '../report.ts';
import type { BlockFetcher } from '../sources/blocks/block-fetcher.ts';
import type { TransactionFetcher } from '../sources/rpc/transaction-fetcher.ts';
import { inChainOrder } from './chain-order.ts';
import { GapReader, type GapAnswer } from './gap-reader.ts';
import { answersOf, confirmedSlot, listedSlots, listProgram, Unreachable, type Listed, type Listing } from '../sources/rpc/listing.ts';
import type { Settlement } from './settlement.ts';
import type { SlotLedger } from './slot-ledger.ts';
import { Turns } from '@sluice/shared/runtime/clock/turns.ts';
import { readWatermark, writeWatermark } from './watermark.ts';

/** How often what was published is compared with what nodes have recorded. */
const roundEveryMs = 4_000;
const firstPauseMs = 500;
/** Slots that are filled before the watermark advances. */
const stretchSlots = 512;
/**
 * Of the newest slots that the previous leader published, transactions that this process did not see itself are read again: the leader may
 * have ended between two events of a transaction.
 */
const doubtfulSlots = 8;
/** Transactions that are requested ahead of the one that is published next. */
const maxAhead = 256;
/** Transactions that are decoded and published between two checks of the time. */
const stepsPerCheck = 4;

export interface GapFillerParts {
  /** One for each endpoint: what one endpoint omits, another may list. */
  readonly rpcs: readonly Rpc[];
  readonly programs: readonly string[];
  readonly genesis: string;
  readonly bus: Pick<Bus, 'statuses'>;
  readonly publisher: Publisher;
  readonly pipeline: Pipeline;
  readonly blocks: BlockFetcher;
  readonly transactions: TransactionFetcher;
  readonly ledger: SlotLedger;
  readonly settlement: Pick<Settlement, 'waiting' | 'listed'>;
  /** Publishes at once what is known of slots that the previous leader left undecided. */
  readonly recall: () => void;
  /** Decides all slots up to the confirmed slot `to`, and returns those that were given up. `listed`: slots in which a transaction is listed. */
  readonly decide: (to: number, tip: number, listed: ReadonlySet<number>) => Promise<readonly number[]>;
  /** The newest slot that sources report. */
  readonly slot: () => number;
  /** The newest watermark that another ingest process remembers; null if none does. Asked if neither the bus nor this process has one. */
  readonly watermarkOfOthers: () => Promise<number | null>;
  readonly onLoss: (loss: Loss) => void;
  /** Reports slots of which nothing can be read. */
  readonly onUnseen: (loss: SlotLoss) => void;
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

const leaderNoMore = 'This ingest process is no longer the leader.';

/**
 * One period of leading. Up to slot `boundary`, a transaction is treated as published if the log contains it for the same slot. After `boundary`, it
 * is treated as published if this process saw it.
 */
interface Term {
  readonly fence: number;
  /**
   * The newest slot that this process saw, or that the log has: a process that has just started may see less than the previous leader did.
   * Infinity until the log is read.
   */
  boundary: number;
  /** Signature -> slot for which it was published last. */
  readonly published: Map<string, number>;
  /** From this slot on, the previous leader may have published some events of a transaction and not all. */
  doubtfulFrom: number;
  /** Slots below it are not compared. */
  lowest: number;
  /** The first slot of the next round. */
  floor: number;
}

/**
 * While this process leads, compares what was published with what nodes have recorded of each program, and publishes what is missing, in
 * chain order and marked as late. This covers an outage of the endpoints, a time without any ingest process, and an endpoint that drops
 * notifications silently. The watermark on the bus is the slot up to which this was done.
 */
export class GapFiller {
  readonly counts = {
    rounds: 0,
    /** Rounds that no endpoint answered completely, or that were interrupted. They are repeated. */
    failedRounds: 0,
    /** Transactions that were not seen live and were read from history. */
    filled: 0,
    /** Listed transactions that were given up because no endpoint shows them. */
    lostTransactions: 0,
    /**
     * Slots of which something is missing in the stream: no endpoint lists them any more, they are beyond what one round lists, or endpoints
     * contradict each other about whether they are confirmed.
     */
    lostSlots: 0,
  };
  readonly #parts: GapFillerParts;
  /** The slot that was confirmed before the subscriptions; null if no endpoint answered. */
  #began: Promise<number | null> = Promise.resolve(null);
  #term: Term | null = null;
  #written = 0;
  /** The watermark that the bus had while another process led; 0 if none is known. The bus may lose it before this process leads. */
  #lastRead = 0;
  #wake: (() => void) | null = null;

  constructor(parts: GapFillerParts) {
    this.#parts = parts;
    parts.signal.addEventListener('abort', () => this.#wake?.(), { once: true });
  }

  /** To be called before any subscription. If no process ran before, the stream begins here. */
  begin(): void {
    this.#began = this.#confirmedSlot().catch(() => null);
  }

  /** Begins the next round now, because a source sees the chain again. */
  beginNow(): void {
    this.#wake?.();
  }

  /**
   * The slot up to which this process or the leader has written everything to the log; 0 if none is known. The slot ledger may be ahead: what it counts
   * as complete may still wait to be stored.
   */
  get watermark(): number {
    return Math.max(this.#written, this.#lastRead);
  }

  /** An event was published. */
  note(event: PublishableEvent): void {
    const term = this.#term;
    if (term !== null && event.signature !== null && event.slot <= term.boundary) term.published.set(event.signature, event.slot);
  }

  /** What was published of a transaction is retracted, because the confirmed block has it in another form, or not at all. */
  forget(signature: string): void {
    this.#term?.published.delete(signature);
  }

  /** Runs rounds until the signal aborts; never rejects. */
  async run(): Promise<void> {
    const { signal, publisher, log } = this.#parts;
    let failures = 0;
    while (!signal.aborted) {
      let waitMs = roundEveryMs;
      const fence = publisher.fence;
      if (fence === null) {
        this.#term = null;
        await this.#rememberWatermark();
      } else {
        try {
          await this.#round(fence);
          failures = 0;
        } catch (error) {
          if (signal.aborted) return;
          this.counts.failedRounds++;
          if (failures++ === 0) log.info({ err: error }, 'gap_round_failed');
          waitMs = Math.min(roundEveryMs, firstPauseMs * 2 ** Math.min(failures, 8));
        }
      }
      await this.#sleep(fence === null ? firstPauseMs : waitMs);
    }
  }

  async #round(fence: number): Promise<void> {
    const { ledger, publisher } = this.#parts;
    const term = this.#term?.fence === fence ? this.#term : await this.#begin(fence);
    const { floor } = term;
    const { items, from, tip } = await this.#list(floor);
    ledger.reach(tip);
    this.#parts.pipeline.reached(tip);
    if (from > floor && ledger.watermark > 0) this.#reportGap(Math.max(floor, ledger.watermark + 1), from - 1);
    const missing: Listed[] = [];
    const slots = new Set<number>();
    const turns = new Turns();
    for (const item of items) {
      slots.add(item.slot);
      if (item.slot >= from && !this.#isPublished(item, term)) missing.push(item);
      if (turns.isOver) await turns.pass();
    }
    const reader = new GapReader({ ...this.#parts, decoder: this.#parts.pipeline.decoder }, missing);
    const startedAtMs = this.#parts.clock.steadyMs();
    const filledBefore = this.counts.filled;
    let at = 0;
    let done = Math.min(tip, Math.max(ledger.watermark, from - 1));
    do {
      // Slots in which nothing is missing are passed in one step, however many a node reports.
      done = Math.min(tip, Math.max(done + stretchSlots, missing[at]?.slot ?? tip));
      const unknown = await this.#parts.decide(done, tip, slots);
      this.counts.lostSlots += unknown.length;
      const end = missing.findIndex(({ slot }, index) => index >= at && slot > done);
      const stretch = missing.slice(at, end === -1 ? missing.length : end);
      at += stretch.length;
      await this.#fill(stretch, reader, term);
      if (publisher.fence !== fence) return;
      ledger.complete(done);
      await this.#persist(fence);
    } while (done < tip);
    // Slots that are not settled yet are compared again: what their blocks lack may have landed in another form.
    term.floor = Math.max(term.lowest, Math.min(ledger.watermark, this.#written) - overlapSlots + 1);
    const filled = this.counts.filled - filledBefore;
    if (filled > 0) this.#logFilled(filled, missing, this.#parts.clock.steadyMs() - startedAtMs);
    this.counts.rounds++;
  }

  async #begin(fence: number): Promise<Term> {
    // The order matters. What this process published before is in the log when the log is read. What it publishes later is noted in `note`.
    const seen = this.#parts.slot();
    const term: Term = { fence, boundary: Number.POSITIVE_INFINITY, published: new Map(), doubtfulFrom: 0, lowest: 0, floor: 0 };
    this.#term = term;
    try {
      term.boundary = Math.max(seen, await this.#readLog(term));
      return term;
    } catch (error) {
      this.#term = null;
      throw error;
    }
  }

  /** Finds out what was published before this process became the leader, and the first slot to compare. Returns the newest slot in the log. */
  async #readLog(term: Term): Promise<number> {
    const { bus, genesis, publisher, ledger, recall } = this.#parts;
    const { fence } = term;
    if (!(await publisher.flushed(this.#parts.signal))) throw new Unreachable(leaderNoMore);
    const stored = await readWatermark(bus, genesis);
    const remembered = this.watermark;
    const known = stored ?? (remembered > 0 ? remembered : await this.#parts.watermarkOfOthers());
    const completeTo = known ?? (await this.#began) ?? (await this.#confirmedSlot());
    const { contents } = publisher;
    if (contents === null || publisher.fence !== fence) throw new Unreachable(leaderNoMore);
    const newest = readPublished(contents, term);
    const watermark = known ?? Math.min(beforeOldest(contents), completeTo);
    // Written at once, because the next leader has to know from which slot on the stream must be complete.
    if (stored === null && !(await writeWatermark(publisher, fence, genesis, watermark))) throw new Unreachable(leaderNoMore);
    this.#written = watermark;
    ledger.resume(watermark);
    // The previous leader may not have known all verdicts, and the log may have lost those that this process published earlier.
    recall();
    const overlap = known === null ? 0 : overlapSlots;
    term.lowest = term.floor = Math.max(watermark - overlap + 1, Math.min(watermark + 1, contents.since));
    return newest;
  }

  async #rememberWatermark(): Promise<void> {
    const { bus, genesis } = this.#parts;
    try {
      this.#lastRead = Math.max(this.#lastRead, (await readWatermark(bus, genesis)) ?? 0);
    } catch (error) {
      // The bus does not answer, which is reported elsewhere. The value that was read last remains.
      if (!(error instanceof BusError)) throw error;
    }
  }

  /** The slot that the majority of the answering endpoints has confirmed. */
  async #confirmedSlot(): Promise<number> {
    const { rpcs, signal } = this.#parts;
    const { values, fault } = await answersOf(rpcs, (rpc) => confirmedSlot(rpc, signal));
    if (values.length === 0) throw new Unreachable('No endpoint reports the confirmed slot.', { cause: fault });
    return reachedBy(values);
  }

  /** The transactions from slot `floor` on that at least one endpoint lists, and the range of slots that one endpoint lists completely. */
  async #list(floor: number): Promise<Listing> {
    const { rpcs, programs, clock, signal } = this.#parts;
    const { values: all, fault } = await answersOf(rpcs, async (rpc) => {
      const tip = await confirmedSlot(rpc, signal);
      return Promise.all(programs.map((program) => listProgram({ rpc, program, tip, clock, signal }, floor)));
    });
    if (all.length === 0) throw new Unreachable('No endpoint lists transactions.', { cause: fault });
    const { settlement, publisher } = this.#parts;
    for (const [slot, signatures] of listedSlots(all, settlement.waiting))
      settlement.listed(slot, signatures, publisher.contents?.signaturesOf(slot) ?? []);
    const reach = (listings: readonly Listing[]): number => Math.max(...listings.map((listing) => listing.from));
    const from = Math.min(...all.map(reach));
    const listed = Math.max(...all.filter((listings) => reach(listings) === from).map(([first]) => first!.tip));
    const tip = Math.min(listed, reachedBy(all.map(([first]) => first!.tip)));
    return { items: await inChainOrder(all.flatMap((listings) => listings.map(({ items }) => items))), from, tip };
  }

  #isPublished({ signature, slot }: Listed, { boundary, published, doubtfulFrom }: Term): boolean {
    const { pipeline } = this.#parts;
    if (pipeline.isHeld(signature)) return true;
    // A transaction lands once. If this process saw it in another slot, that slot may be on a dead fork, and it is missing for this one.
    const isSeen = pipeline.seen.peek(signature) === slot;
    return slot > boundary ? isSeen : published.get(signature) === slot && (slot < doubtfulFrom || isSeen);
  }

  /** Publishes what is missing, in order, while the next transactions are already requested. */
  async #fill(missing: readonly Listed[], reader: GapReader, term: Term): Promise<void> {
    const { signal } = this.#parts;
    const requested: (() => Promise<GapAnswer>)[] = [];
    const turns = new Turns(stepsPerCheck);
    const stopped = new AbortController();
    const ended = stopped.signal;
    const forget = whenAborted(signal, () => stopped.abort());
    setMaxListeners(0, ended);
    try {
      for (const [index, item] of missing.entries()) {
        for (let next = requested.length; next < missing.length && next < index + maxAhead; next++) {
          requested.push(reader.request(missing[next]!, ended));
        }
        const found = await requested[index]!();
        // The transactions of one block arrive together.
        if (turns.isOver) await turns.pass();
        if (signal.aborted || this.#parts.publisher.fence !== term.fence) throw new Unreachable(leaderNoMore);
        this.#publish(item, found, term);
      }
    } finally {
      forget();
      stopped.abort();
    }
  }

  #publish(item: Listed, found: GapAnswer, term: Term): void {
    const { pipeline, ledger, onLoss } = this.#parts;
    const { signature, slot } = item;
    if (found.kind === 'lost' && found.unreachable) throw new Unreachable(found.reason);
    // A source may have reported it meanwhile.
    if (found.kind === 'failed' || this.#isPublished(item, term)) return;
    const fault = found.kind === 'lost' ? found.reason : found.fault;
    if (fault !== null) {
      this.counts.lostTransactions++;
      onLoss({ kind: 'transaction', reason: `not seen live; ${fault}`, events: 0, signature, slot, pool: null });
    }
    if (slot <= term.boundary) term.published.set(signature, slot);
    if (found.kind === 'lost') {
      pipeline.seen.set(signature, slot);
      return;
    }
    pipeline.takeLate(found.transaction);
    if (found.transaction.events.length === 0) return;
    this.counts.filled++;
    ledger.fill(slot);
  }

  #reportGap(from: number, to: number): void {
    if (to < from) return;
    this.counts.lostSlots += to - from + 1;
    this.#parts.log.error({ fromSlot: from, toSlot: to }, 'slots_lost');
    this.#parts.onUnseen({ from, to, signatures: [] });
  }

  #logFilled(transactions: number, missing: readonly Listed[], tookMs: number): void {
    const [first] = missing;
    const last = missing.at(-1);
    this.#parts.log.warn({ transactions, fromSlot: first?.slot, toSlot: last?.slot, tookMs: Math.round(tookMs) }, 'gap_filled');
  }

  /** Stores the watermark on the bus, once everything below it is in the log. */
  async #persist(fence: number): Promise<void> {
    const { publisher, pipeline, ledger, genesis, signal } = this.#parts;
    const waiting = pipeline.oldestWaitingSlot();
    if (!(await publisher.flushed(signal)) || publisher.fence !== fence) return;
    const slot = [waiting, ...publisher.undecided].reduce((lowest, at) => Math.min(lowest, at - 1), ledger.watermark);
    if (slot <= this.#written) return;
    if (await writeWatermark(publisher, fence, genesis, slot)) this.#written = slot;
  }

  async #sleep(ms: number): Promise<void> {
    const { signal, clock } = this.#parts;
    if (signal.aborted) return;
    const woken = new AbortController();
    this.#wake = () => woken.abort();
    await pause(ms, woken.signal, { ref: false, clock });
    this.#wake = null;
  }
}

/** The slot before the first one that the log has completely; infinite if the log is empty. */
function beforeOldest(contents: PublishedSlots): number {
  if (contents.since > 0) return contents.since - 1;
  let oldest = Number.POSITIVE_INFINITY;
  for (const [, slot] of contents.published()) if (slot > 0) oldest = Math.min(oldest, slot);
  return oldest - 1;
}

/** Notes which transactions the log has. Returns the newest of their slots; 0 if there are none. */
function readPublished(contents: PublishedSlots, term: Term): number {
  let newest = 0;
  for (const [id, slot] of contents.published()) {
    const signature = transactionIn(id);
    if (signature === null) continue;
    term.published.set(signature, slot);
    newest = Math.max(newest, slot);
  }
  term.doubtfulFrom = newest - doubtfulSlots + 1;
  return newest;
}
