import { tradeFaultsOf } from '../../kit/faults.ts';
import type { Venue } from '../../seam/venue.ts';
import { constantsOf } from './config.ts';
import { decode, decodeAccount } from './decode.ts';
import { programId } from './program.ts';
import { quoting } from './quote.ts';

/** Raydium CLMM. Only swaps change the price, and `SwapEvent` shows each of them, so no account is watched. */
export const raydiumClmm: Venue = {
  name: 'raydium-clmm',
  programId,
  records: { logged: true, eventAuthority: null, instructions: [], textPrefix: null },
  needsTransaction: true,
  watchedAccountPrefixes: [],
  decode,
  constantsOf,
  decodeAccount,
  derivedPools: () => [],
  curves: null,
  quoting,
  signing: null,
  tradeFault: tradeFaultsOf({}),
};
