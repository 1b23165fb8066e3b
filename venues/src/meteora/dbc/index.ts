import { tradeFaultsOf } from '../../kit/faults.ts';
import { plainVenue } from '../../kit/plain-venue.ts';
import type { Venue } from '../../seam/venue.ts';
import { completeCreated, completeTrade, constantsOf } from './config.ts';
import { decode, decodeAccount } from './decode.ts';
import { eventAuthority, migrations, programId } from './program.ts';
import { quoting } from './quote.ts';
import { signing } from './signing.ts';

export const meteoraDbc: Venue = {
  ...plainVenue,
  name: 'meteora-dbc',
  programId,
  records: { logged: false, eventAuthority, instructions: migrations.map(({ discriminator }) => discriminator), textPrefix: null },
  decode,
  constantsOf,
  completeTrade,
  completeCreated,
  decodeAccount,
  curves: { decimals: null, usualSupply: null, mintEnding: null },
  quoting,
  signing,
  /** Source: the IDL of the SDK 1.5.12. */
  tradeFault: tradeFaultsOf({
    slippage: { ExceededSlippage: 6002 },
    // Others bought the rest.
    complete: { PoolIsCompleted: 6013, InsufficientLiquidity: 6033 },
    stale_accounts: { FailToValidateSingleSwapInstruction: 6043 },
  }),
};
