import type { DecodedTransaction } from '@sluice/shared/solana/transaction/transaction.ts';
import type { Chain, ChainAccount } from './chain.ts';
import type { HistoryBounds } from './ledger/history.ts';
import type { MarketOptions } from './market/market.ts';
import type { Bank, Outcome } from './runtime/execute.ts';

export interface FundedWallet {
  readonly address: string;
  readonly lamports: bigint;
  /** Raw units. */
  readonly usdc?: bigint;
  /** Raw units of `otherQuoteCoin`. */
  readonly other?: bigint;
}

export interface ChainOptions {
  readonly seed: number | string;
  /** False for a chain on which nothing happens by itself. */
  readonly market?: MarketOptions | false;
  readonly slotMs?: number;
  /** How long a slot of the timer may run transactions, in milliseconds, before requests get a turn; unlimited by default. */
  readonly turnMs?: number;
  /** The chain's clock, in milliseconds since the epoch; the machine's by default. */
  readonly nowMs?: () => number;
  readonly firstSlot?: number;
  readonly history?: HistoryBounds;
  /** Wallets that genesis funds, beyond the market's. */
  readonly funded?: readonly FundedWallet[];
  /** Further accounts of genesis. */
  readonly accounts?: Iterable<readonly [address: string, account: ChainAccount]>;
  /** Executes transactions; by default the simulated programs do. */
  readonly execute?: Execute;
}

/** See `executeTransaction`. */
export type Execute = (bank: Bank, transaction: DecodedTransaction) => Outcome;

/** What the market may do in addition to sending transactions. */
export interface MarketChain extends Chain {
  /** Removes accounts that nobody uses any more at the next slot; their lamports go to the validator. */
  retire(addresses: readonly string[]): void;
}
