import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lastLine, run } from '../pumpportal/install.ts';
import { sampleFaults } from './samples.ts';
import { startProduct, type StartedProduct } from '../support/product/started-product.ts';

/**
 * `pnpm test:python`: installs the Python client into a temporary environment from PyPI, checks its types, runs its tests against
 * `start`, and runs the samples of the documentation. Without Python 3.11 or PyPI it is skipped, and the reason is printed.
 */
const installWithinMs = 300_000;
const testWithinMs = 300_000;
const tools = ['mypy==1.18.2'];
const print = (text: string): void => void process.stdout.write(`${text}\n`);

/** Returns the path of Python, or why there is none as an error. */
async function install(folder: string): Promise<string> {
  cpSync(join(import.meta.dirname, '../../clients/python'), join(folder, 'client'), { recursive: true });
  const python = join(folder, 'venv/bin/python');
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
  const steps: readonly (readonly [string, readonly string[]])[] = [
    ['python3', ['-c', 'import sys; sys.exit("Python 3.11 is needed" if sys.version_info < (3, 11) else 0)']],
    ['python3', ['-m', 'venv', 'venv']],
    // The dependencies alone: a fault in our own package must fail the run, not skip it.
    [python, [...pip, ...tools, 'hatchling==1.27.0', 'httpx==0.28.1', 'websockets==15.0.1']],
  ];
  for (const [command, args] of steps) {
    const ran = await run(command, args, folder, installWithinMs);
    if (ran.code !== 0) throw new Error(lastLine(ran));
  }
  return python;
}

/** Writes each Python sample of the client's README to a file, so that its types are checked. */
function writeReadmeSamples(folder: string): readonly string[] {
  const readme = readFileSync(join(folder, 'client/README.md'), 'utf8');
  return [...readme.matchAll(/```python\n([\s\S]*?)```/g)].map(([, sample = ''], at) => {
    const name = `readme_sample_${at}.py`;
    writeFileSync(join(folder, name), sample);
    return name;
  });
}

async function test(python: string, folder: string, { url, apiKey, wallet }: StartedProduct): Promise<boolean> {
  const env = { SLUICE_URL: url, SLUICE_API_KEY: apiKey, WALLET: wallet, NO_PROXY: '127.0.0.1', no_proxy: '127.0.0.1' };
  const steps = [
    ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-build-isolation', './client'],
    ['-m', 'mypy', '--strict', 'client/src', 'client/tests', ...writeReadmeSamples(folder)],
    ['-m', 'unittest', 'discover', '-s', 'client/tests'],
  ];
  for (const args of steps) {
    const ran = await run(python, args, folder, testWithinMs, env);
    print(ran.output.trim());
    if (ran.code !== 0) return false;
  }
  const faults = await sampleFaults(python, folder);
  print(faults.length === 0 ? 'The samples of the documentation send what they should.' : faults.join('\n'));
  return faults.length === 0;
}

async function main(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-python-'));
  let started: StartedProduct | null = null;
  try {
    let python: string;
    try {
      python = await install(folder);
    } catch (error) {
      print(`skipped: the Python client was not tested: ${(error as Error).message}`);
      return 0;
    }
    started = await startProduct(folder, 3);
    const passed = await test(python, folder, started);
    print(passed ? 'The Python client works.' : 'The Python client failed.');
    return passed ? 0 : 1;
  } finally {
    started?.child.kill('SIGTERM');
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 500 });
  }
}

process.exitCode = await main();
