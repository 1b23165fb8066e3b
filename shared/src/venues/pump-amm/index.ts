import type { Venue } from '../venue.ts';
import { decodeAccount, decodeEvent } from './decode.ts';
import { accountDiscriminators, eventAuthority, programId } from './program.ts';

/** PumpSwap. A mint may have several pools, so `poolOfMint` is null. */
export const pumpAmm: Venue = {
  name: 'pump-amm',
  programId,
  eventAuthority,
  watchedAccountPrefixes: [accountDiscriminators.pool],
  decodeEvent,
  decodeAccount,
  poolOfMint: () => null,
};
