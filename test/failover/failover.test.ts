import { expect, it, onTestFinished } from 'vitest';
import { runChaos } from '../chaos/chaos-run.ts';
import { openChaosWorld, partNames } from '../chaos/chaos-world.ts';
import { failoverPlagues, userOf } from './failover-faults.ts';
import { startReplicas } from './redis-fleet.ts';

/** The short form. `pnpm test:failover [minutes] [seed]` runs for the requested time, also with a cluster. */
const seed = process.env['FAILOVER_SEED'] ?? '51377';

it('reports every loss and every duplicate while Redis fails over', { timeout: 900_000 }, async () => {
  const fleet = await startReplicas({ users: partNames.map(userOf) });
  onTestFinished(() => fleet.close());
  const redisUrlOf = (part: string): string => fleet.urlsOf(userOf(part)).join(',');
  const world = await openChaosWorld({ seed, tradesPerSecond: 40, redisUrlOf });
  onTestFinished(() => world.close());
  const printed: string[] = [];
  const { faults, silentGaps, duplicates, deliveries, done } = await runChaos(world, {
    seed,
    durationMs: 1_000,
    forgetfulMs: 4_000,
    clients: 8,
    readers: { processes: 1, each: 4 },
    plagues: failoverPlagues(fleet),
    print: (text) => printed.push(text),
  });
  process.stdout.write(`failover: seed ${seed}, ${printed.length} faults, ${deliveries} deliveries\n`);
  expect(faults, `seed ${seed}\n${printed.join('\n')}`).toEqual([]);
  expect([silentGaps, duplicates]).toEqual([0, 0]);
  expect(Object.keys(done).filter((name) => name.startsWith('Redis ')).length).toBeGreaterThan(1);
});
