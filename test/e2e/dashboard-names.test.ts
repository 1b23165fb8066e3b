import { operatorAccountId } from '@sluice/gateway/store/interfaces/account-table.ts';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { currentBuild } from '../../compile/build-folder.mjs';
import { linkToken } from '../accounts/dashboard-client.ts';
import { startChromium, type Chromium } from '../support/browser/chromium.ts';
import { look, watchPage, type Watched } from '../support/browser/page-views.ts';
import { launchCoin } from '../support/chain/quoted-trades.ts';
import { startTradingWorld, type TradingGateway, type TradingWorld } from '../support/chain/trading-world.ts';
import { until } from '../support/gateway.ts';

/** Names of tokens that their creators chose to deceive. */
const testTimeoutMs = 180_000;
const uri = '';

let world: TradingWorld;
let gateway: TradingGateway;
let chromium: Chromium;
let page: Page;
let watched: Watched;
let publicKey: string;
/** Mints by what is wrong with their names. */
let mints: Readonly<Record<'plain' | 'turned' | 'alike' | 'other', string>>;

beforeAll(async () => {
  [world, chromium] = await Promise.all([startTradingWorld({ ingest: true, slotMs: 80 }), startChromium()]);
  publicKey = await world.wallet();
  const launch = (symbol: string, name: string): string => launchCoin(world.chain, { text: { name, symbol, uri } }).mint;
  mints = {
    plain: launch('PLAIN', 'An honest coin'),
    // Drawn from right to left, it reads USDT.
    turned: launch('\u202ETDSU', '\u202EDSU rehteT'),
    // The last letter is Cyrillic.
    alike: launch('USDТ', 'Tether USD'),
    other: launch('שלום', 'A name from right to left'),
  };
  gateway = await (await world.gateway({ page: currentBuild()! })).ready(publicKey, mints.alike);
  page = await (await chromium.newContext()).newPage();
  const { url } = gateway.gateway;
  watched = watchPage(page, url);
  await page.goto(`${url}/#sign-in=${await linkToken(world.store, operatorAccountId)}`);
  await page.locator('.tokens tbody tr').nth(3).waitFor();
}, testTimeoutMs);

afterAll(async () => {
  await chromium.close();
  await world.close();
}, testTimeoutMs);

const tokenIn = (list: string, mint: string): Locator => page.locator(`${list} a.token[href="#/token/${mint}"]`);
const endsOf = (mint: string): string => `${mint.slice(0, 4)}…${mint.slice(-4)}`;
/** What isolates the text, as the browser computes it. */
const isolation = (text: Locator): Promise<readonly string[]> =>
  text.locator('bdi').evaluateAll((all) => {
    const view = globalThis as unknown as { getComputedStyle: (of: unknown) => { readonly unicodeBidi: string } };
    return all.map((one) => view.getComputedStyle(one).unicodeBidi);
  });

describe('names of strangers', { timeout: testTimeoutMs }, () => {
  it('are isolated in lists, without characters that turn them around, and marked if they are not plain', async () => {
    const shown = async (mint: string): Promise<readonly (string | null)[]> => {
      const token = tokenIn('.tokens', mint);
      const mark = token.locator('.badge');
      return [await token.locator('b').textContent(), (await mark.count()) === 0 ? null : await mark.textContent()];
    };
    expect(await shown(mints.plain)).toEqual(['PLAIN', null]);
    expect(await shown(mints.turned)).toEqual(['TDSU', 'not USDT']);
    expect(await shown(mints.alike)).toEqual(['USDТ', 'not USDT']);
    expect(await shown(mints.other)).toEqual(['שלום', null]);
    expect(await page.locator('main').textContent()).not.toMatch(/[\u202A-\u202E\u2066-\u2069\u200B-\u200F]/);
    for (const mint of Object.values(mints)) expect(await isolation(tokenIn('.tokens', mint))).toEqual(['isolate', 'isolate']);
    expect(await look(page, 'names-live')).toEqual([]);
  });

  it('are shown with the ends of their mint in the search, after the well-known coin', async () => {
    await page.getByRole('searchbox').fill('usd');
    const found = page.locator('.found a');
    await until('the imitation', async () => (await found.locator('.badge').count()) > 0);
    const first = await found.first().textContent();
    expect(first).toMatch(/^USDC\s+EPjF…Dt1v/);
    const imitation = page.locator(`.found a[href="#/token/${mints.alike}"]`);
    expect(await imitation.textContent()).toContain(`USDТ not USDT ${endsOf(mints.alike)}`);
    await page.getByRole('searchbox').fill('');
  });

  it('are warned of in the ticket and before an order, next to the ends of the mint', async () => {
    await page.goto(`${gateway.gateway.url}/#/token/${mints.alike}`);
    const ticket = page.locator('.ticket');
    const warning = 'This is not USDT: the well-known coin of this symbol has another mint.';
    await ticket.getByText(warning).waitFor();
    await ticket.getByText(endsOf(mints.alike), { exact: true }).waitFor();
    await page.locator('h1').getByText('not USDT').waitFor();
    expect(await look(page, 'names-ticket')).toEqual([]);
    await page.route('**/status', async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...((await response.json()) as object), cluster: { simulated: false } } });
    });
    await page.getByRole('button', { name: 'Buy', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Buy with real coins' });
    await dialog.getByText(warning).waitFor();
    await dialog.getByText(endsOf(mints.alike), { exact: true }).waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.unroute('**/status');
  });

  it('are shown with the ends of their mint in orders and holdings', async () => {
    const bought = await gateway.ask('/trade/buy', { publicKey, mint: mints.alike, amount: 0.1 });
    expect(bought.status, JSON.stringify(bought.body)).toBe(200);
    for (const section of ['Orders', 'Wallets']) {
      await page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name: section, exact: true }).click();
      const token = tokenIn('main', mints.alike);
      await token.getByText(endsOf(mints.alike), { exact: true }).waitFor();
      await token.getByText('not USDT').waitFor();
    }
    expect(await look(page, 'names-holdings')).toEqual([]);
    expect(watched.complaints).toEqual([]);
  });
});
