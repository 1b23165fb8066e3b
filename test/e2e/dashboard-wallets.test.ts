import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startChromium, type Chromium } from '../support/browser/chromium.ts';
import { watchPage, type Watched } from '../support/browser/page-views.ts';
import { until } from '../support/gateway.ts';
import { startProduct, type StartedProduct } from '../support/product/started-product.ts';

const testTimeoutMs = 180_000;

let folder: string;
let child: ChildProcess;
let product: StartedProduct;
let chromium: Chromium;
let page: Page;
let watched: Watched;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-wallet-pages-'));
  product = await startProduct(folder, 10);
  ({ child } = product);
  chromium = await startChromium();
  page = await (await chromium.newContext()).newPage();
  watched = watchPage(page, product.url);
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

const fact = async (name: string): Promise<string> =>
  (await page
    .locator('.fact', { has: page.getByText(name, { exact: true }) })
    .locator('dd')
    .textContent()) ?? '';

describe('wallets, orders and status of a fast simulated market', { timeout: testTimeoutMs }, () => {
  it('opening the page reports no gap, and the figures of the lag agree', async () => {
    const gaps: string[] = [];
    page.on('websocket', (socket) =>
      socket.on('framereceived', ({ payload }) => {
        if (String(payload).includes('"op":"gap"')) gaps.push(String(payload));
      }),
    );
    await page.goto(product.link);
    await page.locator('.trades tbody tr').nth(20).waitFor();
    await page.locator('.tokens tbody tr').first().waitFor();
    await open('Status');
    await until('the lag', async () => (await fact('Behind the chain')) !== 'unknown');
    expect(await fact('Losses reported to clients')).toBe('0');
    expect(gaps).toEqual([]);
    const metrics = await (await fetch(`${product.url}/metrics`)).text();
    expect(metrics).toMatch(/^sluice_gateway_resumes_incomplete_total 0$/m);
    // The only node is the newest node, so its lag is the lag of the stream.
    await until('both figures to agree', async () => {
      const behind = await page.locator('.sources').getByRole('row', { name: 'node 1 up' }).locator('td').nth(2).textContent();
      return behind === (await fact('Behind the chain')) && behind === '0 slots';
    });
    expect(watched.complaints).toEqual([]);
  });
});
