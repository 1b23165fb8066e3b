import { describe, expect, it, onTestFinished } from 'vitest';
import { runCrashes, type CrashReport, type Kill } from './crash-run.ts';
import { openCrashWorld, type StoreKind } from './crash-world.ts';
import type { Victim } from './gateway-process.ts';
import { steps, type StepName } from './steps.ts';
import { ways } from './wishes.ts';

/** Kills over both stores; `pnpm test:crash` asks for more of them. */
const wanted = Number(process.env['CRASH_KILLS'] ?? 0);
const seed = Number(process.env['CRASH_SEED'] ?? 1);
const timeoutMs = 300_000 + wanted * 10_000;

const names = Object.keys(steps) as readonly StepName[];
const victims: readonly Victim[] = ['gateway', 'both', 'signer'];

/** Orders at many steps at once; what keeps a gateway from going on comes last. */
const together: readonly (readonly StepName[])[] = [
  ['failing', 'confirmed', 'processed', 'answered', 'sent', 'sending', 'storing'],
  ['anywhere', 'quoting', 'arriving', 'simulating', 'simulated', 'signing'],
  ['recovering', 'anywhere', 'inserting'],
];

/** Few starts of gateways, which cost the most: six die with several orders each, and eighteen signing processes with one each. */
function shortPlan(): readonly Kill[] {
  const ends = (['gateway', 'both'] as const).flatMap((victim) =>
    together.map((standing): Kill => ({ steps: standing, victim, late: victim === 'both' && standing.includes('sending') })),
  );
  const alone: readonly StepName[] = [...names, 'quoting', 'signing', 'anywhere'];
  return [...ends, ...alone.map((step): Kill => ({ steps: [step], victim: 'signer', late: false }))];
}

/** Every step in turn, each time with another victim, and now and then so late that the message is too old; of moments at random, three orders. */
function longPlan(count: number, offset: number): readonly Kill[] {
  return Array.from({ length: count }, (_, at) => {
    const turn = Math.floor(at / names.length) + offset;
    const step = names[at % names.length]!;
    const victim = victims[(turn + at) % victims.length]!;
    const late = (step === 'sending' || step === 'sent') && victim !== 'signer' && turn % 2 === 1;
    return { steps: step === 'anywhere' ? [step, step, step] : [step], victim, late };
  });
}

function tell(kind: StoreKind, kills: number, { cutOff, killed, orders, ways: byWay, startsMs }: CrashReport): void {
  const sorted = startsMs.toSorted((a, b) => a - b);
  const medianStartMs = Math.round(sorted[Math.floor(sorted.length / 2)] ?? 0);
  process.stdout.write(
    `${JSON.stringify({ store: kind, kills, killed, cutOff, orders, ways: byWay, starts: startsMs.length, medianStartMs })}\n`,
  );
}

async function crash(kind: StoreKind, kills: readonly Kill[]): Promise<void> {
  const world = await openCrashWorld(kind);
  onTestFinished(() => world.close());
  const report = await runCrashes(world, kills, seed);
  if (wanted > 0) tell(kind, kills.length, report);
  expect(report.faults).toEqual([]);
  for (const step of names) expect(report.cutOff[step], step).toBeGreaterThanOrEqual(2);
  for (const way of ways) expect(report.ways[way], way).toBeGreaterThanOrEqual(3);
  expect(report.orders.finalized).toBeGreaterThan(0);
}

describe('gateways and signing processes that are killed', { timeout: timeoutMs }, () => {
  it('over SQLite, end every order correctly, with at most one message', async () => {
    await crash('SQLite', wanted > 0 ? longPlan(Math.ceil((wanted * 3) / 4), 0) : shortPlan());
  });

  it.runIf(wanted > 0)('over PostgreSQL, end every order truly, with one message at most', async () => {
    await crash('PostgreSQL', longPlan(Math.ceil(wanted / 4), 1));
  });
});
