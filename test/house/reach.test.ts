import { describe, expect, it } from 'vitest';
import { dependencyFaults } from './reach.ts';

const declared = new Map([
  ['.', new Set(['ws', '@sluice/simnet'])],
  ['shared', new Set(['pino'])],
  ['test/simnet', new Set(['@sluice/shared'])],
]);

function faults(path: string, specifier: string): readonly string[] {
  return dependencyFaults([{ path, text: `import { a } from '${specifier}';` }], declared);
}

describe('the dependencies of the product', () => {
  it.each([
    ['shared/src/a.ts', 'ws'],
    ['test/simnet/a.ts', 'ws'],
    ['test/simnet/a.ts', '@sluice/gateway/http/run-endpoint.ts'],
    ['cli/start.ts', 'vitest'],
    ['compile/compile.mjs', 'esbuild'],
    ['test/support/servers/redis.ts', './processes.ts'],
  ])('refuse %s importing %s', (path, specifier) => {
    expect(faults(path, specifier)).toHaveLength(1);
  });

  it.each([
    ['shared/src/a.ts', 'pino'],
    ['shared/src/a.ts', 'node:fs'],
    ['cli/start.ts', '@sluice/simnet/simnet.ts'],
    ['test/simnet/a.ts', '@sluice/shared/runtime/log/log.ts'],
    ['test/simnet/a.ts', './chain.ts'],
  ])('allow %s importing %s', (path, specifier) => {
    expect(faults(path, specifier)).toEqual([]);
  });
});
