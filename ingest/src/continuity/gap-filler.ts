import { setMaxListeners } from 'node:events';
import { pause } from '@sluice/shared/abort/pause.ts';
import { BusError } from '@sluice/shared/bus/bus-error.ts';
import { busLimits, type Bus } from '@sluice/shared/bus/bus.ts';
import type { Logger } from '@sluice/shared/log/log.ts';
import type { SlotLoss } from '@sluice/shared/market/slot-verdict.ts';
import { reachedBy } from '@sluice/shared/solana/quorum/votes.ts';
import type { Rpc } from '@sluice/shared/solana/rpc.ts';
import { whenAborted } from '@sluice/shared/abort/when-aborted.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import type { PublishableEvent } from '../publisher/outgoing.ts';
import type { Publisher } from '../publisher/publisher.ts';
import { Standing } from '../publisher/published-slots.ts';
import type { Loss } from '../report.ts';
import type { BlockFetcher } from '../sources/blocks/block-fetcher.ts';
import type { TransactionFetcher } from '../sources/rpc/transaction-fetcher.ts';
import { inChainOrder } from './chain-order.ts';
import type { Forks } from './forks.ts';
import { GapReader, type GapAnswer } from './gap-reader.ts';
import { answersOf, confirmedSlot, listProgram, Unreachable, type Listed, type Listing } from './listing.ts';
import { SlotJudge } from './slot-judge.ts';
import type { SlotLedger } from './slot-ledger.ts';
import { Turns } from './turns.ts';
import { readWatermark, writeWatermark } from './watermark.ts';

/** How often what was seen live is compared with what nodes have written down. */
const roundEveryMs = 4_000;
const firstPauseMs = 500;
/** Slots that each round looks at again: nodes write the transactions of a slot down some time after they confirm it. */
const overlapSlots = 24;
/** Slots that are filled before the watermark moves on. */
const stretchSlots = 512;
/**
 * Of the newest slots that the holder before told, what this process did not see itself is read again: that one may have ended
 * between two events of a transaction.
 */
const doubtfulSlots = 8;
/** In base58; an address has 44 characters at most. */
const minSignatureLength = 64;
/** Transactions that are asked for ahead of the one that is told next. */
const maxAhead = 256;
/** Transactions that are decoded and published between two looks at the clock. */
const stepsPerLook = 4;

export interface GapCounts {
  rounds: number;
  /** Rounds that no endpoint answered whole, or that ended before their time. They are made again. */
  failedRounds: number;
  /** Transactions that were not seen live and were read from history. */
  filled: number;
  /** Of what was listed, given up: no endpoint shows it. */
  lostTransactions: number;
  /**
   * Slots of which something is not told: no endpoint lists them any more, they lie beyond what is listed at one time, or endpoints
   * contradict each other about whether they are confirmed.
   */
  lostSlots: number;
}

export interface GapFillerParts {
  /** One endpoint each: what one leaves out another may list. */
  readonly rpcs: readonly Rpc[];
  readonly programs: readonly string[];
  readonly genesis: string;
  readonly bus: Pick<Bus, 'statuses' | 'tail'>;
  readonly publisher: Publisher;
  readonly pipeline: Pipeline;
  readonly blocks: BlockFetcher;
  readonly transactions: TransactionFetcher;
  readonly ledger: SlotLedger;
  readonly forks: Forks;
  /** The newest slot that endpoints tell. */
  readonly slot: () => number;
  /** The newest watermark that another ingest process remembers; null if none does. Asked if neither the bus nor this process has one. */
  readonly watermarkOfOthers: () => Promise<number | null>;
  readonly onLoss: (loss: Loss) => void;
  /** Slots of which nothing is to be had. */
  readonly onUnseen: (loss: SlotLoss) => void;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/**
 * One time of leading. What happened up to `boundary` was told if it stands in the log, for the slot in which it landed; what came
 * later, if this process saw it.
 */
interface Term {
  readonly fence: number;
  readonly boundary: number;
  /** Signature -> slot that it was told for last. */
  readonly told: Map<string, number>;
  /** What was told of slots from here on before this process came to lead may not be whole. */
  doubtfulFrom: number;
  /** Slots below are none of its business. */
  lowest: number;
  /** From where the next round looks. */
  floor: number;
}

/**
 * Compares, while this process leads, what was told with what nodes have written down of each program, and tells what is
 * missing, in chain order and marked as late: after an outage of the endpoints, after a time in which no process ran, and where
 * an endpoint dropped something without a word. The watermark on the bus says up to where that was done.
 */
export class GapFiller {
  readonly counts: GapCounts = { rounds: 0, failedRounds: 0, filled: 0, lostTransactions: 0, lostSlots: 0 };
  readonly #parts: GapFillerParts;
  readonly #judge: SlotJudge;
  /** The confirmed slot as of the first telling; null where no endpoint said. */
  #began: Promise<number | null> = Promise.resolve(null);
  #term: Term | null = null;
  #written = 0;
  /** The watermark that the bus had while another process led; 0 before any. The bus may lose its memory before this process leads. */
  #lastRead = 0;
  #wake: (() => void) | null = null;

  constructor(parts: GapFillerParts) {
    this.#parts = parts;
    this.#judge = new SlotJudge(parts);
    parts.signal.addEventListener('abort', () => this.#wake?.(), { once: true });
  }

  /** To be called before anything is subscribed to: where no process ran before, what happened from here on is told. */
  begin(): void {
    this.#began = this.#confirmedSlot().catch(() => null);
  }

  /** Makes the next round now: an endpoint came back. */
  look(): void {
    this.#wake?.();
  }

  /**
   * Up to here everything stands in the log, by this process or the one that leads; 0 before any does. The ledger may be ahead of it: what it
   * counts as complete may still wait to be stored.
   */
  get watermark(): number {
    return Math.max(this.#written, this.#lastRead);
  }

  /** An event was published. */
  note(event: PublishableEvent): void {
    const term = this.#term;
    if (term !== null && event.signature !== null && event.slot <= term.boundary) term.told.set(event.signature, event.slot);
  }

  /** Rounds until the signal; never rejects. */
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
    if (from > floor && ledger.watermark > 0) this.#tellGap(Math.max(floor, ledger.watermark + 1), from - 1);
    const missing: Listed[] = [];
    const slots = new Set<number>();
    const turns = new Turns();
    for (const item of items) {
      slots.add(item.slot);
      if (item.slot >= from && !this.#isTold(item, term)) missing.push(item);
      if (turns.isOver) await turns.pass();
    }
    const reader = new GapReader({ ...this.#parts, decoder: this.#parts.pipeline.decoder }, missing);
    const startedAtMs = performance.now();
    const filledBefore = this.counts.filled;
    let at = 0;
    let done = Math.min(tip, Math.max(ledger.watermark, from - 1));
    do {
      // Slots in which nothing is missing are passed in one stretch, however many a node says there are.
      done = Math.min(tip, Math.max(done + stretchSlots, missing[at]?.slot ?? tip));
      const unknown = await this.#judge.decide(done, tip, { from, slots });
      this.counts.lostSlots += unknown.length;
      const end = missing.findIndex(({ slot }, index) => index >= at && slot > done);
      const stretch = missing.slice(at, end === -1 ? missing.length : end);
      at += stretch.length;
      await this.#fill(stretch, reader, term);
      if (publisher.fence !== fence) return;
      ledger.complete(done);
      await this.#persist(fence);
    } while (done < tip);
    term.floor = Math.max(term.lowest, ledger.watermark - overlapSlots + 1);
    const filled = this.counts.filled - filledBefore;
    if (filled > 0) this.#tellFilled(filled, missing, performance.now() - startedAtMs);
    this.counts.rounds++;
  }

  async #begin(fence: number): Promise<Term> {
    // In this order: all that this process told before stands in the log when that is read, what it tells later it notes.
    const term: Term = { fence, boundary: this.#parts.slot(), told: new Map(), doubtfulFrom: 0, lowest: 0, floor: 0 };
    this.#term = term;
    try {
      await this.#readLog(term);
      return term;
    } catch (error) {
      this.#term = null;
      throw error;
    }
  }

  /** Finds out what was told before this process came to lead, and from where on it has to look. */
  async #readLog(term: Term): Promise<void> {
    const { bus, genesis, publisher, ledger } = this.#parts;
    const { fence } = term;
    const flushed = await publisher.flushed(this.#parts.signal);
    if (!flushed) throw new Unreachable('It lost the lead.');
    const tail = await bus.tail(busLimits.maxTailEntries);
    const standing = new Standing(tail, tail.length < busLimits.maxTailEntries);
    readTold(standing, term);
    const stored = await readWatermark(bus, genesis);
    const remembered = this.watermark;
    const known = stored ?? (remembered > 0 ? remembered : await this.#parts.watermarkOfOthers());
    const watermark = known ?? Math.min(beforeOldest(standing), (await this.#began) ?? (await this.#confirmedSlot()));
    // At once: whoever comes next has to know from where on everything was to be told.
    if (stored === null && !(await writeWatermark(publisher, fence, genesis, watermark))) throw new Unreachable('It lost the lead.');
    this.#written = watermark;
    ledger.resume(watermark);
    // The holder before may not have heard of all of it, and the log may not have what this process said then.
    this.#judge.recall();
    const overlap = known === null ? 0 : overlapSlots;
    term.lowest = term.floor = Math.max(watermark - overlap + 1, Math.min(watermark + 1, standing.since));
  }

  async #rememberWatermark(): Promise<void> {
    const { bus, genesis } = this.#parts;
    try {
      this.#lastRead = Math.max(this.#lastRead, (await readWatermark(bus, genesis)) ?? 0);
    } catch (error) {
      // The bus is away, which its own part reports: what was read last stays.
      if (!(error instanceof BusError)) throw error;
    }
  }

  /** As far as the majority of the endpoints that answer have confirmed. */
  async #confirmedSlot(): Promise<number> {
    const { rpcs, signal } = this.#parts;
    const { values, fault } = await answersOf(rpcs, (rpc) => confirmedSlot(rpc, signal));
    if (values.length === 0) throw new Unreachable('No endpoint tells the confirmed slot.', { cause: fault });
    return reachedBy(values);
  }

  /** What the endpoints list from `floor` on: all that any of them has, and between which slots one of them has all. */
  async #list(floor: number): Promise<Listing> {
    const { rpcs, programs, signal } = this.#parts;
    const { values: all, fault } = await answersOf(rpcs, async (rpc) => {
      const tip = await confirmedSlot(rpc, signal);
      return Promise.all(programs.map((program) => listProgram(rpc, program, floor, tip, signal)));
    });
    if (all.length === 0) throw new Unreachable('No endpoint lists transactions.', { cause: fault });
    const reach = (listings: readonly Listing[]): number => Math.max(...listings.map((listing) => listing.from));
    const from = Math.min(...all.map(reach));
    const listed = Math.max(...all.filter((listings) => reach(listings) === from).map(([first]) => first!.tip));
    const tip = Math.min(listed, reachedBy(all.map(([first]) => first!.tip)));
    return { items: await inChainOrder(all.flatMap((listings) => listings.map(({ items }) => items))), from, tip };
  }

  #isTold({ signature, slot }: Listed, { boundary, told, doubtfulFrom }: Term): boolean {
    const { pipeline } = this.#parts;
    if (pipeline.isHeld(signature)) return true;
    const seenAt = pipeline.dedupe.slotOf(signature);
    if (slot <= boundary) return told.get(signature) === slot && (slot < doubtfulFrom || seenAt === slot);
    // It lands once: seen in another slot, which this process may not know to be dead, it is not told for the one that lives.
    return seenAt === slot;
  }

  /** Tells what is missing in its order, while what follows is being asked for. */
  async #fill(missing: readonly Listed[], reader: GapReader, term: Term): Promise<void> {
    const { signal } = this.#parts;
    const requested: (() => Promise<GapAnswer>)[] = [];
    const turns = new Turns(stepsPerLook);
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
        // Transactions of one block are all there at once.
        if (turns.isOver) await turns.pass();
        if (signal.aborted || this.#parts.publisher.fence !== term.fence) throw new Unreachable('It does not lead any more.');
        this.#tell(item, found, term);
      }
    } finally {
      forget();
      stopped.abort();
    }
  }

  #tell(item: Listed, found: GapAnswer, term: Term): void {
    const { pipeline, ledger, onLoss } = this.#parts;
    const { signature, slot } = item;
    if (found.kind === 'lost' && found.unreachable) throw new Unreachable(found.reason);
    // It may have been told live meanwhile.
    if (found.kind === 'failed' || this.#isTold(item, term)) return;
    const fault = found.kind === 'lost' ? found.reason : found.fault;
    if (fault !== null) {
      this.counts.lostTransactions++;
      onLoss({ kind: 'transaction', reason: `not seen live; ${fault}`, events: 0, signature, slot, pool: null });
    }
    if (slot <= term.boundary) term.told.set(signature, slot);
    if (found.kind === 'lost') {
      pipeline.dedupe.forget(signature);
      pipeline.dedupe.see(signature, slot);
      return;
    }
    pipeline.takeLate(found.transaction);
    if (found.transaction.events.length === 0) return;
    this.counts.filled++;
    ledger.fill(slot);
  }

  #tellGap(from: number, to: number): void {
    if (to < from) return;
    this.counts.lostSlots += to - from + 1;
    this.#parts.log.error({ fromSlot: from, toSlot: to }, 'slots_lost');
    this.#parts.onUnseen({ from, to, signatures: [] });
  }

  #tellFilled(transactions: number, missing: readonly Listed[], tookMs: number): void {
    const [first] = missing;
    const last = missing.at(-1);
    this.#parts.log.warn({ transactions, fromSlot: first?.slot, toSlot: last?.slot, tookMs: Math.round(tookMs) }, 'gap_filled');
  }

  /** Puts the watermark on the bus once all below it is in the log. */
  async #persist(fence: number): Promise<void> {
    const { publisher, pipeline, ledger, genesis, signal } = this.#parts;
    const waiting = pipeline.oldestWaitingSlot();
    if (!(await publisher.flushed(signal)) || publisher.fence !== fence) return;
    const slot = [waiting, ...publisher.undecided].reduce((lowest, at) => Math.min(lowest, at - 1), ledger.watermark);
    if (slot <= this.#written) return;
    if (await writeWatermark(publisher, fence, genesis, slot)) this.#written = slot;
  }

  async #sleep(ms: number): Promise<void> {
    const { signal } = this.#parts;
    if (signal.aborted) return;
    const woken = new AbortController();
    this.#wake = () => woken.abort();
    await pause(ms, woken.signal, { ref: false });
    this.#wake = null;
  }
}

/** The slot before the first of which the log has all that was published; infinite where the log has nothing. */
function beforeOldest(standing: Standing): number {
  if (standing.since > 0) return standing.since - 1;
  let oldest = Number.POSITIVE_INFINITY;
  for (const [, slot] of standing.told()) if (slot > 0) oldest = Math.min(oldest, slot);
  return oldest - 1;
}

/** What stands in the log, as what was told of transactions. */
function readTold(standing: Standing, term: Term): void {
  let newest = 0;
  for (const [id, slot] of standing.told()) {
    const end = id.indexOf(':');
    // What an account showed bears its address.
    if (end < minSignatureLength) continue;
    term.told.set(id.slice(0, end), slot);
    newest = Math.max(newest, slot);
  }
  term.doubtfulFrom = newest - doubtfulSlots + 1;
}
