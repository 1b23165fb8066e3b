import { operatorAccountId } from '@sluice/gateway/store/sql/tables/accounts.ts';
import type { QuoteObject } from '@sluice/shared/wire/rest/trading/quote.ts';
import type { Page, Request, Response, Route } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { usdcMint } from '@sluice/shared/solana/well-known.ts';
import { currentBuild } from '../../compile/build-folder.mjs';
import { linkToken } from '../accounts/dashboard-client.ts';
import { startChromium, type Chromium } from '../support/browser/chromium.ts';
import { look, watchPage, type Watched } from '../support/browser/page-views.ts';
import { launchCoin, tokensOf, tradeOnChain, type QuotedCoin } from '../support/chain/quoted-trades.ts';
import { startTradingWorld, type TradingGateway, type TradingWorld } from '../support/chain/trading-world.ts';
import { until } from '../support/gateway.ts';

/** The order ticket while the market moves. The chain has no trades but those of this suite. */
const testTimeoutMs = 180_000;
const sol = 10n ** 9n;

let world: TradingWorld;
let gateway: TradingGateway;
let chromium: Chromium;
let coin: QuotedCoin;
let publicKey: string;
let page: Page;
let watched: Watched;

beforeAll(async () => {
  [world, chromium] = await Promise.all([startTradingWorld({ ingest: true, slotMs: 80 }), startChromium()]);
  publicKey = await world.wallet();
  coin = launchCoin(world.chain);
  gateway = await (await world.gateway({ page: currentBuild()! })).ready(publicKey, coin.mint);
  page = await (await chromium.newContext()).newPage();
  const { url } = gateway.gateway;
  watched = watchPage(page, url);
  await page.goto(`${url}/#sign-in=${await linkToken(world.store, operatorAccountId)}`);
  await page.getByRole('heading', { level: 1, name: 'Live' }).waitFor();
  await page.goto(`${url}/#/token/${coin.mint}`);
}, testTimeoutMs);

afterAll(async () => {
  await chromium.close();
  await world.close();
}, testTimeoutMs);

/** What the ticket shows of a side: `0.1 SOL → 3.49M SIMTEST`. */
const shownQuote = (side: 'buy' | 'sell') =>
  page.locator('.quotes > div', { has: page.locator(`dt.${side}`) }).locator('span', { hasText: '→' });
/** Somebody else buys, so that the price rises by about two thirds. */
const raisePrice = (): unknown => tradeOnChain(world.chain, coin, 'pump', { exact: 'quoteIn', amount: 10n * sol }, 1n);

/** The quote on the screen stays as it is from now on. */
async function freezeQuotes(): Promise<void> {
  let held = 0;
  await page.route('**/api/quote', () => void held++);
  // The page requests the next quote only after the answer to the one before.
  await until('the last answer', () => held > 0);
}

/** The answers to orders that the page places while `act` runs, until one arrives. */
async function ordersWhile(act: () => Promise<unknown>): Promise<readonly Response[]> {
  const answers: Response[] = [];
  const note = (answer: Response): void => void (/\/api\/trade\/(buy|sell)$/.test(answer.url()) && answers.push(answer));
  page.on('response', note);
  await act();
  await until('the answer to an order', () => answers.length > 0);
  page.off('response', note);
  return answers;
}

const bodyOf = (request: Request) => request.postDataJSON() as { readonly minOut?: string; readonly maxIn?: string };

describe('the quote of the ticket', { timeout: testTimeoutMs }, () => {
  it('follows the market without any input, and shows its age', async () => {
    await page.getByLabel('Amount').fill('0.1');
    await page.getByLabel('Slippage (%)').fill('1');
    await shownQuote('buy').waitFor();
    const before = await shownQuote('buy').textContent();
    expect(before).toMatch(/^0\.1 SOL → [\d.]+M SIMTEST/);
    await page
      .locator('.quotes')
      .getByText(/^at 0\.0\S+ SOL, impact /)
      .first()
      .waitFor();
    await page
      .locator('.quotes')
      .getByText(/^\d+\.\d s old$/)
      .first()
      .waitFor();
    raisePrice();
    await until('another quote', async () => (await shownQuote('buy').textContent()) !== before);
    expect(watched.complaints).toEqual([]);
  });

  it('bounds the order: a market that has left it gives a refusal with the new quote, and one click takes it', async () => {
    await freezeQuotes();
    const before = (await shownQuote('buy').textContent())!;
    raisePrice();
    const buy = page.getByRole('button', { name: 'Buy', exact: true });
    const [refused, ...more] = await ordersWhile(() => buy.click());
    expect([refused!.status(), more]).toEqual([400, []]);
    const { error } = (await refused!.json()) as {
      readonly error: { readonly code: string; readonly details: { readonly bound: string; readonly quote: QuoteObject } };
    };
    expect([error.code, error.details.bound]).toEqual(['SLIPPAGE_EXCEEDED', bodyOf(refused!.request()).minOut]);
    await page.locator('.ticket .fault', { hasText: 'The price moved further than the slippage allows' }).waitFor();
    const moved = page.locator('.moved');
    await moved.getByText(`Shown: ${before}. Now: 0.1 SOL → `).waitFor();
    expect(await moved.textContent()).toMatch(/, \d+ % less, \d+\.\d s old/);
    expect(await shownQuote('buy').textContent()).not.toBe(before);
    expect(await look(page, 'moved-price')).toEqual([]);
    expect(world.landed(publicKey)).toEqual([]);

    const [placed] = await ordersWhile(() => moved.getByRole('button', { name: 'Buy at the new quote' }).click());
    expect(placed!.status()).toBe(200);
    expect(bodyOf(placed!.request()).minOut).toBe(error.details.quote.minOut);
    await page.locator('.progress .state.finalized').waitFor();
    expect(await moved.count()).toBe(0);
    expect(world.landed(publicKey)).toHaveLength(1);
    expect(tokensOf(world.chain, coin, publicKey)).toBeGreaterThanOrEqual(BigInt(error.details.quote.minOut));
    await page.unroute('**/api/quote');
    // The browser writes a line for every answer that is not 2xx.
    expect(watched.complaints.splice(0)).toEqual([expect.stringContaining('400')]);
  });

  it('after a trade, the ticket shows what is left', async () => {
    const left = page.locator('.balances');
    await left.getByText(/^In the wallet: [\d.]+M SIMTEST, [\d,.]+ SOL$/).waitFor();
    await left.getByText(/^SIMTEST worth 0\.\d+ SOL/).waitFor();
    await page.getByRole('button', { name: '50 %' }).click();
    const help = page.locator('#amount-help');
    const inUnits = /^50 % of ([\d.]+[KM]) SIMTEST is ([\d.]+[KM]) SIMTEST\.$/;
    await until('the part in units', async () => inUnits.test((await help.textContent())!));
    const [, whole, half] = inUnits.exec((await help.textContent())!)!;
    expect(await left.textContent()).toContain(`: ${whole} SIMTEST`);
    const rawUnits = Number(tokensOf(world.chain, coin, publicKey)) / 1e6;
    expect(Number.parseFloat(half!) * (half!.endsWith('M') ? 1e6 : 1e3)).toBeCloseTo(rawUnits / 2, -4);
    expect(await look(page, 'ticket-balance')).toEqual([]);
    await page.getByLabel('Amount').fill('100%');
    await shownQuote('sell').waitFor();
    const held = tokensOf(world.chain, coin, publicKey);
    const [sold] = await ordersWhile(() => page.getByRole('button', { name: 'Sell', exact: true }).click());
    expect(bodyOf(sold!.request()).maxIn).toBe(String(held));
    await left.getByText(/^In the wallet: 0 SIMTEST, /).waitFor();
    await page.getByText('100 % of 0 SIMTEST is 0 SIMTEST.').waitFor();
    expect(tokensOf(world.chain, coin, publicKey)).toBe(0n);
    // There is nothing left to quote.
    expect(watched.complaints.filter((text) => !text.includes('400'))).toEqual([]);
  });
});

describe('own trades and keys', { timeout: testTimeoutMs }, () => {
  it("the wallet's trades are marked, also those of before the page was opened", async () => {
    const own = page.locator('.trades tr.own', { hasText: 'you' });
    await until('both own trades', async () => (await own.count()) === 2);
    await page.getByRole('img', { name: /your trades: 2$/ }).waitFor();
    // Each trade of somebody else has no mark.
    expect(await page.locator('.trades tbody tr').count()).toBeGreaterThan(2);
    await page.reload();
    await page.getByRole('img', { name: /your trades: 2$/ }).waitFor();
    await until('both own trades', async () => (await own.count()) === 2);
    expect(await look(page, 'own-trades')).toEqual([]);
  });

  it('a key asks before it buys or sells, and sends nothing by itself', async () => {
    const sent: string[] = [];
    page.on('request', (request) => void (/\/api\/trade\//.test(request.url()) && request.method() === 'POST' && sent.push(request.url())));
    const amount = page.getByLabel('Amount');
    await amount.fill('0.1');
    await page.getByLabel('Slippage (%)').fill('30');
    await shownQuote('buy').waitFor();
    await amount.focus();
    const dialog = page.getByRole('dialog', { name: 'Buy on the simulated chain' });
    // The slips of a hand: Enter before the dialog, and both keys once more in it. It opens with the focus on Cancel.
    const asked: Route[] = [];
    await page.route('**/status', (route) => void asked.push(route));
    await page.keyboard.press('b');
    await page.keyboard.press('Enter');
    await until('the question whether coins are real', () => asked.length > 0);
    await asked[0]!.continue();
    await page.unroute('**/status');
    await dialog.waitFor();
    await page.keyboard.press('b');
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'hidden' });
    expect(await amount.inputValue()).toBe('0.1');
    expect(sent).toEqual([]);
    await page.keyboard.press('b');
    await dialog.waitFor();
    expect(await look(page, 'key-asks')).toEqual([]);
    const confirm = dialog.getByRole('button', { name: 'Buy now' });
    await until('the order can be confirmed', () => confirm.isEnabled());
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.locator('.progress .state.finalized').waitFor();
    expect(sent).toHaveLength(1);
    await page.locator('main').focus();
    await page.keyboard.press('a');
    await page.keyboard.type('50%');
    expect(await amount.inputValue()).toBe('50%');
    await page.keyboard.press('Shift+S');
    await page.getByRole('dialog', { name: 'Sell on the simulated chain' }).waitFor();
    await page.keyboard.press('Escape');
    expect(sent).toHaveLength(1);
  });

  it('Enter in the amount simulates, and / focuses the search', async () => {
    const amount = page.getByLabel('Amount');
    for (const [text, side] of [
      ['0.1', 'buy'],
      ['50%', 'sell'],
    ] as const) {
      await amount.fill(text);
      await until('an order to be possible', () =>
        page
          .getByRole('button', { name: /^Simulate the/ })
          .first()
          .isEnabled(),
      );
      await amount.press('Enter');
      await page.locator('.progress', { hasText: 'simulated only' }).locator(`.side.${side}`).waitFor();
    }
    await page.keyboard.press('/');
    expect(await page.getByRole('searchbox').evaluate((field) => field === field.ownerDocument.activeElement)).toBe(true);
    await page.keyboard.type('b/s?');
    expect(await page.getByRole('searchbox').inputValue()).toBe('b/s?');
    expect(await page.getByRole('dialog').count()).toBe(0);
    await page.keyboard.press('Escape');
  });

  it('a list names the keys, and turns them off', async () => {
    expect(await page.getByRole('button', { name: 'Buy', exact: true }).getAttribute('title')).toBe('Key B: asks first');
    await page.locator('main').focus();
    await page.keyboard.press('?');
    const list = page.getByRole('dialog', { name: 'Keys' });
    await list.getByText('In Amount: simulates').waitFor();
    expect(await look(page, 'keys')).toEqual([]);
    await list.getByRole('checkbox').uncheck();
    await list.getByRole('button', { name: 'Close' }).click();
    await page.locator('main').focus();
    for (const key of ['b', 's', '?', '/']) await page.keyboard.press(key);
    expect(await page.getByRole('dialog').count()).toBe(0);
    expect(await page.getByRole('searchbox').evaluate((field) => field === field.ownerDocument.activeElement)).toBe(false);
    await page.getByRole('button', { name: 'Keys' }).click();
    await list.getByRole('checkbox').check();
    await page.keyboard.press('Escape');
  });

  it('while little of the limit of the key is left, the quotes get it', async () => {
    let [quotes, others] = [0, 0];
    await page.route(/\/api\/(quote|portfolio|token\/info)/, async (route) => {
      if (route.request().url().endsWith('/quote')) quotes++;
      else others++;
      const response = await route.fetch();
      await route.fulfill({
        response,
        headers: { ...response.headers(), 'x-ratelimit-limit': '100', 'x-ratelimit-remaining': quotes + others === 1 ? '100' : '5' },
      });
    });
    await page.getByLabel('Amount').fill('0.2');
    await until('the first quotes', () => quotes > 2);
    const before = others;
    // The others are read every five seconds otherwise.
    await until('quotes of eleven seconds', () => quotes > 17);
    expect(others).toBe(before);
    // A handler whose request the page has given up would be waited for without a limit.
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  });

  it('the presets are amounts of the coin of the pair', async () => {
    const other = launchCoin(world.chain, { quoteMint: usdcMint });
    await page.goto(`${gateway.gateway.url}/#/token/${other.mint}`);
    await page.locator('.presets').getByText('50 USDC').waitFor();
    expect(await page.locator('.presets button').allTextContents()).toEqual(['10 USDC', '50 USDC', '100 USDC', '25 %', '50 %', '100 %']);
    expect(await page.getByLabel('Amount').inputValue()).toBe('10');
    await until('its quote', async () => (await shownQuote('buy').textContent())?.startsWith('10 USDC → '));
    expect(watched.complaints.filter((text) => !text.includes('400'))).toEqual([]);
  });
});
