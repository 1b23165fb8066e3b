/** What a message was refused for; the audit log and whoever asked are told. */
export type Rule =
  /** No v0 message, or longer than a transaction. */
  | 'malformed'
  | 'lookup_tables'
  /** The fee payer and only signer is the wallet. */
  | 'signers'
  | 'program'
  | 'compute_budget'
  /** SOL to somebody who is neither a tip account nor the wallet's own account of wrapped SOL. */
  | 'transfer'
  | 'token_account'
  | 'trade'
  /** A trade that says no least to get, or no most to give. */
  | 'bounds'
  /** The operator's policy has lists of coins and venues, and these are not on them. */
  | 'token_list'
  | 'venue_list'
  | 'order_limit'
  | 'hour_limit'
  | 'day_limit'
  | 'token_limit'
  | 'halted'
  /** The gateway's word that trading goes on is too old. */
  | 'stale'
  | 'unknown_wallet';

export interface Refusal {
  readonly ok: false;
  readonly rule: Rule;
  readonly message: string;
}

/** `lamports`: most SOL that can leave the wallet by it, fees and tips inside; `mint`: the coin; `venue`: the program. */
export type Verdict = { readonly ok: true; readonly lamports: bigint; readonly mint: string; readonly venue: string } | Refusal;

export function refused(rule: Rule, message: string): Refusal {
  return { ok: false, rule, message };
}
