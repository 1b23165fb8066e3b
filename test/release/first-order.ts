import assert from 'node:assert/strict';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChromium } from '../support/browser/chromium.ts';

/**
 * `pnpm test:first-order`: clones the last commit, and runs `npx -y pnpm@12 start` there with empty caches and TRADING=paper, as a new user does.
 * Fails if a real browser shows the first event later than after one minute, or if the first paper order is finished in the page later than after
 * three. The time includes the installation of all packages.
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

/** The link that opens the dashboard signed in. */
async function linkOf(child: ChildProcess): Promise<string> {
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', (text: string) => (output += text));
  for (const endMs = Date.now() + startWithinMs; Date.now() < endMs; await new Promise((resolve) => setTimeout(resolve, 20))) {
    const link = /dashboard +(http:\S+#sign-in=\S+)/.exec(output)?.[1];
    if (link !== undefined) return link;
    if (child.exitCode !== null) break;
  }
  throw new Error(`start printed no link:\n${output}`);
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
  const link = await linkOf(child);
  reached('the link is printed', eventWithinMs);
  const page = await (await chromium.newContext()).newPage();
  page.setDefaultTimeout(pageWithinMs);
  await page.goto(link);
  await page.locator('.trades tbody tr, .tokens tbody tr').first().waitFor();
  reached('the first event is in the page', eventWithinMs);
  await page.locator('.tokens tbody tr td.number').first().click();
  await page.getByLabel('Quote').getByText('→').first().waitFor();
  await page.getByRole('button', { name: 'Buy', exact: true }).click();
  await page.locator('.progress .state.finalized').waitFor();
  reached('the first paper order is finished in the page', orderWithinMs);
} finally {
  await chromium.close();
  process.kill(-child.pid!, 'SIGTERM');
  await new Promise((resolve) => child.once('close', resolve));
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
