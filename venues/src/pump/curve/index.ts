import { isAddress } from '@sluice/shared/solana/encoding/base58.ts';
import type { Venue } from '../../seam/venue.ts';
import { decode, decodeAccount } from './decode.ts';
import { accountDiscriminators, curveOf, eventAuthority, initialSupply, programId, tokenDecimals } from './program.ts';
import { quoting } from './quote.ts';
import { signing } from './signing.ts';
import { tradeFaultsOf } from '../../kit/faults.ts';

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
  curves: { decimals: tokenDecimals, usualSupply: initialSupply, mintEnding: 'pump' },
  quoting,
  signing,
  /** Source: the IDL of `@pump-fun/pump-sdk` 2.0.0. */
  tradeFault: tradeFaultsOf({
    slippage: { TooMuchSolRequired: 6002, TooLittleSolReceived: 6003, BuySlippageBelowMinTokensOut: 6042 },
    // Others bought the rest.
    complete: { BondingCurveComplete: 6005, NotEnoughTokensToBuy: 6021, BondingCurveAlreadyMigrated: 6081 },
    insufficient_tokens: { NotEnoughTokensToSell: 6023 },
    insufficient_sol: { BuyNotEnoughSolToCoverRent: 6040, BuyNotEnoughSolToCoverFees: 6041 },
    invalid_mint: { MintDoesNotMatchBondingCurve: 6004 },
    stale_accounts: {
      // No longer a valid fee recipient.
      NotAuthorized: 6000,
      BuybackFeeRecipientNotAuthorized: 6057,
      BuybackFeeRecipientMissing: 6062,
      MissingCashbackAccounts: 6072,
      InvalidCashbackAccumulator: 6073,
      InvalidBondingCurveV2: 6074,
    },
  }),
};
