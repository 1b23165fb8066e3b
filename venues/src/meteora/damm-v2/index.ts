import { tradeFaultsOf } from '../../kit/faults.ts';
import { plainVenue } from '../../kit/plain-venue.ts';
import type { Venue } from '../../seam/venue.ts';
import { completeTrade, decode } from './decode.ts';
import { constantsOf, decodeAccount } from './pool.ts';
import { eventAuthority, programId } from './program.ts';
import { quoting } from './quote.ts';
import { signing } from './signing.ts';

export const meteoraDammV2: Venue = {
  ...plainVenue,
  name: 'meteora-damm-v2',
  programId,
  records: { ...plainVenue.records, logged: false, eventAuthority },
  decode,
  constantsOf,
  completeTrade,
  decodeAccount,
  quoting,
  signing,
  /** Source: the IDL of @meteora-ag/cp-amm-sdk 1.5.0. */
  tradeFault: tradeFaultsOf({ slippage: { ExceededSlippage: 6002 } }),
};
