import { TransactionDecoder } from '@sluice/ingest/sources/decode/transaction-decoder.ts';
import type { VenueEventAt } from '@sluice/programs/explain/explain.ts';
import type { TransactionView } from '@sluice/shared/solana/transaction/inner-events.ts';
import { venues } from '@sluice/venues/registry.ts';

const programOf = new Map(venues.map(({ name, programId }) => [name, programId]));
const decoder = new TransactionDecoder(venues);

/** Events of venues in a transaction. The decoder skips failed transactions, so the error is left out: the events of a failed transaction are shown, too. */
export function venueEventsOf(view: TransactionView): readonly VenueEventAt[] {
  const decoding = decoder.read({ ...view, err: null });
  if (decoding.kind !== 'read') return [];
  return decoding.events.map(({ venue, path, event }) => ({ venue, programId: programOf.get(venue)!, path, event }));
}
