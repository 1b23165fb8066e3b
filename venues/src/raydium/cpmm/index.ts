import { tradeFaultsOf } from '../../kit/faults.ts';
import { plainVenue } from '../../kit/plain-venue.ts';
import type { Venue } from '../../seam/venue.ts';
import { completeTrade, constantsOf } from './config.ts';
import { decode, decodeAccount } from './decode.ts';
import { lpLocker, openingInstructions, programId } from './program.ts';
import { quoting } from './quote.ts';
import { signing } from './signing.ts';

export const raydiumCpmm: Venue = {
  ...plainVenue,
  name: 'raydium-cpmm',
  programId,
  records: { ...plainVenue.records, instructions: openingInstructions.map(({ discriminator }) => discriminator) },
  lpLocker,
  decode,
  constantsOf,
  completeTrade,
  decodeAccount,
  quoting,
  signing,
  /** Source: `error.rs` of raydium-cp-swap. */
  tradeFault: tradeFaultsOf({ slippage: { ExceededSlippage: 6005 }, stale_accounts: { InvalidVault: 6008 } }),
};
