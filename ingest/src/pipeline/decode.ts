import type { TokenBalance } from '@sluice/shared/solana/transaction/inner-events.ts';
import type { Commitment } from '@sluice/shared/wire/events/events.ts';
import type { DecodedAccount, DecodedConstants, Venue, VenueAccount } from '@sluice/venues/seam/venue.ts';
import {
  sampleOf,
  TransactionDecoder,
  type Decoding,
  type LocatedEvent,
  type RecordOutcome,
} from '../sources/decode/transaction-decoder.ts';
import type { AccountState, LogsSighting, Sighting } from '../sources/sighting.ts';

/** Events of one transaction in the order in which the program emitted them. */
export interface DecodedTransaction {
  readonly signature: string;
  readonly slot: number;
  readonly commitment: Commitment;
  readonly receivedUs: number;
  /** Null if the sighting does not show it. */
  readonly feePayer: string | null;
  /** Unix seconds; null if the sighting does not show it. The timestamp of an event is used then. */
  readonly blockTime: number | null;
  /** Null if the sighting does not show them. */
  readonly tokenBalances: readonly TokenBalance[] | null;
  /** Its place in the block; null if the sighting does not show it. */
  readonly index: number | null;
  /** Read from the history of the chain, after newer ones. */
  readonly late: boolean;
  /** A checksum of all events and logged texts that were read, the same from every kind of sighting. */
  readonly digest: number;
  /** A hash of everything that events are made of; null if the sighting has only logs. */
  readonly facts: string | null;
  readonly events: readonly LocatedEvent[];
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

/** What was counted of a transaction, so that another sighting of it counts nothing twice. */
export interface Counted {
  readonly paths: Set<string>;
  /** Lines of several slices; they have no path. */
  slices: number;
}

export interface ReadSighting {
  readonly kind: 'read';
  readonly transaction: DecodedTransaction;
  /** Why events may be missing, or null. */
  readonly fault: string | null;
  /** No program of a venue emitted anything. */
  readonly quiet: boolean;
}

/**
 * `failed`: the transaction was announced as successful, but failed on the fork that lives. `unusable`: the sighting does not show the
 * events; its `transaction` has none.
 */
export type Reading =
  | ReadSighting
  | { readonly kind: 'failed' }
  | { readonly kind: 'unusable'; readonly transaction: DecodedTransaction; readonly reason: string };

/** What is compared of two reports of a transaction. */
export type Contents = Pick<DecodedTransaction, 'digest' | 'facts'>;
export const failedContents: Contents = { digest: -1, facts: 'failed' };

/** Null if the sighting does not show all of its events. */
export function contentsOf(reading: Reading): Contents | null {
  if (reading.kind === 'failed') return failedContents;
  return reading.kind === 'read' && reading.fault === null ? reading.transaction : null;
}

/** Logs show fewer facts than whole transactions: what both have is compared. */
export function isOther(one: Contents, other: Contents): boolean {
  return one.digest !== other.digest || (one.facts !== null && other.facts !== null && one.facts !== other.facts);
}

/** For a sighting that is only compared: counts nothing. */
export const uncounted: Counted = { paths: new Set(), slices: 0 };

const noCounts = (): VenueCounts => ({ decoded: 0, ignored: 0, unknown: 0, malformed: 0 });

/** Decodes sightings into the events of venues, and counts the outcomes. */
export class Decoder {
  readonly counts = new Map<string, VenueCounts>();
  readonly accountCounts = new Map<string, VenueCounts>();
  /** Self-CPI events of a program that did not sign for them. */
  refusedLookAlikes = 0;
  readonly #decoder: TransactionDecoder;
  readonly #onFault: (fault: DecodeFault) => void;
  #lastOutcomes: readonly RecordOutcome[] = [];

  constructor(venues: readonly Venue[], onFault: (fault: DecodeFault) => void) {
    for (const { name } of venues) {
      this.counts.set(name, noCounts());
      this.accountCounts.set(name, noCounts());
    }
    this.#decoder = new TransactionDecoder(venues);
    this.#onFault = onFault;
  }

  /**
   * Decodes a sighting into events, unless a thread has decoded it. What is in `counted` is not counted again, and what this call reads is added
   * to it. Nothing is counted of an unusable sighting.
   */
  read(sighting: LogsSighting, counted?: Counted | null): ReadSighting;
  read(sighting: Sighting, counted?: Counted | null): Reading;
  read(sighting: Sighting, counted: Counted | null = null): Reading {
    const { signature, slot, commitment, receivedUs } = sighting;
    const late = sighting.kind === 'whole' && sighting.late;
    const decoding = this.#decode(sighting);
    if (decoding.kind === 'failed') return decoding;
    const { feePayer, blockTime, index } = decoding;
    const isRead = decoding.kind === 'read';
    // No spread: see "Garbage collection" in ARCHITECTURE.md.
    const transaction: DecodedTransaction = {
      signature,
      slot,
      commitment,
      receivedUs,
      feePayer,
      blockTime,
      index,
      late,
      tokenBalances: isRead ? decoding.tokenBalances : null,
      digest: isRead ? decoding.digest : 0,
      facts: isRead ? decoding.facts : null,
      events: isRead ? decoding.events : [],
    };
    if (!isRead) return { kind: 'unusable', transaction, reason: decoding.reason };
    const { outcomes, fault, refused } = decoding;
    this.#lastOutcomes = outcomes;
    if (counted !== uncounted) {
      this.refusedLookAlikes += refused;
      this.#count(signature, outcomes, counted);
      if (counted !== null) this.noteCounted(counted);
    }
    return { kind: 'read', transaction, fault, quiet: outcomes.every(({ path }) => path === null) };
  }

  /** Adds what the last call of `read` has read. */
  noteCounted(counted: Counted): void {
    let slices = 0;
    for (const { path } of this.#lastOutcomes) {
      if (path === null) slices++;
      else counted.paths.add(path);
    }
    counted.slices = Math.max(counted.slices, slices);
  }

  /** Null for an account of no interest; one that cannot be decoded is counted and reported. */
  fromAccount(venue: Venue, state: AccountState): VenueAccount | null {
    const outcome = venue.decodeAccount(state.data);
    this.noteAccount(venue, state, outcome);
    return outcome.kind === 'decoded' ? outcome.account : null;
  }

  /** Counts the outcome of an account, and reports one that cannot be decoded. */
  noteAccount({ name }: Venue, { address, data }: AccountState, outcome: DecodedAccount | DecodedConstants): void {
    const { kind } = outcome;
    // An account that needs others is read when a trade needs it.
    this.accountCounts.get(name)![kind === 'more' ? 'ignored' : kind]++;
    if (kind !== 'unknown' && kind !== 'malformed') return;
    const detail = kind === 'unknown' ? outcome.discriminator : outcome.reason;
    this.#onFault({ venue: name, kind, detail, where: address, sampleBase64: sampleOf(data) });
  }

  #decode(sighting: Sighting): Decoding {
    if (sighting.kind === 'logs') return this.#decoder.readLogs(sighting.logs);
    const { transaction } = sighting;
    return transaction.kind === 'transaction' ? this.#decoder.read(transaction) : transaction;
  }

  #count(where: string, outcomes: readonly RecordOutcome[], counted: Counted | null): void {
    let slices = 0;
    for (const { venue, path, kind, fault } of outcomes) {
      if (path === null ? ++slices <= (counted?.slices ?? 0) : counted?.paths.has(path) === true) continue;
      this.counts.get(venue)![kind]++;
      if (fault !== null) this.#onFault({ venue, kind: kind as DecodeFault['kind'], where, ...fault });
    }
  }
}
