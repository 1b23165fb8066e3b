import type { PlanName } from '@sluice/shared/wire/values/plans.ts';

/** `operator`: the one account of the operator, which always exists. `holder`: any other account. */
export const accountKinds = ['operator', 'holder'] as const;
export type AccountKind = (typeof accountKinds)[number];

export interface StoredAccount {
  readonly id: string;
  readonly kind: AccountKind;
  /** Address of the wallet that signs in; no two accounts share one. Null: the account signs in only by the operator's one-time links. */
  readonly wallet: string | null;
  /** The plan of the keys that the account creates. */
  readonly plan: PlanName;
  readonly createdAtMs: number;
  /** When the account was disabled: its keys and sessions ended, and no one can sign in since. Null: enabled. */
  readonly disabledAtMs: number | null;
  readonly lastSignInAtMs: number | null;
}

export type NewAccount = Pick<StoredAccount, 'id' | 'wallet' | 'plan' | 'createdAtMs'>;

/** `taken`: another account has this wallet or this id. `full`: the store holds `maxAccounts`. */
export type AccountInsertOutcome = 'stored' | 'taken' | 'full';

/** The accounts that own keys and sign in to the dashboard. */
export interface AccountTable {
  /** Creates an account of the kind `holder`. */
  create(account: NewAccount): Promise<AccountInsertOutcome>;
  byId(id: string): Promise<StoredAccount | null>;
  byWallet(wallet: string): Promise<StoredAccount | null>;
  /** All accounts, including disabled ones, oldest first. */
  all(): Promise<readonly StoredAccount[]>;
  /** Sets the plan of an account of the kind `holder`, and of its keys. False: no such account, or it is disabled. */
  setPlan(id: string, plan: PlanName): Promise<boolean>;
  /**
   * Records that a sign-in nonce was used. If several calls use the same number at once, one succeeds. False: the account has used
   * this number or a later one. A stored number more than a minute ahead of `nowMs` came from a wrong clock and is ignored.
   */
  useNonce(id: string, number: number, nowMs: number): Promise<boolean>;
  /** Disables an account of the kind `holder`, and ends its keys, sessions and links. False: no such account, or it is disabled already. */
  disable(id: string, atMs: number): Promise<boolean>;
}

/** How far ahead of the time of the other gateways the number of a nonce may be, in microseconds. */
export const maxNonceAheadUs = 60_000_000;

export const operatorAccountId = 'operator';

/** Maximum number of accounts that the store holds. Creating one more is refused. */
export const maxAccounts = 100_000;
