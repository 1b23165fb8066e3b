import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { houseChecks } from './house/checks.ts';
import { installMissing } from './support/product/install.ts';

/**
 * `pnpm test`: installs what is missing, runs the house checks and every suite. `pnpm test <filter>`: runs the suites with that name. `pnpm
 * check`: runs the house checks.
 */
const testFolder = dirname(fileURLToPath(import.meta.url));
const root = dirname(testFolder);
const suiteTimeoutMs = 60 * 60_000;

interface Count {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** Prints its lines together, because the suites print at the same time. */
async function runHouse(): Promise<Count> {
  const lines = ['House checks'];
  let failed = 0;
  for (const check of houseChecks) {
    const startedMs = Date.now();
    const faults = await check.run(root).catch((error: unknown) => [`it broke: ${String(error)}`]);
    lines.push(`  ${faults.length === 0 ? 'ok  ' : 'FAIL'} ${check.name} (${((Date.now() - startedMs) / 1000).toFixed(1)} s)`);
    for (const fault of faults) lines.push(`       ${fault}`);
    if (faults.length > 0) failed++;
  }
  console.log(lines.join('\n'));
  return { passed: houseChecks.length - failed, failed, skipped: 0 };
}

interface VitestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: readonly { readonly status: string; readonly assertionResults: readonly { readonly status: string }[] }[];
}

async function runSuites(filters: readonly string[]): Promise<Count> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-test-'));
  const reportFile = join(folder, 'report.json');
  try {
    const exitCode = await runVitest([...filters, '--reporter=default', '--reporter=json', `--outputFile.json=${reportFile}`]);
    return readReport(reportFile, exitCode);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function runVitest(args: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [join(testFolder, 'node_modules/vitest/vitest.mjs'), 'run', ...args], {
      cwd: testFolder,
      stdio: ['ignore', 'inherit', 'inherit'],
      timeout: suiteTimeoutMs,
    });
    child.on('error', reject);
    child.on('exit', (code) => resolve(code ?? 1));
  });
}

/** A file that could not be loaded, or an error outside every test, counts as one more failure. */
function readReport(file: string, exitCode: number): Count {
  let report: VitestReport;
  try {
    report = JSON.parse(readFileSync(file, 'utf8')) as VitestReport;
  } catch (error) {
    console.log(`The suites wrote no report: ${String(error)}`);
    return { passed: 0, failed: 1, skipped: 0 };
  }
  const broken = report.testResults.filter(
    (result) => result.status === 'failed' && !result.assertionResults.some((one) => one.status === 'failed'),
  ).length;
  const failed = report.numFailedTests + broken;
  return {
    passed: report.numPassedTests,
    failed: failed === 0 && exitCode !== 0 ? 1 : failed,
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

async function main(args: readonly string[]): Promise<Count> {
  if (args[0] === 'check') return runHouse();
  const faults = await installMissing((text) => console.log(text));
  if (faults.length > 0) {
    for (const fault of faults) console.log(fault);
    return { passed: 0, failed: faults.length, skipped: 0 };
  }
  const none: Count = { passed: 0, failed: 0, skipped: 0 };
  const [house, suites] = await Promise.all([args.length === 0 ? runHouse() : none, runSuites(args)]);
  return { passed: house.passed + suites.passed, failed: house.failed + suites.failed, skipped: suites.skipped };
}

const { passed, failed, skipped } = await main(process.argv.slice(2).filter((arg) => arg !== '--'));
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
