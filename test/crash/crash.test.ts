import { describe, expect, it, onTestFinished } from 'vitest';
import { runCrashes, type CrashReport, type Kill } from './crash-run.ts';
import { openCrashWorld, type StoreKind } from './crash-world.ts';
import type { Victim } from './gateway-process.ts';
import { steps, type StepName } from './steps.ts';
import { ways } from './wishes.ts';

/** Kills with both stores; `pnpm test:crash` requests more of them. */
const requestedKills = Number(process.env['CRASH_KILLS'] ?? 0);
const seed = Number(process.env['CRASH_SEED'] ?? 1);
const timeoutMs = 1_200_000 + requestedKills * 10_000;

const names = Object.keys(steps) as readonly StepName[];
const victims: readonly Victim[] = ['gateway', 'both', 'signer'];

/** Orders at many steps at once; the steps that stop a gateway come last. */
const together: readonly (readonly StepName[])[] = [
  ['failing', 'confirmed', 'processed', 'answered', 'sent', 'sending', 'storing'],
  ['anywhere', 'quoting', 'arriving', 'simulating', 'simulated', 'signing'],
  ['recovering', 'anywhere', 'inserting'],
];

/**
 * Starts of gateways cost the most, so there are few: four gateways die with several orders each, and eighteen signing processes with one
 * each.
 */
function shortPlan(): readonly Kill[] {
  const [moving, waiting, recovering] = together as [readonly StepName[], readonly StepName[], readonly StepName[]];
  const ends: readonly Kill[] = [
    { steps: moving, victim: 'gateway', late: false },
    { steps: moving, victim: 'both', late: true },
    { steps: waiting, victim: 'gateway', late: false },
    { steps: recovering, victim: 'both', late: false },
  ];
  const alone: readonly StepName[] = [...names, 'quoting', 'signing', 'anywhere'];
  return [...ends, ...alone.map((step): Kill => ({ steps: [step], victim: 'signer', late: false }))];
}

/**
 * Every step in turn, each time with another victim, and sometimes so late that the message has expired; for random moments, three orders.
 */
function longPlan(count: number, offset: number): readonly Kill[] {
  return Array.from({ length: count }, (_, at) => {
    const turn = Math.floor(at / names.length) + offset;
    const step = names[at % names.length]!;
    const victim = victims[(turn + at) % victims.length]!;
    const late = (step === 'sending' || step === 'sent') && victim !== 'signer' && turn % 2 === 1;
    return { steps: step === 'anywhere' ? [step, step, step] : [step], victim, late };
  });
}

function print(kind: StoreKind, kills: number, { cutOff, killed, orders, ways: byWay, startsMs }: CrashReport): void {
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
  if (requestedKills > 0) print(kind, kills.length, report);
  expect(report.faults).toEqual([]);
  for (const step of names) expect(report.cutOff[step], step).toBeGreaterThanOrEqual(2);
  for (const way of ways) expect(report.ways[way], way).toBeGreaterThanOrEqual(3);
  expect(report.orders.finalized).toBeGreaterThan(0);
}

describe('gateways and signing processes that are killed', { timeout: timeoutMs }, () => {
  it('over SQLite, end every order correctly, with at most one message', async () => {
    await crash('SQLite', requestedKills > 0 ? longPlan(Math.ceil((requestedKills * 3) / 4), 0) : shortPlan());
  });

  it.runIf(requestedKills > 0)('over PostgreSQL, end every order correctly, with at most one message', async () => {
    await crash('PostgreSQL', longPlan(Math.ceil(requestedKills / 4), 1));
  });
});
