import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Sluice } from '@sluice/client';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startChromium, type Chromium } from '../support/browser/chromium.ts';
import { look, watchPage, type Watched } from '../support/browser/page-views.ts';
import { until } from '../support/gateway.ts';
import { startProduct, type StartedProduct } from '../support/product/started-product.ts';

const testTimeoutMs = 180_000;
const wrappedSol = 'So11111111111111111111111111111111111111112';

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

  it('unknown addresses have a page, and the status opens the dashboard', async () => {
    const other = await (await chromium.newContext()).newPage();
    const seen = watchPage(other, product.url);
    await other.goto(`${product.url}/nothing/here`);
    await other.getByRole('heading', { level: 1, name: 'No such page' }).waitFor();
    expect(await look(other, 'no-such-page')).toEqual([]);
    await other.getByRole('link', { name: 'Status' }).click();
    await other.getByRole('heading', { level: 1, name: 'Status' }).waitFor();
    await other.goto(`${product.url}/status`);
    await other.getByRole('heading', { level: 1, name: 'Status' }).waitFor();
    expect(other.url()).toBe(`${product.url}/#/status`);
    // The browser writes a line for the answer 404.
    expect(seen.complaints.filter((text) => !text.includes('404'))).toEqual([]);
    await other.context().close();
  });
});

it('orders of a simulated chain that has ended have expired, and say why', { timeout: testTimeoutMs }, async () => {
  const own = mkdtempSync(join(tmpdir(), 'sluice-vanished-'));
  const first = await startProduct(own, 1);
  try {
    const headers = { authorization: `Bearer ${first.apiKey}`, 'content-type': 'application/json' };
    const placed = await until('an order', async () => {
      const tokens = await followOneToken(first);
      const body = JSON.stringify({ publicKey: first.wallet, mint: tokens, amount: 0.01, slippage: 50 });
      const answer = await fetch(`${first.url}/api/trade/buy`, { method: 'POST', headers, body });
      return answer.ok && ((await answer.json()) as { readonly orderId: string });
    });
    first.child.kill('SIGKILL');
    const second = await startProduct(own, 1);
    try {
      const other = await (await chromium.newContext()).newPage();
      await other.goto(second.link);
      await other.getByRole('heading', { level: 1, name: 'Live' }).waitFor();
      await other.goto(`${second.url}/#/orders`);
      await other.locator('.state.expired').waitFor();
      await other.getByRole('button', { name: /^More/ }).click();
      await other.getByText(placed.orderId, { exact: true }).waitFor();
      await other.getByText('The simulated chain of this order has ended').waitFor();
      expect(await look(other, 'orders-expired')).toEqual([]);
      await other.context().close();
    } finally {
      second.child.kill('SIGKILL');
    }
  } finally {
    first.child.kill('SIGKILL');
    rmSync(own, { recursive: true, force: true });
  }
});

/** The mint of a new token that trades in SOL. */
async function followOneToken({ url, apiKey }: StartedProduct): Promise<string> {
  const sluice = new Sluice({ url, apiKey });
  try {
    for await (const event of sluice.subscribe('newTokens', { last: 100 })) {
      if (event.type === 'newToken' && event.quoteMint === wrappedSol) return event.mint;
    }
  } finally {
    sluice.close();
  }
  throw new Error('no token');
}
