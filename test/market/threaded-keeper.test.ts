import { setTimeout as delay } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it } from 'vitest';
import { beginKeeper, ThreadedKeeper } from '@sluice/ingest/market/threaded-keeper.ts';
import { createBus } from '@sluice/shared/bus/create.ts';
import { createMarket } from '@sluice/shared/market/create.ts';
import { silentLog } from '../contract/bus-harness.ts';
import { until } from '../support/gateway.ts';
import { startRedis } from '../support/servers/redis.ts';
import { addressOf, entryOf } from '../support/events/stream-events.ts';
import { someS, tradeOf } from './trades.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

const mint = addressOf(1);
const closeWithinMs = 1_000;
const waitMs = 60_000;

describe('the keeper in a thread', () => {
  async function start() {
    const redis = await startRedis();
    cleanups.push(() => redis.stop());
    const redisUrls = [redis.url];
    const bus = await createBus({ redisUrls, log: silentLog });
    cleanups.push(() => bus.close());
    const market = await createMarket({ redisUrls, log: silentLog });
    cleanups.push(() => market.close());
    const publisher = await bus.publisher();
    const threads: Worker[] = [];
    const keeper = new ThreadedKeeper({
      redisUrls,
      log: silentLog,
      begin: (settings) => {
        const thread = beginKeeper(settings);
        threads.push(thread);
        return thread;
      },
    });
    cleanups.push(() => keeper.close(closeWithinMs));
    let published = 0;
    return {
      keeper,
      threads,
      publish: async (trades: number) => {
        published += trades;
        await publisher.publish(Array.from({ length: trades }, () => entryOf(tradeOf({ mint, atS: someS }))));
      },
      /** Until everything that was published is counted, or more. */
      counted: async () => {
        const count = async (): Promise<number> => {
          const [hour] = await market.buckets(mint, '1h', 0, 0xffff_ffff, 10);
          return hour === undefined ? 0 : hour.buys + hour.sells;
        };
        // Each look reads all undecided trades, which would slow down the keeper if it were done all the time.
        const look = async (): Promise<boolean> => {
          await delay(250);
          return (await count()) >= published;
        };
        await until(`${published} trades`, look, waitMs);
        expect(await count()).toBe(published);
      },
    };
  }

  it('maintains the state, reports its progress, and releases the lease at its end', async () => {
    const { keeper, threads, publish, counted } = await start();
    await publish(100);
    await counted();
    await until('its word', () => keeper.stats.events === 100);
    expect(keeper.stats).toMatchObject({ keeps: true, waiting: 0, lostEntries: 0, failures: 0, restarts: 0 });
    const { batches } = keeper.stats;
    await keeper.close(closeWithinMs);
    expect(keeper.stats).toMatchObject({ keeps: false, events: 100, batches, restarts: 0 });
    expect(threads.length).toBe(1);
  });

  it('is started again if it dies while it works, and counts each trade once', async () => {
    const { keeper, threads, publish, counted } = await start();
    for (let deaths = 1; deaths <= 3; deaths++) {
      await until('a thread that keeps the state', () => keeper.stats.keeps, waitMs);
      const before = keeper.stats.events;
      // More than some batches, so that it dies between two, or within one.
      for (let part = 0; part < 4; part++) await publish(500);
      await until('it to be at work', () => keeper.stats.events > before, waitMs);
      await publish(500);
      await threads.at(-1)!.terminate();
      await until('the next thread', () => keeper.stats.restarts === deaths, waitMs);
      await publish(100);
    }
    await counted();
    await until('the last thread to be done', () => keeper.stats.keeps && keeper.stats.waiting === 0, waitMs);
    expect(threads.length).toBe(4);
    expect(keeper.stats).toMatchObject({ restarts: 3, lostEntries: 0 });
  });

  it('can be closed while it cannot start', async () => {
    const keeper = new ThreadedKeeper({ redisUrls: ['redis://127.0.0.1:1'], log: silentLog });
    await until('some tries', () => keeper.stats.restarts >= 2, waitMs);
    await keeper.close(closeWithinMs);
    expect(keeper.stats).toMatchObject({ keeps: false, events: 0 });
  });
});
