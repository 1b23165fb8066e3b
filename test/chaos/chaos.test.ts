import { expect, it, onTestFinished } from 'vitest';
import { runChaos } from './chaos-run.ts';
import { openChaosWorld } from './chaos-world.ts';

/** Another one each time; `CHAOS_SEED` brings one back, as does `pnpm test:chaos [minutes] [seed]` for longer. */
const seed = process.env['CHAOS_SEED'] ?? String(Math.floor(Math.random() * 1_000_000));
const durationMs = 26_000;
const forgetfulMs = 6_000;

it('loses and doubles nothing in silence, whatever dies, stalls or is cut', { timeout: 240_000 }, async () => {
  const world = await openChaosWorld({ seed, tradesPerSecond: 60 });
  onTestFinished(() => world.close());
  const told: string[] = [];
  const report = await runChaos(world, {
    seed,
    durationMs,
    forgetfulMs,
    clients: 12,
    readers: { processes: 1, each: 10 },
    tell: (text) => told.push(text),
  });
  const { faults, gapsTold, resumes, deliveries, retractions } = report;
  process.stdout.write(`chaos: seed ${seed}, ${told.length} faults, ${resumes} resumes, ${deliveries} deliveries\n`);
  expect(faults, `seed ${seed}\n${told.join('\n')}`).toEqual([]);
  expect([report.silentGaps, report.duplicates]).toEqual([0, 0]);
  expect(resumes).toBeGreaterThan(5);
  expect(retractions).toBeGreaterThan(5);
  // Told where Redis forgot, and nowhere else: that would be a fault.
  expect(Object.keys(gapsTold)).toEqual(['epoch']);
});
