import { expect, it, onTestFinished } from 'vitest';
import { openCrashWorld } from '../crash-world.ts';
import { moments, type MomentName } from './moments.ts';
import { runTriggerCrashes, type Death, type TriggerKill } from './triggers-run.ts';

/** `pnpm test:crash` requests more kills. A long run may be made in parts: each `CRASH_SEED` chooses other moments. */
const requestedKills = Number(process.env['CRASH_KILLS'] ?? 0);
const seed = Number(process.env['CRASH_SEED'] ?? 1);
const timeoutMs = 900_000 + requestedKills * 20_000;

const names = Object.keys(moments) as readonly MomentName[];
const deaths: readonly Death[] = ['gateway', 'both', 'frozen', 'all', 'signer'];
const shortPlan: readonly TriggerKill[] = [
  { moment: 'sent', death: 'gateway' },
  { moment: 'armed', death: 'all' },
  { moment: 'sending', death: 'frozen' },
  { moment: 'children', death: 'both' },
  { moment: 'simulated', death: 'signer' },
  { moment: 'anywhere', death: 'gateway' },
];

/** Every moment in turn, each time with another death. */
function longPlan(count: number): readonly TriggerKill[] {
  return Array.from({ length: count }, (_, at) => {
    const turn = Math.floor(at / names.length) + seed;
    return { moment: names[at % names.length]!, death: deaths[(turn + at) % deaths.length]! };
  });
}

it('if gateways die around firings, each firing has one order, and no trigger is forgotten', { timeout: timeoutMs }, async () => {
  const world = await openCrashWorld('SQLite', { ingest: true });
  onTestFinished(() => world.close());
  const printed: string[] = [];
  const print = (text: string): void => {
    printed.push(text);
    if (requestedKills > 0) process.stdout.write(`${text}\n`);
  };
  const { faults, ...report } = await runTriggerCrashes(world, requestedKills > 0 ? longPlan(requestedKills) : shortPlan, seed, print);
  print(JSON.stringify(report));
  expect(faults, printed.join('\n')).toEqual([]);
  expect(report.ended['fired']).toBeGreaterThan(report.kills * 5);
});
