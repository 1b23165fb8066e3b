import type { ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startChromium, type Chromium } from '../support/chromium.ts';
import { startProgram } from '../support/command-line.ts';
import { isFullFuzz } from '../support/fuzz.ts';
import { until } from '../support/gateway.ts';

const testTimeoutMs = 120_000;
/** Retained after the run, to be looked at. Git ignores the folder. */
const screenshots = join(import.meta.dirname, 'screenshots');
const allViews = [
  { name: 'light', colorScheme: 'light', size: { width: 1400, height: 900 } },
  { name: 'dark', colorScheme: 'dark', size: { width: 1400, height: 900 } },
  { name: 'phone', colorScheme: 'light', size: { width: 390, height: 844 } },
  { name: 'phone-dark', colorScheme: 'dark', size: { width: 390, height: 844 } },
] as const;
/** `pnpm test:fuzz` uses all views, and has axe look in each. Otherwise axe looks at both colour schemes and both sizes. */
const views = isFullFuzz ? allViews : allViews.slice(0, 3);
const examined: readonly string[] = isFullFuzz ? views.map(({ name }) => name) : ['dark', 'phone'];
const maxFirstPageBytes = 300_000;
/** What a browser reports of a gateway that a busy machine keeps waiting. The page tries again. */
const ofLoad = /status of 503|WebSocket connection to/;

let folder: string;
let child: ChildProcess;
let chromium: Chromium;
let page: Page;
let link: string;
let url: string;
/** Errors and warnings in the console, violations of the policy, exceptions. */
const complaints: string[] = [];
/** Requests to another origin. */
const foreign: string[] = [];
let received = 0;

beforeAll(async () => {
  mkdirSync(screenshots, { recursive: true });
  folder = mkdtempSync(join(tmpdir(), 'sluice-pages-'));
  child = startProgram('cli/start.ts', [], { folder, env: { PORT: '0', LOG_LEVEL: 'warn' } });
  let output = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (output += text));
  await until('the block', () => output.includes('sluice watch trades'), 60_000);
  link = /dashboard +(http:\S+#sign-in=\S+)/.exec(output)?.[1] ?? '';
  url = link.replace(/\/#.*/, '');
  chromium = await startChromium();
  const context = await chromium.newContext();
  context.setDefaultTimeout(30_000);
  page = await context.newPage();
  page.on('console', (message) => {
    if ((message.type() === 'error' || message.type() === 'warning') && !ofLoad.test(message.text())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('request', (request) => {
    if (!request.url().startsWith(url) && !/^(data|blob):/.test(request.url())) foreign.push(request.url());
  });
  page.on('response', (response) => void (received += Number(response.headers()['content-length'] ?? 0)));
}, testTimeoutMs);

afterAll(async () => {
  await chromium.close();
  child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

async function open(section: string): Promise<void> {
  await page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name: section, exact: true }).click();
  await page.getByRole('heading', { level: 1, name: section }).waitFor();
}

/** Takes a screenshot in each view, and returns what axe calls serious or worse. */
async function look(name: string): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const view of views) {
    await page.setViewportSize(view.size);
    await page.emulateMedia({ colorScheme: view.colorScheme });
    await page.waitForTimeout(250);
    await page.screenshot({ path: join(screenshots, `${name}-${view.name}.png`) });
    const wide = await page.evaluate<number>('document.documentElement.scrollWidth');
    if (wide > view.size.width) faults.push(`${name} in ${view.name}: ${wide} pixels wide`);
    if (!examined.includes(view.name)) continue;
    await page.evaluate(axe.source);
    const found = await page.evaluate<
      readonly { id: string; impact: string; nodes: readonly { html: string; failureSummary: string }[] }[]
    >('axe.run(document, { resultTypes: ["violations"] }).then((result) => result.violations)');
    for (const { id, impact, nodes } of found) {
      if (impact !== 'serious' && impact !== 'critical') continue;
      faults.push(`${name} in ${view.name}: ${id}: ${nodes[0]?.html.slice(0, 200)} ${nodes[0]?.failureSummary.slice(0, 200)}`);
    }
  }
  await page.setViewportSize(allViews[0].size);
  return faults;
}

describe('the pages of the dashboard beside a running market', { timeout: testTimeoutMs }, () => {
  it('open live by the link of `start`, which works once', async () => {
    await page.goto(link);
    await page.locator('.trades tbody tr').first().waitFor();
    expect(page.url()).toBe(`${url}/#/live`);
    expect(received).toBeGreaterThan(1_000);
    expect(received).toBeLessThan(maxFirstPageBytes);
    expect(complaints).toEqual([]);
    const second = await (await chromium.newContext()).newPage();
    await second.goto(link);
    await second.getByText('The sign-in was refused.').waitFor();
    expect(await second.getByRole('heading', { name: 'New tokens' }).count()).toBe(0);
    await second.context().close();
  });

  it('live: tokens and trades with prices that have no exponent, and filters', async () => {
    await page.locator('.tokens tbody tr').first().waitFor();
    expect(await page.locator('main').textContent()).not.toMatch(/\d e-?\d|\de-\d/);
    await page.getByLabel('Side').selectOption('buy');
    await until('buys only', async () => (await page.locator('.trades .side.sell').count()) === 0);
    await page.getByLabel('Side').selectOption('');
    expect(await look('live')).toEqual([]);
  });

  it('a token: chart, trades, and orders that are followed', async () => {
    await page.locator('.tokens tbody tr td.number').first().click();
    await page.getByRole('img', { name: /^Candles of 15s, last/ }).waitFor();
    await page.getByRole('heading', { name: 'Trades' }).waitFor();
    await page.getByLabel('Amount').fill('0.1');
    await page.getByRole('button', { name: 'Buy', exact: true }).click();
    await page.locator('.progress .state:is(.confirmed, .finalized)').waitFor({ timeout: 60_000 });
    await page.getByLabel('Amount').fill('50%');
    await page.getByLabel('Quote').getByText('→').first().waitFor();
    await page.getByRole('button', { name: 'Sell', exact: true }).click();
    await page.locator('.progress .side.sell').waitFor();
    expect(await look('token')).toEqual([]);
    // Followed to its end here, and not only on the page of orders.
    await page.locator('.progress .state.finalized').waitFor({ timeout: 60_000 });
  });

  it('orders, with the token beside their state', async () => {
    await open('Orders');
    await until('both orders', async () => (await page.locator('tbody .state.finalized').count()) === 2);
    await page
      .getByRole('button', { name: /^Details of order/ })
      .first()
      .click();
    await page.getByText('Fees of the venue').waitFor();
    expect(await look('orders')).toEqual([]);
  });

  it('wallets: valued holdings, the address as a QR code, export', async () => {
    await open('Wallets');
    await page.getByText('99.').first().waitFor();
    expect(await look('wallets')).toEqual([]);
    await page.getByRole('button', { name: 'Deposit' }).click();
    await page.getByRole('img', { name: /^QR code of the address/ }).waitFor();
    expect(await look('deposit')).toEqual([]);
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('button', { name: 'Export' }).click();
    await page.getByRole('dialog', { name: 'Export' }).getByRole('checkbox').click();
    await page.getByText('sluice wallets export').waitFor();
    await page.keyboard.press('Escape');
  });

  it('keys with their usage, and the status', async () => {
    await open('API Keys');
    await page.getByText('Requests used of the burst').waitFor();
    expect(await look('api-keys')).toEqual([]);
    await page.getByRole('button', { name: 'Generate New Key' }).click();
    await page.getByRole('dialog', { name: 'Generate New Key' }).waitFor();
    expect(await look('new-key')).toEqual([]);
    await page.keyboard.press('Escape');
    await open('Status');
    await page.getByText('Behind the chain').waitFor();
    expect(await look('status')).toEqual([]);
  });

  it('search opens a wallet; signed out, the page asks to sign in', async () => {
    const wallet = '5Q544fKrFoe6tsEbD7S8EmxGTJYAKtTVhAW5Q5pge4j1';
    await page.getByRole('searchbox').fill(wallet);
    await page.getByRole('searchbox').press('ArrowDown');
    await page.getByRole('link', { name: /^Wallet 5Q54/ }).click();
    await page.getByRole('heading', { level: 1, name: 'Wallet 5Q54…e4j1' }).waitFor();
    expect(await look('wallet')).toEqual([]);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: "Watch and trade Solana's token market" }).waitFor();
    expect(await look('sign-in')).toEqual([]);
    expect(complaints).toEqual([]);
    expect(foreign).toEqual([]);
  });
});
