import { anchorFault } from '../../seam/anchor-errors.ts';
import type { TradeFault } from '../../seam/trading.ts';

/** Errors of the program that a trade can cause. Source: `error.rs` of raydium-cp-swap. */
const faults: ReadonlyMap<number, TradeFault> = new Map([
  [6005, 'slippage'], // ExceededSlippage
  [6008, 'stale_accounts'], // InvalidVault
]);

export function tradeFault(code: number): TradeFault {
  return faults.get(code) ?? anchorFault(code);
}
