import { systemClock } from '@sluice/shared/runtime/clock/clock.ts';
import type { MarketStore } from '@sluice/shared/market/market.ts';
import type { PoolDirectory } from '@sluice/shared/market/pools/pool-directory.ts';
import { Candles, type CandleStats } from './candles/candles.ts';
import { LogConsumer, type ConsumerParts, type ConsumerStats } from './kit/log-consumer.ts';
import { Pools } from './pools/pools.ts';

export interface FollowersStats {
  /** State of the market, and the candles made from it. */
  readonly market: ConsumerStats & CandleStats;
  /** Directory of pools. */
  readonly pools: ConsumerStats;
  /** Times that the thread of the followers was started again; 0 if they have none. */
  readonly restarts: number;
}

export interface FollowersParts extends ConsumerParts {
  readonly market: MarketStore;
  readonly pools: PoolDirectory;
}

/** All followers of the log, in this thread. Each has a lease of its own. */
export class Followers {
  readonly #candles: Candles;
  readonly #market: LogConsumer<unknown>;
  readonly #pools: LogConsumer<unknown>;

  constructor({ market, pools, clock = systemClock, ...parts }: FollowersParts) {
    this.#candles = new Candles({ bus: parts.bus, market, clock });
    this.#market = new LogConsumer(this.#candles, { ...parts, clock });
    this.#pools = new LogConsumer(new Pools({ pools, clock }), { ...parts, clock });
  }

  get stats(): FollowersStats {
    return { market: { ...this.#market.stats, ...this.#candles.stats }, pools: this.#pools.stats, restarts: 0 };
  }

  /** Applies waiting events for at most `withinMs`, and releases the leases. */
  async close(withinMs: number): Promise<void> {
    await Promise.all([this.#market.close(withinMs), this.#pools.close(withinMs)]);
  }
}
