import type { JsonValue, ProgramCoder } from '@sluice/programs/idl/coder.ts';
import { findProgramAddress } from '@sluice/shared/solana/addresses/pda.ts';
import { precompilePrograms } from '@sluice/shared/solana/well-known.ts';
import { readInnerEvents, type TransactionInstruction, type TransactionView } from '@sluice/shared/solana/transaction/inner-events.ts';
import { eventPath, readLogs } from '@sluice/shared/solana/transaction/logs.ts';
import { maxProgramDataChars, type ProgramRecord } from '@sluice/shared/wire/events/program-events.ts';
import type { ProgramCounts } from '../messages.ts';

/** A program with an IDL. */
export interface WatchedProgram {
  readonly programId: string;
  coder: ProgramCoder;
  readonly eventAuthority: string;
  readonly counts: ProgramCounts;
  /** Names of records that were refused, each logged once. */
  readonly refused: Set<string>;
  /** The slot up to which the stream has it; null before the first look at the chain. */
  completeTo: number | null;
  /** The slot up to which its accounts were followed; null before they ever were. */
  accountsTo: number | null;
  /** Connections that follow its accounts. */
  followers: number;
  /** Its accounts are followed again, and the slot since when is not known yet. */
  begins: boolean;
  /** Something was dropped since the last look. */
  flooded: boolean;
}

export function eventAuthorityOf(programId: string): string {
  return findProgramAddress([Buffer.from('__event_authority')], programId).address;
}

/** What all records of a transaction or an account share. */
export interface RecordOrigin {
  readonly slot: number;
  readonly signature: string | null;
  readonly blockTime: number | null;
  readonly receivedUs: number;
  readonly late: boolean;
  readonly simulated: boolean;
}

type Fields<R> = R extends ProgramRecord ? Omit<R, keyof ReturnType<typeof commonOf> | 'data'> : never;

function commonOf({ programId, coder }: WatchedProgram, id: string, name: string, origin: RecordOrigin) {
  return {
    id,
    program: programId,
    programName: coder.idl.name,
    name,
    signature: origin.signature,
    slot: origin.slot,
    blockTime: origin.blockTime,
    commitment: 'confirmed' as const,
    ts: { received: origin.receivedUs, published: 0 },
    ...(origin.late && { late: true as const }),
    ...(origin.simulated && { simulated: true as const }),
  };
}

/** A record in the form of the stream; why it is refused otherwise. */
export function recordOf(
  watched: WatchedProgram,
  id: string,
  name: string,
  origin: RecordOrigin,
  data: JsonValue,
  fields: Fields<ProgramRecord>,
): ProgramRecord | string {
  if (JSON.stringify(data).length > maxProgramDataChars) return `its data have more than ${maxProgramDataChars} characters`;
  const { type, ...others } = fields;
  return { type, ...commonOf(watched, id, name, origin), data, ...others } as ProgramRecord;
}

export interface TransactionSink {
  record(watched: WatchedProgram, record: ProgramRecord): void;
  refuse(watched: WatchedProgram, name: string, reason: string): void;
}

/** Reports events and instructions of the watched programs in a successful transaction. True if it does not show all events. */
export function readRecords(
  view: TransactionView,
  origin: RecordOrigin,
  programs: ReadonlyMap<string, WatchedProgram>,
  sink: TransactionSink,
): boolean {
  const seen = new Set<string>();
  const onEvent = (programId: string, path: string, data: Uint8Array): void => {
    const id = `${view.signature}:${path}.event`;
    const watched = programs.get(programId);
    // A program may log an event and send it to itself.
    if (watched === undefined || seen.has(id)) return;
    const decoded = watched.coder.decode('events', data);
    if (decoded.kind === 'unknown') return;
    seen.add(id);
    if (decoded.kind === 'refused') return sink.refuse(watched, decoded.name, decoded.reason);
    pass(watched, decoded.name, recordOf(watched, id, decoded.name, origin, decoded.data, { type: 'programEvent' }));
  };
  const pass = (watched: WatchedProgram, name: string, record: ProgramRecord | string): void =>
    typeof record === 'string' ? sink.refuse(watched, name, record) : sink.record(watched, record);
  const onInstruction = ({ programId, data, accounts }: TransactionInstruction, top: number, at: number): void => {
    const watched = programs.get(programId);
    const decoded = watched?.coder.decode('instructions', data);
    if (watched === undefined || decoded === undefined || decoded.kind === 'unknown') return;
    if (decoded.kind === 'refused') return sink.refuse(watched, decoded.name, decoded.reason);
    const id = `${view.signature}:${eventPath(top, at, 0)}.call`;
    const named = accounts.map((address, place) => ({ name: decoded.accounts[place] ?? null, address }));
    const fields = { type: 'programInstruction', accounts: named } as const;
    pass(watched, decoded.name, recordOf(watched, id, decoded.name, origin, decoded.data, fields));
  };
  let top = -1;
  for (const [index, instruction] of view.instructions.entries()) {
    if (precompilePrograms.has(instruction.programId)) continue;
    top++;
    onInstruction(instruction, top, -1);
    for (const [at, inner] of (view.inner?.get(index) ?? []).entries()) onInstruction(inner, top, at);
  }
  const { truncated, malformed } = readLogs(view.logs, onEvent, (programId) => programs.has(programId));
  const authorities = new Map([...programs].map(([programId, { eventAuthority }]) => [programId, eventAuthority]));
  const { unreadable } = readInnerEvents(view, authorities, onEvent);
  return truncated || malformed !== null || unreadable !== null;
}
