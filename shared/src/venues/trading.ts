import type { Instruction } from '../solana/transaction.ts';
import { token2022Program } from '../solana/well-known.ts';
import type { Quote, QuotedTrade } from './quoting.ts';

/**
 * Building: the instructions of a trade, account by account as the program wants them. Pure. A pool that was opened for quotes
 * (`QuotedPool`) also builds, from the same accounts of the same moment.
 */

/** Everything beside the pool's own state that the instruction depends on. */
export interface TradeOrder {
  /** Signs and pays. */
  readonly user: string;
  readonly trade: QuotedTrade;
  /** What the pool quoted for `trade`. */
  readonly quote: Quote;
  /** Least to get and most to give, raw; the program refuses the trade beyond them. */
  readonly minOut: bigint;
  readonly maxIn: bigint;
  readonly baseTokenProgram: string;
  readonly quoteTokenProgram: string;
  /** Which of the fee recipients that the program allows takes the fee: any integer from 0; callers vary it. */
  readonly recipient: number;
}

/** An account that the program may make, or let grow. */
export interface ProgramAccount {
  readonly address: string;
  readonly bytes: number;
  /** Bytes that it has: it grows to `bytes`, and the rent of the difference is paid. Null: it is made where it is missing. */
  readonly grownFrom: number | null;
}

export function madeAccount(address: string, bytes: number): ProgramAccount {
  return { address, bytes, grownFrom: null };
}

/** A trade on the venue, without what stands around it: compute budget, token accounts, wrapping. */
export interface BuiltTrade {
  readonly instruction: Instruction;
  readonly baseMint: string;
  readonly quoteMint: string;
  /** The user's token account of the coin, which must exist before a buy. */
  readonly baseAccount: string;
  /**
   * The user's token account of the quote coin where the program moves tokens; null where it moves SOL itself. Of wrapped SOL it
   * is made, filled and closed around the trade.
   */
  readonly quoteAccount: string | null;
  /** Accounts whose rent leaves `user` beside the trade's amounts, where the program has to make or to grow them. */
  readonly programAccounts: readonly ProgramAccount[];
  /** What the instruction takes at most as measured, what it makes included; without a margin. */
  readonly computeUnits: number;
}

/** Bytes of a token account. */
export const tokenAccountBytes = 165;
/** One of Token-2022 that is associated has the extension of an immutable owner. */
const token2022AccountBytes = 170;

/** Bytes of an associated token account; what the mint's own extensions add is not counted. */
export function associatedAccountBytes(tokenProgramId: string): number {
  return tokenProgramId === token2022Program ? token2022AccountBytes : tokenAccountBytes;
}

/** The recipient that an order's number stands for. Throws TypeError where the settings name none, which they always do. */
export function recipientAt(recipients: readonly string[], number: number): string {
  const recipient = recipients[number % recipients.length];
  if (recipient === undefined) throw new TypeError(`no fee recipient ${number} among ${recipients.length}`);
  return recipient;
}

/** What an error of the program means for the order (code of `custom program error`). */
export type TradeFault =
  /** The price moved beyond the bounds. */
  | 'slippage'
  /** The curve is complete: the coin trades elsewhere now. */
  | 'complete'
  | 'insufficient_sol'
  | 'insufficient_tokens'
  | 'invalid_mint'
  /** Accounts were passed that are no longer right (the creator or a fee recipient changed): read anew and build again. */
  | 'stale_accounts'
  | 'other';
