import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Sluice } from '@sluice/client';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { generateKeypair } from '@sluice/shared/solana/addresses/keypair.ts';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startChromium, type Chromium } from '../support/browser/chromium.ts';
import { tabAndPress, tabAndType, tabTo } from '../support/browser/keyboard.ts';
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

  it('wallets are created, imported, named, filled and chosen by the keyboard alone, and no secret key stays in the page', async () => {
    const press = (within: Locator | Page, name: string) => tabAndPress(page, within.getByRole('button', { name, exact: true }));
    const type = (dialog: Locator, label: string, text: string) => tabAndType(page, dialog.getByLabel(label), text);
    const cardOf = (name: string) => page.locator('section.wallet', { has: page.getByRole('heading', { name, exact: true }) });
    await tabAndPress(page, page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name: 'Wallets' }));
    await page.getByText('There is no withdrawal').waitFor();
    await press(page, 'Create wallet');
    // The first field of a dialog has the focus.
    await page.getByRole('dialog', { name: 'Create wallet' }).getByLabel('Name').and(page.locator(':focus')).waitFor();
    await page.keyboard.type('second');
    await page.keyboard.press('Enter');
    await cardOf('second').waitFor();

    const outside = generateKeypair();
    const secretKey = encodeBase58(Buffer.concat([outside.seed, outside.publicKeyBytes]));
    const sent: string[] = [];
    page.on('request', (request) => sent.push(`${request.url()} ${JSON.stringify(request.headers())}`));
    await press(page, 'Import wallet');
    const dialog = page.getByRole('dialog', { name: 'Import wallet' });
    await dialog.getByLabel('Secret key').and(page.locator(':focus')).waitFor();
    await page.keyboard.type(`${secretKey}x`);
    await press(dialog, 'Import');
    await dialog.getByRole('alert').waitFor();
    expect(await dialog.getByRole('alert').textContent()).not.toContain(secretKey.slice(0, 16));
    expect(await look(page, 'import-wallet')).toEqual([]);
    await type(dialog, 'Secret key', secretKey);
    await type(dialog, 'Name', 'from outside');
    await page.keyboard.press('Enter');
    const imported = cardOf('from outside');
    await imported.getByText(outside.publicKey).first().waitFor();
    const stored =
      'JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage), location.href, document.documentElement.outerHTML])';
    expect(await page.evaluate<string>(stored)).not.toContain(secretKey);
    expect(sent.join()).not.toContain(secretKey);
    expect(await page.locator('input.secret').count()).toBe(0);

    // A closed dialog returns the focus to its button.
    const rename = imported.getByRole('button', { name: 'Rename' });
    const renaming = page.getByRole('dialog', { name: 'Rename' }).getByLabel('Name').and(page.locator(':focus'));
    await press(imported, 'Rename');
    await renaming.waitFor();
    await page.keyboard.press('Escape');
    await rename.and(page.locator(':focus')).waitFor();
    await page.keyboard.press('Enter');
    await renaming.waitFor();
    await page.keyboard.press('Control+A');
    await page.keyboard.type('third');
    await page.keyboard.press('Enter');
    const third = cardOf('third');
    await press(third, 'Faucet');
    await third.getByText('10 SOL').first().waitFor();
    await third.locator('tbody tr', { hasText: 'USDC' }).getByText('1.00K', { exact: true }).waitFor();
    await press(third, 'Default');
    const chosen = page.getByRole('dialog', { name: 'Default wallet' });
    await tabTo(page, chosen.getByLabel('API key'));
    await page.keyboard.press('End');
    await press(chosen, 'Make default');
    await third.getByText(/default of sluice_/).waitFor();
    expect(await look(page, 'wallets-three')).toEqual([]);
    // The rejected key: the browser writes a line for every answer that is not 2xx.
    expect(watched.complaints.splice(0)).toEqual([expect.stringContaining('400')]);
  });

  it('a wallet lists its orders and past trades, and the ticket remembers the wallet that was used last', async () => {
    const mint = await followOneToken(product);
    await page.goto(`${product.url}/#/token/${mint}`);
    const choice = page.locator('.ticket').getByLabel('Wallet');
    // At first the oldest.
    await until('the wallets', async () => (await choice.inputValue()) === product.wallet);
    const valueOf = (name: string): Promise<string | null> => choice.locator('option', { hasText: name }).getAttribute('value');
    // It has nothing.
    await choice.selectOption(await valueOf('second'));
    await page.locator('.balances').getByRole('link', { name: 'Add SOL' }).waitFor();
    const other = await valueOf('third');
    await choice.selectOption(other);
    await page.reload();
    await until('the wallet that was used last', async () => (await choice.inputValue()) === other);
    const headers = { authorization: `Bearer ${product.apiKey}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ publicKey: other, mint, amount: 0.01, slippage: 50 });
    const bought = await fetch(`${product.url}/api/trade/buy`, { method: 'POST', headers, body });
    expect(bought.status).toBe(200);
    await until('its trade', async () => {
      const { orderId } = (await bought.clone().json()) as { readonly orderId: string };
      const order = (await (await fetch(`${product.url}/api/trade/orders/${orderId}`, { headers })).json()) as { readonly fill: unknown };
      return order.fill !== null;
    });
    await page.goto(`${product.url}/#/wallet/${other!}`);
    const orders = page.getByRole('region', { name: 'Orders' });
    await orders.locator('.side.buy').waitFor();
    const trades = page.getByRole('region', { name: 'Trades' });
    await trades.locator('.side.buy').first().waitFor();
    expect(await trades.locator('th').allTextContents()).toEqual(['Time', 'Side', 'Token', 'SizePrice', 'Price', 'Market cap']);
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toContain('yours: third');
    await trades.getByText(/^All since [\d-]+ [\d:]+\. The server stores no older trades of a wallet\./).waitFor();
    expect(await look(page, 'own-wallet')).toEqual([]);
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
    for (const place of ['nothing', 'orders/7', 'token']) {
      await other.goto(`${product.url}/#/${place}`);
      await other.locator('main').getByText(`Nothing is at #/${place}.`).waitFor();
      expect(await other.title()).toBe('No such page – sluice');
    }
    await other.goto(`${product.url}/#/wallet/%`);
    await other.getByRole('heading', { name: "Watch and trade Solana's token market" }).waitFor();
    await other.goto(`${product.url}/#/tokens/${wrappedSol}`);
    await other.locator('main').getByRole('link', { name: 'token' }).click();
    expect(other.url()).toBe(`${product.url}/#/token/${wrappedSol}`);
    await other.goBack();
    await other.getByRole('heading', { level: 1, name: 'No such page' }).waitFor();
    expect(await look(other, 'no-such-place')).toEqual([]);
    await other.goto(`${product.url}/#/`);
    await other.getByRole('heading', { name: "Watch and trade Solana's token market" }).waitFor();
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
