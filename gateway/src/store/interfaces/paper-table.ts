/** A token account of a paper wallet, or an account of a program for which it paid the rent (`token` is null). */
export interface PaperAccount {
  readonly address: string;
  readonly token: { readonly mint: string; readonly program: string } | null;
  /** Raw units. */
  readonly amount: bigint;
}

/** What a paper wallet has on one chain. */
export interface PaperBalance {
  readonly lamports: bigint;
  /** What its owner put into it. The result of its trades is the difference. */
  readonly startLamports: bigint;
  /** Since when its result counts. Null: it has not traded on this chain, and its owner has set nothing. */
  readonly startedAtMs: number | null;
  readonly accounts: ReadonlyMap<string, PaperAccount>;
}

/** A paper wallet on one chain, by its genesis hash. */
export interface PaperPlace {
  readonly wallet: string;
  readonly genesisHash: string;
}

/** What an order on paper changes. All changes are signed. */
export interface PaperMovement extends PaperPlace {
  readonly lamports: bigint;
  /** Accounts that the order opened or whose amount it changed; `amount` is the change. */
  readonly accounts: readonly PaperAccount[];
}

/** Why a movement was refused. `short`: the wallet has less than it gives. `full`: it has `maxPaperAccounts` accounts with tokens. */
export type PaperRefusal =
  | { readonly kind: 'short'; readonly unit: 'lamports' | 'tokens'; readonly have: bigint; readonly need: bigint }
  | { readonly kind: 'full' };

export interface PaperSetting {
  readonly lamports: bigint;
  /** Also removes all accounts, and the result counts from now on. Otherwise the result stays as it is. */
  readonly reset: boolean;
  readonly atMs: number;
}

/**
 * The balances of paper wallets. On each chain a wallet begins with `paperStartLamports`. Orders on paper change the balances through
 * `OrderTable.insert`, in the transaction that stores the order.
 */
export interface PaperTable {
  /** Stores nothing. */
  balance(place: PaperPlace): Promise<PaperBalance>;
  /** Resolves with the new balance. */
  set(place: PaperPlace, setting: PaperSetting): Promise<PaperBalance>;
}

/** What a paper wallet begins with: 10 SOL. */
export const paperStartLamports = 10_000_000_000n;
/** Maximum number of accounts of a paper wallet on one chain. Beyond that, empty ones are forgotten; if none is empty, the order is refused. */
export const maxPaperAccounts = 1_000;
/** Maximum number of chains on which a paper wallet has a balance. Beyond that, the oldest balance is forgotten. */
export const maxPaperChains = 8;
