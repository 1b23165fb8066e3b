import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lastLine, run } from '../pumpportal/install.ts';
import { startProduct, type StartedProduct } from '../support/product/started-product.ts';
import { until } from '../support/gateway.ts';
import { StreamClient } from '../support/clients/stream-client.ts';

/**
 * `pnpm test:schemathesis [examples] [seed]`: installs schemathesis from PyPI, starts the product on simnet, and looks for requests and
 * answers that differ from the OpenAPI document. Without Python 3.11 or PyPI it is skipped, and the reason is printed.
 */
const tool = 'schemathesis==4.32.5';
const environment = join(import.meta.dirname, '../node_modules/.cache', tool);
const installWithinMs = 300_000;
const runWithinMs = 3_600_000;
const someMints = 5;
const print = (text: string): void => void process.stdout.write(`${text}\n`);

/** Returns why it cannot be installed; null if it is. */
async function install(): Promise<string | null> {
  const done = join(environment, 'bin/schemathesis');
  if (existsSync(done)) return null;
  rmSync(environment, { recursive: true, force: true });
  mkdirSync(environment, { recursive: true });
  const steps: readonly (readonly [string, readonly string[]])[] = [
    ['python3', ['-c', 'import sys; sys.exit("Python 3.11 is needed" if sys.version_info < (3, 11) else 0)']],
    ['python3', ['-m', 'venv', environment]],
    [join(environment, 'bin/python'), ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', tool]],
  ];
  for (const [command, args] of steps) {
    const ran = await run(command, args, environment, installWithinMs);
    if (ran.code !== 0) return lastLine(ran);
  }
  return null;
}

/** Mints that are traded on their curves now. */
async function tradedMints({ url, apiKey }: StartedProduct): Promise<readonly string[]> {
  const client = await new StreamClient(`${url.replace('http', 'ws')}/api/data?api-key=${apiKey}`).open();
  await client.ask({ op: 'subscribe', channel: 'trades', filter: { pool: 'pump' } });
  const mints = (): string[] => [
    ...new Set(client.frames('trades').map(({ data }) => (data as unknown as { readonly mint: string }).mint)),
  ];
  await until('trades of several mints', () => mints().length >= someMints);
  client.close();
  return mints();
}

async function check(folder: string, product: StartedProduct, [examples = '30', seed = '1']: readonly string[]): Promise<boolean> {
  const mints = await tradedMints(product);
  const env = {
    MINTS: mints.join(','),
    WALLET: product.wallet,
    SCHEMATHESIS_HOOKS: 'hooks',
    PYTHONPATH: import.meta.dirname,
    PYTHONDONTWRITEBYTECODE: '1',
    NO_PROXY: '127.0.0.1',
    no_proxy: '127.0.0.1',
  };
  const args = ['--no-color', 'run', `${product.url}/api/openapi.json`, '-H', `Authorization: Bearer ${product.apiKey}`];
  const bounds = ['--max-examples', examples, '--seed', seed, '--no-shrink', '--continue-on-failure', '--request-timeout', '30'];
  const ran = await run(join(environment, 'bin/schemathesis'), [...args, ...bounds], folder, runWithinMs, env);
  print(ran.output.trim());
  return ran.code === 0;
}

async function main(): Promise<number> {
  const missing = await install();
  if (missing !== null) {
    print(`skipped: the interface was not compared with its document, because schemathesis cannot be installed: ${missing}`);
    return 0;
  }
  const folder = mkdtempSync(join(tmpdir(), 'sluice-schemathesis-'));
  let started: StartedProduct | null = null;
  try {
    started = await startProduct(folder, 3);
    const passed = await check(folder, started, process.argv.slice(2));
    print(passed ? 'The interface and its document agree.' : 'The interface and its document differ.');
    return passed ? 0 : 1;
  } finally {
    started?.child.kill('SIGTERM');
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 500 });
  }
}

process.exitCode = await main();
