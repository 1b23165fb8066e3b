import { setTimeout as pause } from 'node:timers/promises';
import type { Loss } from '../report.ts';
import type { TransactionLogs } from '../sources/source.ts';
import type { TransactionFetcher } from '../sources/transactions.ts';
import type { Counted, DecodedTransaction, Decoder, LocatedEvent, LogsReading } from './decode.ts';

/** Transactions that are not whole yet; beyond it the newest are told as far as they were seen, and counted as lost. */
const maxOpen = 4_000;
/** How long another endpoint may still tell one whole that cannot be fetched at all. */
const othersWithinMs = 2_000;

export interface UnfinishedCounts {
  /** Transactions whose logs were cut, left out, or did not add up. */
  incompleteLogs: number;
  /** Of these, made whole. */
  completed: number;
  /** Of the completed, by the logs of another endpoint and not by the transaction itself. */
  completedByOthers: number;
  /** Of these, given up with their slot, which died: nothing is missing. */
  abandoned: number;
  /** Of these, given up: events are missing. */
  lostTransactions: number;
  /** Events held back for what the cut may hide, then told as they stood because their transaction was given up. */
  uncertainEvents: number;
}

export interface UnfinishedParts {
  readonly counts: UnfinishedCounts;
  readonly decoder: Decoder;
  readonly transactions: TransactionFetcher;
  readonly signal: AbortSignal;
  readonly onLoss: (loss: Loss) => void;
  /** Tells events of a transaction; the transaction has all that are known, those told before among them. */
  readonly tell: (transaction: DecodedTransaction, events: readonly LocatedEvent[]) => void;
}

/** A transaction that no endpoint has told whole yet. */
interface Open {
  /** The longest telling so far. */
  seen: DecodedTransaction;
  readonly fault: string;
  readonly sinceMs: number;
  readonly counted: Counted;
  /** Paths of the events told. */
  readonly told: Set<string>;
  /** Aborted when nothing more is expected: it is whole, or ingest ends. */
  readonly done: AbortController;
}

/**
 * Transactions whose logs were not whole. What is certain is told at once, the rest when the transaction itself was read
 * or another endpoint told it whole, whichever comes first; one that nobody tells is counted and reported as lost.
 */
export class Unfinished {
  readonly #parts: UnfinishedParts;
  readonly #open = new Map<string, Open>();

  constructor(parts: UnfinishedParts) {
    this.#parts = parts;
    parts.signal.addEventListener('abort', () => this.#end(), { once: true });
  }

  has(signature: string): boolean {
    return this.#open.has(signature);
  }

  /** Infinite where none is open. */
  oldestSlot(): number {
    let oldest = Number.POSITIVE_INFINITY;
    for (const { seen } of this.#open.values()) oldest = Math.min(oldest, seen.slot);
    return oldest;
  }

  /** `reading` is what the decoder read last. */
  begin({ transaction, fault }: LogsReading): void {
    this.#parts.counts.incompleteLogs++;
    const counted: Counted = { paths: new Set(), slices: 0 };
    this.#parts.decoder.noteCounted(counted);
    const open: Open = {
      seen: transaction,
      fault: fault ?? '',
      sinceMs: performance.now(),
      counted,
      told: new Set(),
      done: new AbortController(),
    };
    this.#tellCertain(open);
    if (this.#open.size >= maxOpen || this.#parts.signal.aborted) {
      this.#lose(open, 'too many are unfinished');
      return;
    }
    this.#open.set(transaction.signature, open);
    void this.#fetch(open);
  }

  /** A slot died: its transactions are not, or stand in another slot and come again from there. */
  abandon(slot: number): void {
    for (const open of this.#open.values()) {
      if (open.seen.slot !== slot) continue;
      this.#close(open);
      this.#parts.counts.abandoned++;
    }
  }

  /** Another telling of a transaction that is open. */
  again(seen: TransactionLogs): void {
    const open = this.#open.get(seen.signature);
    if (open === undefined) return;
    const { transaction, fault } = this.#parts.decoder.fromLogs(seen, open.counted);
    const tellsAll = open.seen.events.every(({ path }) => transaction.events.some((event) => event.path === path));
    // Whole logs without an event that was told before contradict it: the transaction itself decides.
    if (fault === null && tellsAll) {
      this.#parts.counts.completedByOthers++;
      this.#finish(open, transaction);
    } else if (tellsAll && transaction.events.length > open.seen.events.length) {
      open.seen = transaction;
      this.#tellCertain(open);
    }
  }

  async #fetch(open: Open): Promise<void> {
    const { signature, slot } = open.seen;
    const { signal } = open.done;
    const { transactions, decoder } = this.#parts;
    const found = await transactions.fetch(signature, slot, signal, (whole) => {
      const reading = decoder.fromTransaction(whole, open.counted);
      if (reading.kind === 'unusable') return reading;
      // It landed on another fork: what it did here may be something else, and is taken back when this slot dies.
      const landedAt = reading.kind === 'whole' ? reading.transaction.slot : reading.slot;
      return landedAt === slot ? reading : { kind: 'unusable', reason: 'it landed in another slot' };
    });
    if (this.#open.get(signature) !== open) return;
    if (found.kind === 'whole' && found.missing === null) this.#finish(open, found.transaction);
    else if (found.kind === 'whole') {
      this.#tell(open, found.transaction, found.transaction.events);
      this.#lose(open, found.missing!);
    } else if (found.kind === 'failed') this.#lose(open, 'it failed where the chain went on', false);
    else {
      const leftMs = open.sinceMs + othersWithinMs - performance.now();
      if (leftMs > 0) await pause(leftMs, undefined, { ref: false, signal }).catch(() => undefined);
      if (this.#open.get(signature) === open) this.#lose(open, found.reason);
    }
  }

  #finish(open: Open, whole: DecodedTransaction): void {
    this.#close(open);
    this.#parts.counts.completed++;
    this.#tell(open, whole, whole.events);
  }

  #lose(open: Open, why: string, tellsHeld = true): void {
    this.#close(open);
    this.#parts.counts.lostTransactions++;
    const { seen, fault, told } = open;
    if (tellsHeld) {
      this.#parts.counts.uncertainEvents += seen.events.filter(({ path }) => !told.has(path)).length;
      this.#tell(open, seen, seen.events);
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

  #end(): void {
    for (const open of this.#open.values()) this.#lose(open, 'ended before it was read');
  }

  #tellCertain(open: Open): void {
    this.#tell(open, open.seen, certainOf(open.seen.events));
  }

  #tell(open: Open, transaction: DecodedTransaction, events: readonly LocatedEvent[]): void {
    const untold = events.filter(({ path }) => !open.told.has(path));
    for (const { path } of untold) open.told.add(path);
    this.#parts.tell(transaction, untold);
  }
}

/**
 * Events that mean the same whatever the cut hides. A creation says all that its wallet bought with it, and the buy that
 * emptied a curve whether it completed it: these wait, and with them what follows of their coin.
 */
function certainOf(events: readonly LocatedEvent[]): LocatedEvent[] {
  const open = new Set<string>();
  return events.filter(({ event }) => {
    if (!('mint' in event) || event.mint === null) return true;
    const { mint } = event;
    if (event.type === 'created') open.add(mint);
    else if (event.type === 'trade' && event.side === 'buy' && event.reserves.realBase <= 0n) {
      if (!events.some((other) => other.event.type === 'completed' && other.event.mint === mint)) open.add(mint);
    }
    return !open.has(mint);
  });
}
