import { afterEach, expect, it } from 'vitest';
import { judgeRedis, redisSettings } from '../../cli/commands/doctor/redis-settings.ts';
import { inspectRedis } from '@sluice/shared/bus/redis/redis-inspect.ts';
import { startRedis } from '../support/servers/redis.ts';
import { startReplicas, type RedisFleet } from './redis-fleet.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function open(args: readonly string[]): Promise<RedisFleet> {
  const fleet = await startReplicas({ users: ['doctor'], args });
  cleanups.push(() => fleet.close());
  return fleet;
}

const judged = async (urls: readonly string[]): Promise<string[]> =>
  judgeRedis(await inspectRedis(urls, redisSettings)).map(({ state, detail }) => `${state} ${detail.replace(/^127\.0\.0\.1:\d+: /, '')}`);

/** As OPERATING.md says. */
const advised =
  '--min-replicas-to-write 1 --min-replicas-max-lag 10 --repl-backlog-size 256mb --appendfsync everysec --client-output-buffer-limit'
    .split(' ')
    .concat('pubsub 256mb 64mb 60');

it('reports each setting that makes an outage of Redis costly, and none that follows the advice', async () => {
  const plain = await startRedis({ args: ['--maxmemory-policy', 'allkeys-lru'] });
  cleanups.push(() => plain.stop());
  const single = await judged([plain.url]);
  expect(single.map((line) => /^warn (\S+)/.exec(line)?.[1])).toEqual(['maxmemory-policy', 'appendonly', 'client-output-buffer-limit']);
  const careless = await open([]);
  const urls = careless.nodes.map(({ redis }) => redis.url);
  const loose = await judged(urls);
  for (const setting of ['min-replicas-to-write is 0', 'repl-backlog-size', 'client-output-buffer-limit'])
    expect(
      loose.some((line) => line.includes(setting)),
      setting,
    ).toBe(true);

  const careful = await open(advised);
  const addresses = careful.nodes.map(({ redis }) => redis.url);
  expect(await judged(addresses)).toEqual(['ok 3 servers, set up as OPERATING.md recommends']);
  // A user that may not read the settings gets a warning that says so, and no confirmation.
  expect((await judged(careful.urlsOf('doctor'))).every((line) => line.includes('this user may not read the settings'))).toBe(true);
  await careful.nodes[2]!.redis.command('REPLICAOF', 'NO', 'ONE');
  const split = await judged(addresses);
  expect(split.some((line) => line.startsWith('fail') && line.includes('split brain'))).toBe(true);
  await careful.nodes[1]!.redis.kill();
  expect((await judged(addresses)).some((line) => line.includes('does not answer'))).toBe(true);
});
