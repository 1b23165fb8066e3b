import type { Config } from '@sluice/shared/config/config.ts';
import { InProcessMarket } from '@sluice/shared/market/in-process-market.ts';
import { InProcessPoolDirectory } from '@sluice/shared/market/pools/in-process-pool-directory.ts';
import { Followers, type FollowersParts, type FollowersStats } from './followers.ts';
import type { ConsumerParts } from './kit/log-consumer.ts';
import { ThreadedFollowers } from './threaded.ts';

export type { FollowersStats } from './followers.ts';
export { TriggerLog } from './triggers/trigger-log.ts';
export { WatchIndex } from './triggers/watch-index.ts';

export interface RunningFollowers {
  readonly stats: FollowersStats;
  close(withinMs: number): Promise<void>;
}

/** Starts all followers: in this thread if the bus is in this process, and in a thread of their own if it is in Redis. */
export function startFollowers({
  config: { redisUrls, memory },
  market = new InProcessMarket(memory.market),
  pools = new InProcessPoolDirectory(),
  ...parts
}: Partial<FollowersParts> & ConsumerParts & { readonly config: Config }): RunningFollowers {
  return redisUrls === null ? new Followers({ ...parts, market, pools }) : new ThreadedFollowers({ redisUrls, log: parts.log });
}
