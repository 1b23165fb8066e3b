import { tokenAddress } from '@sluice/shared/solana/addresses/derived.ts';
import { wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import type { BuiltTrade, TradeOrder } from '../seam/trading.ts';

/** One of the two coins of a swap, and the user's account for it. */
export interface SwapCoin {
  readonly mint: string;
  readonly program: string;
  readonly account: string;
}

/** An order as a swap: what the user gives for what. */
export interface SwapOrder {
  readonly user: string;
  readonly given: SwapCoin;
  readonly received: SwapCoin;
  /** Which amount is exact. The other one is the most to give, or the least to receive. */
  readonly exactIn: boolean;
  readonly amountIn: bigint;
  readonly amountOut: bigint;
}

/** What a venue adds: the instruction, its measured compute units, and the accounts that it may create. */
export type SwapParts = Pick<BuiltTrade, 'instruction' | 'computeUnits'> & Partial<Pick<BuiltTrade, 'programAccounts'>>;

/** The trade of a program that moves tokens between the user's accounts, wrapped SOL included. Throws TypeError for an invalid address. */
export function builtSwap(order: TradeOrder, baseMint: string, quoteMint: string, build: (swap: SwapOrder) => SwapParts): BuiltTrade {
  const { user, trade, minOut, maxIn, baseTokenProgram, quoteTokenProgram, wrappedSol } = order;
  const coin = (mint: string, program: string, account: string): SwapCoin => ({ mint, program, account });
  const base = coin(baseMint, baseTokenProgram, tokenAddress(user, baseMint, baseTokenProgram));
  const quoteAccount = quoteMint === wrappedSolMint ? wrappedSol() : tokenAddress(user, quoteMint, quoteTokenProgram);
  const quote = coin(quoteMint, quoteTokenProgram, quoteAccount);
  const [given, received] = trade.exact === 'baseIn' ? [base, quote] : [quote, base];
  const exactIn = trade.exact !== 'baseOut';
  const amountOut = exactIn ? minOut : trade.amount;
  const parts = build({ user, given, received, exactIn, amountIn: maxIn, amountOut });
  return { baseMint, quoteMint, baseAccount: base.account, quoteAccount, programAccounts: [], ...parts };
}
