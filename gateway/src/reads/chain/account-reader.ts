/** An account as a node reports it. */
export interface ChainAccount {
  readonly owner: string;
  readonly lamports: bigint;
  readonly data: Uint8Array;
  readonly executable: boolean;
}

export interface AccountsRead {
  readonly slot: number;
  /** The newest slot of all answers that report the same accounts, because an endpoint may report too old a slot with its answer. */
  readonly lastSlot: number;
  /** When it was requested (`performance.now`). The accounts are no older. */
  readonly askedAtMs: number;
  /** In the order of the addresses; null if the account does not exist. */
  readonly accounts: readonly (ChainAccount | null)[];
  /**
   * Null if two endpoints report the same accounts. Otherwise the index of the endpoint that alone reports them: because it is the only one, the
   * others gave no usable answer, or the accounts change so fast that no two answers show the same moment. A decision on such a read must be
   * checked with another endpoint.
   */
  readonly aloneBy: number | null;
  /**
   * Another endpoint was asked and has not answered in time, so it may contradict `aloneBy`. Endpoints whose last call failed are ignored. False if
   * `aloneBy` is null.
   */
  readonly othersAreLate: boolean;
  /** The answers of other endpoints that report something else. Empty if `aloneBy` is null. */
  readonly disputed: readonly Pick<AccountsRead, 'slot' | 'accounts'>[];
}

/**
 * Reads accounts from the chain. Concurrent calls share one `getMultipleAccounts` (at most 100 addresses each), and an address that is being read
 * is not requested again. Rejects with an `RpcError`.
 */
export interface AccountReader {
  /** Reads at most 100 addresses. All accounts come from one answer, and thus from one slot. */
  read(addresses: readonly string[]): Promise<AccountsRead>;
}
