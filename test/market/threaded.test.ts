import { setTimeout as delay } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it } from 'vitest';
import { beginFollowers, ThreadedFollowers } from '../../followers/src/threaded.ts';
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

describe('the followers in a thread', () => {
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
    const followers = new ThreadedFollowers({
      redisUrls,
      log: silentLog,
      begin: (settings) => {
        const thread = beginFollowers(settings);
        threads.push(thread);
        return thread;
      },
    });
    cleanups.push(() => followers.close(closeWithinMs));
    let published = 0;
    return {
      followers,
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
        // Each look reads all undecided trades, which would slow down the followers if it were done all the time.
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
    const { followers, threads, publish, counted } = await start();
    await publish(100);
    await counted();
    await until('its word', () => followers.stats.market.events === 100);
    expect(followers.stats).toMatchObject({
      market: { keeps: true, waiting: 0, lostEntries: 0, failures: 0 },
      pools: { keeps: true },
      restarts: 0,
    });
    const { batches } = followers.stats.market;
    await followers.close(closeWithinMs);
    expect(followers.stats).toMatchObject({ market: { keeps: false, events: 100, batches }, pools: { keeps: false }, restarts: 0 });
    expect(threads.length).toBe(1);
  });

  it('is started again if it dies while it works, and counts each trade once', async () => {
    const { followers, threads, publish, counted } = await start();
    for (let deaths = 1; deaths <= 3; deaths++) {
      await until('a thread that keeps the state', () => followers.stats.market.keeps, waitMs);
      const before = followers.stats.market.events;
      // More than some batches, so that it dies between two, or within one.
      for (let part = 0; part < 4; part++) await publish(500);
      await until('it to be at work', () => followers.stats.market.events > before, waitMs);
      await publish(500);
      await threads.at(-1)!.terminate();
      await until('the next thread', () => followers.stats.restarts === deaths, waitMs);
      await publish(100);
    }
    await counted();
    await until('the last thread to be done', () => followers.stats.market.keeps && followers.stats.market.waiting === 0, waitMs);
    expect(threads.length).toBe(4);
    expect(followers.stats).toMatchObject({ restarts: 3, market: { lostEntries: 0 } });
  });

  it('can be closed while it cannot start', async () => {
    const followers = new ThreadedFollowers({ redisUrls: ['redis://127.0.0.1:1'], log: silentLog });
    await until('some tries', () => followers.stats.restarts >= 2, waitMs);
    await followers.close(closeWithinMs);
    expect(followers.stats.market).toMatchObject({ keeps: false, events: 0 });
  });
});
