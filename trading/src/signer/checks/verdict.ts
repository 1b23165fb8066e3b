/** The rule by which a message was refused. It is written to the audit log and returned to the caller. */
export type Rule =
  /** Not a v0 message, or longer than a transaction. */
  | 'malformed'
  | 'lookup_tables'
  /** The wallet must be the fee payer and the only signer. */
  | 'signers'
  | 'program'
  | 'compute_budget'
  /** Sends SOL to an account that is neither a tip account nor the wallet's own account of wrapped SOL. */
  | 'transfer'
  | 'token_account'
  | 'trade'
  /** A trade without a minimum to receive, or without a maximum to pay. */
  | 'bounds'
  /** The coin or the venue is not on the list in the operator's policy. */
  | 'token_list'
  | 'venue_list'
  | 'order_limit'
  | 'hour_limit'
  | 'day_limit'
  | 'token_limit'
  | 'halted'
  /** The gateway's reading that trading is not halted is too old. */
  | 'stale'
  | 'unknown_wallet';

export interface Refusal {
  readonly ok: false;
  readonly rule: Rule;
  readonly message: string;
}

/** `lamports`: the most SOL that can leave the wallet, including fees and tips; `mint`: the coin; `venue`: the program. */
export type Verdict = { readonly ok: true; readonly lamports: bigint; readonly mint: string; readonly venue: string } | Refusal;

export function refused(rule: Rule, message: string): Refusal {
  return { ok: false, rule, message };
}
