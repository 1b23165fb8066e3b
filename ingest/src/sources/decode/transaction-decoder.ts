import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import {
  readInnerEvents,
  readInstructions,
  type TokenBalance,
  type TransactionView,
} from '@sluice/shared/solana/transaction/inner-events.ts';
import { readLogs, type LogListeners, type LogReading } from '@sluice/shared/solana/transaction/logs.ts';
import type { VenueName } from '@sluice/shared/wire/venues.ts';
import type { DecodeContext, DecodeOutcome, EmittingInstruction, RecordKind, Venue, VenueEvent } from '@sluice/venues/seam/venue.ts';
import { emittingInstruction } from '@sluice/venues/seam/emitting-instruction.ts';
import { noteBurnedLp } from './lp-tokens.ts';

export interface LocatedEvent {
  readonly venue: VenueName;
  /** Path of the emitting instruction, the same for every kind of sighting. */
  readonly path: string;
  readonly event: VenueEvent;
  /** Of an opened or filled pool: LP tokens that the same transaction burned. Absent if it is not known. */
  lpBurned?: bigint;
}

/** What became of one record of a program. */
export interface RecordOutcome {
  readonly venue: VenueName;
  /** Path of the emitting instruction; null for a line of several slices, which has none. */
  readonly path: string | null;
  readonly kind: 'decoded' | 'ignored' | 'unknown' | 'malformed';
  /** Of an unknown or malformed record: the discriminator or the reason, and the first bytes. */
  readonly fault: { readonly detail: string; readonly sampleBase64: string } | null;
}

/** What a transaction contains for the venues, as plain data: threads pass it on. */
export interface TransactionContents {
  readonly kind: 'read';
  /** Null if only logs were read. This also holds for the next three fields. */
  readonly feePayer: string | null;
  readonly blockTime: number | null;
  /** Its place in the block. */
  readonly index: number | null;
  /** Those that its events need. */
  readonly tokenBalances: readonly TokenBalance[] | null;
  /** A checksum of all events and logged texts that were read, the same from every kind of sighting. */
  readonly digest: number;
  /** A hash of everything that events are made of, the same from every kind of whole sighting. Null if only logs were read. */
  readonly facts: string | null;
  /** In the order in which the programs emitted them. */
  readonly events: LocatedEvent[];
  readonly outcomes: readonly RecordOutcome[];
  /** Why events may be missing, or null. */
  readonly fault: string | null;
  /** Self-CPI events of a program that did not sign for them. */
  readonly refused: number;
}

/** `unusable`: the transaction does not show the events. */
export type Decoding =
  | TransactionContents
  | { readonly kind: 'failed' }
  | {
      readonly kind: 'unusable';
      readonly reason: string;
      readonly feePayer: string;
      readonly blockTime: number | null;
      readonly index: null;
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
const maxSampleBytes = 192;
const noBytes = new Uint8Array(0);

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

/** Decodes transactions into the events of venues. It keeps nothing between two transactions, so each thread has its own. */
export class TransactionDecoder {
  readonly #venues = new Map<string, Venue>();
  readonly #eventAuthorities = new Map<string, string>();
  readonly #instructions = new Map<string, readonly Uint8Array[]>();
  readonly #lockers: ReadonlySet<string>;
  readonly #wants: (programId: string) => boolean;
  readonly #onEvent: Collect;
  readonly #readsText: boolean;
  readonly #listeners: LogListeners;
  /** Programs that do not log their trades. */
  readonly #hidden = new Set<string>();
  #sawHidden = false;
  readonly #context = new Context();
  readonly #emit: (event: VenueEvent) => void;
  #venue: VenueName | null = null;
  /** Events of the record that is being decoded. */
  #emitted = 0;
  #events: LocatedEvent[] = [];
  #outcomes: RecordOutcome[] = [];
  #digest = 0;

  constructor(venues: readonly Venue[]) {
    for (const venue of venues) {
      this.#venues.set(venue.programId, venue);
      const { logged, eventAuthority, instructions, textPrefix } = venue.records;
      if (!logged && textPrefix === null) this.#hidden.add(venue.programId);
      if (instructions.length > 0) this.#instructions.set(venue.programId, instructions);
      if (eventAuthority !== null) this.#eventAuthorities.set(venue.programId, eventAuthority);
    }
    this.#lockers = new Set(venues.flatMap(({ lpLocker }) => lpLocker ?? []));
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

  /** The events that the log lines of a successful transaction show. */
  readLogs(lines: readonly string[]): TransactionContents {
    this.#begin(null);
    const { truncated, malformed, empty } = readLogs(lines, this.#onEvent, this.#wants, this.#listeners);
    return this.#contents(null, malformed ?? (truncated ? 'cut logs' : empty ? 'no logs' : this.#sawHidden ? hiddenTrades : null), 0);
  }

  /**
   * The events of a whole transaction. Self-CPI events and instructions come from the inner instructions. If these are missing, and for programs that only
   * log, the logs of the transaction are read, if they are complete.
   */
  read(view: TransactionView): Decoding {
    if (view.err !== null) return { kind: 'failed' };
    this.#begin(view);
    const unusable = (reason: string): Decoding => ({
      kind: 'unusable',
      reason,
      feePayer: view.feePayer,
      blockTime: view.blockTime,
      index: null,
    });
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
    // Each reader reports its own records in order.
    if (emitted.length > 1) emitted.sort((one, other) => one.order - other.order);
    for (const { programId, path, record, data } of emitted) this.#decode(programId, path, record, data);
    noteBurnedLp(view, this.#events, (programId) => this.#venues.has(programId), this.#lockers);
    return this.#sawHidden ? unusable(inner.unreadable ?? hiddenTrades) : this.#contents(view, fault, inner.refused);
  }

  #begin(view: TransactionView | null): void {
    this.#context.view = view;
    this.#sawHidden = false;
    this.#digest = 0;
    this.#events = [];
    this.#outcomes = [];
  }

  #contents(view: TransactionView | null, fault: string | null, refused: number): TransactionContents {
    const tokenBalances = view === null ? null : neededBalances(view, this.#events);
    return {
      kind: 'read',
      feePayer: view?.feePayer ?? null,
      blockTime: view?.blockTime ?? null,
      index: view?.index ?? null,
      tokenBalances,
      digest: this.#digest,
      facts: view === null ? null : factsOf(view.feePayer, tokenBalances, this.#events),
      events: this.#events,
      outcomes: this.#outcomes,
      fault,
      refused,
    };
  }

  #listenersForLogs(): LogListeners {
    const onInvoke = (programId: string): void => {
      if (this.#hidden.has(programId)) this.#sawHidden = true;
    };
    return {
      onSlices: (programId, line) => this.#noteSlices(programId, line),
      ...(this.#hidden.size > 0 ? { onInvoke } : {}),
      ...this.#textListeners(this.#onEvent),
    };
  }

  #textListeners(collect: Collect): LogListeners {
    const textPrefix = (programId: string): string | null => this.#venues.get(programId)?.records.textPrefix ?? null;
    return this.#readsText ? { onText: collect, textPrefix } : {};
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

  #decode(programId: string, path: string, record: RecordKind, data: Uint8Array | string): void {
    const venue = this.#venues.get(programId);
    if (venue === undefined) return;
    const context = this.#context;
    context.path = path;
    context.record = record;
    context.data = typeof data === 'string' ? noBytes : data;
    context.text = typeof data === 'string' ? data : null;
    this.#venue = venue.name;
    this.#emitted = 0;
    const outcome = venue.decode(context, this.#emit);
    if (outcome.kind === 'incomplete') {
      this.#sawHidden = true;
      return;
    }
    // Logs do not show instructions.
    if (record !== 'instruction') this.#digest = crc32(data, crc32(path, this.#digest));
    this.#outcomes.push({ venue: venue.name, path, kind: outcome.kind, fault: faultOf(outcome, data) });
  }

  /** A line of several slices is not an Anchor event. Venues have not logged such lines so far. */
  #noteSlices(programId: string, line: string): void {
    const venue = this.#venues.get(programId);
    if (venue === undefined) return;
    const slices = line.slice(dataAt).split(' ');
    const fault = { detail: `${slices.length} slices`, sampleBase64: sampleOf(Buffer.from(slices[0]!, 'base64')) };
    this.#outcomes.push({ venue: venue.name, path: null, kind: 'unknown', fault });
  }
}

/** Of each coin one balance, which shows its decimals, and all those of traders. A message between threads costs as much as it has objects. */
function neededBalances({ tokenBalances }: TransactionView, events: readonly LocatedEvent[]): readonly TokenBalance[] | null {
  if (events.length === 0) return tokenBalances && [];
  const traders = new Set(events.map(({ event }) => (event.type === 'trade' ? event.trader : null)));
  const mints = new Set<string>();
  return tokenBalances?.filter(({ mint, owner }) => traders.has(owner) || mints.size < mints.add(mint).size) ?? null;
}

/** Of a transaction without events there is nothing to compare. */
function factsOf(feePayer: string, balances: readonly TokenBalance[] | null, events: readonly LocatedEvent[]): string {
  return events.length === 0 ? '' : hash('sha256', textOf([feePayer, balances, events]), 'base64');
}

/** Objects of one kind have the same fields in one order. Each text is preceded by its length, so a text cannot imitate a field. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return `${value.length}:${value}`;
  if (typeof value !== 'object' || value === null) return `${String(value)},`;
  let text = '{';
  for (const name in value) text += textOf((value as Readonly<Record<string, unknown>>)[name]);
  return `${text}}`;
}

function faultOf(outcome: Exclude<DecodeOutcome, { kind: 'incomplete' }>, data: Uint8Array | string): RecordOutcome['fault'] {
  if (outcome.kind === 'decoded' || outcome.kind === 'ignored') return null;
  const detail = outcome.kind === 'unknown' ? outcome.discriminator : outcome.reason;
  return { detail, sampleBase64: sampleOf(typeof data === 'string' ? Buffer.from(data) : data) };
}

/** Nothing is missing. A list without lines is not complete: every program logs that it runs. */
const isComplete = ({ truncated, malformed, empty }: LogReading): boolean => !truncated && malformed === null && !empty;

/** The first bytes of what could not be decoded, for the report. */
export function sampleOf(data: Uint8Array): string {
  return Buffer.from(data.buffer, data.byteOffset, Math.min(data.length, maxSampleBytes)).toString('base64');
}
