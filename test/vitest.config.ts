import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

// What the tests start, signing processes and threads too, is the compiled product.
const { status } = spawnSync(process.execPath, [join(import.meta.dirname, '../run.mjs'), 'build'], { stdio: 'inherit' });
if (status !== 0) throw new Error('The project cannot be compiled.');

export default defineConfig({
  test: {
    include: ['**/*.test.ts'],
    exclude: ['**/node_modules/**'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Suites start servers and a Redis of their own; two files at once is what two cores carry.
    maxWorkers: 2,
    // Of tests that wait for a chain, not for the processor.
    maxConcurrency: 10,
    pool: 'forks',
  },
});
