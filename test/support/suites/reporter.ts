import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { SerializedError } from 'vitest';
import type { Reporter, TestModule } from 'vitest/node';

/** The environment variable that names the file of the report. */
export const reportFileVariable = 'VITEST_SUITES_REPORT';

/** A test, a file that cannot be loaded, a hook, or an error outside every test. */
export interface Failure {
  readonly title: string;
  /** The first line of the first error. */
  readonly error: string;
}

export interface SuiteReport {
  /** The path of the file below `test/`. */
  readonly suite: string;
  readonly passed: number;
  readonly skipped: number;
  readonly failures: readonly Failure[];
}

export interface SuitesReport {
  readonly suites: readonly SuiteReport[];
  /** Errors that belong to no suite. */
  readonly unassigned: readonly Failure[];
}

const testFolder = new URL('../..', import.meta.url).pathname;

function failureOf(title: string, errors: readonly { readonly message: string }[]): Failure {
  return { title, error: errors[0]?.message.split('\n', 1)[0] ?? 'no error was reported' };
}

function reportSuite(module: TestModule, unhandled: readonly SerializedError[]): SuiteReport {
  const suite = relative(testFolder, module.moduleId);
  const tests = [...module.children.allTests()].map((test) => ({ title: `${suite} > ${test.fullName}`, ...test.result() }));
  const hooks = [...module.children.allSuites()].filter((one) => one.errors().length > 0);
  const failures = [
    ...tests.filter(({ state }) => state === 'failed').map(({ title, errors }) => failureOf(title, errors ?? [])),
    ...[...(module.errors().length > 0 ? [module] : []), ...hooks].map((one) => failureOf(suite, one.errors())),
    ...unhandled.filter((error) => error['VITEST_TEST_PATH'] === module.moduleId).map((error) => failureOf(suite, [error])),
  ];
  const passed = tests.filter(({ state }) => state === 'passed').length;
  const failed = tests.filter(({ state }) => state === 'failed').length;
  return {
    suite,
    passed,
    skipped: tests.length - passed - failed,
    failures: failures.length === 0 && !module.ok() ? [failureOf(suite, [])] : failures,
  };
}

/** Writes what passed and failed into the file that the environment names. */
export class SuiteReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const file = process.env[reportFileVariable];
    if (file === undefined) return;
    const files = new Set<unknown>(modules.map(({ moduleId }) => moduleId));
    const unassigned = unhandled.filter((error) => !files.has(error['VITEST_TEST_PATH']));
    const report: SuitesReport = {
      suites: modules.map((module) => reportSuite(module, unhandled)),
      unassigned: unassigned.map((error) => failureOf('outside every suite', [error])),
    };
    writeFileSync(file, JSON.stringify(report));
  }
}
