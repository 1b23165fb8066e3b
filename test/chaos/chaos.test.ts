import { expect, it, onTestFinished } from 'vitest';
import { runChaos } from './chaos-run.ts';
import { openChaosWorld } from './chaos-world.ts';

/** Another one each time; `CHAOS_SEED` brings one back, as does `pnpm test:chaos [minutes] [seed]` for longer. */
const seed = process.env['CHAOS_SEED'] ?? String(Math.floor(Math.random() * 1_000_000));
const durationMs = 45_000;

it('loses and doubles nothing in silence, whatever dies, stalls or is cut', { timeout: 240_000 }, async () => {
  const world = await openChaosWorld({ seed, tradesPerSecond: 60 });
  onTestFinished(() => world.close());
  const told: string[] = [];
  const { faults, gaps, resumes } = await runChaos(world, { seed, durationMs, clients: 12, tell: (text) => told.push(text) });
  process.stdout.write(`chaos: seed ${seed}, ${told.length} faults, ${resumes} resumes\n`);
  expect(faults, `seed ${seed}\n${told.join('\n')}`).toEqual([]);
  // With the log on the disk before an answer, nothing is ever gone.
  expect(gaps, `seed ${seed}`).toEqual({});
  expect(resumes).toBeGreaterThan(5);
});
