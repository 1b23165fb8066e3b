import { MarketLedger } from '../../followers/src/candles/ledger.ts';
import { readEvent } from '../../followers/src/kit/market-event.ts';
import type { BusEntry } from '@sluice/shared/bus/bus.ts';
import { createBus } from '@sluice/shared/bus/create.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import { changeArguments } from '@sluice/shared/market/redis/redis-market.ts';
import { createMarket } from '@sluice/shared/market/create.ts';
import { verdictEntry } from '@sluice/shared/market/verdicts/slot-verdict.ts';
import { consumeMarket } from '../support/product/market-consumer.ts';
import { tradeOf } from '../market/trades.ts';
import { until } from '../support/gateway.ts';
import { startRedis, type TestRedis } from '../support/servers/redis.ts';
import { addressOf, entryOf, logged, priceEvent } from '../support/events/stream-events.ts';
import type { BenchRow } from './row.ts';

/** Trades, and as many prices after them, over some mints, of which a few have most: 50 seconds of a busy market. */
const trades = 50_000;
const mints = 2_000;
const tradesPerSecond = 1_000;
/** In slots of 400 ms, each confirmed four slots later. */
const tradesPerSlot = 400;
const confirmedBehind = 4;
/** The share that a busy market (2,000 events a second) may take: 3 % of the follower's core, 6 % of Redis's. */
const targetOwnUs = 15;
const targetRedisUs = 30;
const firstSlot = 380_146_923;
const startS = 1_795_248_000;

/** The cost of the market's state for its keeper and for Redis: reading the log, folding, applying. */
export async function run(): Promise<BenchRow[]> {
  const redis = await startRedis();
  try {
    const log = createLog({ level: 'warn', name: 'bench' });
    const bus = await createBus({ redisUrls: [redis.url], log });
    const market = await createMarket({ redisUrls: [redis.url], log });
    const publisher = await bus.publisher();
    const all = entries();
    for (let from = 0; from < all.length; from += 512) await publisher.publish(all.slice(from, from + 512));
    await publisher.close();
    const memoryBefore = await info(redis, 'used_memory');
    const redisBefore = await redisCpuUs(redis);
    const cpu = process.cpuUsage();
    const startedAtMs = performance.now();
    const keeper = consumeMarket({ bus, market, log });
    await until('all to be applied', async () => (await market.checkpoint())?.offset === all.length, 120_000);
    const seconds = (performance.now() - startedAtMs) / 1000;
    const { user, system } = process.cpuUsage(cpu);
    const redisUs = (await redisCpuUs(redis)) - redisBefore;
    const perMint = ((await info(redis, 'used_memory')) - memoryBefore) / mints;
    await keeper.close(1_000);
    await market.close();
    await bus.close();
    const perSecond = all.length / seconds;
    const wholeUs = (user + system) / all.length;
    const ofRedisUs = redisUs / all.length;
    const ownUs = measureOwn(all);
    return [
      {
        name: 'Market: CPU time of the follower (reading, applying and encoding events)',
        figure: `${ownUs.toFixed(1)} µs/event`,
        target: `≤ ${targetOwnUs} µs/event`,
        pass: ownUs <= targetOwnUs,
        note: 'trades and prices in equal parts',
      },
      {
        name: 'Market: catching up with the log',
        figure: `${Math.round(perSecond).toLocaleString('en-US')} events/s`,
        target: '≥ 10,000 events/s',
        pass: perSecond >= 10_000,
        note: `${wholeUs.toFixed(1)} µs of CPU time for each event, including the bus and the connections to Redis`,
      },
      {
        name: 'Market: CPU time of Redis while the follower catches up',
        figure: `${ofRedisUs.toFixed(1)} µs/event`,
        target: `≤ ${targetRedisUs} µs/event`,
        pass: ofRedisUs <= targetRedisUs,
        note: `${Math.round(perMint / 1024)} kB of memory for each mint with ${trades / mints} trades`,
      },
    ];
  } finally {
    await redis.stop();
  }
}

/** Batches of a hundred, as from the keeper. */
function measureOwn(all: readonly BusEntry[]): number {
  const log = all.map((entry, index) => logged(entry, index + 1));
  const pass = (): void => {
    const ledger = new MarketLedger(new Map(), new Map());
    for (let from = 0; from < log.length; from += 100) {
      const events = log.slice(from, from + 100).flatMap((entry) => readEvent(entry) ?? []);
      ledger.learn(ledger.unknown(events.flatMap(({ mint }) => mint ?? [])), new Map());
      changeArguments(ledger.take(events));
    }
  };
  pass();
  const cpu = process.cpuUsage();
  pass();
  const { user, system } = process.cpuUsage(cpu);
  return (user + system) / log.length;
}

function entries(): BusEntry[] {
  return Array.from({ length: trades }, (_, i) => {
    // Rank r has 1 / r as many as the first.
    const mint = addressOf(Math.floor(mints ** ((i * 0.618_033_988_749) % 1)));
    const slot = firstSlot + Math.floor(i / tradesPerSlot);
    const trade = { ...tradeOf({ mint, atS: startS + Math.floor(i / tradesPerSecond), price: ((i % 64) + 1) / 64 }), slot };
    const { poolAddress, pool, blockTime, ts } = trade;
    const ofTrade = [trade, { ...priceEvent(mint), poolAddress, pool, slot, blockTime, ts }].map((event) => entryOf(event));
    return i % tradesPerSlot === 0 ? [...ofTrade, verdictEntry({ alive: [slot - confirmedBehind], dead: [] })] : ofTrade;
  }).flat();
}

async function info(redis: TestRedis, field: string): Promise<number> {
  const found = new RegExp(`^${field}:([\\d.]+)`, 'm').exec(await redis.command('INFO'));
  return Number(found?.[1]);
}

async function redisCpuUs(redis: TestRedis): Promise<number> {
  return ((await info(redis, 'used_cpu_user')) + (await info(redis, 'used_cpu_sys'))) * 1_000_000;
}
