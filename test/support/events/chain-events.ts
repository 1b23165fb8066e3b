import { emittingInstruction } from '@sluice/venues/seam/emitting-instruction.ts';
import { readInnerEvents, type TransactionView } from '@sluice/shared/solana/transaction/inner-events.ts';
import { readLogs, type EventSink } from '@sluice/shared/solana/transaction/logs.ts';
import { decodeTransaction, type DecodedTransaction } from '@sluice/shared/solana/transaction/transaction.ts';
import { decodeData } from './decode-data.ts';
import { eventAuthorities, venueByProgram, venues } from '@sluice/venues/registry.ts';
import type { VenueEvent } from '@sluice/venues/seam/venue.ts';
import type { TransactionRecord } from '../../simnet/chain.ts';
import type { Simnet } from '../../simnet/simnet.ts';

/** Programs that show their trades in the log and nowhere else. */
const onlyLogging = new Set(
  venues.flatMap(({ records: { eventAuthority, logged }, programId }) => (eventAuthority === null && logged ? [programId] : [])),
);
const kinds = { trade: 'trade', newToken: 'created', migration: 'migrated' } as const;
type Kind = keyof typeof kinds;
export const eventKinds = Object.keys(kinds) as readonly Kind[];

interface ChainEvent {
  readonly id: string;
  readonly kind: Kind;
  readonly slot: number;
  /** A reader must fetch the transaction: the runtime cut its log, or the event lacks what only the instruction shows. */
  readonly fetched: boolean;
}

/**
 * All events of the chain, in its order: what a reader must have published, and nothing else. A transaction that must be fetched is known
 * once its slot is confirmed; at once, if a source shows whole transactions at `processed`.
 */
export function eventsOnChain(simnet: Simnet, showsWhole = false): ChainEvent[] {
  const events = livingRecords(simnet).flatMap(happenedIn);
  return events.filter(({ fetched, slot }) => showsWhole || !fetched || slot <= simnet.chain.confirmedSlot);
}

/** How many confirmed transactions may have events that nobody can know: their program only logs, and the runtime cut the log. */
export function unknowable(simnet: Simnet): number {
  const isLost = ({ err, logs, wire, accountKeys, innerInstructions }: TransactionRecord): boolean => {
    if (err !== null || !isCut(logs)) return false;
    const decoded = decodeTransaction(wire);
    if (decoded.kind === 'malformed') return false;
    const called = decoded.instructions.map(({ programIdIndex }) => accountKeys[programIdIndex]!);
    const inner = innerInstructions.flatMap(({ instructions }) => instructions.map(({ programId }) => programId));
    return [...called, ...inner].some((programId) => onlyLogging.has(programId));
  };
  return livingRecords(simnet).filter((record) => record.slot <= simnet.chain.confirmedSlot && isLost(record)).length;
}

function livingRecords(simnet: Simnet): TransactionRecord[] {
  const living = simnet.oracle.slots().filter(({ dead }) => !dead);
  return living.flatMap(({ transactions }) =>
    transactions.map(({ signature }) => {
      const record = simnet.chain.transaction(signature);
      if (record === null) throw new Error(`No record of ${signature}.`);
      return record;
    }),
  );
}

/** The events of one transaction, by its instructions; of programs that only log, by its log. */
export function happenedIn(record: TransactionRecord): ChainEvent[] {
  const { signature, err, logs, slot } = record;
  const decoded = decodeTransaction(record.wire);
  if (decoded.kind === 'malformed') throw new Error(`${signature} cannot be read.`);
  if (err !== null) return [];
  const view = viewOf(record, decoded.instructions);
  const found: ChainEvent[] = [];
  const onEvent: EventSink = (programId, path, data) => {
    const kind = kindOf(view, programId, path, data);
    if (kind === undefined) return;
    const needsInstruction = decodeData(venueByProgram.get(programId)!, data).outcome.kind === 'incomplete';
    found.push({ id: `${signature}:${path}`, kind, slot, fetched: needsInstruction || isCut(logs) });
  };
  readInnerEvents(view, eventAuthorities, onEvent);
  readLogs(logs, onEvent, (programId) => onlyLogging.has(programId));
  return found;
}

function kindOf(view: TransactionView, programId: string, path: string, data: Uint8Array): Kind | undefined {
  const types: VenueEvent['type'][] = [];
  const { feePayer, tokenBalances } = view;
  const instruction = (): ReturnType<typeof emittingInstruction> => emittingInstruction(view, path);
  const context = { record: 'event', data, text: null, instruction, feePayer, tokenBalances } as const;
  venueByProgram.get(programId)!.decode(context, ({ type }) => types.push(type));
  return eventKinds.find((kind) => kinds[kind] === types[0]);
}

function isCut(logs: readonly string[]): boolean {
  return logs.includes('Log truncated');
}

function viewOf(record: TransactionRecord, instructions: DecodedTransaction['instructions']): TransactionView {
  const { accountKeys, signature, slot, blockTime, version, logs } = record;
  return {
    kind: 'transaction',
    signature,
    version,
    feePayer: accountKeys[0]!,
    slot,
    index: null,
    blockTime,
    err: null,
    logs,
    accountKeys,
    loadedAddresses: 0,
    instructions: instructions.map(({ programIdIndex, accountIndexes, data }) => ({
      programId: accountKeys[programIdIndex]!,
      accounts: accountIndexes.map((index) => accountKeys[index]!),
      data,
    })),
    inner: new Map(record.innerInstructions.map(({ index, instructions: inner }) => [index, inner])),
    tokenBalances: null,
  };
}
