import {
  closeTokenAccount,
  computeUnitLimit,
  computeUnitPrice,
  createTokenAccount,
  syncNative,
  transferLamports,
} from '@sluice/shared/solana/transaction/instructions.ts';
import type { PaidLane } from '@sluice/shared/solana/tip-accounts.ts';
import type { Instruction } from '@sluice/shared/solana/transaction/transaction.ts';
import { tokenProgram, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import type { BuiltTrade, TradeOrder } from '@sluice/shared/venues/trading.ts';
import { unitsOf, withMargin } from './compute-units.ts';

export interface Tip {
  readonly to: string;
  readonly lamports: bigint;
}

/** A tip to one of several equivalent accounts. Orders rotate over them, because each transaction locks the account that it tips. */
export interface LaneTip {
  readonly lane: PaidLane;
  readonly accounts: readonly string[];
  readonly lamports: bigint;
}

export interface Surroundings {
  /** Null if unknown: the message then creates the account if it is missing. */
  readonly baseAccountExists: boolean | null;
  /** Null: the measured units of such a trade plus a margin. */
  readonly computeUnitLimit: number | null;
  readonly tip: Tip | null;
  /** Additional tips, to lanes. */
  readonly laneTips?: readonly Tip[];
}

export interface Surrounded {
  /** The first two set the compute unit limit and price. The price is 0 until the caller sets it. */
  readonly instructions: Instruction[];
  readonly computeUnitLimit: number;
}

/** Index of the price among the instructions. */
export const priceIndex = 1;

/**
 * Adds the instructions around a trade: compute budget, token accounts, wrapped SOL, tips. For wrapped SOL an account is created, filled with the
 * most that the trade may take, and closed afterwards, which returns the rest as SOL, with any wrapped SOL that was in it before.
 */
export function surround(
  { user, trade: { exact }, maxIn, baseTokenProgram, quoteTokenProgram }: Omit<TradeOrder, 'recipient'>,
  trade: BuiltTrade,
  around: Surroundings,
): Surrounded {
  const isBuy = exact !== 'baseIn';
  const { baseMint, quoteMint, quoteAccount } = trade;
  const isWrapped = quoteAccount !== null && quoteMint === wrappedSolMint;
  const { createTokenAccount: create, findTokenAccount: find, builtin } = unitsOf;
  const instructions: Instruction[] = [];
  let units = 2 * builtin + trade.computeUnits;
  const add = (instruction: Instruction, cost: number): void => {
    instructions.push(instruction);
    units += cost;
  };
  if (isBuy && around.baseAccountExists !== true) add(createTokenAccount(user, baseMint, baseTokenProgram), create);
  if (isWrapped) {
    add(createTokenAccount(user, quoteMint, tokenProgram), create);
    if (isBuy) {
      add(transferLamports(user, quoteAccount, maxIn), builtin);
      add(syncNative(quoteAccount, tokenProgram), unitsOf.syncNative);
    }
  } else if (quoteAccount !== null && !isBuy) add(createTokenAccount(user, quoteMint, quoteTokenProgram), find);
  instructions.push(trade.instruction);
  if (isWrapped) add(closeTokenAccount(quoteAccount, user, tokenProgram), unitsOf.closeTokenAccount);
  const tips = [...(around.tip === null ? [] : [around.tip]), ...(around.laneTips ?? [])];
  for (const { to, lamports } of tips) add(transferLamports(user, to, lamports), builtin);
  const limit = around.computeUnitLimit ?? withMargin(units);
  return { instructions: [computeUnitLimit(limit), computeUnitPrice(0n), ...instructions], computeUnitLimit: limit };
}
