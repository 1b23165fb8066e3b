import type { Venue } from '../../seam/venue.ts';
import { constantsOf } from './config.ts';
import { decode, decodeAccount } from './decode.ts';
import { tradeFaultsOf } from '../../kit/faults.ts';
import { openingInstructions, programId } from './program.ts';
import { quoting } from './quote.ts';

/** Raydium CPMM. Only swaps change the price, and `SwapEvent` shows each of them, so no account is watched. */
export const raydiumCpmm: Venue = {
  name: 'raydium-cpmm',
  programId,
  records: {
    logged: true,
    eventAuthority: null,
    instructions: openingInstructions.map(({ discriminator }) => discriminator),
    textPrefix: null,
  },
  needsTransaction: true,
  watchedAccountPrefixes: [],
  decode,
  constantsOf,
  decodeAccount,
  derivedPools: () => [],
  curves: null,
  quoting,
  signing: null,
  /** Source: `error.rs` of raydium-cp-swap. */
  tradeFault: tradeFaultsOf({ slippage: { ExceededSlippage: 6005 }, stale_accounts: { InvalidVault: 6008 } }),
};
