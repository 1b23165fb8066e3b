import { isAddress } from '@sluice/shared/solana/encoding/base58.ts';
import { usdcMint, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { tradeFaultsOf } from '../../kit/faults.ts';
import type { Venue } from '../../seam/venue.ts';
import { decode, decodeAccount } from './decode.ts';
import { eventAuthority, migrations, poolOf, programId } from './program.ts';
import { quoting } from './quote.ts';
import { signing } from './signing.ts';

/** Quote coins of most curves: SOL, USD1 and USDC. A curve with another coin is known once an event names it. */
const usualQuotes = [wrappedSolMint, 'USD1ttGY1N17NEEHLmELoaybftRBUSErhqYiQzvEmuB', usdcMint] as const;

/** Raydium LaunchLab, on which several platforms launch coins. */
export const launchLab: Venue = {
  name: 'launchlab',
  programId,
  records: { logged: true, eventAuthority, instructions: Object.values(migrations), textPrefix: null },
  // The events name neither the coins nor the trader.
  needsTransaction: true,
  // Only trades change the price, and an event shows each of them.
  watchedAccountPrefixes: [],
  decode,
  decodeAccount,
  derivedPools: (mint) => (isAddress(mint) ? usualQuotes.map((quote) => ({ address: poolOf(mint, quote), vaults: [] })) : []),
  // Platforms choose supply and decimals.
  curves: { decimals: null, usualSupply: null, mintEnding: null },
  quoting,
  signing,
  /** Source: the IDL of the program, version 0.2.0. */
  tradeFault: tradeFaultsOf({ slippage: { ExceededSlippage: 6004 }, complete: { PoolMigrated: 6006 } }),
};
