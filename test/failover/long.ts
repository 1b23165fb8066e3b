import { runChaos } from '../chaos/chaos-run.ts';
import { openChaosWorld, partNames } from '../chaos/chaos-world.ts';
import { installMissing } from '../support/install.ts';
import { failoverPlagues, userOf } from './failover-faults.ts';
import { startCluster, startReplicas } from './redis-fleet.ts';

/** `pnpm test:failover [minutes] [seed]`: Redis fails over for as long as asked for, half of the time a cluster, then a primary with two replicas. */
const [minutesText = '10', seed = String(Date.now() % 1_000_000)] = process.argv.slice(2).filter((arg) => arg !== '--');
const minutes = Number(minutesText);
const maxMinutes = 240;
/** Of the time asked for: nothing may be lost in it. */
const keepingShare = 0.4;
const tradesPerSecond = 100;
const clients = 12;
const readers = { processes: 1, each: 40 };
/** Beyond the time asked for: two starts, rests and judgements. Then it ends whatever is the matter. */
const graceMs = 8 * 60_000;
const tell = (text: string): void => void process.stdout.write(`${text}\n`);

async function run(start: typeof startCluster): Promise<boolean> {
  const fleet = await start({ users: partNames.map(userOf) });
  try {
    const redisUrlOf = (part: string): string => fleet.urlsOf(userOf(part)).join(',');
    const world = await openChaosWorld({ seed, tradesPerSecond, redisUrlOf });
    try {
      const eachMs = minutes * 30_000;
      const { faults, ...report } = await runChaos(world, {
        seed,
        clients,
        readers,
        tell,
        plagues: failoverPlagues(fleet),
        durationMs: eachMs * keepingShare,
        forgetfulMs: eachMs * (1 - keepingShare),
      });
      tell(JSON.stringify({ seed, kind: fleet.kind, ...report }));
      for (const fault of faults) tell(`  ${fault}`);
      const { silentGaps, duplicates, deliveries } = report;
      tell(
        `${fleet.kind}: ${deliveries} deliveries, ${silentGaps} silent gaps, ${duplicates} duplicates, ${faults.length} findings, seed ${seed}`,
      );
      return faults.length === 0;
    } finally {
      await world.close();
    }
  } finally {
    await fleet.close();
  }
}

async function main(): Promise<boolean> {
  if (!(minutes > 0 && minutes <= maxMinutes)) {
    tell(`test:failover [minutes, at most ${maxMinutes}] [seed]`);
    return false;
  }
  const missing = await installMissing(new URL('..', import.meta.url).pathname, tell);
  for (const fault of missing) tell(fault);
  if (missing.length > 0) return false;
  tell(`failover for ${minutes} minutes, seed ${seed}`);
  // What it started ends with it: every Redis has a watcher that outlives this process.
  const late = setTimeout(
    () => {
      tell('1 failed: it did not come to its end in time');
      process.exit(1);
    },
    minutes * 60_000 + graceMs,
  );
  try {
    let isWell = true;
    for (const start of [startCluster, startReplicas]) isWell = (await run(start)) && isWell;
    return isWell;
  } finally {
    clearTimeout(late);
  }
}

process.exitCode = (await main()) ? 0 : 1;
