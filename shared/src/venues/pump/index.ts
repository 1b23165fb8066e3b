import { isAddress } from '../../solana/base58.ts';
import type { Venue } from '../venue.ts';
import { decodeAccount, decodeEvent } from './decode.ts';
import { accountDiscriminators, bondingCurveAddress, eventAuthority, programId } from './program.ts';

/** pump.fun bonding curves. `poolOfMint` hashes and checks curve points on every call (no cache): callers keep what they got. */
export const pump: Venue = {
  name: 'pump',
  programId,
  eventAuthority,
  watchedAccountPrefixes: [accountDiscriminators.bondingCurve],
  decodeEvent,
  decodeAccount,
  poolOfMint: (mint) => (isAddress(mint) ? bondingCurveAddress(mint) : null),
};
