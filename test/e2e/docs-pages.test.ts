import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { guideFiles } from '@sluice/gateway/docs/guides.ts';
import { exampleMint, exampleOrderId, exampleWallet } from '@sluice/shared/wire/rest/trade-examples.ts';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startChromium, type Chromium } from '../support/chromium.ts';
import { isFullFuzz } from '../support/fuzz.ts';
import { until } from '../support/gateway.ts';
import { look, watchPage, type Watched } from '../support/page-views.ts';
import { startProduct, type StartedProduct } from '../support/started-product.ts';

const testTimeoutMs = 480_000;
/** The first one places an order: then there is an order to look up, and a coin to sell. */
const names = ['http-pumpportal', 'http-trading', 'http-token', 'http-portfolio', 'http-operations', 'http-keys', 'http-documents'];
/** Endpoints whose example cannot be answered with 200 on a simulated chain. */
const others: Readonly<Record<string, number>> = {
  // Nobody has signed the transaction.
  transactionSend: 400,
  // The coins have no images.
  tokenImage: 404,
};

let folder: string;
let product: StartedProduct;
let chromium: Chromium;
let page: Page;
let watched: Watched;

async function open(name: string): Promise<void> {
  await page.goto(`${product.url}/docs${name === '' ? '' : `/${name}`}`);
  await page.getByRole('heading', { level: 1 }).waitFor();
}

/** The pages of the documentation are long, so this runs by command; `dashboard-pages` has a short form. */
describe.runIf(isFullFuzz)('every page of the documentation', { timeout: testTimeoutMs }, () => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-docs-'));
    product = await startProduct(folder, 1);
    chromium = await startChromium();
    const context = await chromium.newContext();
    context.setDefaultTimeout(30_000);
    page = await context.newPage();
    watched = watchPage(page, product.url);
  }, testTimeoutMs);

  afterAll(async () => {
    await chromium.close();
    product.child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  it('a reader who is not signed in: a typed key, and PumpPortal commands without one', async () => {
    await open('http-keys');
    const usage = page.locator('[data-try="usage"]');
    await usage.getByText('Try it').click();
    await usage.getByText('Not signed in').waitFor();
    await usage.getByLabel(/^API key/).fill(product.apiKey);
    await usage.getByRole('button', { name: 'Send' }).click();
    await usage.getByText('200 OK').waitFor();
    await open('stream');
    expect(await page.evaluate<string>('JSON.stringify([localStorage, sessionStorage, document.cookie])')).not.toContain(product.apiKey);
    await page.getByText('Try it: live console').click();
    await page.getByText('PumpPortal’s commands only').waitFor();
    await page.getByRole('button', { name: 'Connect' }).click();
    await page.getByText('Connected', { exact: true }).waitFor();
    await page.getByLabel('Message', { exact: true }).fill('{"method":"subscribeNewToken"}');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.locator('.messages li.received', { hasText: '"txType":"create"' }).first().waitFor();
    await page.getByLabel(/^API key/).fill(product.apiKey);
    await page.getByRole('button', { name: 'Disconnect' }).click();
    await page.getByRole('button', { name: 'Connect' }).click();
    await page.locator('.messages li.received', { hasText: '"op":"authenticated"' }).waitFor();
    expect(await page.locator('.messages').textContent()).not.toContain(product.apiKey);
    expect(watched.complaints).toEqual([]);
  });

  it('a signed-in reader: the example of each endpoint is answered with what exists here', async () => {
    await page.goto(product.link);
    await page.locator('.trades tbody tr').first().waitFor();
    const tried: Record<string, string> = {};
    const expected: Record<string, string> = {};
    const faults: string[] = [];
    for (const name of names) {
      await open(name);
      // The examples are filled in when they are known.
      for (const example of [exampleMint, exampleWallet, ...(name === names[0] ? [] : [exampleOrderId])])
        await until('the examples', async () => (await page.locator('.samples', { hasText: example }).count()) === 0, 30_000);
      for (const place of await page.locator('[data-try]').all()) {
        const id = (await place.getAttribute('data-try')) ?? '';
        await place.getByText('Try it').click();
        const isReal = place.getByRole('checkbox', { name: 'Send a real order' });
        await place.locator('form').waitFor();
        if ((await isReal.count()) > 0) await isReal.check();
        await place.locator('button[type=submit]').click();
        const title = (await place.locator('.answer h4').textContent()) ?? '';
        const status = others[id] ?? 200;
        expected[id] = String(status);
        tried[id] = title.startsWith(`${status} `) ? String(status) : `${title}: ${await place.locator('.answer > pre').textContent()}`;
      }
      faults.push(...(await look(page, `docs-${name}`)));
    }
    expect(tried).toEqual(expected);
    expect(Object.keys(tried).length).toBeGreaterThan(20);
    expect(faults).toEqual([]);
  });

  it('the other pages', async () => {
    const faults: string[] = [];
    for (const name of ['', ...Object.keys(guideFiles), 'authentication', 'limits', 'errors', 'stream', 'schemas']) {
      await open(name);
      faults.push(...(await look(page, `docs-${name === '' ? 'index' : name}`)));
    }
    expect(faults).toEqual([]);
    expect(watched.foreign).toEqual([]);
  });
});
