import { readInnerEvents, readTransaction, type TransactionView } from '@sluice/shared/solana/inner-events.ts';
import { readLogs, type EventSink, type LogReading } from '@sluice/shared/solana/logs.ts';
import type { DecodedAccount, DecodedEvent, Venue, VenueAccount, VenueEvent } from '@sluice/shared/venues/venue.ts';
import type { Commitment } from '@sluice/shared/wire/events.ts';
import type { AccountState, TransactionLogs, WholeTransaction } from '../sources/source.ts';
import type { Unusable } from '../sources/transactions.ts';

/** Events of one transaction in the order in which the program emitted them. */
export interface DecodedTransaction {
  readonly signature: string;
  readonly slot: number;
  readonly commitment: Commitment;
  readonly receivedUs: number;
  /** Null where the source does not show it. */
  readonly feePayer: string | null;
  /** Unix seconds; null where the source does not tell, then an event's own timestamp stands. */
  readonly blockTime: number | null;
  /** Read from the history of the chain, after newer ones. */
  readonly late: boolean;
  readonly events: LocatedEvent[];
}

export interface LocatedEvent {
  readonly venue: Venue;
  /** Path of the emitting instruction, the same from every source. */
  readonly path: string;
  readonly event: VenueEvent;
}

export interface VenueCounts {
  decoded: number;
  ignored: number;
  unknown: number;
  malformed: number;
}

/** What was last seen that could not be decoded, for the report; bytes bounded. */
export interface DecodeFault {
  readonly venue: string;
  readonly kind: 'unknown' | 'malformed';
  readonly detail: string;
  /** Signature of the transaction, or address of the account. */
  readonly where: string;
  readonly sampleBase64: string;
}

/** What of a transaction was decoded and counted before, so that another telling of it counts nothing twice. */
export interface Counted {
  readonly paths: Set<string>;
  /** Lines of several slices; they have no path. */
  slices: number;
}

export interface LogsReading {
  readonly transaction: DecodedTransaction;
  /** Why the logs are not whole and the transaction itself must be read, or null. */
  readonly fault: string | null;
  /** No program of a venue emitted anything. */
  readonly quiet: boolean;
}

/**
 * `failed`: announced as successful, it failed where the chain went on. `missing`: why events of a program that only logs
 * may be missing from a transaction that no answer can show better, or null.
 */
export type WholeReading =
  | { readonly kind: 'whole'; readonly transaction: DecodedTransaction; readonly missing: string | null }
  | { readonly kind: 'failed'; readonly slot: number }
  | Unusable;

interface Emitted {
  readonly programId: string;
  readonly path: string;
  readonly data: Uint8Array;
}

/** Where the slices of a `Program data: ` line begin. */
const dataAt = 14;
/** Bytes of an undecodable event that a report shows. */
const maxSampleBytes = 192;

/** Log lines and instructions in, venue events out; counts what every event turned out to be. */
export class Decoder {
  readonly counts = new Map<string, VenueCounts>();
  readonly accountCounts = new Map<string, VenueCounts>();
  /** Self-CPI events of a program that did not sign for them. */
  refusedLookAlikes = 0;
  readonly #venues = new Map<string, Venue>();
  readonly #eventAuthorities = new Map<string, string>();
  readonly #onFault: (fault: DecodeFault) => void;
  readonly #wants: (programId: string) => boolean;
  readonly #onEvent: (programId: string, path: string, data: Uint8Array) => void;
  readonly #onSlices: (programId: string, line: string) => void;
  #events: LocatedEvent[] = [];
  #signature = '';
  #counted: Counted | null = null;
  #slices = 0;
  /** Paths of the transaction that is being read, the first `#pathCount`; kept from one to the next. */
  readonly #paths: string[] = [];
  #pathCount = 0;

  constructor(venues: readonly Venue[], onFault: (fault: DecodeFault) => void) {
    for (const venue of venues) {
      this.#venues.set(venue.programId, venue);
      if (venue.eventAuthority !== null) this.#eventAuthorities.set(venue.programId, venue.eventAuthority);
      this.counts.set(venue.name, { decoded: 0, ignored: 0, unknown: 0, malformed: 0 });
      this.accountCounts.set(venue.name, { decoded: 0, ignored: 0, unknown: 0, malformed: 0 });
    }
    this.#onFault = onFault;
    this.#wants = (programId) => this.#venues.has(programId);
    this.#onEvent = (programId, path, data) => this.#decode(programId, path, data);
    this.#onSlices = (programId, line) => this.#countSlices(programId, line);
  }

  /** With `counted` what stands there is read but not counted again, and what is read is added to it. */
  fromLogs(seen: TransactionLogs, counted: Counted | null = null): LogsReading {
    const events = this.#begin(seen.signature, counted);
    const { truncated, malformed, empty } = readLogs(seen.logs, this.#onEvent, this.#wants, this.#onSlices);
    if (counted !== null) this.noteCounted(counted);
    const { signature, slot, receivedUs } = seen;
    return {
      transaction: { signature, slot, commitment: 'processed', receivedUs, feePayer: null, blockTime: null, late: false, events },
      fault: malformed ?? (truncated ? 'cut logs' : empty ? 'logs left out' : null),
      quiet: this.#pathCount === 0,
    };
  }

  /** Adds what the last reading read. */
  noteCounted(counted: Counted): void {
    for (let index = 0; index < this.#pathCount; index++) counted.paths.add(this.#paths[index]!);
    counted.slices = Math.max(counted.slices, this.#slices);
  }

  /**
   * Self-CPI events come from the inner instructions. Where these were left out, and for programs that only log, the logs
   * of the answer are read, if they are whole. Nothing is counted of an answer that is unusable: it is about another
   * transaction, or does not show all events.
   */
  fromTransaction(whole: WholeTransaction, counted: Counted | null = null): WholeReading {
    const view = readTransaction(whole.result);
    if (view.kind === 'malformed') return { kind: 'unusable', reason: 'the answer is no transaction' };
    if (view.signature !== whole.signature) return { kind: 'unusable', reason: 'the answer is another transaction' };
    if (view.err !== null) return { kind: 'failed', slot: view.slot ?? whole.slot };
    const emitted: Emitted[] = [];
    const collect = (programId: string, path: string, data: Uint8Array): void => void emitted.push({ programId, path, data });
    const inner = readInnerEvents(view, this.#eventAuthorities, collect);
    let missing: string | null = null;
    if (inner.unreadable !== null) {
      emitted.length = 0;
      if (!isWhole(readLogs(view.logs, collect, this.#wants))) return { kind: 'unusable', reason: inner.unreadable };
    } else if (!this.#addLoggedOnly(view, collect)) missing = 'a program only logs, and its logs are cut';
    this.refusedLookAlikes += inner.refused;
    const events = this.#begin(whole.signature, counted);
    for (const { programId, path, data } of emitted) this.#decode(programId, path, data);
    if (counted !== null) this.noteCounted(counted);
    const { slot, commitment, receivedUs, late } = whole;
    const { feePayer, blockTime } = view;
    return {
      kind: 'whole',
      missing,
      transaction: { signature: whole.signature, slot: view.slot ?? slot, commitment, receivedUs, feePayer, blockTime, late, events },
    };
  }

  /** Null for an account of no interest; one that cannot be decoded is counted and reported. */
  fromAccount(venue: Venue, { address, data }: AccountState): VenueAccount | null {
    const outcome: DecodedAccount = venue.decodeAccount(data);
    this.accountCounts.get(venue.name)![outcome.kind]++;
    if (outcome.kind === 'decoded') return outcome.account;
    if (outcome.kind === 'ignored') return null;
    const detail = outcome.kind === 'unknown' ? outcome.discriminator : outcome.reason;
    this.#onFault({ venue: venue.name, kind: outcome.kind, detail, where: address, sampleBase64: sampleOf(data) });
    return null;
  }

  /** False where a program of ours that only logs may have logged more than the answer shows. */
  #addLoggedOnly(view: TransactionView, collect: EventSink): boolean {
    const onlyLogs = (programId: string): boolean => this.#venues.get(programId)?.eventAuthority === null;
    if (!view.accountKeys.some(onlyLogs)) return true;
    return isWhole(readLogs(view.logs, collect, onlyLogs));
  }

  #begin(signature: string, counted: Counted | null): LocatedEvent[] {
    this.#signature = signature;
    this.#counted = counted;
    this.#slices = 0;
    this.#pathCount = 0;
    this.#events = [];
    return this.#events;
  }

  #decode(programId: string, path: string, data: Uint8Array): void {
    const venue = this.#venues.get(programId);
    if (venue === undefined) return;
    this.#paths[this.#pathCount++] = path;
    const outcome: DecodedEvent = venue.decodeEvent(data);
    if (outcome.kind === 'decoded') this.#events.push({ venue, path, event: outcome.event });
    if (this.#counted !== null && this.#counted.paths.has(path)) return;
    this.counts.get(venue.name)![outcome.kind]++;
    if (outcome.kind === 'decoded' || outcome.kind === 'ignored') return;
    const detail = outcome.kind === 'unknown' ? outcome.discriminator : outcome.reason;
    this.#onFault({ venue: venue.name, kind: outcome.kind, detail, where: this.#signature, sampleBase64: sampleOf(data) });
  }

  /** No Anchor event: something that the venue did not log before. */
  #countSlices(programId: string, line: string): void {
    const venue = this.#venues.get(programId);
    if (venue === undefined || ++this.#slices <= (this.#counted?.slices ?? 0)) return;
    const slices = line.slice(dataAt).split(' ');
    this.counts.get(venue.name)!.unknown++;
    this.#onFault({
      venue: venue.name,
      kind: 'unknown',
      detail: `${slices.length} slices`,
      where: this.#signature,
      sampleBase64: sampleOf(Buffer.from(slices[0]!, 'base64')),
    });
  }
}

/** Nothing is missing; no lines at all are nobody's logs. */
function isWhole({ truncated, malformed, empty }: LogReading): boolean {
  return !truncated && malformed === null && !empty;
}

function sampleOf(data: Uint8Array): string {
  return Buffer.from(data.buffer, data.byteOffset, Math.min(data.length, maxSampleBytes)).toString('base64');
}
