import {
  closeTokenAccount,
  computeUnitLimit,
  computeUnitPrice,
  createTokenAccount,
  syncNative,
  transferLamports,
} from '@sluice/shared/solana/transaction/instructions.ts';
import type { PaidLane } from '@sluice/shared/solana/addresses/tip-accounts.ts';
import type { Instruction } from '@sluice/shared/solana/transaction/transaction.ts';
import { tokenAccountBytes } from '@sluice/shared/solana/tokens/token-account.ts';
import { tokenProgram, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { openTemporarySol, type TemporarySol } from '@sluice/shared/solana/transaction/temporary-sol.ts';
import { maxU64 } from '@sluice/venues/seam/quoting.ts';
import { madeAccount, type BuiltTrade, type ProgramAccount, type TradeOrder } from '@sluice/venues/seam/trading.ts';

/**
 * Compute units of the instructions around a trade, measured on mainnet: the token program takes 100 to 4,000, the associated token program
 * 1,500 for each bump that it tries, and a builtin program 150.
 */
const unitsOf = {
  builtin: 150,
  createTokenAccount: 24_000,
  /** If the account exists already. */
  findTokenAccount: 12_000,
  initializeTokenAccount: 4_500,
  syncNative: 3_200,
  closeTokenAccount: 3_200,
} as const;

/** The runtime's limit for one transaction. */
const maxComputeUnits = 1_400_000;
/** Added to the measured units, because the number of bumps (1,500 units each) differs between pools. */
const marginPct = 30;

/** The compute unit limit for a transaction that was measured to take `units`. */
function withMargin(units: number): number {
  return Math.min(maxComputeUnits, Math.ceil((units * (100 + marginPct)) / 100));
}

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

/** Where SOL is wrapped: in a temporary account, or in the associated one, which must not exist. */
export type Wrapping = (() => TemporarySol) | 'associated';

export interface Surroundings {
  /** Null if unknown: the message then creates the account if it is missing. */
  readonly baseAccountExists: boolean | null;
  readonly wrapping: Wrapping;
  /** Rent of the account in which SOL is wrapped, lamports. */
  readonly wrappingRent: bigint;
  /** Null: the measured units of such a trade plus a margin. */
  readonly computeUnitLimit: number | null;
  readonly tips: readonly Tip[];
}

export interface Surrounded {
  /** Token accounts of the user that the message creates if they are missing. */
  readonly made: readonly ProgramAccount[];
  /** The account in which the message wraps SOL, opened and closed; null if there is none. */
  readonly wrapped: ProgramAccount | null;
  /** The first two set the compute unit limit and price. The price is 0 until the caller sets it. */
  readonly instructions: Instruction[];
  readonly computeUnitLimit: number;
}

/** Index of the price among the instructions. */
export const priceIndex = 1;

/** Adds compute budget, token accounts and tips around a trade. Wrapped SOL gets an account with the most that the trade may take; closing it returns the rest. */
export function surround(order: Omit<TradeOrder, 'recipient' | 'wrappedSol'>, trade: BuiltTrade, around: Surroundings): Surrounded {
  const { user, maxIn, baseTokenProgram, quoteTokenProgram, baseAccountBytes, quoteAccountBytes } = order;
  const isBuy = order.trade.exact !== 'baseIn';
  const { baseMint, quoteMint, baseAccount, quoteAccount } = trade;
  const isWrapped = quoteAccount !== null && quoteMint === wrappedSolMint;
  const { createTokenAccount: create, findTokenAccount: find, builtin } = unitsOf;
  const { wrapping, wrappingRent } = around;
  const instructions: Instruction[] = [];
  const made: ProgramAccount[] = [];
  let units = 2 * builtin + trade.computeUnits;
  const add = (instruction: Instruction, cost: number): void => {
    instructions.push(instruction);
    units += cost;
  };
  if (isBuy && around.baseAccountExists !== true) {
    add(createTokenAccount(user, baseMint, baseTokenProgram), create);
    made.push(madeAccount(baseAccount, baseAccountBytes));
  }
  if (isWrapped && wrapping !== 'associated') {
    const most = wrappingRent + (isBuy ? maxIn : 0n);
    const [open, initialize] = openTemporarySol(user, wrapping(), most < maxU64 ? most : maxU64);
    add(open, builtin);
    add(initialize, unitsOf.initializeTokenAccount);
  } else if (isWrapped) {
    add(createTokenAccount(user, quoteMint, tokenProgram), create);
    if (isBuy) {
      add(transferLamports(user, quoteAccount, maxIn), builtin);
      add(syncNative(quoteAccount, tokenProgram), unitsOf.syncNative);
    }
  } else if (quoteAccount !== null && !isBuy) {
    add(createTokenAccount(user, quoteMint, quoteTokenProgram), find);
    made.push(madeAccount(quoteAccount, quoteAccountBytes));
  }
  instructions.push(trade.instruction);
  if (isWrapped) add(closeTokenAccount(quoteAccount, user, tokenProgram), unitsOf.closeTokenAccount);
  for (const { to, lamports } of around.tips) add(transferLamports(user, to, lamports), builtin);
  const limit = around.computeUnitLimit ?? withMargin(units);
  return {
    instructions: [computeUnitLimit(limit), computeUnitPrice(0n), ...instructions],
    computeUnitLimit: limit,
    made,
    wrapped: isWrapped ? madeAccount(quoteAccount, tokenAccountBytes) : null,
  };
}
