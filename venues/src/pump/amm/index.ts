import { isAddress } from '@sluice/shared/solana/encoding/base58.ts';
import { associatedTokenAddress } from '@sluice/shared/solana/addresses/pda.ts';
import { token2022Program, tokenProgram, usdcMint, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import type { DerivedPool, Venue } from '../../seam/venue.ts';
import { decode, decodeAccount } from './decode.ts';
import { accountDiscriminators, canonicalPoolAddress, eventAuthority, programId } from './program.ts';
import { quoting } from './quote.ts';
import { signing } from './signing.ts';
import { tradeFaultsOf } from '../../kit/faults.ts';

/** Quote coins with which curves migrate to a pool. Curves with another coin migrate too; their pool is known once an event names it. */
const canonicalQuotes = [wrappedSolMint, usdcMint] as const;

/** The pool to which a curve's token migrates, with its vaults. Quote coins belong to SPL Token, the token to either program. */
function canonicalPool(mint: string, quoteMint: string): DerivedPool {
  const address = canonicalPoolAddress(mint, quoteMint);
  const vaults = [
    associatedTokenAddress(address, mint, tokenProgram),
    associatedTokenAddress(address, mint, token2022Program),
    associatedTokenAddress(address, quoteMint, tokenProgram),
  ];
  return { address, vaults };
}

/** PumpSwap. A mint may have several pools. */
export const pumpAmm: Venue = {
  name: 'pump-amm',
  programId,
  records: { logged: true, eventAuthority, instructions: [], textPrefix: null },
  needsTransaction: false,
  watchedAccountPrefixes: [accountDiscriminators.pool],
  decode,
  decodeAccount,
  derivedPools: (mint) => (isAddress(mint) ? canonicalQuotes.map((quote) => canonicalPool(mint, quote)) : []),
  curves: null,
  quoting,
  signing,
  /** Source: the IDL `pump_amm` of `@pump-fun/pump-sdk` 2.0.0. */
  tradeFault: tradeFaultsOf({
    slippage: { ExceededSlippage: 6004, BuySlippageBelowMinBaseAmountOut: 6040 },
    insufficient_sol: { BuyNotEnoughQuoteTokensToCoverFees: 6039 },
    invalid_mint: { InvalidBaseMint: 6008, InvalidQuoteMint: 6009 },
    stale_accounts: {
      InvalidProtocolFeeRecipient: 6013,
      BuybackFeeRecipientNotAuthorized: 6053,
      BuybackFeeRecipientMissing: 6058,
      MissingCashbackAccounts: 6059,
      InvalidCashbackAccumulator: 6060,
      InvalidCashbackAccumulatorAta: 6061,
      InvalidPoolV2: 6062,
    },
  }),
};
