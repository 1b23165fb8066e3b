import { readInnerEvents, readTransaction, type TransactionView } from '@sluice/shared/solana/inner-events.ts';
import { readLogs } from '@sluice/shared/solana/logs.ts';
import type { DecodedAccount, DecodedEvent, Venue, VenueAccount, VenueEvent } from '@sluice/shared/venues/venue.ts';
import type { Commitment } from '@sluice/shared/wire/events.ts';
import type { AccountState, TransactionLogs, WholeTransaction } from '../sources/source.ts';

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

/** `complete` false: the logs were cut or do not add up, and the transaction itself must be read. */
export interface LogsReading {
  readonly transaction: DecodedTransaction;
  readonly complete: boolean;
  readonly malformed: string | null;
}

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
  #events: LocatedEvent[] = [];
  #signature = '';

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
  }

  fromLogs(seen: TransactionLogs): LogsReading {
    const events = this.#begin(seen.signature);
    const { truncated, malformed } = readLogs(seen.logs, this.#onEvent, this.#wants);
    const { signature, slot, receivedUs } = seen;
    return {
      transaction: { signature, slot, commitment: 'processed', receivedUs, feePayer: null, blockTime: null, events },
      complete: !truncated && malformed === null,
      malformed,
    };
  }

  /**
   * Null where the answer is no transaction; a failed transaction has no events. Events that a program only logs are
   * read from the logs, as far as these go; self-CPI events come from the inner instructions, and of the two the same event once.
   */
  fromTransaction(whole: WholeTransaction): DecodedTransaction | null {
    const view = readTransaction(whole.result);
    if (view.kind === 'malformed') return null;
    const events = this.#begin(whole.signature);
    if (view.err === null) {
      this.refusedLookAlikes += readInnerEvents(view, this.#eventAuthorities, this.#onEvent);
      if ([...this.#venues.values()].some((venue) => venue.eventAuthority === null)) this.#addLoggedOnly(view);
    }
    return {
      signature: whole.signature,
      slot: view.slot ?? whole.slot,
      commitment: whole.commitment,
      receivedUs: whole.receivedUs,
      feePayer: view.feePayer,
      blockTime: view.blockTime,
      events,
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

  #addLoggedOnly(view: TransactionView): void {
    readLogs(view.logs, this.#onEvent, (programId) => this.#venues.get(programId)?.eventAuthority === null);
  }

  #begin(signature: string): LocatedEvent[] {
    this.#signature = signature;
    this.#events = [];
    return this.#events;
  }

  #decode(programId: string, path: string, data: Uint8Array): void {
    const venue = this.#venues.get(programId);
    if (venue === undefined) return;
    const outcome: DecodedEvent = venue.decodeEvent(data);
    const counts = this.counts.get(venue.name)!;
    counts[outcome.kind]++;
    if (outcome.kind === 'decoded') this.#events.push({ venue, path, event: outcome.event });
    else if (outcome.kind !== 'ignored') {
      this.#onFault({
        venue: venue.name,
        kind: outcome.kind,
        detail: outcome.kind === 'unknown' ? outcome.discriminator : outcome.reason,
        where: this.#signature,
        sampleBase64: sampleOf(data),
      });
    }
  }
}

function sampleOf(data: Uint8Array): string {
  return Buffer.from(data.buffer, data.byteOffset, Math.min(data.length, maxSampleBytes)).toString('base64');
}
