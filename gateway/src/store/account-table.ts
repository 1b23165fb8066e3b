import type { PlanName } from '@sluice/shared/wire/plans.ts';

/** `operator`: who runs the gateways, one account, there from the beginning. `holder`: whoever signed in with a wallet. */
export const accountKinds = ['operator', 'holder'] as const;
export type AccountKind = (typeof accountKinds)[number];

export interface StoredAccount {
  readonly id: string;
  readonly kind: AccountKind;
  /** Address of the wallet that signs in; of one account only. Null: by a one-time link of the operator's alone. */
  readonly wallet: string | null;
  /** The plan of the keys that the holder makes. */
  readonly plan: PlanName;
  readonly createdAtMs: number;
  /** Its keys and sessions have ended, and nobody signs in to it. */
  readonly disabledAtMs: number | null;
  readonly lastSignInAtMs: number | null;
}

export type NewAccount = Pick<StoredAccount, 'id' | 'wallet' | 'plan' | 'createdAtMs'>;

/** `taken`: there is an account with this wallet, or this id. `full`: there are `maxAccounts` already. */
export type AccountInsertOutcome = 'stored' | 'taken' | 'full';

/** Who holds keys, and signs in to the dashboard. */
export interface AccountTable {
  /** Makes a holder's account. */
  create(account: NewAccount): Promise<AccountInsertOutcome>;
  byId(id: string): Promise<StoredAccount | null>;
  byWallet(wallet: string): Promise<StoredAccount | null>;
  /** Every account, disabled ones too, oldest first. */
  all(): Promise<readonly StoredAccount[]>;
  /** Gives a holder's account a plan, and its keys with it. False: no such holder's account, or disabled. */
  setPlan(id: string, plan: PlanName): Promise<boolean>;
  /**
   * Notes the number of a sign-in nonce that was used; of several at once with the same number, one gets it. False: the account has
   * used this one or a later one. A number more than a day ahead of `nowMs`, from a clock that went wrong, is forgotten.
   */
  useNonce(id: string, number: number, nowMs: number): Promise<boolean>;
  /** Ends a holder's account: its keys, sessions and links end too. False: no such holder's account, or disabled before. */
  disable(id: string, atMs: number): Promise<boolean>;
}

/** Microseconds by which the number of a used nonce may be ahead. */
export const maxNonceAheadUs = 24 * 3_600_000_000;

export const operatorAccountId = 'operator';

/** Accounts that the store takes; beyond them creating one is refused. */
export const maxAccounts = 100_000;
