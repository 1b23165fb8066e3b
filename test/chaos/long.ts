import { installMissing } from '../support/install.ts';
import { runChaos } from './chaos-run.ts';
import { openChaosWorld } from './chaos-world.ts';

/** `pnpm test:chaos [minutes] [seed]`: the chaos test for as long as wanted, told step by step. */
const [minutesText = '10', seed = String(Date.now() % 1_000_000)] = process.argv.slice(2).filter((arg) => arg !== '--');
const minutes = Number(minutesText);
/** Beyond the time asked for: start, rest and judgement. Then it ends whatever is the matter. */
const graceMs = 5 * 60_000;
const tell = (text: string): void => void process.stdout.write(`${text}\n`);

async function main(): Promise<boolean> {
  if (!(minutes > 0 && minutes <= 24 * 60)) {
    tell('test:chaos [minutes, at most 1440] [seed]');
    return false;
  }
  const missing = await installMissing(new URL('..', import.meta.url).pathname, tell);
  for (const fault of missing) tell(fault);
  if (missing.length > 0) return false;
  tell(`chaos for ${minutes} minutes, seed ${seed}`);
  const world = await openChaosWorld({ seed, tradesPerSecond: 200 });
  const late = setTimeout(
    () => {
      tell('1 failed: it did not come to its end in time');
      void world.close().finally(() => process.exit(1));
    },
    minutes * 60_000 + graceMs,
  );
  try {
    const { faults, ...report } = await runChaos(world, { seed, durationMs: minutes * 60_000, clients: 60, tell });
    tell(JSON.stringify({ seed, ...report }));
    for (const fault of faults) tell(`  ${fault}`);
    const gaps = Object.keys(report.gaps).length;
    tell(`${faults.length} faults, ${gaps === 0 ? 'no gaps' : 'gaps'}, ${report.deliveries} deliveries, seed ${seed}`);
    return faults.length === 0 && gaps === 0;
  } finally {
    clearTimeout(late);
    await world.close();
  }
}

process.exitCode = (await main()) ? 0 : 1;
