import { tradeFaultsOf } from '../../kit/faults.ts';
import { plainVenue } from '../../kit/plain-venue.ts';
import type { Venue } from '../../seam/venue.ts';
import { completeTrade, constantsOf, decode, decodeAccount } from './decode.ts';
import { eventAuthority, programId } from './program.ts';
import { quoting } from './quote.ts';

export const meteoraDlmm: Venue = {
  ...plainVenue,
  name: 'meteora-dlmm',
  programId,
  records: { ...plainVenue.records, logged: false, eventAuthority },
  decode,
  constantsOf,
  completeTrade,
  decodeAccount,
  quoting,
  tradeFault: tradeFaultsOf({}),
};
