import { setMaxListeners } from 'node:events';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type { PoolLookup } from '@sluice/shared/market/pools/pool-directory.ts';
import { createRpc } from '@sluice/shared/solana/rpc/rpc.ts';
import type { Venue } from '@sluice/venues/seam/venue.ts';
import type { AccountReader } from '@sluice/gateway/reads/chain/account-reader.ts';
import { PoolReader } from '@sluice/gateway/reads/pools/pool-reader.ts';
import { RpcAccountReader } from '@sluice/gateway/reads/chain/rpc-account-reader.ts';
import { keepAccounts, type KeeperCounts } from './accounts/account-keeper.ts';
import { Blockhashes, type Blockhash, type BlockhashCounts, type BlockHeight } from './chain/blockhashes.ts';
import { ChainView } from './chain/chain-view.ts';
import { FeeLevels, type FeeCounts } from './chain/fee-levels.ts';
import { Markets, type MarketCounts, type MarketRead } from '../quote/markets.ts';
import { HotWallets, type WalletCounts, type WalletRead } from './hot-wallets.ts';
import type { LinkCounts } from './accounts/link.ts';
import { Rent, type RentRates } from './chain/rent.ts';
import { pollSlots, type SlotPollCounts } from './chain/slot-poll.ts';
import { maxReadBehindSlots, WatchedAccounts, type WatchCounts } from './accounts/watched-accounts.ts';

const rpcTimeoutMs = 2_500;
const feesCheckEveryMs = 250;
const idleCheckEveryMs = 10_000;

export interface HotStateOptions {
  readonly httpUrls: readonly string[];
  readonly wsUrls: readonly string[];
  readonly venues: readonly Venue[];
  readonly directory: PoolLookup;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

export interface HotStateCounts {
  readonly links: readonly (LinkCounts & {
    readonly state: string;
    readonly slot: number | null;
    readonly connects: number;
    readonly refusedSubscriptions: number;
    readonly drops: number;
  })[];
  readonly watched: WatchCounts & { readonly size: number; readonly stale: number };
  readonly keeper: KeeperCounts;
  readonly markets: MarketCounts & { readonly size: number };
  readonly wallets: WalletCounts & { readonly size: number };
  readonly slots: SlotPollCounts;
  readonly blockhashes: BlockhashCounts;
  readonly fees: FeeCounts;
}

/** The chain state that trading needs. It is updated in memory in the background; what is not reported without a break is read when requested. */
export interface HotState {
  /** Null if no blockhash is known that is fresh enough to trade with. */
  blockhash(): Blockhash | null;
  /** A blockhash for a new transaction, at most a second old unless the endpoints are slow. Null like `blockhash`. */
  freshBlockhash(): Blockhash | null | Promise<Blockhash | null>;
  /** Null if it is not one of the blockhashes of the last minute. */
  lastValidBlockHeightOf(blockhash: string): number | null;
  /** Height of the newest confirmed block; null like `blockhash`. */
  blockHeight(): BlockHeight | null;
  /** Whole seconds until the chain passes this height, at its current speed. Null if no current height is known. */
  secondsUntilAfter(blockHeight: number): number | null;
  /** Newest slot that the endpoints agree on; 0 before the first. */
  slot(): number;
  /** Newest slot that the chain can have reached. An answer of a later slot is false. */
  newestSlot(): number;
  /** Whether the last HTTP request to the endpoint failed. */
  isUnavailable(endpoint: number): boolean;
  /** Returns at once if its accounts are followed. Rejects with an `RpcError`. Throws TypeError if the mint is no address. */
  market(mint: string): MarketRead | Promise<MarketRead>;
  /** Reads until two endpoints report the same state of `slot` or a later one. After 500 ms returns the last state that was read. */
  agreedMarket(mint: string, slot: number): Promise<MarketRead>;
  /** Starts to follow a coin that may be requested soon, for example a new one. */
  warm(mint: string): void;
  /** Lamports of a wallet, and these token accounts. Returns at once if they are followed. Rejects with an `RpcError`. */
  wallet(publicKey: string, tokenAccounts?: readonly string[]): WalletRead | Promise<WalletRead>;
  /** Like `agreedMarket`, for a wallet. */
  agreedWallet(publicKey: string, tokenAccounts: readonly string[], slot: number): Promise<WalletRead>;
  /** Micro-lamports for each compute unit that others pay to write to these accounts, with a cap. */
  feeLevel(writableAccounts: readonly string[]): bigint;
  /** The rates of rent. Null if the endpoints do not agree on them. */
  rent(): RentRates | null;
  counts(): HotStateCounts;
  close(): void;
}

export function createHotState({ httpUrls, wsUrls, venues, directory, log, signal }: HotStateOptions): HotState {
  const life = new AbortController();
  const ended = AbortSignal.any([signal, life.signal]);
  // Each endpoint adds several listeners.
  setMaxListeners(0, ended);
  const { each: endpoints } = createRpc(httpUrls, { timeoutMs: rpcTimeoutMs });
  const chain = new ChainView(Math.max(httpUrls.length, wsUrls.length));
  const reader: AccountReader = new RpcAccountReader(endpoints, {
    newestSlot: () => chain.newestSlot,
    oldestSlot: () => chain.slot - maxReadBehindSlots,
    signal: ended,
  });
  const watched = new WatchedAccounts({ urls: wsUrls, chain, log, signal: ended });
  // An order is never priced on a pool that it cannot be sent to.
  const tradable = venues.filter(({ signing }) => signing !== null);
  const pools = new PoolReader({ reader, venues: tradable, directory, log });
  for (const address of pools.settings) watched.follow(address);
  const keeper = keepAccounts(watched, reader, ended);
  const slots = pollSlots(endpoints, chain, ended);
  const blockhashes = new Blockhashes(endpoints, chain, log, ended);
  const rent = new Rent(endpoints, chain, ended);
  const markets = new Markets({ accounts: watched, pools, endpoints: endpoints.length });
  const wallets = new HotWallets(watched, reader, endpoints.length);
  const fees = new FeeLevels({
    endpoints,
    signal: ended,
    isShared: (address) => markets.follows(address),
  });

  watched.start();
  blockhashes.start();
  rent.start();
  fees.check();
  const timers = [
    setInterval(() => fees.check(), feesCheckEveryMs),
    setInterval(() => {
      markets.check();
      wallets.check();
    }, idleCheckEveryMs),
  ];
  for (const timer of timers) timer.unref();
  ended.addEventListener('abort', () => timers.forEach((timer) => clearInterval(timer)), { once: true });

  return {
    blockhash: () => blockhashes.current,
    freshBlockhash: () => blockhashes.fresh(),
    lastValidBlockHeightOf: (blockhash) => blockhashes.lastValidBlockHeightOf(blockhash),
    blockHeight: () => blockhashes.height,
    secondsUntilAfter: (blockHeight) => {
      const ms = blockhashes.msUntilAfter(blockHeight);
      return ms === null ? null : Math.floor(ms / 1_000);
    },
    slot: () => chain.slot,
    newestSlot: () => chain.newestSlot,
    isUnavailable: (endpoint) => chain.isUnavailable(endpoint),
    market: (mint) => markets.read(mint),
    agreedMarket: (mint, slot) => markets.readAgreed(mint, slot),
    warm: (mint) => markets.warm(mint),
    wallet: (publicKey, tokenAccounts = []) => wallets.read(publicKey, tokenAccounts),
    agreedWallet: (publicKey, tokenAccounts, slot) => wallets.readAgreed(publicKey, tokenAccounts, slot),
    feeLevel: (accounts) => fees.level(accounts),
    rent: () => rent.rates,
    counts: () => ({
      links: watched.links.map(({ counts, socket, slot }) => {
        const { connects, refusedSubscriptions, drops } = socket.counts;
        return { ...counts, state: socket.state, slot, connects, refusedSubscriptions, drops };
      }),
      watched: { ...watched.counts, size: watched.size, stale: watched.stale },
      keeper: { ...keeper.counts },
      markets: { ...markets.counts, size: markets.size },
      wallets: { ...wallets.counts, size: wallets.size },
      slots: { ...slots.counts },
      blockhashes: { ...blockhashes.counts },
      fees: { ...fees.counts },
    }),
    close: () => life.abort(),
  };
}
