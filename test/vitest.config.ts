import { defineConfig } from 'vitest/config';

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
