/** An account as a node reports it. */
export interface ChainAccount {
  readonly owner: string;
  readonly lamports: bigint;
  readonly data: Uint8Array;
  readonly executable: boolean;
}

export interface AccountsRead {
  /** Slot of the answer. */
  readonly slot: number;
  /** The newest slot of the answers that report the same: an endpoint may date its own too early. */
  readonly lastSlot: number;
  /** When it was asked for, Unix milliseconds: it is no older. */
  readonly askedAtMs: number;
  /** In the order of the addresses; null where there is no such account. */
  readonly accounts: readonly (ChainAccount | null)[];
  /**
   * Null where two endpoints report the same accounts. Otherwise the number of the endpoint that alone reports them: there is only one, the
   * others gave no usable answer, or the accounts change so fast that no two answers are of the same moment. What is decided on such a
   * read must be checked against another endpoint.
   */
  readonly aloneBy: number | null;
  /**
   * Another endpoint that answers usually was asked and has not answered in time: it may contradict `aloneBy`. Not so of one whose last call
   * failed; false where `aloneBy` is null.
   */
  readonly othersAreLate: boolean;
  /** What other endpoints report, where they report something else; empty where `aloneBy` is null. */
  readonly disputed: readonly Pick<AccountsRead, 'slot' | 'accounts'>[];
}

/**
 * Reads accounts from the chain. Calls of the same moment share one `getMultipleAccounts` (at most 100 addresses each), and an
 * address that is being asked for is not asked for again. Rejects with an `RpcError`.
 */
export interface AccountReader {
  /** All `addresses` from one answer, thus of one slot; at most 100. */
  read(addresses: readonly string[]): Promise<AccountsRead>;
}
