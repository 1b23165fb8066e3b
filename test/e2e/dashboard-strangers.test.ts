import { operatorAccountId } from '@sluice/gateway/store/sql/tables/accounts.ts';
import { TokenMetadataBook } from '@sluice/shared/metadata/book.ts';
import { dataUriBytes } from '@sluice/shared/metadata/data-uri.ts';
import { readDocument } from '@sluice/shared/metadata/document.ts';
import { imageSizeOf } from '@sluice/shared/metadata/images/image-size.ts';
import { imageTypeOf } from '@sluice/shared/metadata/images/image-type.ts';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { currentBuild } from '../../compile/build-folder.mjs';
import { linkToken } from '../accounts/dashboard-client.ts';
import { startChromium, type Chromium } from '../support/browser/chromium.ts';
import { look, watchPage, type Watched } from '../support/browser/page-views.ts';
import { pngOf } from '../metadata/images.ts';
import { launchCoin } from '../support/chain/quoted-trades.ts';
import { startTradingWorld, type TradingGateway, type TradingWorld } from '../support/chain/trading-world.ts';
import { until } from '../support/gateway.ts';

/** What creators of tokens put into the page: names that deceive, and images that fill the memory. */
const testTimeoutMs = 180_000;
const imageAddress = 'https://images.example.com/a.png';
const uri = `data:,${JSON.stringify({ image: imageAddress })}`;
/** Of an image in the page, CSS pixels times two. */
const maxSide = 104;

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
  // Images are fetched from memory. Which ones are refused is tested with the fetcher.
  const metadata = new TokenMetadataBook({
    metadata: async (address) => ({ ok: true, metadata: readDocument(dataUriBytes(address)!)! }),
    image: async () => ({ ok: true, image: { type: 'image/png', bytes: pngOf(300, 200) } }),
  });
  gateway = await (await world.gateway({ page: currentBuild()!, metadata })).ready(publicKey, mints.alike);
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
    const asked: string[] = [];
    page.on('request', (request) => void (request.url().includes('/token/info/') && asked.push(request.url().split('/').at(-1)!)));
    await page.getByRole('searchbox').fill('usd');
    const found = page.locator('.found a');
    await until('the imitation', async () => (await found.locator('.badge').count()) > 0);
    const first = await found.first().textContent();
    expect(first).toMatch(/^USDC\s+EPjF…Dt1v/);
    const imitation = page.locator(`.found a[href="#/token/${mints.alike}"]`);
    expect(await imitation.textContent()).toContain(`USDТ not USDT ${endsOf(mints.alike)}`);
    // Market caps are read at once. A simulated chain is not asked for coins of the real one.
    await until('market caps to be read', () => asked.includes(mints.alike));
    expect(asked.filter((mint) => !Object.values(mints).includes(mint))).toEqual([]);
    await page.getByRole('searchbox').fill('');
  });

  it('are warned of in the ticket and before an order, next to the ends of the mint', async () => {
    await page.goto(`${gateway.gateway.url}/#/token/${mints.alike}`);
    const ticket = page.locator('.ticket');
    const warning = 'This is not USDT: the well-known coin of this symbol or name has another mint.';
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

describe('images of strangers', { timeout: testTimeoutMs }, () => {
  it('are small squares without animation, on the page of the token too', async () => {
    await page.goto(`${gateway.gateway.url}/#/token/${mints.plain}`);
    await page.locator('.token-head img.icon').waitFor();
    const sides = await page.locator('img').evaluateAll((all) => {
      const images = all as unknown as readonly { readonly naturalWidth: number; readonly naturalHeight: number; readonly src: string }[];
      return images.map(({ naturalWidth, naturalHeight, src }) => [naturalWidth, naturalHeight, src.slice(0, 11)]);
    });
    expect(sides.length).toBeGreaterThan(0);
    for (const side of sides) expect(side).toEqual([maxSide, maxSide, 'data:image/']);
  });

  it('are not drawn if they declare too many pixels, even if a gateway passes them', async () => {
    const huge = pngOf(8_000, 8_000);
    expect(huge.length).toBeLessThan(100_000);
    const other = await page.context().newPage();
    let asked = 0;
    await other.route(`**/token/image/${mints.other}`, (route) => {
      asked++;
      return route.fulfill({ contentType: 'image/png', body: huge });
    });
    await other.goto(`${gateway.gateway.url}/#/token/${mints.other}`);
    await until('the image to be requested', () => asked > 0);
    // Another image is requested later, and drawn.
    await other.getByRole('searchbox').fill('plain');
    await other.locator('.found img.icon').waitFor();
    expect(await other.locator('.token-head svg.icon').count()).toBe(1);
    expect(await other.locator('.token-head img').count()).toBe(0);
    await other.close();
  });

  it('have the size that a browser writes into them', async () => {
    for (const type of ['image/png', 'image/jpeg', 'image/webp'] as const) {
      const url = await page.evaluate<string>(
        `Object.assign(document.createElement('canvas'), { width: 37, height: 23 }).toDataURL(${JSON.stringify(type)})`,
      );
      const bytes = Buffer.from(url.slice(url.indexOf(',') + 1), 'base64');
      expect(imageTypeOf(bytes)).toBe(type);
      expect(imageSizeOf(type, bytes)).toEqual({ width: 37, height: 23, frames: 1 });
    }
  });
});
