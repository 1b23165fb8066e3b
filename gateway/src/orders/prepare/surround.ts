import {
  closeTokenAccount,
  computeUnitLimit,
  computeUnitPrice,
  createTokenAccount,
  syncNative,
  transferLamports,
} from '@sluice/shared/solana/instructions.ts';
import type { Instruction } from '@sluice/shared/solana/transaction.ts';
import { tokenProgram, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import type { BuiltTrade, TradeOrder } from '@sluice/shared/venues/trading.ts';
import { unitsOf, withMargin } from './compute-units.ts';

export interface Tip {
  readonly to: string;
  readonly lamports: bigint;
}

/** A tip to one of several accounts that are equally good; orders take them in turn, as each is written by whoever tips it. */
export interface LaneTip {
  readonly accounts: readonly string[];
  readonly lamports: bigint;
}

export interface Surroundings {
  /** Null where it is not known: then it is made where it is missing. */
  readonly baseAccountExists: boolean | null;
  /** After a sale of all of it. */
  readonly closeBaseAccount: boolean;
  /** Null: what was measured for such a trade, with a margin. */
  readonly computeUnitLimit: number | null;
  readonly tip: Tip | null;
  /** Further ones. */
  readonly laneTips?: readonly Tip[];
}

export interface Surrounded {
  /** The first two are limit and price of the compute budget; the price is 0 and to be set. */
  readonly instructions: Instruction[];
  readonly computeUnitLimit: number;
}

/** Where the price stands among the instructions. */
export const priceIndex = 1;

/**
 * Everything that stands around a trade: compute budget, token accounts, wrapped SOL, a tip. Of wrapped SOL an account is made,
 * filled with the most that the trade may take, and closed: what is left comes back as SOL, and so does wrapped SOL that the
 * wallet held there before.
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
  if (around.closeBaseAccount) add(closeTokenAccount(trade.baseAccount, user, baseTokenProgram), unitsOf.closeTokenAccount);
  const tips = [...(around.tip === null ? [] : [around.tip]), ...(around.laneTips ?? [])];
  for (const { to, lamports } of tips) add(transferLamports(user, to, lamports), builtin);
  const limit = around.computeUnitLimit ?? withMargin(units);
  return { instructions: [computeUnitLimit(limit), computeUnitPrice(0n), ...instructions], computeUnitLimit: limit };
}
