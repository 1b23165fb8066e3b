import { setMaxListeners } from 'node:events';
import type { Logger } from '@sluice/shared/log/log.ts';
import type { PoolLookup } from '@sluice/shared/pools/directory.ts';
import { createRpc } from '@sluice/shared/solana/rpc.ts';
import type { Venue } from '@sluice/shared/venues/venue.ts';
import type { AccountReader } from '../../chain/account-reader.ts';
import { PoolReader } from '../../pools/pool-reader.ts';
import { createAccountReader } from '../../chain/rpc-account-reader.ts';
import { keepAccounts, type KeeperCounts } from './accounts/account-keeper.ts';
import { Blockhashes, type Blockhash, type BlockhashCounts, type BlockHeight } from './chain/blockhashes.ts';
import { ChainView } from './chain/chain-view.ts';
import { FeeLevels, type FeeCounts } from './chain/fee-levels.ts';
import { HotMarkets, type HotMarketRead, type MarketCounts } from './hot-markets.ts';
import { HotWallets, type WalletCounts, type WalletRead } from './hot-wallets.ts';
import type { LinkCounts } from './accounts/link.ts';
import { Rent } from './chain/rent.ts';
import { pollSlots, type SlotPollCounts } from './chain/slot-poll.ts';
import { maxReadBehindSlots, WatchedAccounts, type WatchCounts } from './accounts/watched-accounts.ts';

const rpcTimeoutMs = 2_500;
const feesLookEveryMs = 250;
const idleLookEveryMs = 10_000;

export interface HotStateOptions {
  readonly httpUrls: readonly string[];
  readonly wsUrls: readonly string[];
  readonly venues: readonly Venue[];
  readonly directory: PoolLookup;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** Most that the automatic priority fee comes to, micro-lamports for a compute unit. */
  readonly maxMicroLamports?: bigint;
  /** Of the fees that others paid of late, this percentile. */
  readonly feePercentile?: number;
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

/** What trading needs of the chain, kept fresh in the background: in memory as long as it is told without a break, read otherwise. */
export interface HotState {
  /** Null where none is known that is young enough to trade with. */
  blockhash(): Blockhash | null;
  /** Of the newest confirmed block; null as for `blockhash`. */
  blockHeight(): BlockHeight | null;
  /** Newest slot that the endpoints agree on; 0 before the first. */
  slot(): number;
  /** Newest slot that the chain can have reached: an answer from beyond it is a lie. */
  newestSlot(): number;
  /** Whether the last question to the endpoint over HTTP failed. */
  isAway(endpoint: number): boolean;
  /** At once where its accounts are followed. Rejects with an `RpcError`; throws TypeError where the mint is no address. */
  market(mint: string): HotMarketRead | Promise<HotMarketRead>;
  /** Read anew, as two endpoints tell it of `slot` or later; as it is read last where they do not within a moment. */
  agreedMarket(mint: string, slot: number): Promise<HotMarketRead>;
  /** Begins to follow a coin that may be asked for soon, a new one say. */
  warm(mint: string): void;
  /** Lamports, and these token accounts. At once where they are followed. Rejects with an `RpcError`. */
  wallet(publicKey: string, tokenAccounts?: readonly string[]): WalletRead | Promise<WalletRead>;
  /** Read anew, as two endpoints tell it of `slot` or later; as it is read last where they do not within a moment. */
  agreedWallet(publicKey: string, tokenAccounts: readonly string[], slot: number): Promise<WalletRead>;
  /** Micro-lamports for a compute unit, at once: what others pay to write to these accounts, with a cap. */
  feeLevel(writableAccounts: readonly string[]): bigint;
  /** Lamports that keep an account of so many bytes; null where the endpoints do not agree on it. */
  rent(bytes: number): bigint | null;
  counts(): HotStateCounts;
  close(): void;
}

export function createHotState({
  httpUrls,
  wsUrls,
  venues,
  directory,
  log,
  signal,
  maxMicroLamports,
  feePercentile,
}: HotStateOptions): HotState {
  const life = new AbortController();
  const ended = AbortSignal.any([signal, life.signal]);
  // A few for each endpoint.
  setMaxListeners(0, ended);
  const { each: endpoints } = createRpc(httpUrls, { timeoutMs: rpcTimeoutMs });
  const chain = new ChainView(Math.max(httpUrls.length, wsUrls.length));
  const reader: AccountReader = createAccountReader(endpoints, {
    newestSlot: () => chain.newestSlot,
    oldestSlot: () => chain.slot - maxReadBehindSlots,
    signal: ended,
  });
  const watched = new WatchedAccounts({ urls: wsUrls, chain, log, signal: ended });
  // An order is never priced on a pool that it cannot be sent to.
  const tradable = venues.filter(({ signing }) => signing !== null);
  const pools = new PoolReader({ reader, venues: tradable, directory, log });
  for (const address of pools.settings) watched.hold(address);
  const keeper = keepAccounts(watched, reader, ended);
  const slots = pollSlots(endpoints, chain, ended);
  const blockhashes = new Blockhashes(endpoints, chain, log, ended);
  const rent = new Rent(endpoints, chain, ended);
  const markets = new HotMarkets({ watched, pools, endpoints: endpoints.length });
  const wallets = new HotWallets(watched, reader, endpoints.length);
  const fees = new FeeLevels({
    endpoints,
    signal: ended,
    isShared: (address) => markets.follows(address),
    ...(maxMicroLamports === undefined ? {} : { cap: maxMicroLamports }),
    ...(feePercentile === undefined ? {} : { percentile: feePercentile }),
  });

  watched.start();
  blockhashes.start();
  rent.start();
  fees.look();
  const timers = [
    setInterval(() => fees.look(), feesLookEveryMs),
    setInterval(() => {
      markets.look();
      wallets.look();
    }, idleLookEveryMs),
  ];
  for (const timer of timers) timer.unref();
  ended.addEventListener('abort', () => timers.forEach((timer) => clearInterval(timer)), { once: true });

  return {
    blockhash: () => blockhashes.current,
    blockHeight: () => blockhashes.height,
    slot: () => chain.slot,
    newestSlot: () => chain.newestSlot,
    isAway: (endpoint) => chain.isAway(endpoint),
    market: (mint) => markets.read(mint),
    agreedMarket: (mint, slot) => markets.readAgreed(mint, slot),
    warm: (mint) => markets.warm(mint),
    wallet: (publicKey, tokenAccounts = []) => wallets.read(publicKey, tokenAccounts),
    agreedWallet: (publicKey, tokenAccounts, slot) => wallets.readAgreed(publicKey, tokenAccounts, slot),
    feeLevel: (accounts) => fees.level(accounts),
    rent: (bytes) => rent.of(bytes),
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
