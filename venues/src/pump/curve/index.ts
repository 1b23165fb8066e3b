import { isAddress } from '@sluice/shared/solana/encoding/base58.ts';
import type { Venue } from '../../seam/venue.ts';
import { decode, decodeAccount } from './decode.ts';
import { accountDiscriminators, curveOf, eventAuthority, initialSupply, programId, tokenDecimals } from './program.ts';
import { quoting } from './quote.ts';
import { signing } from './signing.ts';
import { tradeFault } from './errors.ts';

/** pump.fun bonding curves. */
export const pump: Venue = {
  name: 'pump',
  programId,
  records: { logged: true, eventAuthority, instructions: [], textPrefix: null },
  needsTransaction: false,
  watchedAccountPrefixes: [accountDiscriminators.bondingCurve],
  decode,
  decodeAccount,
  derivedPools: (mint) => (isAddress(mint) ? [{ address: curveOf(mint), vaults: [] }] : []),
  curves: {
    decimals: tokenDecimals,
    usualSupply: initialSupply,
    mintEnding: 'pump',
  },
  quoting,
  signing,
  tradeFault,
};
