import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { compileModules } from './loader/compile.ts';
import { fuzzMs } from './support/fuzz.ts';
import { SuiteReporter } from './support/suites/reporter.ts';

// What the tests start, signing processes and threads too, is the compiled product.
const { status } = spawnSync(process.execPath, [join(import.meta.dirname, '../run.mjs'), 'build'], { stdio: 'inherit' });
if (status !== 0) throw new Error('The project cannot be compiled.');

/** Suites that take longer than 18 seconds or mostly wait, longest first. */
const slow = [
  'e2e/dashboard-pages',
  'chaos/chaos',
  'ingest/continuity',
  'liars/liars',
  'e2e/ingest-takeover',
  'crash/crash',
  'orders/trading-role',
  'e2e/trading-guide',
  'e2e/dashboard',
  'contract/store',
  'e2e/trade-errors',
  'orders/send/follower',
  'e2e/pumpportal-trade',
  'failover/bus-failover',
  'e2e/trade',
  'failover/failover',
  'cli/start',
  'orders/state/hot-state',
  'signer/canaries',
  'contract/orders',
  'conformance/candles',
  'e2e/start',
  'e2e/dashboard-gateways',
  'e2e/dashboard-ages',
  'e2e/dashboard-quotes',
  'orders/send/threaded-follower',
  'signer/halt',
  'orders/send/at-most-once',
  'contract/bus-cluster',
  'conformance/http-slow',
  'conformance/header-names',
];

/**
 * Spreads the slow suites over the first three quarters of the run. They mostly wait. If they all ran at the same time,
 * both cores would be idle. If one started last, it would run alone at the end.
 */
class SpreadSlow extends BaseSequencer {
  override async sort(specifications: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(specifications);
    const rankOf = ({ moduleId }: TestSpecification): number => slow.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`));
    const slowest = sorted.filter((file) => rankOf(file) !== -1).toSorted((a, b) => rankOf(a) - rankOf(b));
    const others = sorted.filter((file) => rankOf(file) === -1);
    const every = Math.floor((others.length * 0.75) / slowest.length);
    for (const [index, file] of slowest.entries()) others.splice(index * (every + 1), 0, file);
    return others;
  }
}

export default defineConfig({
  test: {
    // Many files share a process, which loads each module once. It saves a third of the processor time. Each suite closes what it opens.
    isolate: false,
    testTimeout: fuzzMs(120_000),
    hookTimeout: 120_000,
    // Most suites wait for a chain or a process: five at once keep two cores busy.
    maxWorkers: 5,
    // Concurrent tests of one file. These tests wait for a chain, not for the processor.
    maxConcurrency: 10,
    pool: 'forks',
    // Node.js itself evaluates the modules: it loads and runs them faster than Vitest does. There is no `vi.mock`.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // The tests create many short-lived objects. With a larger young generation of the heap, they need 8 % less processor time.
    execArgv: ['--max-semi-space-size=64', '--import', await compileModules(join(import.meta.dirname, '..'))],
    reporters: ['default', new SuiteReporter()],
    sequence: { sequencer: SpreadSlow },
  },
});
