import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startChromium, type Chromium } from '../support/chromium.ts';
import { until } from '../support/gateway.ts';
import { look, watchPage, type Watched } from '../support/page-views.ts';
import { startProduct } from '../support/started-product.ts';

const testTimeoutMs = 120_000;
const maxFirstPageBytes = 300_000;

let folder: string;
let child: ChildProcess;
let chromium: Chromium;
let page: Page;
let link: string;
let url: string;
let wallet: string;
let watched: Watched;
let received = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-pages-'));
  ({ child, link, url, wallet } = await startProduct(folder, 1));
  chromium = await startChromium();
  const context = await chromium.newContext();
  context.setDefaultTimeout(30_000);
  page = await context.newPage();
  watched = watchPage(page, url);
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

describe('the pages of the dashboard with a running market', { timeout: testTimeoutMs }, () => {
  it('open live by the link of `start`, which works once', async () => {
    await page.goto(link);
    await page.locator('.trades tbody tr').first().waitFor();
    expect(page.url()).toBe(`${url}/#/live`);
    expect(received).toBeGreaterThan(1_000);
    expect(received).toBeLessThan(maxFirstPageBytes);
    expect(watched.complaints).toEqual([]);
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
    expect(await look(page, 'live')).toEqual([]);
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
    expect(await look(page, 'token')).toEqual([]);
    // Followed to its end here, and not only on the page of orders.
    await page.locator('.progress .state.finalized').waitFor({ timeout: 60_000 });
  });

  it('orders, with their tokens and states', async () => {
    await open('Orders');
    await until('both orders', async () => (await page.locator('tbody .state.finalized').count()) === 2);
    await page
      .getByRole('button', { name: /^Details of order/ })
      .first()
      .click();
    await page.getByText('Fees of the venue').waitFor();
    expect(await look(page, 'orders')).toEqual([]);
  });

  it('wallets: valued holdings, the address as a QR code, export', async () => {
    await open('Wallets');
    await page.getByText('99.').first().waitFor();
    expect(await look(page, 'wallets')).toEqual([]);
    await page.getByRole('button', { name: 'Deposit' }).click();
    await page.getByRole('img', { name: /^QR code of the address/ }).waitFor();
    expect(await look(page, 'deposit')).toEqual([]);
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('button', { name: 'Export' }).click();
    await page.getByRole('dialog', { name: 'Export' }).getByRole('checkbox').click();
    await page.getByText('sluice wallets export').waitFor();
    await page.keyboard.press('Escape');
  });

  it('keys with their usage, and the status', async () => {
    await open('API Keys');
    await page.getByText('Requests used of the burst').waitFor();
    expect(await look(page, 'api-keys')).toEqual([]);
    await page.getByRole('button', { name: 'Generate New Key' }).click();
    await page.getByRole('dialog', { name: 'Generate New Key' }).waitFor();
    expect(await look(page, 'new-key')).toEqual([]);
    await page.keyboard.press('Escape');
    await open('Status');
    await page.getByText('Behind the chain').waitFor();
    expect(await look(page, 'status')).toEqual([]);
  });

  it('documentation: samples, a dry run with what exists here, and the live console', async () => {
    await page.goto(`${url}/docs/http-trading`);
    const buy = page.locator('#tradeBuy');
    await buy.getByRole('tab', { name: 'curl' }).press('ArrowRight');
    await buy.getByText(`publicKey: '${wallet}'`).waitFor();
    await buy.getByText('Try it').click();
    await buy.getByText('Nothing is signed or sent').waitFor();
    await buy.getByRole('button', { name: 'Send as a dry run' }).click();
    await buy.getByText('"dryRun": true').waitFor();
    await page.goto(`${url}/docs/stream`);
    await page.getByText('Try it: live console').click();
    await page.getByRole('button', { name: 'Connect' }).click();
    await page.getByText('Connected', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Send' }).click();
    await page.locator('.messages li.received', { hasText: '"topic":"trades"' }).first().waitFor();
    await page.goto(url);
    await page.getByRole('heading', { level: 1, name: 'Live' }).waitFor();
  });

  it('search opens a wallet; signed out, the page asks to sign in', async () => {
    const other = '5Q544fKrFoe6tsEbD7S8EmxGTJYAKtTVhAW5Q5pge4j1';
    await page.getByRole('searchbox').fill(other);
    await page.getByRole('searchbox').press('ArrowDown');
    await page.getByRole('link', { name: /^Wallet 5Q54/ }).click();
    await page.getByRole('heading', { level: 1, name: 'Wallet 5Q54…e4j1' }).waitFor();
    expect(await look(page, 'wallet')).toEqual([]);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: "Watch and trade Solana's token market" }).waitFor();
    expect(await look(page, 'sign-in')).toEqual([]);
    expect(watched.complaints).toEqual([]);
    expect(watched.foreign).toEqual([]);
  });
});
