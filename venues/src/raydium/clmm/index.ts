import { tradeFaultsOf } from '../../kit/faults.ts';
import { plainVenue } from '../../kit/plain-venue.ts';
import type { Venue } from '../../seam/venue.ts';
import { constantsOf } from './config.ts';
import { completeTrade, decode, decodeAccount } from './decode.ts';
import { programId } from './program.ts';
import { quoting } from './quote.ts';

export const raydiumClmm: Venue = {
  ...plainVenue,
  name: 'raydium-clmm',
  programId,
  decode,
  constantsOf,
  completeTrade,
  decodeAccount,
  quoting,
  tradeFault: tradeFaultsOf({}),
};
