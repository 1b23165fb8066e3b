import { tradeFaultsOf } from '../../kit/faults.ts';
import type { Venue } from '../../seam/venue.ts';
import { decode, decodeAccount } from './decode.ts';
import { programId } from './program.ts';
import { quoting } from './quote.ts';

/** Orca Whirlpools. Only swaps change the price, and `Traded` shows each of them, so no account is watched. */
export const orcaWhirlpool: Venue = {
  name: 'orca-whirlpool',
  programId,
  records: { logged: true, eventAuthority: null, instructions: [], textPrefix: null },
  needsTransaction: true,
  watchedAccountPrefixes: [],
  decode,
  decodeAccount,
  derivedPools: () => [],
  curves: null,
  quoting,
  signing: null,
  tradeFault: tradeFaultsOf({}),
};
