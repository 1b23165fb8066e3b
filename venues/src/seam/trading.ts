import type { Instruction } from '@sluice/shared/solana/transaction/transaction.ts';
import type { Quote, QuotedTrade } from './quoting.ts';

/** Builds the instructions of trades, with their accounts in the order that the program requires. Pure. */

/** Everything that the instruction depends on besides the pool's state. */
export interface TradeOrder {
  /** Signs and pays. */
  readonly user: string;
  readonly trade: QuotedTrade;
  /** The pool's quote for `trade`. */
  readonly quote: Quote;
  /** Smallest amount to receive and largest to pay, raw. Outside these limits, the program refuses the trade. */
  readonly minOut: bigint;
  readonly maxIn: bigint;
  readonly baseTokenProgram: string;
  readonly quoteTokenProgram: string;
  /** Bytes of an associated token account of each coin. */
  readonly baseAccountBytes: number;
  readonly quoteAccountBytes: number;
  /** The user's token account for wrapped SOL, which exists during the trade. Asked for only if the trade needs it. */
  readonly wrappedSol: () => string;
  /** Selects one of the fee recipients that the program allows: any integer from 0. Callers vary it. */
  readonly recipient: number;
}

/** An account that the program may create, or grow. */
export interface ProgramAccount {
  readonly address: string;
  readonly bytes: number;
  /** The account has this many bytes and this much rent, and grows. Null: it is created if it does not exist. */
  readonly grows: { readonly from: number; readonly rent: bigint } | null;
}

export function madeAccount(address: string, bytes: number): ProgramAccount {
  return { address, bytes, grows: null };
}

/** A trade on the venue, without the instructions around it: compute budget, token accounts, wrapping. */
export interface BuiltTrade {
  readonly instruction: Instruction;
  readonly baseMint: string;
  readonly quoteMint: string;
  /** The user's token account of the token; it must exist before a buy. */
  readonly baseAccount: string;
  /** The user's account of the quote coin, `wrappedSol` for wrapped SOL, if the program moves tokens; null if it moves SOL itself. */
  readonly quoteAccount: string | null;
  /** Accounts that the program creates or grows, if necessary. `user` pays what their rent lacks, in addition to the trade's amounts. */
  readonly programAccounts: readonly ProgramAccount[];
  /** Bytes of the pool's account, if the signer needs them to prove the coins of the pool (`coinsIn` of its form). */
  readonly poolAccount?: Uint8Array;
  /** Largest measured compute units of the instruction, creation of accounts included; without a margin. */
  readonly computeUnits: number;
}

/** The recipient that an order's number selects. Throws TypeError if the settings list none, which never happens. */
export function recipientAt(recipients: readonly string[], number: number): string {
  const recipient = recipients[number % recipients.length];
  if (recipient === undefined) throw new TypeError(`no fee recipient ${number} among ${recipients.length}`);
  return recipient;
}

/** The meaning of a program's error code for the order (code of `custom program error`). */
export type TradeFault =
  /** The price moved beyond the bounds. */
  | 'slippage'
  /** The curve is complete; the token now trades elsewhere. */
  | 'complete'
  | 'insufficient_sol'
  | 'insufficient_tokens'
  | 'invalid_mint'
  /** An account is no longer valid (the creator or a fee recipient changed): read the accounts again and build again. */
  | 'stale_accounts'
  | 'other';
