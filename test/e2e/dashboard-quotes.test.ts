import { operatorAccountId } from '@sluice/gateway/store/interfaces/account-table.ts';
import type { QuoteObject } from '@sluice/shared/wire/rest/quote.ts';
import type { Page, Request, Response } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
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
    await page.getByLabel('Amount').fill('100%');
    await shownQuote('sell').waitFor();
    const held = tokensOf(world.chain, coin, publicKey);
    const [sold] = await ordersWhile(() => page.getByRole('button', { name: 'Sell', exact: true }).click());
    expect(bodyOf(sold!.request()).maxIn).toBe(String(held));
    await left.getByText(/^In the wallet: 0 SIMTEST, /).waitFor();
    expect(tokensOf(world.chain, coin, publicKey)).toBe(0n);
    // There is nothing left to quote.
    expect(watched.complaints.filter((text) => !text.includes('400'))).toEqual([]);
  });
});
