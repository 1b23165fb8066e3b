import { spawn } from 'node:child_process';
import { mkdirSync, openSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * `pnpm test:repeat <runs> <at once> <folder> <vitest arguments…>`: runs the same suites again and again, several at once, so that races
 * appear. The folder gets the output of each run. Exit code 1 if a run failed.
 */
const testFolder = dirname(fileURLToPath(import.meta.url));
const usage = 'Usage: test:repeat <runs> <at once> <folder for the output> <vitest arguments…>';

function runOnce(args: readonly string[], file: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const output = openSync(file, 'w');
    const vitest = join(testFolder, 'node_modules/vitest/vitest.mjs');
    const child = spawn(process.execPath, [vitest, 'run', ...args], { cwd: testFolder, stdio: ['ignore', output, output] });
    child.on('error', reject);
    child.on('exit', (code) => resolve(code === 0));
  });
}

async function main([runs, atOnce, folder, ...args]: readonly string[]): Promise<number> {
  const [count, lanes] = [Number(runs), Number(atOnce)];
  if (!(count >= 1 && lanes >= 1) || folder === undefined || args.length === 0) {
    process.stderr.write(`${usage}\n`);
    return 2;
  }
  mkdirSync(folder, { recursive: true });
  let [begun, passed] = [0, 0];
  const failed: number[] = [];
  const lane = async (): Promise<void> => {
    while (begun < count) {
      const number = ++begun;
      if (await runOnce(args, join(folder, `${number}.log`))) passed++;
      else failed.push(number);
      process.stdout.write(`run ${number} ended; ${passed} passed, failed: ${failed.length === 0 ? 'none' : failed.join(', ')}\n`);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return failed.length === 0 ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2).filter((arg) => arg !== '--'));
