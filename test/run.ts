import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { houseChecks } from './house/checks.ts';
import { repeatFailed, type Count } from './support/suites/repeat-failed.ts';
import { reportFileVariable, type SuitesReport } from './support/suites/reporter.ts';
import { installMissing } from './support/product/install.ts';

/**
 * `pnpm test`: installs what is missing, runs the house checks and every suite. `pnpm test <filter>`: runs the suites with that name. `pnpm
 * check`: runs the house checks.
 */
const testFolder = dirname(fileURLToPath(import.meta.url));
const root = dirname(testFolder);
const suiteTimeoutMs = 60 * 60_000;

/** Prints its lines together, because the suites print at the same time. */
async function runHouse(): Promise<Count> {
  const lines = ['House checks'];
  let failed = 0;
  for (const check of houseChecks) {
    const startedMs = Date.now();
    const faults = await check.run(root).catch((error: unknown) => [`it broke: ${String(error)}`]);
    lines.push(`  ${faults.length === 0 ? 'ok  ' : 'FAIL'} ${check.name} (${((Date.now() - startedMs) / 1000).toFixed(1)} s)`);
    if (check.note !== undefined) lines.push(`       ${await check.note(root)}`);
    for (const fault of faults) lines.push(`       ${fault}`);
    if (faults.length > 0) failed++;
  }
  console.log(lines.join('\n'));
  return { passed: houseChecks.length - failed, failed, skipped: 0 };
}

async function runVitest(filters: readonly string[]): Promise<SuitesReport> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-test-'));
  const reportFile = join(folder, 'report.json');
  try {
    const exitCode = await new Promise<number>((resolve, reject) => {
      const program = join(testFolder, 'node_modules/vitest/vitest.mjs');
      const child = spawn(process.execPath, [program, 'run', ...filters], {
        cwd: testFolder,
        stdio: ['ignore', 'inherit', 'inherit'],
        timeout: suiteTimeoutMs,
        env: { ...process.env, [reportFileVariable]: reportFile },
      });
      child.on('error', reject);
      child.on('exit', (code) => resolve(code ?? 1));
    });
    return readReport(reportFile, exitCode);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function readReport(file: string, exitCode: number): SuitesReport {
  try {
    const report = JSON.parse(readFileSync(file, 'utf8')) as SuitesReport;
    const isKnown = exitCode === 0 || report.suites.some(({ failures }) => failures.length > 0) || report.unassigned.length > 0;
    return isKnown ? report : { ...report, unassigned: [{ title: 'the suites', error: `they ended with the code ${exitCode}` }] };
  } catch (error) {
    return { suites: [], unassigned: [{ title: 'the suites', error: `they wrote no report: ${String(error)}` }] };
  }
}

async function main(args: readonly string[]): Promise<Count> {
  if (args[0] === 'check') return runHouse();
  const faults = await installMissing((text) => console.log(text));
  if (faults.length > 0) {
    for (const fault of faults) console.log(fault);
    return { passed: 0, failed: faults.length, skipped: 0 };
  }
  const none: Count = { passed: 0, failed: 0, skipped: 0 };
  const [house, first] = await Promise.all([args.length === 0 ? runHouse() : none, runVitest(args)]);
  const suites = await repeatFailed(first, (suite) => {
    console.log(`${suite} failed, and runs once more, alone`);
    return runVitest([suite]);
  });
  for (const line of suites.lines) console.log(line);
  return { passed: house.passed + suites.passed, failed: house.failed + suites.failed, skipped: suites.skipped };
}

const { passed, failed, skipped } = await main(process.argv.slice(2).filter((arg) => arg !== '--'));
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
