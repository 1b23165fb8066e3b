import { createLimiter } from '@sluice/gateway/ratelimit/shared-limiter.ts';
import { createBus } from '@sluice/shared/bus/create.ts';
import { createMarket } from '@sluice/shared/market/create.ts';
import { afterEach, expect, it } from 'vitest';
import { consumeMarket } from '../support/product/market-consumer.ts';
import { entries } from '../contract/bus-recorder.ts';
import { silentLog } from '../contract/bus-harness.ts';
import { candlesOf } from '../market/brute-force.ts';
import { someS, tradeOf } from '../market/trades.ts';
import { until } from '../support/gateway.ts';
import { isLevel } from '../support/servers/redis.ts';
import { addressOf, entryOf } from '../support/events/stream-events.ts';
import { startReplicas, type FleetNode, type RedisFleet } from './redis-fleet.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

type Trio = readonly [FleetNode, FleetNode, FleetNode];

async function open(): Promise<{ readonly fleet: RedisFleet; readonly nodes: Trio }> {
  const fleet = await startReplicas({ users: ['a', 'b'] });
  cleanups.push(() => fleet.close());
  return { fleet, nodes: fleet.nodes as unknown as Trio };
}

/** The primary dies, and a replica with all data takes its place. */
async function loseFirst([first, second, third]: Trio): Promise<void> {
  await until('the replica to have everything', () => isLevel(first.redis, second.redis));
  await first.redis.kill();
  await second.redis.command('REPLICAOF', 'NO', 'ONE');
  await third.redis.command('REPLICAOF', '127.0.0.1', String(second.port));
}

it('every trade counts once in the market, and every request of a key once, over a failover', async () => {
  const { fleet, nodes } = await open();
  const redisUrls = fleet.urlsOf('a');
  const bus = await createBus({ redisUrls, log: silentLog });
  cleanups.push(() => bus.close());
  const market = await createMarket({ redisUrls, log: silentLog });
  cleanups.push(() => market.close());
  const keeper = consumeMarket({ bus, market, log: silentLog });
  cleanups.push(() => keeper.close(1_000));
  const limiter = await createLimiter({ redisUrls, log: silentLog, gateways: () => 1 });
  cleanups.push(() => limiter.close());
  const quota = { perMinute: 1, burst: 5 };
  for (let at = 0; at < 5; at++) expect(await limiter.take('k', quota, 1)).toMatchObject({ admitted: true, counted: 'shared' });

  const mint = addressOf(3_000_000);
  const trades = Array.from({ length: 600 }, (_, i) => tradeOf({ mint, atS: someS + Math.floor(i / 20), price: ((i % 64) + 1) / 64 }));
  const publisher = await bus.publisher();
  const publish = async (from: number, to: number): Promise<void> => {
    for (let at = from; at < to; at += 10) await publisher.publish(trades.slice(at, at + 10).map((trade) => entryOf(trade)));
  };
  await publish(0, 300);
  await loseFirst(nodes);
  await publish(300, 600);
  await until('the market to have all', async () => (await market.checkpoint().catch(() => null))?.offset === 600);
  expect(await market.buckets(mint, '1s', 0, 0xffff_ffff, 100_000)).toEqual(candlesOf(trades, 1));
  const sharedAgain = async (): Promise<boolean> => (await limiter.take('other', quota, 0)).counted === 'shared';
  await until('counting together', sharedAgain);
  expect(await limiter.take('k', quota, 1)).toMatchObject({ admitted: false, counted: 'shared' });
});

it('both sides of a split brain lead independently, and only one leads afterwards', async () => {
  const { fleet, nodes } = await open();
  const [first, second, third] = nodes;
  const join = async (user: string) => {
    const bus = await createBus({ redisUrls: fleet.urlsOf(user), log: silentLog });
    cleanups.push(() => bus.close());
    return { bus, lease: bus.lease('ingest') };
  };
  const one = await join('a');
  await until('the lease', () => one.lease.held);
  const other = await join('b');
  await until('the other to see it', () => other.lease.holder === 'other');
  const publisher = await one.bus.publisher({ lease: one.lease });
  await publisher.publish(entries(3, 'a'));
  await until('the replica to have everything', () => isLevel(first.redis, second.redis));

  const heal = fleet.network.separate([first.name, 'a'], [second.name, third.name, 'b']);
  fleet.network.cut('b', first.name);
  await second.redis.command('REPLICAOF', 'NO', 'ONE');
  await until('the other to lead as well', () => other.lease.held);
  expect(one.lease.held).toBe(true);
  expect(other.lease.fence).toBeGreaterThan(one.lease.fence);
  await publisher.publish(entries(3, 'lost'));
  await (await other.bus.publisher({ lease: other.lease })).publish(entries(1, 'b'));

  heal();
  for (const node of [first, third]) await node.redis.command('REPLICAOF', '127.0.0.1', String(second.port));
  // The new primary does not know the lease that it led with.
  await expect(publisher.publish(entries(1, 'never'))).rejects.toMatchObject({ code: 'FENCED' });
  await until('one to follow', () => one.lease.holder === 'other' && !one.lease.held);
  expect(other.lease.held).toBe(true);
  const texts = (await other.bus.tail(100)).map((entry) => Buffer.from(entry.record).toString('latin1'));
  expect(texts).not.toContain('never0');
});
