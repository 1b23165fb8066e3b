import { Candles, type CandleStats } from '../../../followers/src/candles/candles.ts';
import { LogConsumer, type ConsumerParts, type ConsumerStats } from '../../../followers/src/kit/log-consumer.ts';
import type { MarketStore } from '@sluice/shared/market/market.ts';

export interface MarketConsumer {
  readonly stats: ConsumerStats & CandleStats;
  close(withinMs: number): Promise<void>;
}

/** The candles alone, in this thread. */
export function consumeMarket({ market, ...parts }: ConsumerParts & { readonly market: MarketStore }): MarketConsumer {
  const candles = new Candles({ ...parts, market });
  const consumer = new LogConsumer(candles, parts);
  return {
    get stats() {
      return { ...consumer.stats, ...candles.stats };
    },
    close: (withinMs) => consumer.close(withinMs),
  };
}
