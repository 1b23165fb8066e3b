import { plainFaultsOf } from '../../kit/faults.ts';
import { plainVenue } from '../../kit/plain-venue.ts';
import type { Venue } from '../../seam/venue.ts';
import { completeTrade, constantsOf, decode, decodeAccount } from './decode.ts';
import { logPrefix, programId } from './program.ts';
import { quoting } from './quote.ts';
import { signing } from './signing.ts';

export const raydiumAmm: Venue = {
  ...plainVenue,
  name: 'raydium-amm',
  programId,
  records: { ...plainVenue.records, logged: false, textPrefix: logPrefix },
  decode,
  constantsOf,
  completeTrade,
  decodeAccount,
  quoting,
  signing,
  /** Source: `error.rs` of raydium-amm. */
  tradeFault: plainFaultsOf({
    slippage: { ExceededSlippage: 30 },
    insufficient_tokens: { InsufficientFunds: 40 },
    invalid_mint: { InvalidUserToken: 42 },
    stale_accounts: { InvalidCoinVault: 4, InvalidPCVault: 5 },
  }),
};
