import { setMaxListeners } from 'node:events';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type { PoolLookup } from '@sluice/shared/market/pools/pool-directory.ts';
import { createRpc } from '@sluice/shared/solana/rpc/rpc.ts';
import type { Venue } from '@sluice/venues/seam/venue.ts';
import { PoolReader } from '@sluice/gateway/reads/pools/pool-reader.ts';
import { RpcAccountReader } from '@sluice/gateway/reads/chain/rpc-account-reader.ts';
import { keepAccounts } from './accounts/account-keeper.ts';
import { Blockhashes } from './chain/blockhashes.ts';
import { ChainView } from './chain/chain-view.ts';
import { FeeLevels } from './chain/fee-levels.ts';
import { Markets } from '../quote/markets.ts';
import { HotWallets } from './hot-wallets.ts';
import { repeat } from './repeat.ts';
import { Rent } from './chain/rent.ts';
import { pollSlots } from './chain/slot-poll.ts';
import { maxReadBehindSlots, WatchedAccounts } from './accounts/watched-accounts.ts';

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

export type HotStateCounts = ReturnType<HotState['counts']>;

/** The chain state that trading needs. It is updated in memory in the background; what is not reported without a break is read when requested. */
export class HotState {
  readonly chain: ChainView;
  readonly blockhashes: Blockhashes;
  readonly rent: Rent;
  readonly fees: FeeLevels;
  readonly markets: Markets;
  readonly wallets: HotWallets;
  readonly #life = new AbortController();
  readonly #watched: WatchedAccounts;
  readonly #keeper: ReturnType<typeof keepAccounts>;
  readonly #slots: ReturnType<typeof pollSlots>;

  constructor({ httpUrls, wsUrls, venues, directory, log, signal }: HotStateOptions) {
    const ended = AbortSignal.any([signal, this.#life.signal]);
    // Each endpoint adds several listeners.
    setMaxListeners(0, ended);
    const { each: endpoints } = createRpc(httpUrls, { timeoutMs: rpcTimeoutMs });
    const chain = new ChainView(Math.max(httpUrls.length, wsUrls.length));
    const reader = new RpcAccountReader(endpoints, {
      newestSlot: () => chain.newestSlot,
      oldestSlot: () => chain.slot - maxReadBehindSlots,
      signal: ended,
    });
    const watched = new WatchedAccounts({ urls: wsUrls, chain, log, signal: ended });
    // An order is never priced on a pool that it cannot be sent to.
    const tradable = venues.filter(({ signing }) => signing !== null);
    const pools = new PoolReader({ reader, venues: tradable, directory, log });
    for (const address of pools.settings) watched.follow(address);
    this.chain = chain;
    this.#watched = watched;
    this.#keeper = keepAccounts(watched, reader, ended);
    this.#slots = pollSlots(endpoints, chain, ended);
    this.blockhashes = new Blockhashes(endpoints, chain, log, ended);
    this.rent = new Rent(endpoints, chain, ended);
    this.markets = new Markets({ accounts: watched, pools, endpoints: endpoints.length });
    this.wallets = new HotWallets(watched, reader, endpoints.length);
    this.fees = new FeeLevels({ endpoints, signal: ended, isShared: (address) => this.markets.follows(address) });
    watched.start();
    this.blockhashes.start();
    this.rent.start();
    this.fees.check();
    repeat(feesCheckEveryMs, () => this.fees.check(), ended);
    repeat(idleCheckEveryMs, () => this.markets.check(), ended);
    repeat(idleCheckEveryMs, () => this.wallets.check(), ended);
  }

  counts() {
    const [watched, markets, wallets] = [this.#watched, this.markets, this.wallets];
    return {
      links: watched.links.map(({ counts, socket, slot }) => {
        const { connects, refusedSubscriptions, drops } = socket.counts;
        return { ...counts, state: socket.state, slot, connects, refusedSubscriptions, drops };
      }),
      watched: { ...watched.counts, size: watched.size, stale: watched.stale },
      keeper: { ...this.#keeper },
      markets: { ...markets.counts, size: markets.size },
      wallets: { ...wallets.counts, size: wallets.size },
      slots: { ...this.#slots },
      blockhashes: { ...this.blockhashes.counts },
      fees: { ...this.fees.counts },
    };
  }

  close(): void {
    this.#life.abort();
  }
}
