import assert from 'node:assert/strict';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../pumpportal/install.ts';
import { startChromium } from '../support/browser/chromium.ts';
import { readBlock, type PrintedBlock } from '../support/product/started-product.ts';

/**
 * `pnpm test:first-order`: clones the last commit, and runs `npx -y pnpm@12 start` there with empty caches and TRADING=paper, as a new user does.
 * Fails if a real browser shows the first event later than after one minute, or if the first paper order is finished in the page later than after
 * three. Then it follows `docs/guides/sniping-bot.md`, and fails if the bot's first paper order is not finished within the same three minutes. The time
 * includes the installation of all packages.
 */
const root = join(import.meta.dirname, '../..');
const startWithinMs = 8 * 60_000;
const pageWithinMs = 60_000;
const eventWithinMs = 60_000;
const orderWithinMs = 180_000;

const folder = mkdtempSync(join(tmpdir(), 'sluice-first-order-'));
const clone = join(folder, 'sluice');
const env = {
  PATH: process.env['PATH'],
  HOME: folder,
  ...(process.env['NODE_EXTRA_CA_CERTS'] !== undefined && { NODE_EXTRA_CA_CERTS: process.env['NODE_EXTRA_CA_CERTS'] }),
  npm_config_cache: join(folder, 'cache'),
  npm_config_update_notifier: 'false',
  NO_COLOR: '1',
  PORT: '0',
  TRADING: 'paper',
};

async function printedBy(child: ChildProcess): Promise<PrintedBlock> {
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', (text: string) => (output += text));
  for (const endMs = Date.now() + startWithinMs; Date.now() < endMs; await new Promise((resolve) => setTimeout(resolve, 20))) {
    const block = readBlock(output);
    if (block !== null) return block;
    if (child.exitCode !== null) break;
  }
  throw new Error(`start printed no block:\n${output}`);
}

/** Installs the client library into an empty folder, as the guide says, and lets its bot place an order. */
async function orderInCode({ url, apiKey, wallet }: PrintedBlock): Promise<void> {
  const bot = join(folder, 'bot');
  mkdirSync(bot);
  const steps = [
    ['npx', ['-y', 'pnpm@12', 'release'], clone],
    ['npm', ['install', '--no-audit', '--no-fund', '../sluice/release/sluice-client-0.1.0.tgz'], bot],
  ] as const;
  for (const [command, args, cwd] of steps) {
    const { code, output } = await run(command, args, cwd, orderWithinMs, env);
    assert.equal(code, 0, output);
  }
  const settings = { ...env, SLUICE_URL: url, SLUICE_API_KEY: apiKey, WALLET: wallet, LIVE: '1', MAX_POSITIONS: '1' };
  const sniper = spawn('node', ['node_modules/@sluice/client/examples/sniper.mjs'], {
    cwd: bot,
    env: settings,
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: orderWithinMs,
  });
  try {
    let output = '';
    for await (const text of sniper.stdout.setEncoding('utf8')) {
      output += String(text);
      if (/^bought .*, paper$/m.test(output)) return;
    }
    throw new Error(`the bot ended without an order on paper:\n${output}`);
  } finally {
    sniper.kill('SIGTERM');
  }
}

const cloned = spawnSync('git', ['clone', '--quiet', root, clone], { stdio: 'inherit' });
assert.equal(cloned.status, 0);
// The browser of a user is open already, so its start is not measured.
const chromium = await startChromium();
const startedMs = performance.now();
const child = spawn('npx', ['-y', 'pnpm@12', 'start'], { cwd: clone, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
try {
  const reached = (what: string, withinMs: number): void => {
    const tookMs = performance.now() - startedMs;
    console.log(`${(tookMs / 1_000).toFixed(1)} s  ${what}`);
    assert.ok(tookMs <= withinMs, `${what} only after more than ${withinMs / 1_000} s`);
  };
  const printed = await printedBy(child);
  reached('the link is printed', eventWithinMs);
  const page = await (await chromium.newContext()).newPage();
  page.setDefaultTimeout(pageWithinMs);
  await page.goto(printed.link);
  await page.locator('.trades tbody tr, .tokens tbody tr').first().waitFor();
  reached('the first event is in the page', eventWithinMs);
  await page.locator('.tokens tbody tr td.number').first().click();
  await page.getByLabel('Quote').getByText('→').first().waitFor();
  await page.getByRole('button', { name: 'Buy', exact: true }).click();
  await page.locator('.progress .state.finalized').waitFor();
  reached('the first paper order is finished in the page', orderWithinMs);
  await orderInCode(printed);
  reached('the first paper order is finished in code', orderWithinMs);
} finally {
  await chromium.close();
  process.kill(-child.pid!, 'SIGTERM');
  await new Promise((resolve) => child.once('close', resolve));
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
