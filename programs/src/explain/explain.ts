import { eventAuthorities, venueByProgram } from '@sluice/venues/registry.ts';
import { findProgramAddress } from '@sluice/shared/solana/addresses/pda.ts';
import { tipAccounts } from '@sluice/shared/solana/addresses/tip-accounts.ts';
import { isRecord } from '@sluice/shared/solana/encoding/json-forms.ts';
import { readInnerEvents, type TransactionInnerInstruction, type TransactionView } from '@sluice/shared/solana/transaction/inner-events.ts';
import { readLogs } from '@sluice/shared/solana/transaction/logs.ts';
import { precompilePrograms, systemProgram } from '@sluice/shared/solana/well-known.ts';
import { cleanText } from '@sluice/shared/metadata/clean-text.ts';
import type { Explanation } from '@sluice/shared/wire/rest/explain.ts';
import type { ProgramCoder } from '../idl/coder.ts';
import { changesOf, computeUnitsOf, parsedForm } from './changes.ts';
import { failureOf, type ProgramNames } from './failure.ts';
import { knownProgram, memoPrograms } from './known-programs.ts';
import type { ReadAnswer } from './read-answer.ts';

type Instruction = Explanation['instructions'][number];
type Event = Explanation['events'][number];

const baseFeePerSignature = 5_000n;
const shownBytes = 256;
/** JSON of one instruction's arguments, or of one event. */
const maxJsonChars = 65_536;
const maxMemoChars = 1_000;

/** An event that a venue's decoder read. */
export interface VenueEventAt {
  readonly venue: string;
  readonly programId: string;
  readonly path: string;
  readonly event: { readonly type: string };
}

export interface ExplainParts {
  /** The coder of a program with an IDL; null if there is none. */
  readonly idlOf: (programId: string) => ProgramCoder | null;
  /** Events of venues in a transaction, whether it succeeded or not. */
  readonly venueEvents: (view: TransactionView) => readonly VenueEventAt[];
  /** What could not be read before, such as an IDL. */
  readonly notes: readonly string[];
}

/** Explains a transaction. Pure. */
export function explain(read: ReadAnswer, parts: ExplainParts): Explanation {
  const { view, meta } = read;
  const coderOf = (programId: string): ProgramCoder | null => knownProgram(programId) ?? parts.idlOf(programId);
  const nameOf = (programId: string): string | null =>
    venueByProgram.get(programId)?.name ?? (memoPrograms.has(programId) ? 'memo' : coderOf(programId)?.idl.name || null);
  const programs: ProgramNames = { coderOf, nameOf };
  const instructions = instructionsOf(read, programs);
  const events = meta === null ? [] : [...venueEvents(view, parts, programs), ...idlEvents(view, parts, programs)];
  return {
    signature: view.signature,
    outcome: meta === null ? 'not_executed' : view.err === null ? 'succeeded' : 'failed',
    slot: view.slot,
    blockTime: view.blockTime,
    version: String(view.version),
    feePayer: view.feePayer,
    failure: failureOf(view, programs),
    fees: meta === null ? null : feesOf(read, meta, instructions),
    changes: meta === null ? [] : changesOf(view, meta),
    instructions,
    events: events.toSorted((one, other) => (one.id < other.id ? -1 : one.id > other.id ? 1 : 0)),
    notes: [...parts.notes, ...(meta !== null && view.inner === null ? ['The node did not record what the instructions called.'] : [])],
  };
}

function instructionsOf({ view, meta, message }: ReadAnswer, programs: ProgramNames): Instruction[] {
  const raw = Array.isArray(message['instructions']) ? (message['instructions'] as unknown[]) : [];
  const groups = Array.isArray(meta?.['innerInstructions']) ? (meta['innerInstructions'] as unknown[]) : [];
  const logged = loggedNames(view);
  let top = -1;
  return view.instructions.flatMap((instruction, index) => {
    const loggedTop = precompilePrograms.has(instruction.programId) ? null : ++top;
    const group = groups.find((each) => isRecord(each) && each['index'] === index);
    const rawInner = isRecord(group) && Array.isArray(group['instructions']) ? (group['instructions'] as unknown[]) : [];
    const nameAt = (path: string): string | null => (loggedTop === null ? null : (logged.get(`${loggedTop}${path}`) ?? null));
    const outer = explained(
      { ...instruction, accounts: instruction.accounts, data: instruction.data, stackHeight: 1 },
      raw[index],
      nameAt(''),
      programs,
    );
    return [
      { path: `${index}`, depth: 0, ...outer },
      ...(view.inner?.get(index) ?? []).map((inner, at) => ({
        path: `${index}.${at}`,
        depth: inner.stackHeight === null ? 1 : inner.stackHeight - 1,
        ...explained(inner, rawInner[at], nameAt(`.${at}`), programs),
      })),
    ];
  });
}

type Explained = Omit<Instruction, 'path' | 'depth'>;

function explained(
  { programId, accounts, data }: TransactionInnerInstruction,
  raw: unknown,
  loggedName: string | null,
  { coderOf, nameOf }: ProgramNames,
): Explained {
  const parsed = parsedForm(raw);
  const about = { program: programId, programName: nameOf(programId) };
  if (parsed !== null) {
    return { ...about, name: cleanText(parsed.name, 100), arguments: bounded(parsed.info), accounts: [], data: null };
  }
  const unnamed = accounts.map((address) => ({ name: null, address }));
  if (memoPrograms.has(programId)) {
    const text = cleanText(Buffer.from(data).toString('utf8'), maxMemoChars);
    return { ...about, name: 'memo', arguments: { text }, accounts: unnamed, data: null };
  }
  const isEvent = eventBody(data) !== null;
  const decoded = isEvent ? null : (coderOf(programId)?.decode('instructions', data) ?? null);
  const hex = Buffer.from(data.subarray(0, shownBytes)).toString('hex');
  if (decoded?.kind !== 'decoded') {
    const name = isEvent ? 'event' : decoded?.kind === 'refused' ? decoded.name : loggedName;
    return { ...about, name, arguments: null, accounts: unnamed, data: hex };
  }
  const named = accounts.map((address, at) => ({ name: decoded.accounts[at] ?? null, address }));
  const args = bounded(decoded.data);
  return { ...about, name: decoded.name, arguments: args, accounts: named, data: args === null ? hex : null };
}

/** Null if it is too long to show. */
function bounded(value: unknown): unknown {
  return JSON.stringify(value ?? null).length > maxJsonChars ? null : (value ?? null);
}

/** The bytes behind the tag of a self-CPI event; null for any other instruction. */
function eventBody(data: Uint8Array): Uint8Array | null {
  return Buffer.from(data.subarray(0, 8)).toString('hex') === 'e445a52e51cb9a1d' ? data.subarray(8) : null;
}

/** The names that Anchor programs log for their instructions, by path: of programs without an IDL. */
function loggedNames({ logs }: TransactionView): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  const prefix = 'Instruction: ';
  readLogs(
    logs,
    () => undefined,
    () => false,
    {
      textPrefix: () => prefix,
      onText: (_, path, text) => void names.set(path, cleanText(text.slice(prefix.length), 100)),
    },
  );
  return names;
}

function feesOf(
  { view, signatures }: ReadAnswer,
  meta: Readonly<Record<string, unknown>>,
  instructions: readonly Instruction[],
): NonNullable<Explanation['fees']> {
  const fee = typeof meta['fee'] === 'number' && Number.isSafeInteger(meta['fee']) ? BigInt(meta['fee']) : 0n;
  const asked = baseFeePerSignature * BigInt(signatures + precompileSignatures(view));
  const base = fee < asked ? fee : asked;
  const tips = view.err !== null ? [] : instructions.flatMap((instruction) => tipOf(instruction) ?? []);
  const priority = fee - base;
  return { lamports: `${fee}`, baseLamports: `${base}`, priorityLamports: `${priority}`, computeUnits: computeUnitsOf(meta), tips };
}

/** Signatures that the precompiles verify are paid like those of the transaction. Their count is the first byte. */
function precompileSignatures({ instructions }: TransactionView): number {
  return instructions.reduce((sum, { programId, data }) => sum + (precompilePrograms.has(programId) ? (data[0] ?? 0) : 0), 0);
}

function tipOf({ program, name, arguments: args, accounts }: Instruction): NonNullable<Explanation['fees']>['tips'][number] | null {
  if (program !== systemProgram || name !== 'transfer' || !isRecord(args)) return null;
  const to = typeof args['destination'] === 'string' ? args['destination'] : accounts[1]?.address;
  const service = Object.entries(tipAccounts).find(([, tipped]) => to !== undefined && tipped.has(to))?.[0];
  return service === undefined ? null : { service, account: to!, lamports: String(args['lamports']) };
}

function venueEvents(view: TransactionView, { venueEvents: read }: ExplainParts, { nameOf }: ProgramNames): Event[] {
  return read(view).map(({ programId, path, event }) => {
    const { type, ...data } = JSON.parse(
      JSON.stringify(event, (_, value: unknown) => (typeof value === 'bigint' ? `${value}` : value)),
    ) as {
      readonly type: string;
    };
    return { id: `${view.signature}:${path}`, program: programId, programName: nameOf(programId), from: 'venue', name: type, data };
  });
}

/** Events of programs with an IDL that are no venues: those that they logged, and those that they sent to themselves. */
function idlEvents(view: TransactionView, { idlOf }: ExplainParts, { nameOf }: ProgramNames): Event[] {
  const events = new Map<string, Event>();
  const add = (program: string, path: string, data: Uint8Array): void => {
    const decoded = idlOf(program)?.decode('events', data);
    if (decoded?.kind !== 'decoded') return;
    const id = `${view.signature}:${path}`;
    events.set(id, { id, program, programName: nameOf(program), from: 'idl', name: decoded.name, data: bounded(decoded.data) });
  };
  const others = (program: string): boolean => !venueByProgram.has(program) && idlOf(program) !== null;
  readLogs(view.logs, add, others);
  const authorities = new Map([...new Set(view.accountKeys)].flatMap((key) => (others(key) ? [[key, eventAuthority(key)]] : [])));
  readInnerEvents(view, authorities, add);
  return [...events.values()];
}

/** The account that signs for the self-CPI events of an Anchor program. */
function eventAuthority(programId: string): string {
  return eventAuthorities.get(programId) ?? findProgramAddress([Buffer.from('__event_authority')], programId).address;
}
