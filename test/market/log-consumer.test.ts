import { afterEach, describe, expect, it } from 'vitest';
import type { Bus } from '@sluice/shared/bus/bus.ts';
import { createBus } from '@sluice/shared/bus/create.ts';
import { createInProcessBus } from '@sluice/shared/bus/in-process/in-process-bus.ts';
import { createMarket } from '@sluice/shared/market/create.ts';
import { InProcessMarket } from '@sluice/shared/market/in-process-market.ts';
import type { MarketStore } from '@sluice/shared/market/market.ts';
import { isPause } from '@sluice/shared/market/pause.ts';
import type { CandleEvent } from '@sluice/shared/wire/events/events.ts';
import { candlesTopic } from '@sluice/shared/wire/stream/topics.ts';
import { consumeMarket, type MarketConsumer } from '../support/product/market-consumer.ts';
import { silentLog } from '../contract/bus-harness.ts';
import { record, type Recorder } from '../contract/bus-recorder.ts';
import { until } from '../support/gateway.ts';
import { startRedis } from '../support/servers/redis.ts';
import { addressOf, entryOf } from '../support/events/stream-events.ts';
import { someS, tradeOf } from './trades.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

const mint = addressOf(1);
const topic = candlesTopic(mint, '1d');
const closeWithinMs = 1_000;

function keep(bus: Bus, market: MarketStore): MarketConsumer {
  const keeper = consumeMarket({ bus, market, log: silentLog });
  cleanups.push(() => keeper.close(closeWithinMs));
  return keeper;
}

async function publish(bus: Bus, trades: number): Promise<void> {
  const publisher = await bus.publisher();
  for (let left = trades; left > 0; left -= 500) {
    await publisher.publish(Array.from({ length: Math.min(500, left) }, () => entryOf(tradeOf({ mint, atS: someS }))));
  }
}

async function counted(market: MarketStore): Promise<number> {
  const [hour] = await market.buckets(mint, '1h', 0, 0xffff_ffff, 10);
  return hour === undefined ? 0 : hour.buys + hour.sells;
}

const countedTo = (market: MarketStore, trades: number): Promise<unknown> =>
  until(`${trades} trades`, async () => (await counted(market)) === trades);

/** Candles of the topic on the bus; `pause` where they paused. */
function candleIds(recorder: Recorder): string[] {
  const ofTopic = recorder.entries.filter(({ topics }) => topics[0]!.topic === topic);
  return ofTopic.map((entry) => (isPause(entry) ? 'pause' : (JSON.parse(Buffer.from(entry.json).toString()) as CandleEvent).id));
}

describe('the keeper', () => {
  it('continues reading after its intake was full', async () => {
    const bus = createInProcessBus();
    cleanups.push(() => bus.close());
    const market = new InProcessMarket();
    cleanups.push(() => market.close());
    await publish(bus, 45_000);
    const keeper = keep(bus, market);
    await countedTo(market, 45_000);
    expect(keeper.stats).toMatchObject({ keeps: true, events: 45_000, waiting: 0, lostEntries: 0, failures: 0 });
  });

  it('counts entries that the log lost before they were applied, and continues', async () => {
    const bus = createInProcessBus({ maxEntries: 100 });
    cleanups.push(() => bus.close());
    const market = new InProcessMarket();
    cleanups.push(() => market.close());
    await publish(bus, 50);
    const first = keep(bus, market);
    await countedTo(market, 50);
    await first.close(closeWithinMs);
    await publish(bus, 500);
    const second = keep(bus, market);
    await countedTo(market, 150);
    expect(second.stats).toMatchObject({ events: 100, lostEntries: 400 });
  });

  it('continues in a new epoch of the log', async () => {
    const bus = createInProcessBus({ maxTopics: 8 });
    cleanups.push(() => bus.close());
    const market = new InProcessMarket();
    cleanups.push(() => market.close());
    const keeper = keep(bus, market);
    await publish(bus, 10);
    await countedTo(market, 10);
    const publisher = await bus.publisher();
    await publisher.publish([{ topics: Array.from({ length: 7 }, (_, i) => `more ${i}`), record: Buffer.from('{}') }]);
    await publish(bus, 10);
    await countedTo(market, 20);
    expect(keeper.stats.lostEntries).toBe(0);
    expect((await market.checkpoint())!.offset).toBeLessThan(20);
  });
});

describe('the keeper of a market in Redis', () => {
  interface Setup {
    readonly redis: Awaited<ReturnType<typeof startRedis>>;
    readonly bus: Bus;
    readonly market: MarketStore;
    readonly recorder: Recorder;
  }

  async function start(): Promise<Setup> {
    const redis = await startRedis();
    cleanups.push(() => redis.stop());
    const bus = await createBus({ redisUrls: [redis.url], log: silentLog });
    cleanups.push(() => bus.close());
    const market = await createMarket({ redisUrls: [redis.url], log: silentLog });
    cleanups.push(() => market.close());
    return { redis, bus, market, recorder: await record(await bus.subscriber()) };
  }

  it('publishes a topic while it is in demand, and marks its end in the log', async () => {
    const { redis, bus, market, recorder } = await start();
    keep(bus, market);
    await publish(bus, 2);
    await countedTo(market, 2);
    const startS = someS - (someS % 86_400);
    const idOf = (trades: number): string => `${mint}:1d:${startS}:${trades}`;
    await market.reportDemand([topic]);
    await until('the candle that is there', () => candleIds(recorder).length === 1);
    await publish(bus, 1);
    await until('its update', () => candleIds(recorder).length === 2);
    // As if the demand for it had expired.
    await redis.command('ZADD', '{sluice}:market:demand', '1', topic);
    await until('the pause', () => candleIds(recorder).length === 3);
    await publish(bus, 1);
    await countedTo(market, 4);
    expect(await market.published()).toEqual(new Map());
    await market.reportDemand([topic]);
    await until('the candle after the pause', () => candleIds(recorder).length === 4);
    expect(candleIds(recorder)).toEqual([idOf(2), idOf(3), 'pause', idOf(4)]);
  });

  it('continues what another keeper published, without repeating it', async () => {
    const { bus, market, recorder } = await start();
    const first = keep(bus, market);
    await market.reportDemand([topic]);
    await publish(bus, 2);
    await until('the first candle', () => candleIds(recorder).length === 1);
    await until('it to be noted', async () => (await market.published()).has(topic));
    await first.close(closeWithinMs);
    await publish(bus, 3);
    keep(bus, market);
    await until('the next candle', () => candleIds(recorder).length === 2);
    await publish(bus, 1);
    await until('one more', () => candleIds(recorder).length === 3);
    const ids = candleIds(recorder);
    expect(ids.map((id) => id.split(':').at(3))).toEqual(['2', '5', '6']);
  });

  it('starts again after Redis lost its memory', async () => {
    const { redis, bus, market } = await start();
    const keeper = keep(bus, market);
    await publish(bus, 10);
    await countedTo(market, 10);
    await redis.command('FLUSHALL');
    await publish(bus, 5);
    await countedTo(market, 5);
    await publish(bus, 5);
    await countedTo(market, 10);
    expect(keeper.stats.keeps).toBe(true);
  });
});
