import { expect, it } from 'vitest';
import { runLiars } from './liars-run.ts';

/** The same lies each time. `pnpm test:liars [minutes] [seed]` sends others, for longer. */
const seed = process.env['LIARS_SEED'] ?? '13';
/** Next to other suites, on a busy machine; the command allows less. */
const loadFactor = 10;

it.concurrent.each([
  [3, 7_000],
  [2, 4_000],
])(
  'if one endpoint of %i lies, everything reported about orders and prices is true',
  { timeout: 180_000 },
  async (endpoints, durationMs) => {
    const printed: string[] = [];
    const print = (text: string): void => void printed.push(text);
    const { faults, ...report } = await runLiars({
      seed,
      endpoints,
      durationMs,
      wallets: 2,
      lieMs: 600,
      maxAnswerMs: loadFactor * 1_000,
      maxFiringMs: loadFactor * 6_000,
      print,
    });
    process.stdout.write(`liars: ${JSON.stringify(report)}\n`);
    expect(faults, printed.join('\n')).toEqual([]);
    expect(report.reads).toBeGreaterThan(0);
    expect(report.confirmed).toBeGreaterThan(0);
    expect(report.baits).toBeGreaterThan(0);
    if (endpoints === 2) return;
    expect(report.orders).toBeGreaterThan(0);
  },
);
