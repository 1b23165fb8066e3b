import { pause } from '@sluice/shared/runtime/abort/pause.ts';
import { systemClock, type Clock } from '@sluice/shared/runtime/clock/clock.ts';
import { isCurveVenue } from '@sluice/shared/wire/venues.ts';
import type { Loss } from '../report.ts';
import type { TransactionFetcher } from '../sources/rpc/transaction-fetcher.ts';
import type { Sighting } from '../sources/sighting.ts';
import { hiddenTrades, type LocatedEvent } from '../sources/decode/transaction-decoder.ts';
import type { Counted, DecodedTransaction, Decoder } from './decode.ts';

/** Transactions that are not complete yet. Above this limit, new ones are published as far as they were seen, and counted as lost. */
const maxOpen = 4_000;
/** How long another sighting may still complete a transaction before it is fetched, if a source of whole transactions runs, and if it cannot be fetched. */
const othersWithinMs = 2_000;

export const noUnfinishedCounts = () => ({
  /** Transactions whose first sighting did not show all of their events. */
  incomplete: 0,
  /** Of these, transactions with a program that shows its trades only outside of the logs. */
  hidden: 0,
  /** Of the incomplete ones, completed. */
  completed: 0,
  /** Of the completed ones, completed by another sighting, without a request for the transaction. */
  completedByOthers: 0,
  /** Of the incomplete ones, given up because their slot died: nothing is missing. */
  abandoned: 0,
  /** Of the incomplete ones, given up: events are missing. */
  lostTransactions: 0,
  /** Events that waited for the missing ones, and were published when their transaction was given up. */
  uncertainEvents: 0,
});

export interface UnfinishedParts {
  readonly counts: ReturnType<typeof noUnfinishedCounts>;
  readonly decoder: Decoder;
  readonly transactions: TransactionFetcher;
  /** Whether a source is expected to show every transaction whole; not if it is not given. */
  readonly expectsWhole?: () => boolean;
  readonly clock?: Clock;
  readonly signal: AbortSignal;
  readonly onLoss: (loss: Loss) => void;
  /** Passes on events of a transaction. The transaction has all known events, including those that were passed on before. */
  readonly pass: (transaction: DecodedTransaction, events: readonly LocatedEvent[]) => void;
}

/** A transaction that no sighting has shown completely yet. */
interface Open {
  /** What the best sighting so far shows. */
  seen: DecodedTransaction;
  readonly fault: string;
  readonly sinceMs: number;
  readonly counted: Counted;
  /** Paths of the events that were passed on. */
  readonly passed: Set<string>;
  /** Aborted when nothing more is expected: the transaction is complete, or ingest ends. */
  readonly done: AbortController;
}

/**
 * Transactions whose first sighting did not show all of their events. Events that cannot change any more are passed on at once. The others
 * follow when the whole transaction was fetched or another sighting shows it completely, whichever comes first. If neither comes, the
 * transaction is counted and reported as lost.
 */
export class Unfinished {
  readonly #parts: UnfinishedParts;
  readonly #clock: Clock;
  readonly #open = new Map<string, Open>();

  constructor(parts: UnfinishedParts) {
    this.#parts = parts;
    this.#clock = parts.clock ?? systemClock;
    parts.signal.addEventListener('abort', () => this.#end(), { once: true });
  }

  has(signature: string): boolean {
    return this.#open.has(signature);
  }

  /** Infinite if none is open. */
  oldestSlot(): number {
    let oldest = Number.POSITIVE_INFINITY;
    for (const { seen } of this.#open.values()) oldest = Math.min(oldest, seen.slot);
    return oldest;
  }

  /** `transaction` is what the decoder read last, and `fault` says why events may be missing. */
  begin(transaction: DecodedTransaction, fault: string): void {
    this.#parts.counts.incomplete++;
    if (fault === hiddenTrades) this.#parts.counts.hidden++;
    const counted: Counted = { paths: new Set(), slices: 0 };
    this.#parts.decoder.noteCounted(counted);
    const open: Open = {
      seen: transaction,
      fault,
      sinceMs: this.#clock.steadyMs(),
      counted,
      passed: new Set(),
      done: new AbortController(),
    };
    this.#passCertain(open);
    if (this.#open.size >= maxOpen || this.#parts.signal.aborted) {
      this.#lose(open, 'too many are unfinished');
      return;
    }
    this.#open.set(transaction.signature, open);
    void this.#fetch(open);
  }

  /** A slot died, or its block lacks transactions. They did not happen, or they are in another slot and come again from there. */
  abandon(slot: number, lives: (signature: string) => boolean): void {
    for (const open of this.#open.values()) {
      if (open.seen.slot !== slot || lives(open.seen.signature)) continue;
      this.#close(open);
      this.#parts.counts.abandoned++;
    }
  }

  /** Takes another sighting of a transaction that is open. */
  again(sighting: Sighting): void {
    const open = this.#open.get(sighting.signature);
    if (open === undefined) return;
    const reading = this.#parts.decoder.read(sighting, open.counted);
    if (reading.kind !== 'read') return;
    const { transaction, fault } = reading;
    const showsAll = open.seen.events.every(({ path }) => transaction.events.some((event) => event.path === path));
    // Complete logs without an event that was seen before contradict that sighting: the whole transaction decides.
    if (fault === null && (showsAll || sighting.kind === 'whole')) {
      this.#parts.counts.completedByOthers++;
      this.#finish(open, transaction);
    } else if (showsAll && transaction.events.length > open.seen.events.length) {
      open.seen = transaction;
      this.#passCertain(open);
    }
  }

  async #fetch(open: Open): Promise<void> {
    const { signature, slot } = open.seen;
    const { signal } = open.done;
    const { transactions, decoder, expectsWhole } = this.#parts;
    const clock = this.#clock;
    if (expectsWhole?.() === true) await pause(othersWithinMs, signal, { ref: false, clock });
    if (this.#open.get(signature) !== open) return;
    const found = await transactions.fetch(signature, slot, signal, (whole) => {
      const reading = decoder.read(whole, open.counted);
      // On another fork the transaction may have done something else. Its events are retracted when this slot dies.
      return reading.kind === 'unusable' || whole.slot === slot ? reading : { kind: 'unusable', reason: 'it landed in another slot' };
    });
    if (this.#open.get(signature) !== open) return;
    if (found.kind === 'read' && found.fault === null) this.#finish(open, found.transaction);
    else if (found.kind === 'read') {
      this.#pass(open, found.transaction, found.transaction.events);
      this.#lose(open, found.fault!);
    } else if (found.kind === 'failed') this.#lose(open, 'it failed on the living branch', false);
    else {
      const leftMs = open.sinceMs + othersWithinMs - clock.steadyMs();
      if (leftMs > 0) await pause(leftMs, signal, { ref: false, clock });
      if (this.#open.get(signature) === open) this.#lose(open, found.reason);
    }
  }

  #finish(open: Open, whole: DecodedTransaction): void {
    this.#close(open);
    this.#parts.counts.completed++;
    this.#pass(open, whole, whole.events);
  }

  #lose(open: Open, why: string, passHeld = true): void {
    this.#close(open);
    this.#parts.counts.lostTransactions++;
    const { seen, fault, passed } = open;
    if (passHeld) {
      this.#parts.counts.uncertainEvents += seen.events.filter(({ path }) => !passed.has(path)).length;
      this.#pass(open, seen, seen.events);
    }
    this.#parts.onLoss({
      kind: 'transaction',
      reason: `${fault}; ${why}`,
      events: 0,
      signature: seen.signature,
      slot: seen.slot,
      pool: null,
    });
  }

  #close(open: Open): void {
    this.#open.delete(open.seen.signature);
    open.done.abort();
  }

  /** None is lost: the watermark is before their slots, so the next leader reads them. */
  #end(): void {
    for (const open of this.#open.values()) this.#close(open);
  }

  #passCertain(open: Open): void {
    this.#pass(open, open.seen, certainOf(open.seen.events));
  }

  #pass(open: Open, transaction: DecodedTransaction, events: readonly LocatedEvent[]): void {
    const rest = events.filter(({ path }) => !open.passed.has(path));
    for (const { path } of rest) open.passed.add(path);
    this.#parts.pass(transaction, rest);
  }
}

/**
 * Events that do not depend on what is still hidden. A creation includes all that its wallet bought with it, and the buy that empties a
 * curve says whether it completed the curve: these wait, and so do the later events of their pool.
 */
function certainOf(events: readonly LocatedEvent[]): LocatedEvent[] {
  const open = new Set<string>();
  return events.filter(({ event, venue }) => {
    const pool = event.type === 'migrated' ? event.fromPool : event.pool;
    if (event.type === 'created') open.add(pool);
    else if (event.type === 'trade' && isCurveVenue(venue) && event.side === 'buy' && (event.reserves?.realBase ?? 1n) <= 0n) {
      if (!events.some((other) => other.event.type === 'completed' && other.event.pool === pool)) open.add(pool);
    }
    return !open.has(pool);
  });
}
