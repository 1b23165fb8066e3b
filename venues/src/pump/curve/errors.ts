import { anchorFault } from '../../seam/anchor-errors.ts';
import type { TradeFault } from '../../seam/trading.ts';

/**
 * Errors of the program that a trade can cause. Source: the IDL of `@pump-fun/pump-sdk` 2.0.0. In other programs the same numbers have
 * other meanings.
 */
const faults: ReadonlyMap<number, TradeFault> = new Map([
  [6000, 'stale_accounts'], // NotAuthorized: no longer a valid fee recipient
  [6002, 'slippage'], // TooMuchSolRequired
  [6003, 'slippage'], // TooLittleSolReceived
  [6004, 'invalid_mint'], // MintDoesNotMatchBondingCurve
  [6005, 'complete'], // BondingCurveComplete
  [6021, 'complete'], // NotEnoughTokensToBuy: others bought the rest
  [6023, 'insufficient_tokens'], // NotEnoughTokensToSell
  [6040, 'insufficient_sol'], // BuyNotEnoughSolToCoverRent
  [6041, 'insufficient_sol'], // BuyNotEnoughSolToCoverFees
  [6042, 'slippage'], // BuySlippageBelowMinTokensOut
  [6057, 'stale_accounts'], // BuybackFeeRecipientNotAuthorized
  [6062, 'stale_accounts'], // BuybackFeeRecipientMissing
  [6072, 'stale_accounts'], // MissingCashbackAccounts
  [6073, 'stale_accounts'], // InvalidCashbackAccumulator
  [6074, 'stale_accounts'], // InvalidBondingCurveV2
  [6081, 'complete'], // BondingCurveAlreadyMigrated
]);

export function tradeFault(code: number): TradeFault {
  return faults.get(code) ?? anchorFault(code);
}
