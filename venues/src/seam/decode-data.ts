import { readInnerEvents, type TransactionView } from '@sluice/shared/solana/transaction/inner-events.ts';
import { readLogs } from '@sluice/shared/solana/transaction/logs.ts';
import { emittingInstruction } from './emitting-instruction.ts';
import type { DecodeContext, Venue, VenueEvent } from './venue.ts';

const noBytes = new Uint8Array(0);

/** An event of a transaction with its venue. */
export interface EmittedEvent {
  readonly venue: Venue;
  readonly event: VenueEvent;
}

/**
 * Decodes the events of a whole transaction that succeeded, and no instructions. A text says why events may be missing. Programs that log their events
 * are read from the log, unless it is cut; the others from the inner instructions. For a few transactions, such as orders; ingest has a decoder of its own.
 */
export function decodeEvents(view: TransactionView, venues: ReadonlyMap<string, Venue>): readonly EmittedEvent[] | string {
  let events: EmittedEvent[] = [];
  let malformed: string | null = null;
  const { feePayer, tokenBalances } = view;
  const take = (programId: string, path: string, data: Uint8Array | string): void => {
    const venue = venues.get(programId);
    if (venue === undefined) return;
    const isText = typeof data === 'string';
    const shown = isText ? { record: 'text' as const, data: noBytes, text: data } : { record: 'event' as const, data, text: null };
    const instruction = (): ReturnType<DecodeContext['instruction']> => emittingInstruction(view, path);
    const outcome = venue.decode({ ...shown, instruction, feePayer, tokenBalances }, (event) => events.push({ venue, event }));
    if (outcome.kind === 'malformed') malformed = `an event of ${venue.name}: ${outcome.reason}`;
    if (outcome.kind === 'incomplete') malformed = `an event of ${venue.name} whose instruction was not recorded`;
  };
  const textPrefix = (programId: string): string | null => venues.get(programId)?.records.textPrefix ?? null;
  const log = readLogs(view.logs, take, (programId) => venues.get(programId)?.records.logged === true, { onText: take, textPrefix });
  if (log.malformed !== null) return log.malformed;
  const isCut = log.truncated || log.empty;
  if (isCut) events = [];
  const called = new Set(view.accountKeys);
  const authorities = new Map<string, string>();
  for (const {
    programId,
    records: { eventAuthority, logged },
  } of venues.values()) {
    if (!called.has(programId)) continue;
    if (eventAuthority === null) {
      if (isCut) return 'a program only logs, and its logs are cut';
    } else if (isCut || !logged) authorities.set(programId, eventAuthority);
  }
  const inner = authorities.size === 0 ? null : readInnerEvents(view, authorities, take);
  return inner?.unreadable ?? malformed ?? events;
}
