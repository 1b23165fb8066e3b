import { expect, it } from 'vitest';
import { fixturesNote } from '../golden/fixtures.ts';
import { Cases } from './cases.ts';
import { readSeeds } from './seeds.ts';

const cases = 20_000;

it(
  `${cases} mutated inputs of all decoders (seeds: ${fixturesNote}): no exception; test:fuzz runs a million with a watchdog`,
  { timeout: 120_000 },
  async () => {
    const all = new Cases(await readSeeds(), 1);
    const found: Record<string, number> = {};
    for (let at = 0; at < cases; at++) {
      const { kind, became } = all.run(at);
      found[`${kind} ${became}`] = (found[`${kind} ${became}`] ?? 0) + 1;
    }
    for (const one of [
      'transaction read',
      'log frame',
      'record decoded',
      'record malformed',
      'account decoded',
      'pool of meteora-damm-v2 refused',
      'update transaction',
      'block read',
    ]) {
      expect(found[one], one).toBeGreaterThan(10);
    }
  },
);
