import { crc32 } from 'node:zlib';
import {
  readInnerEvents,
  readInstructions,
  type TokenBalance,
  type TransactionView,
} from '@sluice/shared/solana/transaction/inner-events.ts';
import { readLogs, type LogListeners, type LogReading } from '@sluice/shared/solana/transaction/logs.ts';
import type {
  DecodeContext,
  DecodedAccount,
  EmittingInstruction,
  RecordKind,
  Venue,
  VenueAccount,
  VenueEvent,
} from '@sluice/venues/seam/venue.ts';
import type { Commitment } from '@sluice/shared/wire/events/events.ts';
import { emittingInstruction } from './emitting-instruction.ts';
import type { AccountState, LogsSighting, Sighting, WholeSighting } from '../sources/sighting.ts';

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
  /** Read from the history of the chain, after newer ones. */
  readonly late: boolean;
  /** A checksum of all events and logged texts that were read, the same from every kind of sighting. */
  readonly digest: number;
  readonly events: LocatedEvent[];
}

export interface LocatedEvent {
  readonly venue: Venue;
  /** Path of the emitting instruction, the same for every kind of sighting. */
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

/** For a sighting that is only compared: counts nothing. */
export const uncounted: Counted = {
  paths: new (class extends Set<string> {
    override has(): boolean {
      return true;
    }
    override add(): this {
      return this;
    }
  })(),
  slices: Number.POSITIVE_INFINITY,
};

/** Why a sighting of logs is completed although its logs are: a program shows its trades only outside of them. */
export const hiddenTrades = 'a program does not log its trades';

interface Emitted {
  readonly programId: string;
  readonly path: string;
  readonly record: RecordKind;
  /** Bytes of an event or an instruction, or logged text. */
  readonly data: Uint8Array | string;
  readonly order: number;
}

type Collect = (programId: string, path: string, data: Uint8Array | string, order: number) => void;

/** Where the slices of a `Program data: ` line begin. */
const dataAt = 14;
/** Bytes of an undecodable event that a report shows. */
const maxSampleBytes = 192;

/** The record that is being decoded. The object is reused, to avoid an allocation for each record. */
class Context implements DecodeContext {
  record: RecordKind = 'event';
  data: Uint8Array = noBytes;
  text: string | null = null;
  path = '';
  /** Null while a sighting of logs is read. */
  view: TransactionView | null = null;

  get feePayer(): string | null {
    return this.view?.feePayer ?? null;
  }

  get tokenBalances(): readonly TokenBalance[] | null {
    return this.view?.tokenBalances ?? null;
  }

  instruction(): EmittingInstruction | null {
    return this.view === null ? null : emittingInstruction(this.view, this.path);
  }
}

const noBytes = new Uint8Array(0);

/** Decodes sightings into the events of venues, and counts the outcomes. */
export class Decoder {
  readonly counts = new Map<string, VenueCounts>();
  readonly accountCounts = new Map<string, VenueCounts>();
  /** Self-CPI events of a program that did not sign for them. */
  refusedLookAlikes = 0;
  readonly #venues = new Map<string, Venue>();
  readonly #eventAuthorities = new Map<string, string>();
  readonly #instructions = new Map<string, readonly Uint8Array[]>();
  readonly #onFault: (fault: DecodeFault) => void;
  readonly #wants: (programId: string) => boolean;
  readonly #onEvent: Collect;
  readonly #readsText: boolean;
  readonly #listeners: LogListeners;
  /** Programs that do not log their trades. */
  readonly #hidden = new Set<string>();
  #sawHidden = false;
  readonly #context = new Context();
  readonly #emit: (event: VenueEvent) => void;
  #venue: Venue | null = null;
  /** Events of the record that is being decoded. */
  #emitted = 0;
  #events: LocatedEvent[] = [];
  #signature = '';
  #counted: Counted | null = null;
  #slices = 0;
  /** Paths of the transaction that is being read, the first `#pathCount`; the list is reused for the next one. */
  readonly #paths: string[] = [];
  #pathCount = 0;
  #digest = 0;

  constructor(venues: readonly Venue[], onFault: (fault: DecodeFault) => void) {
    for (const venue of venues) {
      this.#venues.set(venue.programId, venue);
      const { logged, eventAuthority, instructions, textPrefix } = venue.records;
      if (!logged && textPrefix === null) this.#hidden.add(venue.programId);
      if (instructions.length > 0) this.#instructions.set(venue.programId, instructions);
      if (eventAuthority !== null) this.#eventAuthorities.set(venue.programId, eventAuthority);
      this.counts.set(venue.name, { decoded: 0, ignored: 0, unknown: 0, malformed: 0 });
      this.accountCounts.set(venue.name, { decoded: 0, ignored: 0, unknown: 0, malformed: 0 });
    }
    this.#onFault = onFault;
    this.#wants = (programId) => this.#venues.get(programId)?.records.logged === true;
    this.#onEvent = (programId, path, data) => this.#decode(programId, path, typeof data === 'string' ? 'text' : 'event', data);
    this.#emit = (event) => {
      const { path } = this.#context;
      const further = this.#emitted++;
      this.#events.push({ venue: this.#venue!, path: further === 0 ? path : `${path}-${further}`, event });
    };
    this.#readsText = venues.some(({ records }) => records.textPrefix !== null);
    this.#listeners = this.#listenersForLogs();
  }

  /**
   * Decodes a sighting into events: the only place that does. What is in `counted` is not counted again, and what this call reads is added
   * to it. Nothing is counted of an unusable sighting.
   */
  read(sighting: LogsSighting, counted?: Counted | null): ReadSighting;
  read(sighting: Sighting, counted?: Counted | null): Reading;
  read(sighting: Sighting, counted: Counted | null = null): Reading {
    return sighting.kind === 'logs' ? this.#readLogs(sighting, counted) : this.#readWhole(sighting, counted);
  }

  /** Adds what the last call of `read` has read. */
  noteCounted(counted: Counted): void {
    for (let index = 0; index < this.#pathCount; index++) counted.paths.add(this.#paths[index]!);
    counted.slices = Math.max(counted.slices, this.#slices);
  }

  /** Null for an account of no interest; one that cannot be decoded is counted and reported. */
  fromAccount(venue: Venue, { address, data }: AccountState): VenueAccount | null {
    const outcome: DecodedAccount = venue.decodeAccount(data);
    // An account that needs others is read when a trade needs it.
    this.accountCounts.get(venue.name)![outcome.kind === 'more' ? 'ignored' : outcome.kind]++;
    if (outcome.kind === 'decoded') return outcome.account;
    if (outcome.kind === 'ignored' || outcome.kind === 'more') return null;
    const detail = outcome.kind === 'unknown' ? outcome.discriminator : outcome.reason;
    this.#onFault({ venue: venue.name, kind: outcome.kind, detail, where: address, sampleBase64: sampleOf(data) });
    return null;
  }

  #listenersForLogs(): LogListeners {
    const onInvoke = (programId: string): void => {
      if (this.#hidden.has(programId)) this.#sawHidden = true;
    };
    return {
      onSlices: (programId, line) => this.#countSlices(programId, line),
      ...(this.#hidden.size > 0 ? { onInvoke } : {}),
      ...this.#textListeners(this.#onEvent),
    };
  }

  #textListeners(collect: Collect): LogListeners {
    const textPrefix = (programId: string): string | null => this.#venues.get(programId)?.records.textPrefix ?? null;
    return this.#readsText ? { onText: collect, textPrefix } : {};
  }

  #readLogs(sighting: LogsSighting, counted: Counted | null): ReadSighting {
    const events = this.#begin(sighting.signature, null, counted);
    const { truncated, malformed, empty } = readLogs(sighting.logs, this.#onEvent, this.#wants, this.#listeners);
    if (counted !== null) this.noteCounted(counted);
    const { signature, slot, commitment, receivedUs } = sighting;
    const unseen = { feePayer: null, blockTime: null, tokenBalances: null };
    return {
      kind: 'read',
      transaction: { signature, slot, commitment, receivedUs, ...unseen, late: false, digest: this.#digest, events },
      fault: malformed ?? (truncated ? 'cut logs' : empty ? 'no logs' : this.#sawHidden ? hiddenTrades : null),
      quiet: this.#pathCount === 0,
    };
  }

  /**
   * Self-CPI events and instructions come from the inner instructions. If these are missing, and for programs that only
   * log, the logs of the transaction are read, if they are complete.
   */
  #readWhole(whole: WholeSighting, counted: Counted | null): Reading {
    const { transaction: view, signature, slot, commitment, receivedUs, late } = whole;
    if (view.err !== null) return { kind: 'failed' };
    const events = this.#begin(signature, view, counted);
    const { feePayer, blockTime, tokenBalances } = view;
    const shown = { signature, slot, commitment, receivedUs, feePayer, blockTime, tokenBalances, late };
    const unusable = (reason: string): Reading => ({ kind: 'unusable', transaction: { ...shown, digest: 0, events }, reason });
    const emitted: Emitted[] = [];
    const collectAs =
      (kind: RecordKind): Collect =>
      (programId, path, data, order) =>
        void emitted.push({ programId, path, record: typeof data === 'string' ? 'text' : kind, data, order });
    const collect = collectAs('event');
    const inner = readInnerEvents(view, this.#eventAuthorities, collect);
    let fault: string | null = null;
    if (inner.unreadable !== null) {
      emitted.length = 0;
      const isHidden = view.accountKeys.some((key) => this.#hidden.has(key));
      const logs = isHidden ? null : readLogs(view.logs, collect, this.#wants, this.#textListeners(collect));
      if (logs === null || !isComplete(logs)) return unusable(inner.unreadable);
    } else {
      if (this.#instructions.size > 0) readInstructions(view, this.#instructions, collectAs('instruction'));
      if (!this.#addLoggedOnly(view, collect)) fault = 'a program only logs, and its logs are cut';
    }
    this.refusedLookAlikes += inner.refused;
    // Each reader reports its own records in order.
    emitted.sort((one, other) => one.order - other.order);
    for (const { programId, path, record, data } of emitted) this.#decode(programId, path, record, data);
    if (this.#sawHidden) return unusable(inner.unreadable ?? hiddenTrades);
    if (counted !== null) this.noteCounted(counted);
    return { kind: 'read', transaction: { ...shown, digest: this.#digest, events }, fault, quiet: this.#pathCount === 0 };
  }

  /** Adds the events of programs that only log. False if such a program may have logged more than the transaction shows. */
  #addLoggedOnly(view: TransactionView, collect: Collect): boolean {
    const onlyLogs = (programId: string): boolean => {
      const venue = this.#venues.get(programId);
      return venue !== undefined && venue.records.eventAuthority === null && !this.#hidden.has(programId);
    };
    if (!view.accountKeys.some(onlyLogs)) return true;
    return isComplete(readLogs(view.logs, collect, onlyLogs, this.#textListeners(collect)));
  }

  #begin(signature: string, view: TransactionView | null, counted: Counted | null): LocatedEvent[] {
    this.#signature = signature;
    this.#context.view = view;
    this.#sawHidden = false;
    this.#counted = counted;
    this.#slices = 0;
    this.#pathCount = 0;
    this.#digest = 0;
    this.#events = [];
    return this.#events;
  }

  #decode(programId: string, path: string, record: RecordKind, data: Uint8Array | string): void {
    const venue = this.#venues.get(programId);
    if (venue === undefined) return;
    const context = this.#context;
    context.path = path;
    context.record = record;
    context.data = typeof data === 'string' ? noBytes : data;
    context.text = typeof data === 'string' ? data : null;
    this.#venue = venue;
    this.#emitted = 0;
    const outcome = venue.decode(context, this.#emit);
    if (outcome.kind === 'incomplete') {
      this.#sawHidden = true;
      return;
    }
    this.#paths[this.#pathCount++] = path;
    // Logs do not show instructions.
    if (record !== 'instruction') this.#digest = crc32(data, crc32(path, this.#digest));
    if (this.#counted !== null && this.#counted.paths.has(path)) return;
    this.counts.get(venue.name)![outcome.kind]++;
    if (outcome.kind === 'decoded' || outcome.kind === 'ignored') return;
    const detail = outcome.kind === 'unknown' ? outcome.discriminator : outcome.reason;
    this.#onFault({
      venue: venue.name,
      kind: outcome.kind,
      detail,
      where: this.#signature,
      sampleBase64: sampleOf(typeof data === 'string' ? Buffer.from(data) : data),
    });
  }

  /** A line of several slices is not an Anchor event. Venues have not logged such lines so far. */
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

/** Nothing is missing. A list without lines is not complete: every program logs that it runs. */
function isComplete({ truncated, malformed, empty }: LogReading): boolean {
  return !truncated && malformed === null && !empty;
}

function sampleOf(data: Uint8Array): string {
  return Buffer.from(data.buffer, data.byteOffset, Math.min(data.length, maxSampleBytes)).toString('base64');
}
