import { describe, expect, it, onTestFinished } from 'vitest';
import { runCrashes, type CrashReport, type Kill } from './crash-run.ts';
import { openCrashWorld, type StoreKind } from './crash-world.ts';
import type { Victim } from './gateway-process.ts';
import { steps, type StepName } from './steps.ts';

/** Kills over both stores; `pnpm test:crash` asks for more of them. */
const wanted = Number(process.env['CRASH_KILLS'] ?? 0);
const seed = Number(process.env['CRASH_SEED'] ?? 1);
const timeoutMs = 120_000 + wanted * 10_000;

const names = Object.keys(steps) as readonly StepName[];
/** What a signing process can be at. */
const victims: readonly Victim[] = ['gateway', 'both', 'signer'];

/** Every step in turn, each time with another victim, and now and then so late that the message is too old. */
function plan(count: number, offset: number): readonly Kill[] {
  return Array.from({ length: count }, (_, at) => {
    const turn = Math.floor(at / names.length) + offset;
    const step = names[at % names.length]!;
    const victim = victims[(turn + at) % victims.length]!;
    return { step, victim, late: (step === 'sending' || step === 'sent') && victim !== 'signer' && turn % 2 === 1 };
  });
}

function tell(kind: StoreKind, { kills, killed, orders, startsMs }: CrashReport): void {
  const sorted = startsMs.toSorted((a, b) => a - b);
  const median = Math.round(sorted[Math.floor(sorted.length / 2)] ?? 0);
  process.stdout.write(`${JSON.stringify({ store: kind, kills, killed, orders, starts: startsMs.length, medianStartMs: median })}\n`);
}

async function crash(kind: StoreKind, kills: readonly Kill[]): Promise<void> {
  const world = await openCrashWorld(kind);
  onTestFinished(() => world.close());
  const report = await runCrashes(world, kills, seed);
  if (wanted > 0) tell(kind, report);
  expect(report.faults).toEqual([]);
  const total = Object.values(report.kills).reduce((sum, count) => sum + count, 0);
  expect(total).toBe(kills.length);
  expect(report.orders.finalized).toBeGreaterThan(0);
}

describe('gateways and signing processes that are killed', { timeout: timeoutMs }, () => {
  it('over SQLite, end every order truly, with one message at most', async () => {
    await crash('SQLite', plan(wanted > 0 ? Math.ceil((wanted * 3) / 4) : names.length * 2, 0));
  });

  it.runIf(wanted > 0)('over PostgreSQL, end every order truly, with one message at most', async () => {
    await crash('PostgreSQL', plan(Math.ceil(wanted / 4), 1));
  });
});
