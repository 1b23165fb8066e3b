import { anchorFault } from '../../seam/anchor-errors.ts';
import type { TradeFault } from '../../seam/trading.ts';

/**
 * Errors of the program that a trade can cause. Source: the IDL `pump_amm` of `@pump-fun/pump-sdk` 2.0.0. The numbers differ from those of
 * pump.
 */
const faults: ReadonlyMap<number, TradeFault> = new Map([
  [6004, 'slippage'], // ExceededSlippage
  [6008, 'invalid_mint'], // InvalidBaseMint
  [6009, 'invalid_mint'], // InvalidQuoteMint
  [6013, 'stale_accounts'], // InvalidProtocolFeeRecipient
  [6039, 'insufficient_sol'], // BuyNotEnoughQuoteTokensToCoverFees
  [6040, 'slippage'], // BuySlippageBelowMinBaseAmountOut
  [6053, 'stale_accounts'], // BuybackFeeRecipientNotAuthorized
  [6058, 'stale_accounts'], // BuybackFeeRecipientMissing
  [6059, 'stale_accounts'], // MissingCashbackAccounts
  [6060, 'stale_accounts'], // InvalidCashbackAccumulator
  [6061, 'stale_accounts'], // InvalidCashbackAccumulatorAta
  [6062, 'stale_accounts'], // InvalidPoolV2
]);

export function tradeFault(code: number): TradeFault {
  return faults.get(code) ?? anchorFault(code);
}
