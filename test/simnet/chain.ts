import type { DecodedTransaction } from '@sluice/shared/solana/transaction/transaction.ts';

/** The simulated chain as its RPC server sees it. Amounts are lamports or raw token units. */
export interface ChainAccount {
  readonly lamports: bigint;
  readonly owner: string;
  readonly data: Uint8Array;
  readonly executable: boolean;
}

/** TransactionError in the JSON form of the RPC, e.g. `{"InstructionError":[2,{"Custom":6002}]}` or `"BlockhashNotFound"`. */
export type TransactionErrorJson = string | Readonly<Record<string, unknown>>;

export interface InnerInstruction {
  readonly programId: string;
  /** Addresses in the order of the instruction. */
  readonly accounts: readonly string[];
  readonly data: Uint8Array;
  readonly stackHeight: number;
}

export interface TokenBalance {
  readonly accountIndex: number;
  readonly mint: string;
  readonly owner: string;
  readonly programId: string;
  readonly amount: bigint;
  readonly decimals: number;
}

/** The result of executing (or simulating) one transaction. */
export interface Execution {
  readonly err: TransactionErrorJson | null;
  readonly logs: readonly string[];
  readonly unitsConsumed: number;
  readonly fee: bigint;
  /** By index of the top-level instruction. */
  readonly innerInstructions: readonly { readonly index: number; readonly instructions: readonly InnerInstruction[] }[];
  /** Static keys, then writable loaded addresses, then read-only loaded addresses. */
  readonly accountKeys: readonly string[];
  readonly preBalances: readonly bigint[];
  readonly postBalances: readonly bigint[];
  readonly preTokenBalances: readonly TokenBalance[];
  readonly postTokenBalances: readonly TokenBalance[];
  readonly returnData: { readonly programId: string; readonly data: Uint8Array } | null;
  /** The written accounts after execution; empty on failure. */
  readonly written: ReadonlyMap<string, ChainAccount>;
}

export interface TransactionRecord extends Execution {
  readonly signature: string;
  /** The signed bytes as received. */
  readonly wire: Uint8Array;
  readonly version: 'legacy' | 0 | 1;
  readonly slot: number;
  readonly index: number;
  readonly blockTime: number;
}

export interface Block {
  readonly slot: number;
  readonly parentSlot: number;
  readonly blockhash: string;
  readonly blockHeight: number;
  readonly blockTime: number;
  readonly transactions: readonly TransactionRecord[];
}

export interface ChainListener {
  /** A bank was frozen: everything in the block is now visible at `processed`. */
  onFrozen?(block: Block): void;
  onConfirmed?(slot: number): void;
  onFinalized?(slot: number): void;
  /** A fork died: these slots and their transactions are gone, and the state of accounts is rolled back. */
  onDead?(slots: readonly number[]): void;
}

export interface SendOptions {
  readonly skipPreflight?: boolean;
  /** The bytes, decoded by `decodeTransaction`, if the caller has done that. */
  readonly decoded?: DecodedTransaction;
  /** The market signed it, so the signatures are not checked. (The mints of its coins have no private keys.) RPC never sets it. */
  readonly isTrusted?: boolean;
}

export interface SimulateOptions {
  readonly sigVerify?: boolean;
  readonly replaceRecentBlockhash?: boolean;
  /** See `SendOptions`. */
  readonly decoded?: DecodedTransaction;
}

export interface ForkOptions {
  readonly replay?: boolean;
  readonly replace?: boolean;
}

export type SendOutcome =
  | { readonly ok: true; readonly signature: string }
  | { readonly ok: false; readonly code: number; readonly message: string; readonly data?: unknown };

/** A block engine. A bundle lands whole, in one block and in its order, or not at all. A fork that dies can leave a part of it. */
export interface BundleEngine {
  /** Refuses a bundle like `Chain.send`. What becomes of an accepted one is not reported. */
  send(transactions: readonly DecodedBundle[]): SendOutcome;
  /** What each transaction would do after those before it, up to the first that fails. Signatures are not checked. */
  simulate(transactions: readonly DecodedTransaction[]): readonly Execution[];
}

export interface DecodedBundle {
  readonly wire: Uint8Array;
  readonly decoded: DecodedTransaction;
}

export interface Chain {
  /** As in a cluster: each new chain has another one. */
  readonly genesisHash: string;
  readonly slot: number;
  readonly blockHeight: number;
  readonly confirmedSlot: number;
  readonly finalizedSlot: number;
  readonly lamportsPerByte: bigint;
  latestBlockhash(): { readonly blockhash: string; readonly lastValidBlockHeight: number };
  isBlockhashValid(blockhash: string): boolean;
  account(address: string): ChainAccount | null;
  /** All accounts that a program owns. */
  accountsOwnedBy(programId: string): Iterable<readonly [address: string, account: ChainAccount]>;
  /** Token accounts (both token programs) of a wallet. */
  tokenAccountsOf(owner: string): Iterable<readonly [address: string, account: ChainAccount]>;
  /** Token accounts of a mint. */
  tokenAccountsOfMint(mint: string): Iterable<readonly [address: string, account: ChainAccount]>;
  /**
   * Queues a signed transaction for the bank under construction. Without `skipPreflight` it is simulated first (a failure gives -32002 with
   * err and logs); a bad signature gives -32003.
   */
  send(wire: Uint8Array, options?: SendOptions): SendOutcome;
  simulate(wire: Uint8Array, options?: SimulateOptions): Execution;
  /** Null: this chain has no block engine. */
  readonly bundles: BundleEngine | null;
  transaction(signature: string): TransactionRecord | null;
  /** Newest first. `until` and `before` are signatures. */
  signaturesFor(
    address: string,
    options?: { readonly limit?: number; readonly before?: string; readonly until?: string },
  ): readonly TransactionRecord[];
  /** Priority fees (micro-lamports for each compute unit) of the last 150 blocks, oldest first, over the given accounts. */
  recentPriorityFees(accounts: readonly string[]): readonly { readonly slot: number; readonly prioritizationFee: number }[];
  /** Gives a wallet lamports, or raw USDC. Returns the signature. */
  airdrop(address: string, amount: bigint, coin?: 'SOL' | 'USDC'): string;
  /** Freezes the current bank now and opens the next one. The slot timer also calls it. */
  advance(): Block;
  /**
   * Kills the newest `slots` frozen slots: state is rolled back, and their transactions disappear (with `replay` they land again later).
   * Confirmed slots never die. With `replace`, the next blocks have the numbers of the killed ones: each of these slots gets a second bank.
   */
  fork(slots: number, options?: ForkOptions): readonly number[];
  listen(listener: ChainListener): () => void;
  start(): void;
  stop(): void;
}
