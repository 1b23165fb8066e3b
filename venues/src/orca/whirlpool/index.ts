import { tradeFaultsOf } from '../../kit/faults.ts';
import { plainVenue } from '../../kit/plain-venue.ts';
import type { Venue } from '../../seam/venue.ts';
import { decode, decodeAccount } from './decode.ts';
import { programId } from './program.ts';
import { quoting } from './quote.ts';

export const orcaWhirlpool: Venue = {
  ...plainVenue,
  name: 'orca-whirlpool',
  programId,
  decode,
  decodeAccount,
  quoting,
  tradeFault: tradeFaultsOf({}),
};
