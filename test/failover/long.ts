import { runChaos } from '../chaos/chaos-run.ts';
import { openChaosWorld, partNames } from '../chaos/chaos-world.ts';
import { installMissing } from '../support/product/install.ts';
import { failoverPlagues, userOf } from './failover-faults.ts';
import { startCluster, startReplicas } from './redis-fleet.ts';

/**
 * `pnpm test:failover [minutes] [seed]`: Redis fails over for the requested time, half of it with a cluster, then with a primary and two
 * replicas.
 */
const [minutesText = '10', seed = String(Date.now() % 1_000_000)] = process.argv.slice(2).filter((arg) => arg !== '--');
const minutes = Number(minutesText);
const maxMinutes = 240;
/** This share of the requested time comes first; nothing may be lost in it. */
const keepingShare = 0.4;
const tradesPerSecond = 100;
const clients = 12;
const readers = { processes: 1, each: 40 };
/** Additional time for two starts, pauses and checks. After it the run ends in any case. */
const graceMs = 20 * 60_000;
const print = (text: string): void => void process.stdout.write(`${text}\n`);

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
        print,
        plagues: failoverPlagues(fleet),
        durationMs: eachMs * keepingShare,
        forgetfulMs: eachMs * (1 - keepingShare),
      });
      print(JSON.stringify({ seed, kind: fleet.kind, ...report }));
      for (const fault of faults) print(`  ${fault}`);
      const { silentGaps, duplicates, deliveries } = report;
      print(
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
    print(`test:failover [minutes, at most ${maxMinutes}] [seed]`);
    return false;
  }
  const missing = await installMissing(print);
  for (const fault of missing) print(fault);
  if (missing.length > 0) return false;
  print(`failover for ${minutes} minutes, seed ${seed}`);
  // Everything that it started ends with it: every Redis has a watcher that outlives this process.
  const late = setTimeout(
    () => {
      print('1 failed: it did not end in time');
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
