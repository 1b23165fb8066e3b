import { expect, it } from 'vitest';
import { mostRepeated, repeatFailed } from '../support/suites/repeat-failed.ts';
import type { SuiteReport, SuitesReport } from '../support/suites/reporter.ts';

const suite = (name: string, passed: number, ...errors: readonly string[]): SuiteReport => ({
  suite: `${name}.test.ts`,
  passed,
  skipped: 1,
  failures: errors.map((error) => ({ title: `${name}.test.ts > a test`, error })),
});
const run = (...suites: readonly SuiteReport[]): SuitesReport => ({ suites, unassigned: [] });

it('counts the second run of a suite that passes alone, and names what failed before', async () => {
  const repeated: string[] = [];
  const result = await repeatFailed(run(suite('a', 4), suite('b', 2, 'late'), suite('c', 1, 'wrong')), (name) => {
    repeated.push(name);
    return Promise.resolve(run(name === 'b.test.ts' ? suite('b', 3) : suite('c', 1, 'wrong again')));
  });
  expect(repeated).toEqual(['b.test.ts', 'c.test.ts']);
  expect(result).toEqual({ passed: 8, failed: 1, skipped: 3, lines: ['flaky: b.test.ts > a test: late'] });
});

it('still fails if a suite runs no test the second time, or an error belongs to no suite', async () => {
  const first = { ...run(suite('a', 0, 'not loaded')), unassigned: [{ title: 'outside every suite', error: 'broke' }] };
  const result = await repeatFailed(first, () => Promise.resolve(run(suite('a', 0))));
  expect(result).toMatchObject({ passed: 0, failed: 2, lines: ['failed: outside every suite: broke'] });
});

it('repeats nothing if many suites failed', async () => {
  const many = Array.from({ length: mostRepeated + 1 }, (_, index) => suite(`s${index}`, 0, 'no Redis'));
  const result = await repeatFailed(run(...many), () => expect.unreachable());
  expect(result.failed).toBe(mostRepeated + 1);
});
