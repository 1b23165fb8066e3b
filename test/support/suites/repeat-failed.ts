import type { SuiteReport, SuitesReport } from './reporter.ts';

export interface Count {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** If more suites failed, they have a common cause. A second run of each would only take time. */
export const mostRepeated = 10;

/**
 * Runs each failed suite once more. If it passes then, the result of its second run counts, and `lines` names the failures of the first as
 * flaky. Errors that belong to no suite remain failures.
 */
export async function repeatFailed(
  first: SuitesReport,
  runAlone: (suite: string) => Promise<SuitesReport>,
): Promise<Count & { readonly lines: readonly string[] }> {
  const failed = first.suites.filter(({ failures }) => failures.length > 0);
  const lines = first.unassigned.map(({ title, error }) => `failed: ${title}: ${error}`);
  const counted = new Map(first.suites.map((report) => [report.suite, report]));
  for (const report of failed.length > mostRepeated ? [] : failed) {
    const again = (await runAlone(report.suite)).suites.find(({ suite }) => suite === report.suite);
    if (again === undefined || again.failures.length > 0 || again.passed === 0) continue;
    counted.set(report.suite, again);
    lines.push(...report.failures.map(({ title, error }) => `flaky: ${title}: ${error}`));
  }
  const sum = (of: (report: SuiteReport) => number): number => [...counted.values()].reduce((all, report) => all + of(report), 0);
  return {
    passed: sum(({ passed }) => passed),
    failed: sum(({ failures }) => failures.length) + first.unassigned.length,
    skipped: sum(({ skipped }) => skipped),
    lines,
  };
}
