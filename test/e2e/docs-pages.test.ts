import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore, type Store } from '@sluice/gateway/store/store.ts';
import { guidePages } from '@sluice/site/docs/text/guides.ts';
import { exampleMint, exampleOrderId, exampleWallet } from '@sluice/shared/wire/values/values.ts';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { currentBuild } from '../../compile/build-folder.mjs';
import { startChromium, type Chromium } from '../support/browser/chromium.ts';
import { isFullFuzz } from '../support/fuzz.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { look, watchPage, type Watched } from '../support/browser/page-views.ts';
import { startProduct, type StartedProduct } from '../support/product/started-product.ts';

const testTimeoutMs = 480_000;
const fillMs = 15_000;
/** The first one places an order: then there is an order to look up, and a coin to sell. */
const names = [
  'http-pumpportal',
  'http-trading',
  'http-token',
  'http-portfolio',
  'http-explain',
  'http-operations',
  'http-keys',
  'http-documents',
];
/** Endpoints whose example cannot be answered with 200 on a simulated chain. */
const others: Readonly<Record<string, readonly number[]>> = {
  // Nobody has signed the transaction.
  transactionSend: [400],
  // Not every coin has an image.
  tokenImage: [200, 404],
  // This server does not trade on paper.
  paperWallet: [403],
  paperBalance: [403],
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

/** Opens a page, and waits until what exists here replaces the examples. The page gives up after a while on a busy machine, so it is opened again. */
async function openFilled(name: string, examples: readonly string[]): Promise<void> {
  for (let tries = 0; tries < 5; tries++) {
    await open(name);
    for (const endMs = performance.now() + fillMs; performance.now() < endMs; await page.waitForTimeout(100)) {
      const left = await Promise.all(examples.map((example) => page.locator('.sample', { hasText: example }).count()));
      if (left.every((count) => count === 0)) return;
    }
  }
  throw new Error(`the examples of ${name} remain`);
}

describe('two pages of the documentation', { timeout: testTimeoutMs }, () => {
  let server: TestGateway;
  let store: Store;
  let requested: string[];
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-docs-'));
    store = await openStore({ dataDir: folder, databaseUrl: null });
    server = await startTestGateway({ store, page: currentBuild()! });
    chromium = await startChromium();
    const context = await chromium.newContext();
    page = await context.newPage();
    watched = watchPage(page, `http://${server.host}`);
    requested = [];
    page.on('request', (request) => void requested.push(new URL(request.url()).pathname));
  }, testTimeoutMs);

  afterAll(async () => {
    await chromium.close();
    await server.close();
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('an endpoint: samples in three languages, of which the chosen one is open everywhere', async () => {
    await page.goto(`http://${server.host}/docs/http-portfolio`);
    const opened = page.locator('.sample[open] summary');
    await opened.filter({ hasText: 'curl' }).first().waitFor();
    await page.locator('#portfolio ~ .sample summary').getByText('Python', { exact: true }).first().click();
    await page.locator('.sample:not([open]) summary').filter({ hasText: 'curl' }).first().waitFor();
    const samples = await page.locator('.sample summary', { hasText: 'curl' }).count();
    await expect.poll(() => opened.allTextContents()).toEqual(Array.from({ length: samples }, () => 'Python'));
    expect(await look(page, 'docs-endpoint')).toEqual([]);
    expect(watched.complaints).toEqual([]);
  });

  it('the search: reads its index once, finds words of all pages, and is used by the keyboard', async () => {
    const index = '/docs/search.json';
    expect(requested).not.toContain(index);
    const field = page.getByRole('searchbox', { name: 'Search the documentation' });
    const found = page.locator('.found a');
    await field.click();
    await field.fill('zebra quagga');
    await page.getByText('Nothing found.').waitFor();
    expect(await page.locator('#contents').isVisible()).toBe(false);
    await field.fill('newTokenBalance');
    await found.filter({ hasText: 'What is different' }).locator('mark').waitFor();
    await field.fill('close code 4008');
    await found.first().getByText('Close codes').waitFor();
    expect(await look(page, 'docs-search')).toEqual([]);
    await field.press('ArrowDown');
    expect(await page.evaluate('document.activeElement.getAttribute("href")')).toBe('/docs/stream#stream-closes');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Escape');
    expect(await field.inputValue()).toBe('');
    expect(await page.locator('#contents').isVisible()).toBe(true);
    await field.fill('close code 4008');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'The stream' }).waitFor();
    expect(page.url()).toBe(`http://${server.host}/docs/stream#stream-closes`);
    expect(requested.filter((path) => path === index)).toHaveLength(1);
    expect(watched.complaints).toEqual([]);
    expect(watched.foreign).toEqual([]);
  });
});

/** The pages of the documentation are long, so this runs by command. */
describe.runIf(isFullFuzz)('every page of the documentation', { timeout: testTimeoutMs }, () => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-docs-'));
    product = await startProduct(folder, 1);
    chromium = await startChromium();
    const context = await chromium.newContext();
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
      await openFilled(name, [exampleMint, exampleWallet, ...(name === names[0] ? [] : [exampleOrderId])]);
      for (const place of await page.locator('[data-try]').all()) {
        const id = (await place.getAttribute('data-try')) ?? '';
        await place.getByText('Try it').click();
        const isReal = place.getByRole('checkbox', { name: 'Send a real order' });
        await place.locator('button[type=submit]').waitFor();
        if ((await isReal.count()) > 0) await isReal.check();
        await place.locator('button[type=submit]').click();
        const title = (await place.locator('.answer h4').textContent()) ?? '';
        const allowed = others[id] ?? [200];
        const status = allowed.find((one) => title.startsWith(`${one} `)) ?? allowed[0]!;
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
    for (const name of ['', ...Object.values(guidePages), 'authentication', 'limits', 'errors', 'stream', 'schemas']) {
      await open(name);
      faults.push(...(await look(page, `docs-${name === '' ? 'index' : name}`)));
    }
    expect(faults).toEqual([]);
    expect(watched.foreign).toEqual([]);
  });
});
