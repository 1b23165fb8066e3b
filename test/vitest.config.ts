import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

// What the tests start, signing processes and threads too, is the compiled product.
const { status } = spawnSync(process.execPath, [join(import.meta.dirname, '../run.mjs'), 'build'], { stdio: 'inherit' });
if (status !== 0) throw new Error('The project cannot be compiled.');

/** Suites that leave nothing behind in their process: they share it, which saves a third of their processor time. */
const sharing = [
  'accounts',
  'auth',
  'cli',
  'collections',
  'config',
  'conformance',
  'contract',
  'custody',
  'docs',
  'e2e',
  'failover',
  'golden',
  'house',
  'ingest',
  'market',
  'metadata',
  'orders',
  'property',
  'reads',
  'signer',
  'simnet',
];
const files = sharing.map((folder) => `${folder}/**/*.test.ts`);

export default defineConfig({
  test: {
    projects: [
      { extends: true, test: { name: 'own process', include: ['**/*.test.ts'], exclude: ['**/node_modules/**', ...files] } },
      { extends: true, test: { name: 'shared process', include: files, exclude: ['**/node_modules/**'], isolate: false } },
    ],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Most suites wait for a chain or a process: four at once keep two cores busy. Five are slower.
    maxWorkers: 4,
    // Of tests that wait for a chain, not for the processor.
    maxConcurrency: 10,
    pool: 'forks',
  },
});
